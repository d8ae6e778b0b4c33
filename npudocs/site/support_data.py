"""The support tables as a file: ``data/support.json`` with its schema.

It says what the tables say, cell by cell: the records with their outcome, and the claims with their source.
A cell that is not in it is unknown. Addresses in it are relative to the site.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Claim, Evidence, Mark, Record
from npudocs.site import cells, languages, marks, support
from npudocs.site.verifies import ITEMS

FOLDER, NAME = "data", "support.json"
SCHEMA = Path(__file__).with_name("support.schema.json")


def content(app: Sphinx) -> dict[str, Any]:
    """All that the tables say."""
    found, homes = cells.of(app), support.homes(app.env)
    checks = app.builder.get_target_uri(marks.CHECKS)
    apis = []
    for api, page in homes.items():
        drawn = [
            cell | {"dtype": dtype}
            for dtype in found.dtypes([*homes])
            for cell in _cells(found, lambda v, p, a=api, d=dtype: found.api_cell(a, v, p, d))
        ]
        apis.append({"api": api, "page": app.builder.get_target_uri(page), "cells": drawn})
    items = [
        {"item": int(item), **words}
        | {"cells": _cells(found, lambda v, p, i=int(item): found.item_cell(i, v, p))}
        for item, words in ITEMS.items()
    ]
    return {
        "schema": 1,
        "versions": found.versions,
        "products": [*evidence.PRODUCTS],
        "records": [_record(record, checks) for record in found.current],
        "apis": apis,
        "items": items,
    }


def _record(record: Record, checks: str) -> dict[str, Any]:
    fields = ("name", "kind", "version", "started", "commit", "where")
    page = f"{checks}#{cells.slug('record', record.name)}"
    return {name: getattr(record, name) for name in fields} | {"page": page}


def _cells(found: Evidence, ask: support.Ask) -> list[dict[str, Any]]:
    """The cells of one row of questions; those that are unknown are left out."""
    made = []
    for version in found.versions:
        for product in evidence.PRODUCTS:
            drawn, said = ask(version, product)
            if drawn or said:
                place = {"version": version, "product": product}
                says = {"records": [*map(_mark, drawn)], "claims": [*map(_claim, said)]}
                made.append(place | says)
    return made


def _mark(mark: Mark) -> dict[str, Any]:
    record = {"record": mark.record.name, "kind": mark.record.kind}
    return record | {"outcome": mark.verdict, "counts": mark.counts, "stale": mark.stale}


def _claim(claim: Claim) -> dict[str, str]:
    return {"says": claim.says, "words": claim.words, "source": claim.source["title"]}


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content(app), ensure_ascii=False, separators=(",", ":"))
    (folder / NAME).write_text(f"{text}\n", encoding="utf-8")
    shutil.copyfile(SCHEMA, folder / SCHEMA.name)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
