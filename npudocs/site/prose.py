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
from typing import Any, ClassVar

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


class NotSupport(SphinxDirective):
    """``{not-support}``: words that look like a statement of support, and why they are none."""

    has_content = True
    option_spec: ClassVar = {"reason": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the content in a container that the rule leaves alone."""
        if not self.options.get("reason", "").strip():
            raise self.error("not-support needs the option :reason:")
        box = nodes.container(classes=["npudocs-not-support"])
        box += self.parse_content_to_nodes()
        return [box]


def statement(text: str) -> tuple[str, str] | None:
    """The product and the word that make a text a statement of support."""
    product, says = PRODUCT.search(text), SUPPORT.search(text)
    return (product.group(), says.group()) if product and says else None


def _units(doctree: nodes.document) -> Iterator[tuple[nodes.Element, str]]:
    """The paragraphs, headings and rows of a page, as text."""
    for node in doctree.findall(nodes.Element):
        if isinstance(node, nodes.row):
            group = _above(node, nodes.tgroup)
            heads = [] if _above(node, nodes.thead) else [*group.findall(nodes.thead)]
            yield node, "\n".join(_cells(row) for row in (*heads, node))
        elif isinstance(node, TEXTS) and not _above(node, nodes.row):
            yield node, node.astext()


def _cells(node: nodes.Element) -> str:
    return "\n".join(entry.astext() for entry in node.findall(nodes.entry))


def _above(node: nodes.Node, kind: type[nodes.Element]) -> Any:
    while node := node.parent:
        if isinstance(node, kind):
            return node
    return None


def _excused(node: nodes.Node) -> bool:
    while node := node.parent:
        if "npudocs-not-support" in getattr(node, "attributes", {}).get("classes", ()):
            return True
    return False


def _check(app: Sphinx, doctree: nodes.document) -> None:
    for node, text in _units(doctree):
        if (said := statement(text)) and not _excused(node):
            words = f"this states support in prose ({said[0]!r} with {said[1]!r}): {ADVICE}"
            place = next((n for n in node.findall(nodes.Element) if n.line), node)
            problems.report(app, words, location=place)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("not-support", NotSupport)
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
