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
from npudocs.upstream.apis import APIS, Api
from npudocs.upstream.page import Published, PublishedPage
from npudocs.upstream.rule import Decision, decide

FILE = "torch-autograd.md"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclasses.dataclass(frozen=True)
class PageChange:
    """One page: its text before and after, and the decisions that made the difference."""

    path: str
    version: str
    before: str
    after: str
    decisions: dict[tuple[str, str], Decision]


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
) -> dict[tuple[str, str], Decision]:
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


def _rewrite(parsed: PublishedPage, decisions: dict[tuple[str, str], Decision]) -> str:
    lines = list(parsed.lines)
    # From the end, so that the places of what stands before do not move.
    for place in reversed(range(len(APIS))):
        api = APIS[place]
        cells = {product: decisions[api.name, product] for product in house.TERMS}
        published = parsed.entries.get(api.name)
        if published:
            _correct(lines, api, published, cells)
        else:
            before = [parsed.entries[a.name] for a in APIS[:place] if a.name in parsed.entries]
            index = before[-1].last if before else parsed.section
            _insert(lines, index, ["", *house.entry(api, page.release(parsed.version), cells)])
    return "\n".join(lines)


def _correct(lines: list[str], api: Api, published: Published, cells: dict[str, Decision]) -> None:
    wanted = house.limits(api, cells)
    if published.limit and wanted and _differs(published, wanted):
        start, end = published.limit
        lines[start:end] = [line + _ending(lines[start]) for line in wanted]
    elif wanted and not published.limit:
        _insert(lines, max(published.rows.values()), ["", *wanted])
    for product, index in published.rows.items():
        if cells[product].supported != published.cells[product].supported:
            new = house.row(product, cells[product].supported)
            lines[index] = new + _ending(lines[index])


def _differs(published: Published, wanted: list[str]) -> bool:
    """Whether a limit says something else, and not the same in another order."""

    def sets(limits: house.Limits | None) -> dict[str, tuple[tuple[str, ...], set[str]]]:
        return {p: (names, {*dtypes}) for p, (names, dtypes) in (limits or {}).items()}

    return sets(house.read_limits(wanted)) != sets(published.limits)


def _ending(line: str) -> str:
    return "\r" if line.endswith("\r") else ""


def _insert(lines: list[str], index: int, new: list[str]) -> None:
    """Put lines after `index`, with the ending of the line before; the file's own end stays."""
    end_of_line = _ending(lines[max(index - 1, 0)])
    added = [line + end_of_line for line in new]
    if index == len(lines) - 1 and end_of_line:
        lines[index] += end_of_line
        added[-1] = added[-1].removesuffix("\r")
    lines[index + 1 : index + 1] = added


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
