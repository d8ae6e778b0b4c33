"""``{badges}`` and ``badges/API.svg``: what was seen of an API, as a picture that other pages can show.

A badge names the kind of its evidence. One of a run on a chip says "Ascend chip"; one of the software NPU has
a color of its own, a dashed frame and the words "software NPU", and no sign that could be taken for a chip's.
Claims of others make no badge.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Evidence
from npudocs.site import cells, languages, marks, parts, support_data, tables
from npudocs.site.words import say

FOLDER = "badges"
# Dark enough for white text; software is none of the colors of a chip's outcomes.
COLORS = {"passed": "#1b6e3c", "failed": "#a3262a", "partial": "#8a5a00"}
SOFTWARE, UNKNOWN, LABEL = "#5a4b8a", "#666666", "#3a3a3a"
_WIDTH = 6.6  # of a character of 11 px, on the average

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{words}">
<title>{words}</title>
<rect width="{left}" height="20" fill="{label}"/><rect x="{left}" width="{right}" height="20" fill="{color}"/>{frame}
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14" textLength="{left_text}">{kind}</text>
<text x="{start}" y="14" textLength="{right_text}">{says}</text>
</g></svg>
"""
_FRAME = '\n<rect x=".5" y=".5" width="{width}" height="19" fill="none" stroke="#fff" stroke-dasharray="3 2"/>'


@dataclasses.dataclass(frozen=True)
class Badge:
    """What a badge says: of which kind of evidence, with which outcome."""

    kind: str  # "software", "silicon", or "" where there is no record
    outcome: str
    says: str

    @property
    def label(self) -> str:
        """The left half."""
        return marks.KINDS.get(self.kind, "forward AD on Ascend")

    @property
    def svg(self) -> str:
        """The picture."""
        left, right = (round(len(text) * _WIDTH) + 12 for text in (self.label, self.says))
        colors = {"software": SOFTWARE, "silicon": COLORS.get(self.outcome, UNKNOWN)}
        frame = _FRAME.format(width=left + right - 1) if self.kind == "software" else ""
        return _SVG.format(
            width=left + right, left=left, right=right, start=left + 6, label=LABEL,
            left_text=left - 12, right_text=right - 12, color=colors.get(self.kind, UNKNOWN),
            words=escape(f"{self.label}: {self.says}"), kind=escape(self.label),
            says=escape(self.says), frame=frame,
        )  # fmt: skip


def badge(found: Evidence, api: str) -> Badge:
    """What was seen of an API: on chips, if it ran on one, in the newest version that was recorded."""
    for kind in ("silicon", "software"):
        for version in found.versions:
            seen = {
                record.where["product"]: entries
                for record in found.current
                if (record.kind, record.version) == (kind, version)
                and (entries := [e for e in record.entries if api in e.apis])
            }
            if seen:
                outcomes = Counter(e.outcome for listed in seen.values() for e in listed)
                outcome, words = _outcome(outcomes)
                products = [product for product in evidence.PRODUCTS if product in seen]
                place = f"{version} {', '.join(products)}"
                return Badge(kind, outcome, f"{words} {place}")
    return Badge("", "", "not recorded")


def _outcome(outcomes: Counter[str]) -> tuple[str, str]:
    """An outcome, and its words: skipped checks do not count."""
    ran = outcomes.total() - outcomes["skipped"]
    if not ran:
        return "skipped", "skipped"
    if outcomes["passed"] == ran:
        return "passed", "passed"
    if not outcomes["passed"]:
        return "failed", "failed"
    return "partial", f"{outcomes['passed']} of {ran} passed"


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.outdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for api in support_data.apis(app):
        (folder / f"{api}.svg").write_text(badge(cells.of(app), api).svg, encoding="utf-8")


def listed(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Each badge, and the Markdown that shows it with a link to the page of the API."""
    up = languages.root(app) + "../" * app.builder.get_target_uri(docname).count("/")
    site = app.config.html_baseurl.rstrip("/") or "https://SITE"
    body = []
    for api, page in support_data.apis(app).items():
        made, address = badge(cells.of(app), api), f"{FOLDER}/{api}.svg"
        words = f"{made.label}: {made.says}"
        picture = f'<p><img src="{up}{address}" alt="{escape(words)}"></p>'
        uri = app.builder.get_relative_uri(docname, page)
        name = nodes.reference("", "", nodes.literal(text=api), internal=True, refuri=uri)
        text = f"[![{api}]({site}/{address})]({site}/{app.builder.get_target_uri(page)})"
        body.append(
            tables.row(
                [name], [nodes.raw("", picture, format="html")],
                [nodes.literal_block(text, text, language="none")],
            )
        )  # fmt: skip
    head = [tables.row("API", say("badge"), "Markdown")]
    return [tables.table(head, body, [3, 4, 6], "npudocs-badges")]


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "badges", listed)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
