"""The record of a sweep: made from the files of its shards, checked when it is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from npudocs import evidence
from npudocs.sweep import SweepError
from npudocs.sweep.statuses import STATUSES, TOLERANCES
from npudocs.sweep.variants import DTYPES, FORMS

FOLDER = evidence.FOLDER / "sweeps"
SCHEMA = "sweep.schema.json"


class Cell(NamedTuple):
    """The result of one operator in one form and dtype."""

    operator: str
    family: str
    form: str
    dtype: str
    status: str
    counts: dict[str, int]
    told: list[dict[str, Any]]
    fallback: list[str]
    random: bool


def merged(
    shards: Iterable[list[dict[str, Any]]], families: dict[str, str], partly: bool = False
) -> dict[str, Any]:
    """Return the operators of a record, from the lines of all shards, headers first.

    `partly` is for looking at some of the shards, which make no record.

    Raises:
        SweepError: the shards are of different runs, or one is missing or there twice.
    """
    headers, lines = [], []
    for header, *listed in shards:
        headers.append(header)
        lines += listed
    if not partly:
        _check_headers(headers)
    found: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda one: DTYPES.index(one["dtype"])):
        name = line["operator"]
        entry = found.setdefault(name, {"family": families[name], "cells": []})
        entry["cells"] += [{"dtype": line["dtype"], **cell} for cell in line["cells"]]
        if "cpu" in line:
            entry["cpu"] = line["cpu"]
    return {name: found[name] for name in sorted(found, key=str.lower)}


def _check_headers(headers: list[dict[str, Any]]) -> None:
    if not headers:
        raise SweepError("there is nothing to merge")
    base = {key: value for key, value in headers[0].items() if key != "shard"}
    if any({k: v for k, v in one.items() if k != "shard"} != base for one in headers):
        raise SweepError("the shards are of different runs: device, torch, commit or choice differ")
    numbers = sorted(header["shard"][0] for header in headers)
    count = headers[0]["shard"][1]
    if any(header["shard"][1] != count for header in headers) or numbers != [*range(1, count + 1)]:
        raise SweepError(f"of the shards 1 to {count}, there are {numbers}")


def content(header: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a record's content with its digest."""
    made = {
        "schema": 1,
        **{key: header[key] for key in ("kind", "where", "commit", "limits")},
        "tolerances": {name: list(pair) for name, pair in TOLERANCES.items()},
        **fields,
    }
    return {**made, "digest": evidence.digest(made)}


def text(made: dict[str, Any]) -> str:
    """Return a record as its file holds it: one line an operator, so that a change can be read."""
    operators = [
        f"  {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
        for name, entry in made["operators"].items()
    ]
    head = json.dumps({k: v for k, v in made.items() if k != "operators"}, indent=1)
    return f'{head[:-2]},\n "operators": {{\n' + ",\n".join(operators) + "\n }\n}\n"


def load(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return all records of sweeps, by version and product.

    Raises:
        EvidenceError: one is malformed or was edited.
    """
    found = []
    for path in folder.glob("*/*.json"):
        made = evidence.load_checked(path, evidence.FOLDER, SCHEMA)
        if made["digest"] != evidence.digest(made):
            raise evidence.refusal(
                path, "digest", "does not fit the content: only a run may write it"
            )
        for cell in cells(made):
            if cell.status != next(iter(cell.counts)):
                words = f"{cell.status!r} is not the worst of its counts"
                raise evidence.refusal(path, f"operators.{cell.operator}", words)
        if path.stem != evidence.file_name(made) or path.parent.name != made["kind"]:
            raise evidence.refusal(path, "where", f"belongs into {evidence.file_name(made)}.json")
        found.append(made)
    return sorted(found, key=_place)


def _place(made: dict[str, Any]) -> tuple[tuple[int, ...], int]:
    release = evidence.release(made["where"]["torch_npu"])
    return tuple(map(int, release.split("."))), evidence.PRODUCTS.index(made["where"]["product"])


def cells(made: dict[str, Any]) -> Iterator[Cell]:
    """Yield the cells of a record."""
    for name, entry in made["operators"].items():
        for cell in entry["cells"]:
            yield Cell(
                operator=name,
                family=entry["family"],
                told=cell.get("told", []),
                fallback=cell.get("fallback", []),
                random=cell.get("random", False),
                **{key: cell[key] for key in ("form", "dtype", "status", "counts")},
            )


def counts(made: dict[str, Any], form: str = "", dtype: str = "") -> dict[str, int]:
    """Return how many cells have each status, in the order of the statuses; all forms and dtypes, or one."""
    found = Counter(
        cell.status
        for cell in cells(made)
        if (not form or cell.form in (form, "all")) and (not dtype or cell.dtype == dtype)
    )
    return {status: found[status] for status in STATUSES if found[status]}


def table(made: dict[str, Any]) -> str:
    """Return the counts by dtype and form, as text."""
    rows = [f"{'':34}{'cells':>7}  status: cells"]
    for dtype in DTYPES:
        for form in FORMS:
            if found := counts(made, form, dtype):
                words = ", ".join(f"{status}: {number}" for status, number in found.items())
                rows.append(f"{dtype:10} {form:22} {sum(found.values()):7}  {words}")
    return "\n".join(rows)
