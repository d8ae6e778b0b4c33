"""A page for each record, and ``{records}``, the list of them.

The pages are made when a build begins, in a folder that git ignores, and go when their record goes. They
hold one directive each, so that reading them costs nothing, and are left out of the search index.
"""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Entry, Evidence, Mark, Record
from npudocs.execute import problems
from npudocs.site import cells, languages, marks, parts, tables
from npudocs.site.verifies import ITEMS
from npudocs.site.words import say

PAGE = """---
orphan: true
nosearch: true
---
# {title}

```{{record}} {name}
```
"""
WHERE = {
    "torch": "torch",
    "torch_npu": "torch_npu",
    "cann": "CANN",
    "product": "product",
    "soc": "SoC",
    "device": "device name",
    "softnpu": "softnpu, fingerprint",
    "python": "Python",
    "machine": "machine",
}
SOURCES = "evidence/sources"
_read: weakref.WeakKeyDictionary[Evidence, dict[str, bytes]] = weakref.WeakKeyDictionary()


def _title(record: Record) -> str:
    return f"{_place(record)}, {say(marks.KINDS[record.kind])}"


def _place(record: Record) -> str:
    as_ = say("as" if record.kind == "software" else "on")
    return f"torch_npu {record.where['torch_npu']} {as_} {record.where['product']}"


def _write_pages(app: Sphinx) -> None:
    # Nothing else shows them, and reading the evidence takes a while; the files are in English.
    if app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.srcdir) / marks.RECORDS
    wanted = {
        folder / f"{record.name}.md": PAGE.format(title=_title(record), name=record.name)
        for record in cells.of(app).records
    }
    if folder.is_dir():
        for path in {*folder.glob("*.md")} - {*wanted}:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written anew only where it differs, or Sphinx would read it again.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _page_title(app: Sphinx, docname: str) -> str:
    name = docname.rpartition("/")[2]
    return next((_title(r) for r in cells.of(app).records if r.name == name), name)


def _copy_sources(app: Sphinx, exception: Exception | None) -> None:
    """Put each check as it ran beside the pages; as .txt, so that a browser shows it."""
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    found = cells.of(app)
    # Sphinx leaves the pages of what is gone.
    here = {f"{record.name}.html" for record in found.records}
    for path in (Path(app.outdir) / marks.RECORDS).glob("*.html"):
        if path.name not in here:
            path.unlink()
    folder = Path(app.outdir) / SOURCES
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in _texts(found).items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_bytes(text)


def _texts(found: Evidence) -> dict[str, bytes]:
    """The checks as they ran, by blob; without git's history some are missing."""
    if found not in _read:
        blobs = {entry.blob for record in found.records for entry in record.entries}
        _read[found] = evidence.texts(found.root, blobs)
    return _read[found]


def record_page(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Everything in one record: where it ran, what it says of each API, and every entry."""
    found = cells.of(app)
    record = next((record for record in found.records if record.name == arguments[0]), None)
    if record is None:
        problems.report(app, f"there is no record {arguments[0]}", location=docname)
        return []
    made: list[nodes.Node] = [_banner(found, record), _where(record)]
    made.append(nodes.rubric(text=say("By API and dtype")))
    made.append(_by_api(record))
    made.append(nodes.rubric(text=say("By test item")))
    made.append(_by_item(record))
    made.append(nodes.rubric(text=say("Every check")))
    words = say("A check links to its file as it was when it ran.")
    made.append(nodes.paragraph(text=words))
    made.append(_entries(app, docname, found, record))
    return made


def _banner(found: Evidence, record: Record) -> nodes.container:
    line = nodes.paragraph("", "", nodes.strong(text=say(marks.KINDS[record.kind])))
    everything = Mark(record, record.entries, 0)
    words = say("{number} checks: {counts}.")
    words = words.format(number=len(record.entries), counts=cells.counts_words(everything))
    line += nodes.Text(f" {words}")
    if record not in found.current:
        words = say("A newer record of this release and SoC replaces it in the tables.")
        line += nodes.Text(f" {words}")
    if found.older_softnpu(record):
        line += nodes.Text(f" {say('The software NPU has changed since.')}")
    stale = sum(bool(found.stale(record, entry)) for entry in record.entries)
    if stale:
        words = say("{number} of the checks are stale.").format(number=stale)
        line += nodes.Text(f" {words}")
    return nodes.container("", line, classes=["npudocs-banner", f"npudocs-{record.kind}"])


def _where(record: Record) -> nodes.table:
    values = {say(words): record.where[key] for key, words in WHERE.items()}
    values |= {
        say("commit of this project"): record.commit,
        say("started"): record.started,
        say("took"): f"{record.seconds:.0f} s",
        say("file"): f"evidence/records/{record.kind}/{record.name}.json",
    }
    body = [tables.row(words, value) for words, value in values.items() if value]
    return tables.table([], body, [1, 3], "npudocs-where", stubs=1)


def _by_api(record: Record) -> nodes.table:
    groups: dict[tuple[str, str], list[int]] = {}
    for number, entry in enumerate(record.entries, 1):
        for api in entry.apis:
            groups.setdefault((api, entry.dtype), []).append(number)
    body = [
        tables.row(
            [nodes.literal(text=api)],
            dtype or say("any"),
            *_group(record, numbers),
            anchor=cells.slug("cell", evidence.short(api), dtype or "any"),
        )
        for (api, dtype), numbers in sorted(groups.items())
    ]
    head = [tables.row("API", "dtype", say("outcome"), say("checks"))]
    return tables.table(head, body, [4, 1, 2, 5], "npudocs-cells")


def _by_item(record: Record) -> nodes.table:
    body = []
    for item, says in ITEMS.items():
        numbers = [n for n, entry in enumerate(record.entries, 1) if int(item) in entry.items]
        if numbers:
            name = f"{item} {say(says['name'])}"
            body.append(tables.row(name, *_group(record, numbers), anchor=f"item-{item}"))
    head = [tables.row(say("item"), say("outcome"), say("checks"))]
    return tables.table(head, body, [3, 2, 5], "npudocs-cells")


def _group(record: Record, numbers: list[int]) -> tuple[str, list[nodes.Node]]:
    entries = tuple(record.entries[number - 1] for number in numbers)
    links: list[nodes.Node] = []
    for number, entry in zip(numbers, entries, strict=True):
        links.append(nodes.Text(" " if links else ""))
        link = nodes.reference("", str(number), internal=True, refid=f"check-{number}")
        links.append(link if entry.outcome == "passed" else nodes.strong("", "", link))
    return cells.counts_words(Mark(record, entries, 0)), links


def _entries(app: Sphinx, docname: str, found: Evidence, record: Record) -> nodes.table:
    body: list[nodes.row] = []
    for number, entry in enumerate(record.entries, 1):
        stale = cells.stale_words(found, record, entry)
        there = entry.blob in _texts(found)
        body += _entry(app, docname, number, entry, stale, there)
    head = [tables.row("#", *map(say, ("check", "part", "dtype", "outcome", "seconds")))]
    return tables.table(head, body, [1, 5, 5, 2, 3, 1], "npudocs-entries")


def _entry(
    app: Sphinx, docname: str, number: int, entry: Entry, stale: str, there: bool
) -> list[nodes.row]:
    """The row of an entry and, where it has a message, one for that."""
    up = languages.root(app) + "../" * app.builder.get_target_uri(docname).count("/")
    address = f"{up}{SOURCES}/{entry.blob}.txt"
    source = nodes.reference("", entry.check, refuri=address) if there else nodes.Text(entry.check)
    outcome: list[nodes.Node] = [nodes.paragraph(text=say(entry.outcome))]
    if stale:
        outcome.append(nodes.paragraph(text=f"{say('stale')}: {stale}", classes=["npudocs-note"]))
    last = tables.cell(outcome, classes=f"npudocs-outcome-{entry.outcome}")
    row = (str(number), [source], entry.part, entry.dtype, last, f"{entry.seconds:.2f}")
    made = [tables.row(*row, anchor=f"check-{number}")]
    if entry.message:
        message = nodes.literal_block(entry.message, entry.message, language="none")
        log = tables.cell(message, across=5, classes="npudocs-log")
        made.append(tables.row("", log))
    return made


def records(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The list of all records, and of what could not be recorded."""
    found = cells.of(app)
    made: list[nodes.Node] = []
    if not found.records:
        made.append(nodes.paragraph(text=say("There is no record yet.")))
    else:
        body = [_record_row(app, docname, found, record) for record in reversed(found.records)]
        head = [tables.row(*map(say, ("record", "kind", "SoC", "when", "checks", "notes")))]
        made.append(tables.table(head, body, [4, 3, 3, 2, 3, 3], "npudocs-records"))
    return [*made, *unrecorded(found)]


def unrecorded(found: Evidence) -> list[nodes.Node]:
    """What could not be recorded, and why; nothing where all was."""
    if not found.unrecorded:
        return []
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in found.unrecorded:
        groups.setdefault((one.torch_npu, one.reason, one.seen), []).append(one.product)
    body = []
    for (version, reason, seen), products in groups.items():
        log = nodes.literal_block(reason, reason, language="none")
        why = tables.cell(log, classes="npudocs-log")
        body.append(tables.row(f"torch_npu {version}", ", ".join(products), why, seen))
    head = [tables.row(*map(say, ("version", "product", "why", "seen")))]
    words = say("Nothing could start on these, so that there is no record:")
    table = tables.table(head, body, [3, 1, 8, 2], "npudocs-unrecorded")
    return [nodes.paragraph(text=words), table]


def _record_row(app: Sphinx, docname: str, found: Evidence, record: Record) -> nodes.row:
    address = marks.uri(app, docname, record)
    link = nodes.reference("", _place(record), internal=True, refuri=address)
    stale = sum(bool(found.stale(record, entry)) for entry in record.entries)
    notes = [say("{number} stale").format(number=stale)] if stale else []
    notes += [say("software NPU has changed since")] if found.older_softnpu(record) else []
    notes += [] if record in found.current else [say("replaced by a newer one")]
    words = cells.counts_words(Mark(record, record.entries, 0))
    kind, day = say(marks.KINDS[record.kind]), record.started[:10]
    return tables.row([link], kind, record.where["soc"], day, words, ", ".join(notes))


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "record", record_page, arguments=1)
    parts.add(app, "records", records)
    languages.title(f"{marks.RECORDS}/", _page_title)
    app.connect("builder-inited", _write_pages)
    app.connect("build-finished", _copy_sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
