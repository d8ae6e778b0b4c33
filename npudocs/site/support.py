"""``{support API}``, ``{support-overview}``, ``{support-items}``, ``{support-legend}``: the support tables.

What they show comes from the records and the claims alone. A row is a version and a product, a column a
dtype; "any" has the checks that are not about one, and the claims that name none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs import evidence
from npudocs.evidence import Claim, Evidence, Mark, short
from npudocs.execute import problems
from npudocs.site import claims, parts
from npudocs.site.cells import slug
from npudocs.site.parts import Page
from npudocs.site.verifies import ITEMS, resolve
from npudocs.site.words import say

Ask = Callable[[str, str], tuple[list[Mark], list[Claim]]]  # of a version and a product


def homes(env: BuildEnvironment) -> dict[str, str]:
    """The APIs that have a support table, and the page of each."""
    found = parts.pages(env, "support").items()
    return {used[0]: page for page, listed in found for used in listed}


def support(page: Page, api: str) -> dict[str, Any]:
    """The table of one API, and what others say of it in their words."""
    found = page.evidence
    dtypes = found.dtypes([api])
    said = [claim for claim in found.claims if claim.api == api]
    rows = _rows(found, _by_dtype(found, api, dtypes))
    return {"heads": _heads(dtypes), "rows": rows, "quotes": claims.quotes(said)}


def overview(page: Page) -> dict[str, Any]:
    """The table of all APIs that have a support table on a page of their own."""
    found, listed = page.evidence, homes(page.app.env)
    dtypes = found.dtypes([*listed])
    rows: list[dict[str, Any]] = []
    for api, home in listed.items():
        anchor = slug("support", short(api))
        rows.append({"api": api, "address": page.url(home), "anchor": anchor})
        rows += _rows(found, _by_dtype(found, api, dtypes))
    return {"heads": _heads(dtypes), "rows": rows}


def items(page: Page) -> dict[str, Any]:
    """The eight test items by version and product."""
    found = page.evidence
    columns: dict[str, Ask] = {
        f"item-{item}": lambda v, p, i=int(item): found.item_cell(i, v, p) for item in ITEMS
    }
    names = [f"{number} {say(item['name'])}" for number, item in ITEMS.items()]
    return {"heads": names, "rows": [*_rows(found, columns)]}


def _heads(dtypes: list[str]) -> list[str]:
    return [dtype or say("any") for dtype in dtypes]


def _by_dtype(found: Evidence, api: str, dtypes: list[str]) -> dict[str, Ask]:
    """The columns of an API: the anchor of each, and what is asked."""
    return {
        slug("cell", short(api), dtype or "any"): (
            lambda v, p, d=dtype: found.api_cell(api, v, p, d)
        )
        for dtype in dtypes
    }


def _rows(found: Evidence, columns: dict[str, Ask]) -> Iterator[dict[str, Any]]:
    """A row for each version and product; the first of a version has a line above it."""
    for version in found.versions:
        for product in evidence.PRODUCTS:
            cells = []
            for anchor, ask in columns.items():
                made, said = ask(version, product)
                cells.append({"marks": made, "claims": said, "anchor": anchor})
            first = product == evidence.PRODUCTS[0]
            yield {"version": version, "product": product, "first": first, "cells": cells}


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    for page, listed in parts.pages(env, "support").items():
        for used in listed:
            try:
                resolve(used[0])
            except LookupError as error:
                problems.report(app, f"support: {error}", location=page)
    return []


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("env-updated", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
