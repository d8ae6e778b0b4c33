"""The data of the operator pages as files: ``data/operators.json`` with its schema, ``.csv``, and ``.js``.

The ``.js`` file has what the table shows in another version, product or dtype. It is a script, since a page
that is opened from a folder may not read JSON.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs.evidence.sweep_records import FORMS, STATUSES
from npudocs.site import languages
from npudocs.site.operators import data
from npudocs.site.operators.data import Sweeps

VIEWS = "operators.js"
COLUMNS = (
    "operator", "family", "form", "dtype", "torch_npu", "product", "kind",
    "status", "samples", "fallback", "message", "call",
)  # fmt: skip
# A status as one character; a dot where there is none.
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def content(sweeps: Sweeps) -> dict[str, Any]:
    """All that the pages show; cells that several records share stand there once."""
    names = ("kind", "where", "commit", "started", "dtypes", "limits", "tolerances", "digest")
    return {
        "schema": 1,
        "statuses": STATUSES,
        "forms": FORMS,
        "records": [{name: sweep.made[name] for name in names} for sweep in sweeps.all],
        "operators": [_operator(sweeps, *one) for one in sweeps.families.items()],
    }


def _operator(sweeps: Sweeps, name: str, family: str) -> dict[str, Any]:
    cells: dict[str, dict[str, Any]] = {}
    faults: dict[str, dict[str, Any]] = {}
    for number, sweep in enumerate(sweeps.all):
        entry = sweep.made["operators"].get(name, {})
        for into, listed in ((cells, entry.get("cells", [])), (faults, [entry.get("cpu")])):
            for one in filter(None, listed):
                into.setdefault(json.dumps(one), {"records": [], **one})["records"].append(number)
    made = {"name": name, "family": family, "page": f"{sweeps.page(name)}.html#{name}"}
    return {**made, "cells": [*cells.values()], "cpu": [*faults.values()]}


def rows(sweeps: Sweeps) -> Iterator[tuple[Any, ...]]:
    """The lines of the CSV file."""
    for sweep in sweeps.all:
        for cell in sweep.cells.values():
            told = cell.told[0] if cell.told else {"message": "", "call": ""}
            yield (
                cell.operator, cell.family, cell.form, cell.dtype,
                sweep.made["where"]["torch_npu"], sweep.product, sweep.kind,
                cell.status, sum(cell.counts.values()), " ".join(cell.fallback),
                told["message"], told["call"],
            )  # fmt: skip


def views(sweeps: Sweeps) -> dict[str, Any]:
    """For each record, dtype and form, a text with a character for each operator: its status."""
    digit = {status: DIGITS[number] for number, status in enumerate(STATUSES)} | {"": "."}
    return {
        "operators": [*sweeps.families],
        "sweeps": [
            {
                **{name: getattr(sweep, name) for name in ("kind", "version", "product")},
                "cells": {
                    dtype: [
                        "".join(digit[sweep.status(n, form, dtype)] for n in sweeps.families)
                        for form in FORMS
                    ]
                    for dtype in sweep.dtypes
                },
            }
            for sweep in sweeps.all
        ],
    }


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.outdir) / "data"
    for ending in ("json", "js", "csv"):
        (folder / f"operators.{ending}").unlink(missing_ok=True)
    sweeps = data.of(app)
    if not sweeps.all:
        return
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content(sweeps), ensure_ascii=False, separators=(",", ":"))
    (folder / "operators.json").write_text(text, encoding="utf-8")
    text = json.dumps(views(sweeps), separators=(",", ":"))
    (folder / VIEWS).write_text(f"window.npudocsOperators = {text};\n", encoding="utf-8")
    with (folder / "operators.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows(sweeps))


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _write)
