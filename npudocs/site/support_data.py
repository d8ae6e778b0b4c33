"""The support tables as a file: ``data/support.json`` with its schema.

It says what the tables say, cell by cell: the records with their outcome, and the claims with their source.
A cell that is not in it is unknown. Addresses in it are relative to the site.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Claim, Evidence, Mark, Record
from npudocs.site import cells, languages, marks, parts
from npudocs.site.verifies import ITEMS

FOLDER, NAME = "data", "support.json"
SCHEMA = Path(__file__).with_name("support.schema.json")


def apis(app: Sphinx) -> dict[str, str]:
    """The APIs that have a support table on a page, and that page."""
    found = parts.pages(app.env, "support").items()
    return {used[0]: page for page, listed in found for used in listed}


def content(app: Sphinx) -> dict[str, Any]:
    """All that the tables say."""
    found = cells.of(app)
    homes = apis(app)
    dtypes = found.dtypes([*homes])
    return {
        "schema": 1,
        "versions": found.versions,
        "products": [*evidence.PRODUCTS],
        "records": [_record(app, record) for record in found.current],
        "apis": [
            {
                "api": api,
                "page": app.builder.get_target_uri(page),
                "cells": [
                    cell | {"dtype": dtype}
                    for dtype in dtypes
                    for cell in _cells(
                        found, lambda v, p, a=api, d=dtype: found.api_cell(a, v, p, d)
                    )
                ],
            }
            for api, page in homes.items()
        ],
        "items": [
            {
                "item": int(item),
                **words,
                "cells": _cells(found, lambda v, p, i=int(item): found.item_cell(i, v, p)),
            }
            for item, words in ITEMS.items()
        ],
    }


def _record(app: Sphinx, record: Record) -> dict[str, Any]:
    return {
        "name": record.name,
        "kind": record.kind,
        "page": app.builder.get_target_uri(f"{marks.RECORDS}/{record.name}"),
        "version": record.version,
        "started": record.started,
        "commit": record.commit,
        "where": record.where,
    }


def _cells(found: Evidence, ask: Any) -> list[dict[str, Any]]:
    """The cells of one row of questions; those that are unknown are left out."""
    made = []
    for version in found.versions:
        for product in evidence.PRODUCTS:
            drawn, said = ask(version, product)
            if drawn or said:
                place = {"version": version, "product": product}
                made.append(place | {"records": _marks(drawn), "claims": _claims(said)})
    return made


def _marks(drawn: Iterable[Mark]) -> list[dict[str, Any]]:
    return [
        {
            "record": mark.record.name,
            "kind": mark.record.kind,
            "outcome": mark.verdict,
            "counts": mark.counts,
            "stale": mark.stale,
        }
        for mark in drawn
    ]


def _claims(said: Iterable[Claim]) -> list[dict[str, str]]:
    return [
        {"says": claim.says, "words": claim.words, "source": claim.source["title"]}
        for claim in said
    ]


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
