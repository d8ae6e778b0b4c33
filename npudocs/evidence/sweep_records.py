"""The records of sweeps: what became of each operator in each form and dtype.

In a file equal cells of an operator are one row, and each text stands once. ``load`` gives the whole
again, a cell for each form and dtype.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from npudocs.evidence import files, writing
from npudocs.evidence.files import FOLDER
from npudocs.evidence.model import PRODUCTS, numbers, release

SCHEMA = "sweep.schema.json"
_WORDS = files.read(FOLDER / SCHEMA)["$defs"]
DTYPES: tuple[str, ...] = tuple(_WORDS["dtype"]["enum"])
# How an operator can be called, and what can become of it, the worst first; each with its words.
FORMS, STATUSES = (
    {one["const"]: one["description"] for one in _WORDS[name]["oneOf"]}
    for name in ("form", "status")
)
# A tensor of zeros without memory: it goes through the host's kernel, which computes nothing.
NOT_COMPUTED = {"aten::_efficientzerotensor"}
# The order of the cells; a unit that died has one for all forms.
_FORMS = (*FORMS, "all")


class SweepCell(NamedTuple):
    """What became of one operator in one form and dtype."""

    operator: str
    family: str
    form: str
    dtype: str
    status: str
    counts: dict[str, int]
    told: list[dict[str, Any]]
    fallback: list[str]
    random: bool


def load(folder: Path = FOLDER, repaired: bool = False) -> list[dict[str, Any]]:
    """All records of sweeps, by version and product; raises EvidenceError where one was edited.

    With `repaired` those made with npu_forward_ad's repair, which have a folder of their own.
    """
    found = [_unpacked(files.signed(path)) for path in files.paths(folder, _room(repaired))]
    return sorted(found, key=_order)


def _room(repaired: bool) -> str:
    return "repaired" if repaired else "sweeps"


def _order(made: dict[str, Any]) -> tuple[tuple[int, ...], int]:
    where = made["where"]
    return numbers(release(where["torch_npu"])), PRODUCTS.index(where["product"])


def check(path: Path) -> None:
    """Raise EvidenceError where a file is malformed, was edited or has the name of another."""
    files.check_place(files.load_checked(path, SCHEMA), path)
    files.signed(path)


def write(made: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Write a record with its digest, or nothing where the schema forbids it; return its file."""
    stored = _packed(made)
    stored["digest"] = files.digest(stored)
    path = folder / _room("repaired" in made) / made["kind"] / f"{files.file_name(made)}.json"
    files.check_schema(stored, path, SCHEMA)
    writing.replace(path, writing.lines(stored))
    return path


def _packed(made: dict[str, Any]) -> dict[str, Any]:
    texts: dict[str, int] = defaultdict(lambda: len(texts))
    operators = {}
    for name, entry in made["operators"].items():
        # What cells have in common, as JSON, and the forms of each dtype that have it.
        rows: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for cell in entry["cells"]:
            row = {key: cell[key] for key in ("counts", "random", "fallback") if key in cell}
            if "told" in cell:
                row["told"] = [
                    [one["sample"], one["status"], texts[one["message"]], texts[one["call"]]]
                    for one in cell["told"]
                ]
            rows[json.dumps(row)][cell["dtype"]].append(cell["form"])
        cells = [{"forms": forms, **json.loads(row)} for row, forms in rows.items()]
        operators[name] = {**entry, "cells": cells}
    return {**made, "texts": [*texts], "operators": operators}


def _unpacked(stored: dict[str, Any]) -> dict[str, Any]:
    texts = stored.pop("texts")
    for entry in stored["operators"].values():
        cells = []
        for row in entry["cells"]:
            places = row.pop("forms")
            row = {"status": min(row["counts"], key=[*STATUSES].index), **row}
            if "told" in row:
                row["told"] = [_told(texts, *one) for one in row["told"]]
            cells += [
                {"dtype": dtype, "form": form, **row}
                for dtype, forms in places.items()
                for form in forms
            ]
        cells.sort(key=lambda cell: (DTYPES.index(cell["dtype"]), _FORMS.index(cell["form"])))
        entry["cells"] = cells
    return stored


def _told(
    texts: list[str], sample: int, status: str, message: int, call: int, *ticks: str
) -> dict[str, Any]:
    said = texts[message]
    # Records of earlier sweeps have the clock's milliseconds, which made one message many.
    for tick in ticks:
        said = said.replace("<time>.#", f"<time>.{tick}", 1)
    return {"sample": sample, "status": status, "message": said, "call": texts[call]}


def cells(made: dict[str, Any]) -> Iterator[SweepCell]:
    """The cells of a record."""
    usual = {"told": [], "fallback": [], "random": False}
    for name, entry in made["operators"].items():
        for cell in entry["cells"]:
            yield SweepCell(operator=name, family=entry["family"], **{**usual, **cell})


def counts(made: dict[str, Any], form: str = "", dtype: str = "") -> dict[str, int]:
    """How many cells have each status, in the order of the statuses; all forms and dtypes, or one."""
    found = Counter(
        cell.status
        for cell in cells(made)
        if (not form or cell.form in (form, "all")) and (not dtype or cell.dtype == dtype)
    )
    return {status: found[status] for status in STATUSES if found[status]}
