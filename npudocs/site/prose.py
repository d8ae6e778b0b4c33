"""Support is stated by the tables, never by prose: a page that says it in words fails the build.

The rule is one pattern. A paragraph, a heading or a row of a table (with the head of its table) must not both
name a product or chip (A2, A3, A5, 950DT, Ascend910..., Atlas, "Ascend chip", "a chip", ...) and say
support (support, supported, unsupported, works, ✔, ✘, 支持, ...). Code blocks and what is drawn from the
evidence are not prose. Words that must stand, a quotation for instance, are put into ``{not-support}`` with
the option ``:reason:``, which says why they are no statement of this site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from npudocs.execute import problems

PRODUCT = re.compile(
    r"\b(?:A2|A3|A5|950DT|(?:Ascend ?)?(?:910B\d?|910_93)\w*|Ascend ?(?:910|950)\w*|Atlas)\b"
    r"|(?i:\bAscend (?:chip|NPU|device|host|hardware|product)s?\b)"
    r"|(?i:\b(?:a|the|every|any|no|real) chips?\b)"
    r"|昇腾"
)
SUPPORT = re.compile(r"(?i:\b(?:un)?support(?:s|ed|ing)?\b|\bwork(?:s|ing)?\b)|[✔✓✗✘✅❌]|支持")
TEXTS = (nodes.paragraph, nodes.title, nodes.term, nodes.rubric, nodes.caption)
ADVICE = (
    "support is stated by the records and claims in evidence/, which {support} draws; say it without "
    "that, or wrap it in {not-support} with a :reason: (the rule: the head of npudocs/site/prose.py)"
)


class not_support(nodes.container):
    """Words that look like a statement of support, and are none."""


class NotSupport(SphinxDirective):
    """``{not-support}``: such words, and why they are none."""

    has_content = True
    option_spec: ClassVar = {"reason": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the content in a container that the rule leaves alone."""
        if not self.options.get("reason", "").strip():
            raise self.error("not-support needs the option :reason:")
        return [not_support("", *self.parse_content_to_nodes())]


def _units(doctree: nodes.document) -> Iterator[tuple[nodes.Element, str]]:
    """The paragraphs, headings and rows of a page, as text."""
    boxes = [*doctree.findall(nodes.tgroup), *doctree.findall(not_support)]
    inside = {node for box in boxes for node in box.findall()}
    excused = {node for box in doctree.findall(not_support) for node in box.findall()}
    for node in doctree.findall(nodes.Element):
        if isinstance(node, TEXTS) and node not in inside:
            yield node, node.astext()
        elif isinstance(node, nodes.row) and node not in excused:
            head = node.parent.parent.next_node(nodes.thead)
            texts = [*(head.findall(nodes.entry) if head else ()), *node.findall(nodes.entry)]
            yield node, "\n".join(entry.astext() for entry in texts)


def _check(app: Sphinx, doctree: nodes.document) -> None:
    for node, text in _units(doctree):
        product, says = PRODUCT.search(text), SUPPORT.search(text)
        if product and says:
            words = f"this states support in prose ({product[0]!r} with {says[0]!r}): {ADVICE}"
            place = next((n for n in node.findall(nodes.Element) if n.line), node)
            problems.report(app, words, location=place)


def setup(app: Sphinx) -> None:
    app.add_directive("not-support", NotSupport)
    app.connect("doctree-read", _check)
