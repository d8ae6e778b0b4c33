"""``{differences}``: which checks end differently in different versions or products, found in the records.

Software records and silicon records are compared among themselves only, and only runs of the same source: a
check that was changed between two records, or that one of them has not, is no difference but unknown.
Words that explain a difference are data too, ``evidence/explanations.json``: a pattern that is looked for in
the check and its messages.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Difference, Entry, Record
from npudocs.execute import problems
from npudocs.site import cells, marks, parts, record_pages, tables
from npudocs.site.words import say


def differences(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """What differs, for each kind of record, and what passes nowhere."""
    found = cells.of(app)
    try:
        explain = evidence.explanations(found.folder)
    except evidence.EvidenceError as error:
        problems.report(app, str(error), location=docname)
        explain = []
    made: list[nodes.Node] = []
    for kind, name in marks.KINDS.items():
        current = [record for record in found.current if record.kind == kind]
        made.append(nodes.rubric(text=say("On the {kind}").format(kind=say(name))))
        if len(current) < 2:
            words = (
                say("There is one record, which has nothing to differ from.")
                if current
                else say("There is no record.")
            )
            made.append(nodes.paragraph(text=words))
            continue
        made += _drawn(app, docname, current, evidence.differences(current, explain))
    return [*made, *record_pages.unrecorded(found)]


def _drawn(
    app: Sphinx, docname: str, current: list[Record], groups: list[Difference]
) -> list[nodes.Node]:
    total = evidence.by_check(current)
    compared = sum(len(ran) > 1 for ran in total)
    pairs = [(record.version, record.where["product"]) for record in current]
    where = say("{number} records ({places})").format(
        number=len(current), places=cells.spread(pairs, _on(current))
    )
    number = sum(len(group.checks) for group in groups)
    if not groups:
        words = say("No difference: each of the {number} checks ends in the same way in {where}.")
        words = words.format(number=compared, where=where)
        made: list[nodes.Node] = [nodes.paragraph(text=words)]
    else:
        words = say("{number} of {all} checks end differently in {where}.")
        words = words.format(number=number, all=compared, where=where)
        made = [nodes.paragraph(text=words)]
        body = [_row(app, docname, group, _on(current)) for group in groups]
        head = [tables.row(*map(say, ("outcome", "checks", "messages and explanation")))]
        made.append(tables.table(head, body, [3, 4, 7], "npudocs-differences"))
    if apart := evidence.changed_between(current):
        words = say("Not compared, since the check was changed between the records: {checks}.")
        words = words.format(checks=", ".join(apart))
        made.append(nodes.paragraph(text=words))
    never = [ran for ran in total if all(e.outcome != "passed" for _, e in ran)]
    if never:
        words = say("{number} checks pass in none of the records:").format(number=len(never))
        made.append(nodes.paragraph(text=words))
        body = [
            tables.row(_checks([ran[0][1]]), tables.text(evidence.first_line(ran[0][1].message)))
            for ran in never
        ]
        head = [tables.row(say("check"), say("message"))]
        made.append(tables.table(head, body, [4, 7], "npudocs-differences"))
    return made


def _on(records: list[Record]) -> str:
    return "as" if records[0].kind == "software" else "on"


def _row(app: Sphinx, docname: str, group: Difference, on: str) -> nodes.row:
    outcomes = []
    for outcome, pairs in sorted(group.outcomes.items()):
        where = nodes.Text(f": {cells.spread(pairs, on)}")
        outcomes.append(nodes.paragraph("", "", nodes.strong(text=say(outcome)), where))
    told: list[nodes.Node] = []
    for message, ran in list(group.messages.items())[:3]:
        record, entry = ran[0]
        number = record.entries.index(entry) + 1
        link = nodes.reference(
            "", "", nodes.literal(text=message), internal=True,
            refuri=marks.uri(app, docname, record, f"check-{number}"),
        )  # fmt: skip
        told.append(nodes.paragraph("", "", link))
    if len(group.messages) > 3:
        words = say("and {number} more messages").format(number=len(group.messages) - 3)
        told.append(nodes.paragraph(text=words))
    if group.explanation:
        told.append(tables.text(say(group.explanation.words)))
        words = say("Source: {source}").format(source=say(group.explanation.source))
        told.append(tables.text(words))
        told[-1]["classes"].append("npudocs-note")
    else:
        told.append(nodes.paragraph(text=say("Not explained yet."), classes=["npudocs-note"]))
    return tables.row(outcomes, _checks(group.checks), told)


def _checks(entries: list[Entry]) -> nodes.bullet_list:
    """The checks by file, with the parts of each."""
    files: dict[str, list[str]] = {}
    for entry in entries:
        part = " ".join(filter(None, (entry.part, entry.dtype)))
        files.setdefault(entry.check, []).append(part)
    listed = nodes.bullet_list()
    for check, names in files.items():
        line = nodes.paragraph("", "", nodes.literal(text=check))
        if said := ", ".join(filter(None, names)):
            line += nodes.Text(f": {said}")
        listed += nodes.list_item("", line)
    return listed


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "differences", differences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
