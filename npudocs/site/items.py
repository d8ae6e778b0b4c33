"""``{item-table}``: the test items and, for each, the scripts that verify it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from npudocs.execute import problems
from npudocs.execute import scripts as gallery
from npudocs.site.verifies import ITEMS, Claim, claims
from npudocs.site.words import say


class item_table(nodes.General, nodes.Element):
    """Stands for the table until every script was read."""


class ItemTable(SphinxDirective):
    """``{item-table}``: see the head of this file."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder."""
        # Sphinx keeps and purges metadata with the page.
        self.env.metadata[self.env.docname]["item_table"] = True
        table = item_table()
        self.set_source_info(table)
        return [table]


def _pages(env: BuildEnvironment) -> list[str]:
    return sorted(page for page, metadata in env.metadata.items() if "item_table" in metadata)


def _verifying(env: BuildEnvironment, number: str) -> list[Claim]:
    return [claim for _, claim in sorted(claims(env).items()) if number in claim.items]


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    pages = _pages(env)
    for page in pages:
        for number, item in ITEMS.items():
            if not _verifying(env, number):
                message = f"no script verifies test item {number} ({item['name']})"
                problems.report(app, message, location=page)
    # Written again even where only a script changed.
    return pages


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for placeholder in list(doctree.findall(item_table)):
        placeholder.replace_self(_table(app, docname))


def _table(app: Sphinx, docname: str) -> nodes.table:
    results = gallery.results(app)
    heads = (say("Item"), say("Expected"), say("Verified by"))
    head = nodes.thead("", _row("#", *heads))
    body = nodes.tbody()
    for number, item in ITEMS.items():
        row = _row(number, say(item["name"]), say(item["expected"]))
        scripts = nodes.paragraph()
        for index, claim in enumerate(_verifying(app.env, number)):
            if index:
                scripts += nodes.Text(", ")
            title = app.env.titles[claim.page].astext()
            scripts += make_refnode(app.builder, docname, claim.page, None, nodes.Text(title))
            result = results.get(claim.page.rpartition("/")[2])
            outcome = say(result.outcome if result else "not executed")
            if result and result.outcome != "not executed":
                outcome += f", {say(app.config.execute_device.label)}"
            scripts += nodes.Text(f" ({outcome})")
        row += nodes.entry("", scripts)
        body += row
    columns = [nodes.colspec(colwidth=width) for width in (1, 4, 8, 6)]
    return nodes.table("", nodes.tgroup("", *columns, head, body, cols=4))


def _row(*texts: str) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in texts))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(item_table)
    app.add_directive("item-table", ItemTable)
    app.connect("env-updated", _check)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
