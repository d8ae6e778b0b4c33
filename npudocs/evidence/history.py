"""What git knows of the runs that records name: their commits, the texts of these, the records before."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from npudocs.evidence import files, rules
from npudocs.evidence.model import Entry, Record

Runs = dict[Path, dict[str, Any]]
LEFT_OUT = (
    "git's history is not here in whole (git fetch --unshallow), so that the commits of records, the "
    "texts of their checks and the records that were there before are not looked at"
)


def whole(root: Path) -> bool:
    """Whether git has all of the project's history in `root`."""
    if not (root / ".git").exists() or not shutil.which("git"):
        return False
    return _git(root, "rev-parse", "--is-shallow-repository").strip() == "false"


def missing_blobs(root: Path, blobs: Iterable[str]) -> list[str]:
    """The blobs that git does not have."""
    told = _git(root, "cat-file", "--batch-check", given="".join(f"{name}\n" for name in blobs))
    return [line.split()[0] for line in told.splitlines() if line.endswith(" missing")]


def problems(root: Path, folder: Path) -> Iterator[str]:
    """What the records and sweeps in `folder` say that git's history in `root` denies."""
    runs = {p: files.read(p) for kind in ("records", "sweeps") for p in files.paths(folder, kind)}
    refused = dict(_of_commits(root, runs))
    yield from refused.values()
    found = [record for record in files.records(folder) if record.name not in refused]
    yield from _of_texts(root, found)
    yield from _of_the_past(root, folder, runs)


def _of_commits(root: Path, runs: Runs) -> Iterator[tuple[str, str]]:
    """The runs whose commit cannot have been the one that ran, by the name of the file."""
    lines = _git(root, "log", "--format=%H %ct", "HEAD").splitlines()
    commits = {name: int(seconds) for name, seconds in map(str.split, lines)}
    for path, content in runs.items():
        name, _, changes = content["commit"].partition("+")
        if name not in commits:
            words = f"{name} is not in git's history: push the commit that ran, unchanged"
        elif commits[name] > rules.moment(content["started"]).timestamp():
            words = f"{name} is younger than the run, which started {content['started']}"
        elif changes and content["kind"] == "silicon":
            words = "files were changed: commit them, and run again"
        else:
            continue
        yield path.stem, str(files.refusal(path, "commit", words))


def _of_texts(root: Path, records: list[Record]) -> Iterator[str]:
    """The records whose checks are not those of their commit.

    What decides a check makes its parts, so that all records of a text have the same number of them,
    on every device, unless the file broke before its end. Files that differ from the commit are not known.
    """
    clean = [
        (one, _tree(root, one.commit), _by_file(one)) for one in records if "+" not in one.commit
    ]
    parts: dict[tuple[str, str, str], set[tuple[str, str, str]]] = defaultdict(set)
    for _, _, by_file in clean:
        for file, entries in by_file.items():
            kept = () if _broke(entries) else entries
            parts[file, entries[0].source, entries[0].blob] |= {
                e.key for e in kept if not _serves(e)
            }
    for record, tree, by_file in clean:
        name = f"{record.kind}/{record.name}.json"
        for file, entries in by_file.items():
            blob, others = entries[0].blob, (t.get(file) for r, t, b in clean if file in b)
            # The prose of a page may be another's, with the same blocks.
            same = (
                {tree.get(file)} if file.endswith(".py") else {tree.get(file) and b for b in others}
            )
            if blob not in same:
                yield f"{name}: {file}: commit {record.commit[:7]} has another text, or none"
        for (file, _, blob), keys in parts.items():
            entries = by_file.get(file, [])
            missing = sorted(keys - {entry.key for entry in entries})
            if tree.get(file) == blob and (not entries or (missing and not _broke(entries))):
                words = f"has {len(entries)} checks, and other records of this text {len(keys)}"
                lost = " ".join(filter(None, missing[0])) if missing else file
                yield f"{name}: {file}: {words}: {lost} is not in it"


def _by_file(record: Record) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in record.entries:
        found[entry.check].append(entry)
    return found


def _broke(entries: list[Entry]) -> bool:
    return any(
        e.outcome in ("crashed", "timeout") or (e.outcome != "passed" and not e.part)
        for e in entries
    )


def _serves(entry: Entry) -> bool:
    """Whether it is a block that only serves others, which is recorded where it breaks alone."""
    return entry.check.endswith(".md") and entry.part.startswith("test")


def _of_the_past(root: Path, folder: Path, runs: Runs) -> Iterator[str]:
    """The records that git had: each is here, or its removal has a reason; a run has one result."""
    if not folder.resolve().is_relative_to(root.resolve()):
        return
    within = folder.resolve().relative_to(root.resolve())
    words = ("--full-history", "--no-renames", "--raw", "--no-abbrev", "--format=")
    places = [str(within / kind) for kind in ("records", "sweeps")]
    past: dict[str, set[str]] = defaultdict(set)
    for line in _git(root, "log", *words, "--", *places).splitlines():
        past[line.split("\t")[1]].add(line.split()[3])
    removed = {one["file"] for one in files.removed(folder)}
    now = {str(path.resolve().relative_to(root.resolve())): path for path in runs}
    for name, blobs in sorted(past.items()):
        short = name.removeprefix(f"{within}/")
        if name not in now:
            if short not in removed:
                words = "was removed: say why in evidence/unrecorded.json, under removed"
                yield f"{name}: file: {words}"
            continue
        content = runs[now[name]]
        for blob in blobs if "passed" in content else ():
            old = json.loads(_git(root, "cat-file", "blob", blob) or "{}")
            same = all(old.get(key) == content[key] for key in ("schema", "started"))
            if same and old["digest"] != content["digest"]:
                yield str(
                    files.refusal(now[name], "started", "the record of this run said otherwise")
                )
                break
    for short in removed & {name.removeprefix(f"{within}/") for name in now}:
        yield f"{files.UNRECORDED}: removed: {short} is here"


@functools.cache
def _tree(root: Path, commit: str) -> dict[str, str]:
    lines = (line.split("\t") for line in _git(root, "ls-tree", "-r", commit).splitlines())
    return {name: about.split()[2] for about, name in lines}


def _git(root: Path, *words: str, given: str = "") -> str:
    command = ["git", "-c", "core.quotePath=off", "-C", str(root), *words]
    return subprocess.run(command, input=given, capture_output=True, text=True).stdout
