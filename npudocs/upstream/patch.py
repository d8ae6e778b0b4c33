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
from npudocs.upstream import house, page
from npudocs.upstream.page import Published, PublishedPage
from npudocs.upstream.rule import APIS, Api, Support, decide

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
    for version, path in page.find(checkout, FILE):
        text = page.load(checkout, path)
        parsed = page.read(path, version, text)
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
            decision = decide(api, parsed.version, product, cell, records, said)
            found[api.name, product] = decision
    return found


def _said(parsed: PublishedPage) -> Iterator[Claim]:
    """Yield the claims of the page at hand: it may have moved on since the recorded ones were read."""
    source = {"title": f"page of {parsed.version}", "kind": "published page", "where": parsed.path}
    for api in APIS:
        published = parsed.entries.get(api.name)
        for product, cell in (published.cells if published else {}).items():
            says = "supported" if cell.supported else "not supported"
            dtypes = (cell.dtypes or ()) if cell.supported else ()
            words = house.row(product, cell.supported)
            yield Claim(api.full, parsed.version, product, says, dtypes, (), words, source)


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
        published = parsed.entries.get(api.name)
        if published:
            changed = _corrected(api, published, cells)
        else:
            before = [parsed.entries[a.name] for a in APIS[:place] if a.name in parsed.entries]
            index = (before[-1].last if before else parsed.section) + 1
            added = ["", *house.entry(api, page.release(parsed.version), cells)]
            changed = [(index, index, added)]
        for start, stop, new in changed:
            lines[start:stop] = [line + end for line in new]
    return "\n".join(lines).removesuffix(end)


def _corrected(
    api: Api, published: Published, cells: dict[str, Support]
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the lines of an entry to replace, the last first, and what by."""
    wanted = house.limits(api, cells)
    # After the table, where there is no limit yet.
    start, stop = published.limit or (max(published.rows.values()) + 1,) * 2
    if wanted and house.read_limits(wanted) != published.limits:
        yield start, stop, wanted if published.limit else ["", *wanted]
    for product, index in published.rows.items():
        if cells[product].supported != published.cells[product].supported:
            yield index, index + 1, [house.row(product, cells[product].supported)]


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
