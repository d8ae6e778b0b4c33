"""Writes records: whole or not at all, and one line a check, so that a change can be read."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npudocs.evidence import files
from npudocs.evidence.model import Entry, EvidenceError, Record, Unrecorded


def write_record(
    about: dict[str, Any], entries: Iterable[Entry], folder: Path = files.FOLDER
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
        check = {field: check[field] for field in files.FIELDS}
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
    record = files.checked_record(made, target, table)
    # The table first, with old and new: a record that names a check always finds it.
    _write_table(folder, table)
    replace(target, lines(made))
    _write_table(folder, table, files.used(folder))
    return target, record


def _write_table(folder: Path, table: dict[str, Any], used: Iterable[str] = ()) -> None:
    """Write the table, with the used checks alone where these are known."""
    checks = {name: table["checks"][name] for name in used or table["checks"]}
    ordered = sorted(
        checks.items(),
        key=lambda one: (files.natural(*(one[1][k] for k in ("file", "part", "dtype"))), one[0]),
    )
    sources = sorted({check["source"] for check in checks.values()})
    parts = {"sources": {name: table["sources"][name] for name in sources}, "checks": dict(ordered)}
    replace(folder / files.CHECKS, lines({"schema": 2, **parts}))


def lines(content: dict[str, Any]) -> bytes:
    """JSON with one line for each member of each field, so that a change can be read."""
    blocks = []
    for name, value in content.items():
        text = json.dumps(value, ensure_ascii=False)
        if value and isinstance(value, (dict, list)):
            members = [json.dumps(one, ensure_ascii=False) for one in value]
            if isinstance(value, dict):
                values = [json.dumps(one, ensure_ascii=False) for one in value.values()]
                members = [f"{key}: {one}" for key, one in zip(members, values, strict=True)]
            inside = ",\n  ".join(members)
            text = f"{text[0]}\n  {inside}\n {text[-1]}"
        blocks.append(f' "{name}": {text}')
    return ("{\n" + ",\n".join(blocks) + "\n}\n").encode()


def write_unrecorded(folder: Path, *new: Unrecorded) -> None:
    """Write the list of what could not start anew: with the new ones, without what has a record.

    A record that is there from before stays; that it could not be made again is not evidence.
    """
    known = (one for one in files.records(folder) if one.kind == "software")
    recorded = {(one.version, one.where["product"]) for one in known}
    listed = {(one.version, one.product): one for one in (*files.unrecorded(folder), *new)}
    combinations = [dataclasses.asdict(listed[key]) for key in sorted(listed.keys() - recorded)]
    content = {"combinations": combinations, "removed": files.removed(folder)}
    content = {key: value for key, value in content.items() if value}
    path = folder / files.UNRECORDED
    if content:
        replace(path, lines({"schema": 1, **content}))
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
