"""``patch``: the missing and the corrected entries, as a patch.

All pages are read first, so that a page of another form leaves nothing half done.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from npudocs.evidence import Claim, Record
from npudocs.upstream import house
from npudocs.upstream.house import PublishedPage
from npudocs.upstream.rule import APIS, BY_NAME, Support, decide

FILE = "torch-autograd.md"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclasses.dataclass(frozen=True)
class PageChange:
    """One page: its text before and after, and the decisions that made the difference."""

    path: str
    version: str
    before: str
    after: str
    decisions: dict[tuple[str, str], Support]


def plan(checkout: Path, records: Sequence[Record], claims: Sequence[Claim]) -> list[PageChange]:
    """Return what becomes of each page of the checkout.

    Raises:
        PageError: a page has not the house format.
    """
    changes = []
    for version, path in house.find(checkout, FILE):
        text = house.load(checkout, path)
        parsed = house.read(path, version, text)
        decisions = _decisions(parsed, records, claims)
        changes.append(PageChange(path, version, text, _rewrite(parsed, decisions), decisions))
    return changes


def _decisions(
    parsed: PublishedPage, records: Sequence[Record], claims: Sequence[Claim]
) -> dict[tuple[str, str], Support]:
    known = {_key(claim) for claim in claims if claim.source["kind"] == "published page"}
    said = [*claims, *(claim for claim in _said(parsed) if _key(claim) not in known)]
    found = {}
    for api in APIS:
        published = parsed.entries.get(api.name)
        for product in house.TERMS:
            cell = published.cells[product] if published else None
            found[api.name, product] = decide(api, parsed.version, product, cell, records, said)
    return found


def _said(parsed: PublishedPage) -> Iterator[Claim]:
    """Yield the claims of the page at hand: it may have moved on since the recorded ones were read."""
    source = {"title": f"page of {parsed.version}", "kind": "published page", "where": parsed.path}
    for name, published in parsed.entries.items():
        for product, cell in published.cells.items():
            says = "supported" if cell.supported else "not supported"
            dtypes = (cell.dtypes or ()) if cell.supported else ()
            words, api = house.row(product, cell.supported), BY_NAME[name].full
            yield Claim(api, parsed.version, product, says, dtypes, (), words, source)


def _key(claim: Claim) -> tuple[str, str, str, str, frozenset[str]]:
    return claim.api, claim.version, claim.product, claim.says, frozenset(claim.dtypes)


def _rewrite(parsed: PublishedPage, decisions: dict[tuple[str, str], Support]) -> str:
    lines = list(parsed.lines)
    end = "\r" if lines[parsed.section].endswith("\r") else ""
    # As if the last line had an end, too; it is taken away again.
    lines[-1] += end
    # From the end, so that the places of what stands before do not move.
    for place in reversed(range(len(APIS))):
        api = APIS[place]
        cells = {product: decisions[api.name, product] for product in house.TERMS}
        for where, new in _changes(parsed, place, cells):
            lines[where] = [line + end for line in new]
    return "\n".join(lines).removesuffix(end)


def _changes(
    parsed: PublishedPage, place: int, cells: dict[str, Support]
) -> Iterator[tuple[slice, list[str]]]:
    """Yield the lines to replace for an API of `APIS`, the last first, and what by."""
    api = APIS[place]
    published = parsed.entries.get(api.name)
    if not published:
        before = [parsed.entries[a.name] for a in APIS[:place] if a.name in parsed.entries]
        index = (before[-1].last if before else parsed.section) + 1
        yield slice(index, index), ["", *house.entry(api, house.release(parsed.version), cells)]
        return
    wanted = house.limits(api, cells)
    if wanted and house.read_limits(wanted) != published.limits:
        yield published.limit, wanted if published.limits else ["", *wanted]
    yield published.table, house.rows(cells)


def diff(changes: Sequence[PageChange]) -> str:
    """Return the changes as a patch that ``git apply`` takes; empty where there is none."""
    parts = []
    for change in changes:
        parts.append(f"diff --git a/{change.path} b/{change.path}\n")
        before, after = map(_LINE.findall, (change.before, change.after))
        names = (f"a/{change.path}", f"b/{change.path}")
        for line in difflib.unified_diff(before, after, *names):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def explain(changes: Sequence[PageChange]) -> list[tuple[str, str, str, str, str]]:
    """Return version, API, product, mark (with dtypes) and why, one row a cell."""
    rows = []
    for change in changes:
        for (name, product), decision in change.decisions.items():
            dtypes = " ".join(house.SHORT.get(d, d) for d in decision.dtypes or ())
            mark = f"{house.MARKS[decision.supported]} {dtypes}".rstrip()
            rows.append((change.version, name, product, mark, decision.why))
    return rows
