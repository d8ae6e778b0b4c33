"""Tables of the evidence pages as docutils nodes: heads that span, rows that are linked to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docutils import nodes

Content = str | nodes.Node | Sequence[nodes.Node]


def cell(content: Content, *, across: int = 1, classes: str = "") -> nodes.entry:
    """A cell; nodes that are inline get a paragraph, and an empty text an empty cell."""
    entry = nodes.entry(classes=classes.split())
    if across > 1:
        entry["morecols"] = across - 1
    parts = [nodes.Text(content)] if isinstance(content, str) else content
    if isinstance(parts, nodes.Node):
        parts = [parts]
    if any(isinstance(part, nodes.Inline | nodes.Text) for part in parts):
        parts = [nodes.paragraph("", "", *parts)] if content else []
    entry += list(parts)
    return entry


def row(*cells: Content | nodes.entry, anchor: str = "", classes: str = "") -> nodes.row:
    """A row of cells."""
    made = nodes.row("", *(c if isinstance(c, nodes.entry) else cell(c) for c in cells))
    made["classes"] += classes.split()
    if anchor:
        made["ids"].append(anchor)
    return made


def table(
    head: Iterable[nodes.row],
    body: Iterable[nodes.row],
    widths: Sequence[int],
    classes: str = "",
    stubs: int = 0,
) -> nodes.table:
    """A table; its first `stubs` columns are heads of their rows."""
    columns = [nodes.colspec(colwidth=width) for width in widths]
    for column in columns[:stubs]:
        column["stub"] = 1
    group = nodes.tgroup("", *columns, cols=len(columns))
    if heads := list(head):
        group += nodes.thead("", *heads)
    group += nodes.tbody("", *body)
    return nodes.table("", group, classes=["npudocs-evidence", "colwidths-auto", *classes.split()])


def text(words: str) -> nodes.paragraph:
    """A paragraph; what stands between backticks is literal."""
    return nodes.paragraph("", "", *inline(words))


def inline(words: str) -> list[nodes.Node]:
    """Text nodes; what stands between backticks is literal."""
    return [
        nodes.literal(text=part) if number % 2 else nodes.Text(part)
        for number, part in enumerate(words.split("`"))
        if part
    ]
