"""Writes records: whole or not at all, and one line a check, so that a change can be read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npudocs.evidence import files
from npudocs.evidence.files import CHECKS, FIELDS, FOLDER
from npudocs.evidence.model import Entry, EvidenceError, Record


def write_record(
    about: dict[str, Any], entries: Iterable[Entry], folder: Path = FOLDER
) -> tuple[Path, Record]:
    """Write a record with its checks, and drop the checks that no record names any more.

    Raises:
        EvidenceError: the record is not one that would be read back; nothing is written then.
    """
    table = files.read_checks(folder)
    made: dict[str, Any] = {"schema": 2, **about, "passed": {}, "others": {}}
    for entry in sorted(entries, key=lambda one: files.natural(*one.key)):
        check = {"file": entry.check, "apis": [*entry.apis], "items": [*entry.items]}
        check |= {key: getattr(entry, key) for key in ("source", "part", "dtype")}
        name = files.check_id(check)
        table["checks"][name] = check
        # The newest text of a digest stands for all; others differ from it in prose alone.
        table["sources"][entry.source] = entry.blob
        if name in made["passed"] or name in made["others"]:
            raise EvidenceError(f"{' '.join(filter(None, entry.key))} ran twice")
        if entry.outcome == "passed":
            made["passed"][name] = entry.seconds
        else:
            result = {key: getattr(entry, key) for key in ("outcome", "message", "seconds")}
            made["others"][name] = result
    made["digest"] = files.digest(made)
    target = folder / "records" / made["kind"] / f"{files.file_name(made)}.json"
    record = files.record_of(made, target, table)
    used = made["passed"].keys() | made["others"].keys()
    for path in (folder / "records").glob("*/*.json"):
        if path != target:
            content = files.read(path)
            used |= content["passed"].keys() | content["others"].keys()
    # The table first, with old and new: a record that names a check always finds it.
    replace(folder / CHECKS, _table_text(table, used | _names(target)))
    replace(target, _record_text(made))
    replace(folder / CHECKS, _table_text(table, used))
    return target, record


def _names(path: Path) -> set[str]:
    content = files.read(path) if path.is_file() else {"passed": {}, "others": {}}
    return content["passed"].keys() | content["others"].keys()


def _table_text(table: dict[str, Any], used: Iterable[str]) -> bytes:
    """The table with one line a check, so that a change can be read."""
    kept = {name: table["checks"][name] for name in used if name in table["checks"]}
    order = sorted(
        kept, key=lambda n: (files.natural(*(kept[n][k] for k in ("file", "part", "dtype"))), n)
    )
    sources = {check["source"] for check in kept.values()}
    parts = {
        "sources": {name: table["sources"][name] for name in sorted(sources)},
        "checks": {name: {field: kept[name][field] for field in FIELDS} for name in order},
    }
    return lines({"schema": 2}, parts)


def _record_text(made: dict[str, Any]) -> bytes:
    parts = {name: made[name] for name in ("passed", "others")}
    return lines({key: value for key, value in made.items() if key not in parts}, parts)


def lines(head: dict[str, Any], parts: dict[str, dict[str, Any] | list[Any]]) -> bytes:
    """JSON that begins with `head`, and has one line for each member of each part."""
    blocks = [json.dumps(head, indent=1, ensure_ascii=False)[:-2]]
    for name, members in parts.items():
        listed = [json.dumps(one, ensure_ascii=False) for one in (members or ())]
        ends = "[]"
        if isinstance(members, dict):
            ends = "{}"
            values = [json.dumps(one, ensure_ascii=False) for one in members.values()]
            listed = [f"{key}: {value}" for key, value in zip(listed, values, strict=True)]
        inside = ",\n".join(f"  {line}" for line in listed)
        blocks.append(
            f' "{name}": {ends[0]}\n{inside}\n {ends[1]}' if listed else f' "{name}": {ends}'
        )
    return (",\n".join(blocks) + "\n}\n").encode()


def update_unrecorded(
    folder: Path, recorded: Iterable[tuple[str, str]], failed: Iterable[dict[str, str]] = ()
) -> None:
    """Take the version and product of what is recorded out of the list, and put failures in."""
    path = folder / "unrecorded.json"
    known = files.read(path)["combinations"] if path.is_file() else []
    listed = {(one["version"], one["product"]): one for one in [*known, *failed]}
    for key in recorded:
        listed.pop(key, None)
    if listed:
        content = {"schema": 1, "combinations": [listed[key] for key in sorted(listed)]}
        replace(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    else:
        path.unlink(missing_ok=True)


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
