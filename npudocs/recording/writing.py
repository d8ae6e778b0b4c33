"""Makes the record of a run and puts it into its place, whole or not at all."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.recording import RecordingError, checks, messages
from npudocs.recording.checks import Unit
from npudocs.recording.supervisor import Result


def product(soc_name: str) -> str:
    """The product of a SoC name.

    Raises:
        RecordingError: no product is known for it.
    """
    found = evidence.product_of(soc_name)
    if found not in evidence.PRODUCTS:
        raise RecordingError(
            f"the SoC name {soc_name!r} belongs to no product that is known here: add it to "
            "softnpu/soc.py, with where the name was seen"
        )
    return found


def where(device: dict[str, str]) -> dict[str, str]:
    """A record's ``where``, from what `npudocs.site.device` says."""
    same = ("torch", "torch_npu", "cann", "soc", "softnpu", "python")
    return {
        **{name: device[name] for name in same},
        "product": product(device["soc"]),
        "device": device["name"],
        "machine": platform.machine(),
    }


def commit(root: Path) -> str:
    """The commit that is checked out, marked where files besides the evidence differ from it."""
    head = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", ".", ":!evidence")
    return f"{head}+changes" if changed else head


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RecordingError("a record names its commit, and there is no git here") from error
    if done.returncode:
        raise RecordingError(
            f"a record names its commit, and git cannot tell it: {done.stderr.strip()}"
        )
    return done.stdout.strip()


class Sources:
    """The checks' texts as they are when the run begins."""

    def __init__(self, root: Path, units: Iterable[Unit]) -> None:
        self.root = root
        self.texts = {unit.file: evidence.source_text(root / unit.file) for unit in units}

    def check_unchanged(self) -> None:
        """Raise RecordingError where a check was edited while it ran."""
        for file, text in self.texts.items():
            path = self.root / file
            if not path.is_file() or evidence.source_text(path) != text:
                raise RecordingError(f"{file} was edited during the run: run again")

    def digest(self, file: str) -> str:
        """What an entry's ``source`` holds."""
        return evidence.sha256(self.texts[file])


def entries(
    root: Path, units: Iterable[Unit], results: Iterable[Result], sources: Sources
) -> list[dict[str, Any]]:
    """The entries of a record, in the order of the run."""
    by_file = {unit.file: unit for unit in units}
    names = checks.api_names(root)
    scrub = messages.Scrubber(root)
    found = []
    for result in results:
        unit = by_file[result.file]
        about = {"apis": unit.apis, "items": unit.items, "dtype": ""}
        if unit.kind == "tests" and result.part:
            about = checks.of_method(result.part, unit, names)
        # A block that only serves others is no check, unless it breaks.
        if result.part.startswith("test") and unit.kind == "page" and result.outcome == "passed":
            continue
        message = messages.without_frames(result.message)
        found.append(
            {
                "check": result.file,
                "part": result.part,
                "apis": list(about["apis"]),
                "items": list(about["items"]),
                "dtype": about["dtype"],
                "source": sources.digest(result.file),
                "outcome": result.outcome,
                "message": messages.shorten(scrub(message)),
                "seconds": result.seconds,
            }
        )
    return found


def content(device: dict[str, str], **fields: Any) -> dict[str, Any]:
    """A record's content, with its digest."""
    made = {"schema": 1, "kind": device["kind"], "where": where(device), **fields}
    return {**made, "digest": evidence.digest(made)}


def write(made: dict[str, Any], sources: Sources, folder: Path) -> Path:
    """Write a record and the texts that it names, and drop the texts that no record names.

    Raises:
        EvidenceError: the record is not one that would be read back.
    """
    target = folder / "records" / made["kind"] / f"{evidence.file_name(made)}.json"
    for name, text in _named(made, sources).items():
        replace(folder / "sources" / name, text)
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    try:
        evidence.check(made, target, folder)
        replace(target, text.encode())
        if made["kind"] == "software":
            about = made["where"]
            update_unrecorded(folder, [(evidence.release(about["torch_npu"]), about["product"])])
    finally:
        for name in evidence.orphans(folder):
            (folder / "sources" / name).unlink()
    return target


def update_unrecorded(
    folder: Path, recorded: Iterable[tuple[str, str]], failed: Iterable[dict[str, str]] = ()
) -> None:
    """Take the version and product of what is recorded out of the list, and put failures in."""
    path = folder / "unrecorded.json"
    known = json.loads(path.read_text(encoding="utf-8"))["combinations"] if path.is_file() else []
    listed = {(one["version"], one["product"]): one for one in [*known, *failed]}
    for key in recorded:
        listed.pop(key, None)
    if listed:
        content = {"schema": 1, "combinations": [listed[key] for key in sorted(listed)]}
        replace(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    else:
        path.unlink(missing_ok=True)


def _named(made: dict[str, Any], sources: Sources) -> dict[str, bytes]:
    files = {entry["check"] for entry in made["entries"]}
    return {
        f"{sources.digest(file)[:16]}{Path(file).suffix}": sources.texts[file] for file in files
    }


def replace(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            temporary.chmod(0o644)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
