"""The records of sweeps: what became of each operator in each form and dtype.

In a file equal cells of an operator are one row, and each text stands once. ``load`` gives the whole
again, a cell for each form and dtype, and the digest is that of the whole.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from npudocs.evidence import files
from npudocs.evidence.files import FOLDER
from npudocs.evidence.model import PRODUCTS, numbers, release
from npudocs.evidence.writing import lines

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
# A tensor of zeros without memory: it goes through the host's kernel, which computes nothing.
NOT_COMPUTED = {"aten::_efficientzerotensor"}
# A unit that died has one cell for all forms.
_PLACES = {name: number for number, name in enumerate((*FORMS, "all"))}
# CANN's milliseconds make one message many.
_TICK = re.compile(r"(?<=<time>\.)\d+")


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
    """All records of sweeps in the evidence, by version and product.

    Raises:
        EvidenceError: one is malformed or was edited.
    """
    found = []
    for path in sorted((folder / "sweeps").glob("*/*.json")):
        stored = files.load_checked(path, SCHEMA)
        try:
            made = unpacked(stored)
        except LookupError as error:
            raise files.refusal(
                path, "texts", f"a row names one that is not here: {error}"
            ) from None
        if made["digest"] != files.digest(made):
            words = "does not fit the content: only a run may write it"
            raise files.refusal(path, "digest", words)
        name = files.file_name(made)
        if path.stem != name or path.parent.name != made["kind"]:
            raise files.refusal(path, "where", f"belongs into {made['kind']}/{name}.json")
        found.append(made)
    return sorted(found, key=_place)


def _place(made: dict[str, Any]) -> tuple[tuple[int, ...], int]:
    where = made["where"]
    return numbers(release(where["torch_npu"])), PRODUCTS.index(where["product"])


def packed(made: dict[str, Any]) -> dict[str, Any]:
    """A record as its file has it."""
    texts: dict[str, int] = {}
    operators = {}
    for name, entry in made["operators"].items():
        equal: dict[str, dict[str, list[str]]] = {}
        for cell in entry["cells"]:
            row = json.dumps([cell["counts"], _packed_words(cell, texts)])
            equal.setdefault(row, {}).setdefault(cell["dtype"], []).append(cell["form"])
        rows = []
        for row, by_dtype in equal.items():
            dtypes: dict[str, list[str]] = {}
            for dtype, forms in by_dtype.items():
                dtypes.setdefault(", ".join(forms), []).append(dtype)
            for forms, listed in dtypes.items():
                rows.append([", ".join(listed), forms, *filter(None, json.loads(row))])
        operators[name] = {**entry, "cells": rows}
    return {**made, "texts": [*texts], "operators": operators}


def _packed_words(cell: dict[str, Any], texts: dict[str, int]) -> dict[str, Any]:
    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    words = {key: cell[key] for key in ("random",) if key in cell}
    if "fallback" in cell:
        words["fallback"] = [number(name) for name in cell["fallback"]]
    if "told" in cell:
        words["told"] = []
        for one in cell["told"]:
            ticks = _TICK.findall(one["message"])
            message = number(_TICK.sub("#", one["message"]))
            words["told"].append(
                [one["sample"], one["status"], message, number(one["call"]), *ticks]
            )
    return words


def unpacked(stored: dict[str, Any]) -> dict[str, Any]:
    """The record that a file has, with a cell for each form and dtype."""
    texts = stored["texts"]
    operators = {}
    for name, entry in stored["operators"].items():
        cells = []
        for dtypes, forms, counts, *more in entry["cells"]:
            status = min(counts, key=[*STATUSES].index)
            words = _unpacked_words(*more, texts=texts) if more else {}
            for dtype in dtypes.split(", "):
                for form in forms.split(", "):
                    about = {"dtype": dtype, "form": form, "status": status, "counts": counts}
                    cells.append({**about, **words})
        cells.sort(key=lambda cell: (DTYPES.index(cell["dtype"]), _PLACES[cell["form"]]))
        operators[name] = {**entry, "cells": cells}
    return {key: value for key, value in stored.items() if key != "texts"} | {
        "operators": operators
    }


def _unpacked_words(words: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    made = {key: words[key] for key in ("random",) if key in words}
    if "fallback" in words:
        made["fallback"] = [texts[number] for number in words["fallback"]]
    if "told" in words:
        made["told"] = []
        for sample, status, message, call, *ticks in words["told"]:
            left = iter(ticks)
            said = re.sub(r"(?<=<time>\.)#", lambda _, left=left: next(left, "#"), texts[message])
            one = {"sample": sample, "status": status, "message": said, "call": texts[call]}
            made["told"].append(one)
    return made


def text(made: dict[str, Any]) -> bytes:
    """A record as its file holds it: one line an operator, so that a change can be read."""
    stored = packed(made)
    parts = {name: stored[name] for name in ("texts", "operators")}
    return lines({key: value for key, value in stored.items() if key not in parts}, parts)


def cells(made: dict[str, Any]) -> Iterator[SweepCell]:
    """The cells of a record."""
    for name, entry in made["operators"].items():
        for cell in entry["cells"]:
            yield SweepCell(
                operator=name,
                family=entry["family"],
                told=cell.get("told", []),
                fallback=cell.get("fallback", []),
                random=cell.get("random", False),
                **{key: cell[key] for key in ("form", "dtype", "status", "counts")},
            )


def counts(made: dict[str, Any], form: str = "", dtype: str = "") -> dict[str, int]:
    """How many cells have each status, in the order of the statuses; all forms and dtypes, or one."""
    found = Counter(
        cell.status
        for cell in cells(made)
        if (not form or cell.form in (form, "all")) and (not dtype or cell.dtype == dtype)
    )
    return {status: found[status] for status in STATUSES if found[status]}
