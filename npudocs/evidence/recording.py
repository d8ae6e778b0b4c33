"""Makes the record of a finished run from its results file."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npudocs.evidence import files, history, messages, writing
from npudocs.evidence.model import PRODUCTS, Entry, EvidenceError, Record, product_of, short

# What the name of a test method may end with.
DTYPE = re.compile(r"_((?:b?float|complex|u?int)\d+|bool)$")


def record(results: Path, folder: Path, root: Path) -> tuple[Path, Record]:
    """Write the record of a run into `folder`, or nothing; returns its file and the record."""
    content = read_results(results)
    path, made = writing.write_record(head(content, root), entries(content, root), folder)
    writing.write_unrecorded(folder)
    return path, made


def as_record(content: dict[str, Any], root: Path) -> Record:
    """The record that a run would make."""
    about = head(content, root)
    return Record(name=files.file_name(about), entries=tuple(entries(content, root)), **about)


def read_results(path: Path) -> dict[str, Any]:
    """The content of a results file; raises EvidenceError where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        device, units = content["device"], content["units"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"{path} is no results file of a run: {type(error).__name__}: {error}"
        raise EvidenceError(words) from error
    if device["kind"] == "off":
        raise EvidenceError("nothing ran: the device was switched off (DEVICE=off)")
    if not any(unit["results"] for unit in units):
        raise EvidenceError(f"{path}: nothing ran")
    return content


def head(content: dict[str, Any], root: Path) -> dict[str, Any]:
    """What a record says of the whole run; `started` is when its first file ran."""
    units = [unit for unit in content["units"] if unit["results"]]
    seconds = sum(result["seconds"] for unit in units for result in unit["results"])
    return {
        "kind": content["device"]["kind"],
        "where": where(content["device"]),
        "commit": commit(root),
        "started": min(unit["ran"] for unit in units),
        "seconds": round(seconds, 3),
    }


def entries(content: dict[str, Any], root: Path) -> list[Entry]:
    """The entries of the record; raises EvidenceError where a file was edited since it ran."""
    names = names_in_tests(content["units"])
    scrub = messages.Scrubber(root)
    found = []
    for unit in content["units"]:
        path = root / unit["file"]
        if not path.is_file() or files.blob(path.read_bytes()) != unit["source"]:
            raise EvidenceError(f"{unit['file']} was edited since it ran: run again")
        for result in unit["results"]:
            part, passed = result["part"], result["outcome"] == "passed"
            # A block that only serves others is no check, unless it breaks.
            if unit["kind"] == "page" and part.startswith("test") and passed:
                continue
            about = {key: tuple(unit["about"].get(key, ())) for key in ("apis", "items")}
            if unit["kind"] == "tests":
                about = of_method(part, Path(unit["file"]).stem, about["apis"], names)
            message = messages.essential(messages.without_frames(result["message"]))
            if result["outcome"] != "skipped":
                message += f"\nat {unit['file']}:{result['line']}"
            message = messages.shorten(scrub(message))
            found.append(
                Entry(
                    check=unit["file"], part=part, source=unit["digest"], blob=unit["source"],
                    outcome=result["outcome"], message="" if passed else message,
                    seconds=result["seconds"], **{"dtype": "", **about},
                )
            )  # fmt: skip
    return found


def names_in_tests(units: Iterable[dict[str, Any]]) -> dict[str, str]:
    """What tests call the APIs that the pages are about, to their full names.

    ``make_dual`` is one of the module that the site is about. Others have the name of their module or
    class before their own, ``func_jvp``, since several are called ``jvp``.
    """
    found: dict[str, str] = {}
    for unit in units:
        for api in unit["about"].get("apis", ()) if unit["kind"] == "page" else ():
            name = short(api).replace(".", "_")
            if found.setdefault(name, api) != api:
                both = f"tests call both {api} and {found[name]} {name}"
                raise EvidenceError(f"{unit['file']}: {both}: rename one")
    return found


def named_apis(text: str, names: dict[str, str]) -> tuple[str, ...]:
    """The APIs whose name in `names` stands in `text` between underscores, the longest name first."""
    found = []
    for name in sorted(names, key=len, reverse=True):
        text, count = re.subn(rf"(?<![^_]){name}(?![^_])", "", text)
        if count:
            found.append(names[name])
    return tuple(sorted(found))


def of_method(
    method: str, file: str, apis: tuple[str, ...], names: dict[str, str]
) -> dict[str, Any]:
    """What the name of a test method says: ``test_item7_float16``, ``test_make_dual_float16``.

    Without an API in it, a test is about `apis`, or those in the name of its file.
    """
    item, dtype = re.match(r"test_item(\d+)_", method), DTYPE.search(method)
    return {
        "apis": named_apis(method, names) or apis or named_apis(file, names),
        "items": (int(item[1]),) if item else (),
        "dtype": dtype[1] if dtype else "",
    }


def where(device: dict[str, str]) -> dict[str, str]:
    """A record's ``where``, from what a run says of its device, which has to be a known one."""
    product = product_of(device["soc"])
    if product not in PRODUCTS:
        raise EvidenceError(
            f"the SoC name {device['soc']!r} belongs to no product that is known here: add it to "
            "softnpu/soc.py, with where the name was seen"
        )
    same = ("torch", "torch_npu", "cann", "driver", "firmware", "soc", "softnpu", "python")
    return {
        **{name: device[name] for name in same},
        "product": product,
        "device": device["name"],
        "machine": platform.machine(),
    }


def commit(root: Path) -> str:
    """The commit that is checked out, marked where files besides the evidence differ from it."""
    name = history.git(root, "rev-parse", "HEAD")
    changed = history.git(root, "status", "--porcelain", "--", ".", ":!evidence")
    return f"{name}+changes" if changed else name
