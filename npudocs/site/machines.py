"""``{machine-files}``: the files of the site that programs read, with their addresses and schemas."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.site import languages, parts, tables
from npudocs.site.operators import data
from npudocs.site.words import say

# By address: what it is, and the address of its schema.
FILES = {
    "data/support.json": (
        "the support tables: by API, version, product and dtype, with records and claims",
        "data/support.schema.json",
    ),
    "data/operators.json": (
        "the operator tables, with all messages",
        "data/operators.schema.json",
    ),
    "data/operators.csv": ("the same, a line for each cell of each record", ""),
    "verifies.json": ("the test items, and the scripts that verify each", ""),
    "objects.inv": ("the documented names, for intersphinx", ""),
    "llms.txt": ("the pages with their beginnings, for programs that read text", ""),
    "llms-full.txt": ("the sources of these pages in one file", ""),
}
# Only where operators were swept.
SWEPT = "data/operators."


def files(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The table of the files."""
    up = languages.root(app) + "../" * app.builder.get_target_uri(docname).count("/")
    swept = bool(data.of(app).all)
    body = [
        tables.row(_link(up, name), say(words), _link(up, schema) if schema else "")
        for name, (words, schema) in FILES.items()
        if swept or not name.startswith(SWEPT)
    ]
    head = [tables.row(say("address"), say("what it is"), say("schema"))]
    return [tables.table(head, body, [3, 5, 3], "npudocs-files")]


def _link(up: str, name: str) -> list[nodes.Node]:
    return [nodes.reference("", "", nodes.literal(text=name), refuri=f"{up}{name}")]


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "machine-files", files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
