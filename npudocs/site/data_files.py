"""What programs read, in the folder ``data``: ``support.json``, and ``operators.json``, ``.csv`` and ``.js``.

The ``.js`` file has what the table of operators shows in another version, product or dtype. It is a script, since a
page that is opened from a folder may not read JSON.
"""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs.evidence.sweep_records import FORMS, STATUSES
from npudocs.site import languages, support
from npudocs.site.operators import data
from npudocs.site.operators.data import Sweeps

FILES = ("support.json", "operators.json", "operators.csv", "operators.js")
COLUMNS = (
    "operator", "family", "form", "dtype", "torch_npu", "product", "kind",
    "status", "samples", "fallback", "message", "call",
)  # fmt: skip
# A status as one character; a dot where there is none.
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def content(sweeps: Sweeps) -> dict[str, Any]:
    """All that the pages of operators show; cells that several records share stand there once."""
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
                **{
                    name: getattr(sweep, name)
                    for name in ("kind", "version", "product", "repaired")
                },
                "cells": {
                    dtype: [
                        "".join(digit[sweep.status(n, form, dtype)] for n in sweeps.families)
                        for form in FORMS
                    ]
                    for dtype in sweep.dtypes
                },
            }
            for sweep in (*sweeps.all, *sweeps.repaired)
        ],
    }


def texts(app: Sphinx) -> Iterator[str]:
    """The content of each of `FILES`; those of operators are not there where nothing was swept."""
    dump = functools.partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    yield f"{dump(support.content(app))}\n"
    sweeps = data.of(app)
    if sweeps.all:
        yield dump(content(sweeps))
        table = io.StringIO()
        csv.writer(table).writerows([COLUMNS, *rows(sweeps)])
        yield table.getvalue()
        yield f"window.npudocsOperators = {dump(views(sweeps))};\n"


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.outdir) / "data"
    folder.mkdir(parents=True, exist_ok=True)
    made = dict(zip(FILES, texts(app), strict=False))
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
        if name in made:
            (folder / name).write_text(made[name], encoding="utf-8", newline="")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _write)
