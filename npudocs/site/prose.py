"""Support is stated by the tables, never by prose: a page that says it in words fails the build.

The rule is one pattern. A paragraph, a heading or a row of a table (with the head of its table) must not both
name a product or chip (A2, A3, A5, 950DT, Ascend910..., Atlas, "Ascend chip", "a chip", ...) and say
support (support, supported, unsupported, works, ✔, ✘, 支持, ...). Code blocks and what is drawn from the
evidence are not prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

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
    "that (the rule: the head of npudocs/site/prose.py)"
)


def _units(doctree: nodes.document) -> Iterator[tuple[nodes.Element, str]]:
    """The paragraphs, headings and rows of a page, as text."""
    in_tables = {node for table in doctree.findall(nodes.tgroup) for node in table.findall()}
    for node in doctree.findall(nodes.Element):
        if isinstance(node, TEXTS) and node not in in_tables:
            yield node, node.astext()
        elif isinstance(node, nodes.row):
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
    app.connect("doctree-read", _check)
