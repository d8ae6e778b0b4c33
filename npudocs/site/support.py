"""The support tables and ``data/support.json``; and what others say, in their words, and where they disagree.

What they show comes from the records and the claims alone. A row is a version and a product, a column a
dtype; "any" has the checks that are not about one, and the claims that name none. The file says the same cell by
cell; a cell that is not in it is unknown, and addresses in it are relative to the site.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs import evidence
from npudocs.evidence import ITEMS, Claim, Contradiction, Evidence, Mark, short
from npudocs.site import cells, parts, signatures
from npudocs.site.parts import Page
from npudocs.site.words import say

# Of a version and a product.
Ask = Callable[[str, str], tuple[list[Mark], list[Claim]]]
# What one side of a contradiction says, and who it is, or whose claim.
Side = tuple[str, str | Claim]


def homes(env: BuildEnvironment) -> dict[str, str]:
    """The APIs that have a support table, and the page of each."""
    found = parts.pages(env, "support").items()
    return {used[0]: page for page, listed in found for used in listed}


def support(page: Page, api: str) -> dict[str, Any]:
    """The table of one API, and what others say of it in their words."""
    found = page.evidence
    dtypes = found.dtypes([api])
    said = [claim for claim in found.claims if claim.api == api]
    rows = [*_rows(found, _by_dtype(found, api, dtypes))]
    return {"heads": _heads(dtypes), "rows": rows, "quotes": quotes(said)}


def overview(page: Page) -> dict[str, Any]:
    """The table of all APIs that have a support table on a page of their own."""
    found, listed = page.evidence, homes(page.app.env)
    dtypes = found.dtypes([*listed])
    rows: list[dict[str, Any]] = []
    for api, home in listed.items():
        anchor = cells.slug("support", short(api))
        rows.append({"api": api, "address": page.url(home), "anchor": anchor})
        rows += _rows(found, _by_dtype(found, api, dtypes))
    return {"heads": _heads(dtypes), "rows": rows}


def items(page: Page) -> dict[str, Any]:
    """The eight test items by version and product."""
    names = [f"{number} {say(item['name'])}" for number, item in ITEMS.items()]
    return {"heads": names, "rows": [*_rows(page.evidence, _by_item(page.evidence))]}


def _heads(dtypes: list[str]) -> list[str]:
    return [dtype or say("any") for dtype in dtypes]


def _by_dtype(found: Evidence, api: str, dtypes: list[str]) -> dict[str, Ask]:
    """The columns of an API: the anchor of each, and what is asked."""
    return {
        cells.slug("cell", short(api), dtype or "any"): (
            lambda v, p, d=dtype: found.api_cell(api, v, p, d)
        )
        for dtype in dtypes
    }


def _by_item(found: Evidence) -> dict[str, Ask]:
    """The columns of the test items."""
    return {f"item-{item}": lambda v, p, i=int(item): found.item_cell(i, v, p) for item in ITEMS}


def _rows(found: Evidence, columns: Mapping[str, Ask]) -> Iterator[dict[str, Any]]:
    """A row for each version and product; the first of a version has a line above it."""
    for version in found.versions:
        for product in evidence.PRODUCTS:
            made = []
            for anchor, ask in columns.items():
                drawn, said = ask(version, product)
                made.append({"marks": drawn, "claims": said, "anchor": anchor})
            first = product == evidence.PRODUCTS[0]
            yield {"version": version, "product": product, "first": first, "cells": made}


def sources(page: Page) -> dict[str, Any]:
    """The sources, and everything that they say."""
    found = page.evidence.claims
    listed = {claim.source["title"]: claim.source for claim in found}
    numbers = [claim.source["title"] for claim in found]
    named = [{**source, "number": numbers.count(title)} for title, source in listed.items()]
    return {"sources": named, "quotes": quotes(found)}


def quotes(claims: list[Claim]) -> list[dict[str, Any]]:
    """Claims in the words of their source; the same words of several versions are one group."""
    groups: dict[tuple[str, ...], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.api, claim.says, claim.words), []).append(claim)
    return [{"claims": group, "where": _where(group)} for group in groups.values()]


def contradicting(page: Page) -> dict[str, Any]:
    """Contradictions; the same disagreement in several versions is one group."""
    groups: dict[tuple[str, ...], list[tuple[Claim, list[Side]]]] = {}
    parameters = functools.partial(signatures.parameters, page.app.env)
    for found in evidence.contradictions(page.evidence, parameters):
        sides = _sides(found)
        key = (found.claim.api, found.about, *(words for words, _ in sides))
        groups.setdefault(key, []).append((found.claim, sides))
    drawn = []
    for (api, about, *_), group in groups.items():
        claims, sides = zip(*group, strict=True)
        drawn.append((api, about, _where(claims), zip(*sides, strict=True)))
    return {"groups": drawn}


def _where(claims: Iterable[Claim]) -> str:
    return cells.spread((claim.version, claim.product) for claim in claims)


def _sides(found: Contradiction) -> list[Side]:
    other = found.other
    if isinstance(other, Claim):
        return [_side(found.claim), _side(other)]
    if isinstance(other, Mark):
        words = f"{found.name or say('any dtype')}: {cells.counts_words(other)}"
        return [_side(found.claim), (words, say("record {name}").format(name=other.record.name))]
    limit = say("limits `{name}`").format(name=found.name)
    names = ", ".join(f"`{name}`" for name in other)
    words = say("the parameters are {names}").format(names=names)
    return [(limit, found.claim), (words, say("the signature in the installed torch"))]


def _side(claim: Claim) -> Side:
    named = f" ({', '.join(claim.dtypes)})" if claim.dtypes else ""
    return f"{cells.SAYS[claim.says]}{named}: {claim.words}", claim


def content(app: Sphinx) -> dict[str, Any]:
    """All that the tables say, as ``data/support.json`` has it."""
    found, listed = cells.of(app), homes(app.env)
    dtypes = found.dtypes([*listed])
    address = app.builder.get_target_uri
    fields = ("name", "kind", "version", "started", "commit", "where")
    return {
        "schema": 1,
        "versions": found.versions,
        "products": [*evidence.PRODUCTS],
        "records": [
            {name: getattr(record, name) for name in fields}
            | {"page": f"{address(cells.CHECKS)}#{cells.slug('record', record.name)}"}
            for record in found.current
        ],
        "apis": [
            {
                "api": api,
                "page": address(page),
                "cells": [
                    cell | {"dtype": dtype}
                    for dtype, ask in zip(
                        dtypes, _by_dtype(found, api, dtypes).values(), strict=True
                    )
                    for cell in _known(found, ask)
                ],
            }
            for api, page in listed.items()
        ],
        "items": [
            {"item": int(item), **ITEMS[item], "cells": [*_known(found, ask)]}
            for item, ask in zip(ITEMS, _by_item(found).values(), strict=True)
        ],
    }


def _known(found: Evidence, ask: Ask) -> Iterator[dict[str, Any]]:
    """The cells of a column, without those that are unknown."""
    for version, product in itertools.product(found.versions, evidence.PRODUCTS):
        marks, claims = ask(version, product)
        records = [
            {
                "record": mark.record.name,
                "kind": mark.record.kind,
                "outcome": mark.verdict,
                "counts": mark.counts,
                "stale": mark.stale,
            }
            for mark in marks
        ]
        said = [
            {"says": claim.says, "words": claim.words, "source": claim.source["title"]}
            for claim in claims
        ]
        if records or said:
            yield {"version": version, "product": product, "records": records, "claims": said}
