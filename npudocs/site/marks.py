"""How evidence is drawn: a chip's record, a software record and a claim never look alike.

Color is never alone: each kind has its own words and shape, and a stale mark says so. What a mark
leaves to the eye stands beside it in words for screen readers.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.evidence import Claim, Mark, Record
from npudocs.site import cells
from npudocs.site.words import say

SIGNS = {
    "silicon": {"passed": "✔", "failed": "✘", "partial": "✔✘", "skipped": "skipped"},
    "software": {"passed": "SW ✓", "failed": "SW ✗", "partial": "SW ✓✗", "skipped": "SW skipped"},
}
KINDS = {"silicon": "Ascend chip", "software": "software NPU"}
# Whose words a claim has.
WHO = ("page", "report", "published page")
SAYS = {"supported": "✔", "not supported": "✘"}
RECORDS = "evidence/records"


def record_mark(app: Sphinx, docname: str, mark: Mark, anchor: str) -> list[nodes.Node]:
    """One record's mark in a cell: linked to the record's page, with a note where it is partial."""
    link = nodes.reference("", "", internal=True, refuri=uri(app, docname, mark.record, anchor))
    for node in draw(
        mark.record.kind, mark.verdict, mark.stale, cells.counts_words(mark), mark.record
    ):
        link += node
    parts: list[nodes.Node] = [nodes.paragraph("", "", link)]
    if note := _note(mark):
        parts.append(nodes.paragraph(text=note, classes=["npudocs-note"]))
    return parts


def draw(
    kind: str, verdict: str, stale: int = 0, words: str = "", record: Record | None = None
) -> list[nodes.Node]:
    """The chip of a mark, and the same in words."""
    classes = ["npudocs-mark", f"npudocs-mark-{kind}", f"npudocs-{verdict}"]
    chip = nodes.inline(classes=classes)
    chip += nodes.inline(text=say(SIGNS[kind][verdict]), classes=["npudocs-sign"])
    if stale:
        chip["classes"].append("npudocs-stale")
        chip += nodes.inline(text=f" {say('stale')}", classes=["npudocs-stale-word"])
    soc = f", {record.where['soc']}" if record else ""
    spoken = f" ({say(KINDS[kind])}{soc}: {words or say(verdict)})"
    return [chip, nodes.inline(text=spoken, classes=["npudocs-spoken"])]


def _note(mark: Mark) -> str:
    notes = [] if mark.complete else [cells.counts_words(mark)]
    if mark.stale:
        words = say("{number} of {all} stale")
        notes.append(words.format(number=mark.stale, all=len(mark.entries)))
    return "; ".join(notes)


def claim_mark(claim: Claim, refuri: str = "") -> nodes.paragraph:
    """A claim, in quotation marks and with the kind of its source."""
    who = "report" if claim.source["kind"] == "report" else "page"
    quote = quotation(claim.says, who)
    spoken = nodes.inline(text=f" ({claim.source['title']})", classes=["npudocs-spoken"])
    if refuri:
        return nodes.paragraph(
            "", "", nodes.reference("", "", quote, spoken, internal=True, refuri=refuri)
        )
    return nodes.paragraph("", "", quote, spoken)


def quotation(says: str, who: str) -> nodes.inline:
    """The words of a claim's mark."""
    quote = nodes.inline(classes=["npudocs-mark-claim"])
    words = say("“{sign} claimed”").format(sign=SAYS[says])
    quote += nodes.inline(text=words, classes=["npudocs-quote"])
    quote += nodes.Text(" ")
    quote += nodes.inline(text=say(who), classes=["npudocs-who"])
    return quote


def uri(app: Sphinx, docname: str, record: Record, anchor: str = "") -> str:
    """The address of a record's page, seen from another page."""
    address = app.builder.get_relative_uri(docname, f"{RECORDS}/{record.name}")
    return f"{address}#{anchor}" if anchor else address
