"""The page of all checks: ``{records}``, ``{differences}`` and ``{checks}``.

Where the checks ran; which end differently there, and why; and what became of every check. Records in which every
check ended alike are one column. Software records and records of chips are never compared with each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from npudocs import evidence
from npudocs.evidence import ITEMS, Entry, Evidence, Mark, Record
from npudocs.site import cells
from npudocs.site.parts import Page
from npudocs.site.words import say

# Current records of one kind in which every check ended alike; the first stands for all.
Column = list[Record]


def where(records: list[Record]) -> str:
    """The versions and products of records of one kind, in words."""
    pairs = [(record.version, record.where["product"]) for record in records]
    return cells.spread(pairs, cells.ON[records[0].kind]) if records else ""


def records(page: Page) -> dict[str, Any]:
    """Every record, chips and the newest version first, and what could not be recorded."""
    found = page.evidence
    listed = [
        {
            "record": record,
            "mark": Mark(record, record.entries, 0),
            "stale": sum(bool(found.stale(record, entry)) for entry in record.entries),
            "older": found.older_softnpu(record),
            "current": record in found.current,
        }
        for record in sorted(found.records, key=lambda one: _order(found, one))
    ]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in found.unrecorded:
        groups.setdefault((one.torch_npu, one.reason, one.seen), []).append(one.product)
    return {"listed": listed, "unrecorded": groups, "more": cells.WHERE}


def _order(found: Evidence, record: Record) -> tuple[int, ...]:
    """Chips first, then the newest version, in the order of the products; what was replaced comes last."""
    replaced = record not in found.current
    kind = [*cells.KINDS].index(record.kind)
    known, product = evidence.PRODUCTS, record.where["product"]
    place = known.index(product) if product in known else len(known)
    return replaced, kind, found.versions.index(record.version), place


def differences(page: Page) -> dict[str, Any]:
    """What differs, for each kind of record, and what passes nowhere."""
    found = page.evidence
    explain = cells.trusted(evidence.explanations, found.folder)
    kinds = []
    for kind in cells.KINDS:
        current = [record for record in found.current if record.kind == kind]
        total = evidence.by_check(current)
        never = [ran[0][1] for ran in total if all(e.outcome != "passed" for _, e in ran)]
        kinds.append(
            {
                "kind": kind,
                "records": current,
                "where": where(current),
                "compared": sum(len(ran) > 1 for ran in total),
                "groups": evidence.differences(current, explain),
                "apart": evidence.changed_between(current),
                "never": never,
            }
        )
    return {
        "kinds": kinds,
        "by_file": _by_file,
        "spread": cells.spread,
        "first_line": evidence.first_line,
    }


def _by_file(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """The checks by file, with the parts of each."""
    files: dict[str, list[str]] = {}
    for entry in entries:
        files.setdefault(entry.check, []).extend(filter(None, [_part(entry)]))
    return files


def _part(entry: Entry) -> str:
    """The part of a file that a check is, with its dtype."""
    return f"{entry.part} {entry.dtype}".strip()


def checks(page: Page) -> dict[str, Any]:
    """What became of every check: by API and dtype, by test item, and by file."""
    found = page.evidence
    columns = _columns(found)
    entries = [entry for record in found.current for entry in record.entries]
    apis = sorted({(api, entry.dtype) for entry in entries for api in entry.apis})
    by_file: dict[str, list[evidence.Ran]] = {}
    for ran in evidence.by_check(found.current):
        by_file.setdefault(ran[0][1].check, []).append(ran)
    return {
        "columns": [(column[0].kind, where(column)) for column in columns],
        "apis": [
            {
                "anchor": cells.slug("cell", evidence.short(api), dtype or "any"),
                "name": f"`{api}`",
                "dtype": dtype or say("any"),
            }
            | _asked(found, columns, lambda e, a=api, d=dtype: a in e.apis and e.dtype == d)
            for api, dtype in apis
        ],
        "items": [
            {"anchor": f"item-{item}", "name": f"{item} {say(ITEMS[str(item)]['name'])}"}
            | _asked(found, columns, lambda e, i=item: i in e.items)
            for item in sorted({item for entry in entries for item in entry.items})
        ],
        "files": [_file(found, columns, name, ran) for name, ran in by_file.items()],
    }


def _columns(found: Evidence) -> list[Column]:
    """The current records in groups."""
    groups: dict[Any, Column] = {}
    for record in sorted(found.current, key=lambda one: _order(found, one)):
        ended = frozenset(
            (*e.key, e.source, e.outcome, cells.stale_words(found, record, e))
            for e in record.entries
        )
        groups.setdefault((record.kind, ended), []).append(record)
    return [*groups.values()]


def _asked(
    found: Evidence, columns: list[Column], wanted: Callable[[Entry], bool]
) -> dict[str, Any]:
    """The files with wanted entries, and what each column says of them.

    That is a mark, or None, and over how many columns it goes: neighbors that say the same are one.
    """
    marked, files = [], {}
    for record, *_ in columns:
        entries = tuple(entry for entry in record.entries if wanted(entry))
        stale = sum(bool(found.stale(record, entry)) for entry in entries)
        marked.append(Mark(record, entries, stale) if entries else None)
        files |= {entry.check: None for entry in entries}
    runs = itertools.groupby(
        marked, lambda mark: mark and (mark.record.kind, mark.counts, mark.stale)
    )
    row = [(listed[0], len(listed)) for _, group in runs if (listed := [*group])]
    return {"row": row, "files": [*files]}


def _file(
    found: Evidence, columns: list[Column], name: str, listed: list[evidence.Ran]
) -> dict[str, Any]:
    """The checks of one file: the texts that ran, its row of marks, each part, and why it is stale."""
    texts = {entry.source: entry for ran in listed for _, entry in ran}
    stale = {
        cells.stale_words(found, record, entry): None for ran in listed for record, entry in ran
    }
    return {
        "name": name,
        "texts": [*texts.values()],
        "parts": [(_part(ran[0][1]), [*_ended(ran)]) for ran in listed],
        "stale": [*filter(None, stale)],
        **_asked(found, columns, lambda entry: entry.check == name),
    }


def _ended(ran: evidence.Ran) -> Iterator[tuple[Mark, str]]:
    """How a check ended, and where; nothing where it passed in every record that has it."""
    if all(entry.outcome == "passed" for _, entry in ran):
        return
    groups: dict[tuple[str, str, str], evidence.Ran] = {}
    for record, entry in ran:
        groups.setdefault((record.kind, entry.outcome, entry.message), []).append((record, entry))
    for group in groups.values():
        record, entry = group[0]
        yield Mark(record, (entry,), 0), where([one for one, _ in group])
