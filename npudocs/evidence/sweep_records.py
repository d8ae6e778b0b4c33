"""The records of sweeps: what became of each operator in each form and dtype.

In a file equal cells of an operator are one row, and each text stands once. ``load`` gives the whole
again, a cell for each form and dtype.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from npudocs.evidence import files, writing
from npudocs.evidence.files import FOLDER
from npudocs.evidence.model import PRODUCTS, numbers, release

SCHEMA = "sweep.schema.json"
DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64")

# How an operator can be called; each needs what torch's database says about the variant.
FORMS = {
    "dual": "out of place, on dual tensors",
    "inplace": "in place, on a dual tensor",
    "out": "with out=, on dual tensors",
    "func.jvp": "by torch.func.jvp",
    "forward over reverse": "the gradient, on dual tensors",
    "batched": "by torch.func.vmap over torch.func.jvp",
}

# The worst first: an operator has the worst status of its samples.
STATUSES = {
    "crashed": "the process died",
    "timeout": "no answer within the time limit",
    "no kernel": "the software NPU has no kernel for an operator that is called",
    "tangent lost": "the CPU has a tangent, the NPU has none, and no error is raised",
    "wrong": "value or tangent differ from the CPU's beyond the tolerance",
    "no error": "the CPU raises an error, the NPU does not",
    "cpu wrong": "the NPU equals the CPU's dual numbers, the CPU's result in this form does not",
    "error": "the NPU raises an error, the CPU does not",
    "cpu fallback": "equal, but torch_npu computes an operator on the host",
    "same": "value and tangent equal the CPU's",
    "both refuse": "the CPU and the NPU both raise an error",
}
_TICK = re.compile(r"<time>\.(\d+)")
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


def load(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """All records of sweeps, by version and product; raises EvidenceError where one was edited."""
    found = [_unpacked(files.signed(path)) for path in files.paths(folder, "sweeps")]
    return sorted(found, key=_order)


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
    path = folder / "sweeps" / made["kind"] / f"{files.file_name(made)}.json"
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
                row["told"] = [_packed_words(one, texts) for one in cell["told"]]
            rows[json.dumps(row)][cell["dtype"]].append(cell["form"])
        cells = [{"forms": forms, **json.loads(row)} for row, forms in rows.items()]
        operators[name] = {**entry, "cells": cells}
    return {**made, "texts": [*texts], "operators": operators}


def _packed_words(one: dict[str, Any], texts: dict[str, int]) -> list[Any]:
    # The clock's milliseconds would make one message many.
    message, ticks = _TICK.sub("<time>.#", one["message"]), _TICK.findall(one["message"])
    return [one["sample"], one["status"], texts[message], texts[one["call"]], *ticks]


def _unpacked_words(
    sample: int, status: str, message: int, call: int, *ticks: str, texts: list[str]
) -> dict[str, Any]:
    said = texts[message]
    for tick in ticks:
        said = said.replace("<time>.#", f"<time>.{tick}", 1)
    return {"sample": sample, "status": status, "message": said, "call": texts[call]}


def _unpacked(stored: dict[str, Any]) -> dict[str, Any]:
    texts = stored.pop("texts")
    for entry in stored["operators"].values():
        cells = []
        for row in entry["cells"]:
            places = row.pop("forms")
            row = {"status": min(row["counts"], key=[*STATUSES].index), **row}
            if "told" in row:
                row["told"] = [_unpacked_words(*one, texts=texts) for one in row["told"]]
            cells += [
                {"dtype": dtype, "form": form, **row}
                for dtype, forms in places.items()
                for form in forms
            ]
        cells.sort(key=lambda cell: (DTYPES.index(cell["dtype"]), _FORMS.index(cell["form"])))
        entry["cells"] = cells
    return stored


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
