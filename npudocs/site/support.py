"""``{support} API``, ``{support-overview}``, ``{support-items}``, ``{support-legend}``: the support tables.

What they show comes from the records and the claims alone. A row is a version and a product, a column a
dtype; "any" has the checks that are not about one, and the claims that name none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs import evidence
from npudocs.evidence import Claim, Evidence, Mark
from npudocs.execute import problems
from npudocs.site import cells, claim_tables, marks, parts, tables
from npudocs.site.verifies import ITEMS, resolve
from npudocs.site.words import say

LEGEND = {
    "silicon": "a record of a run on an Ascend chip: all checks passed, all failed, or some did",
    "software": "the same run on the software NPU, which says nothing about a chip",
}


def support(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The table of one API, and what others say of it in their words."""
    api = arguments[0]
    found = cells.of(app)
    dtypes = found.dtypes([api])
    made: list[nodes.Node] = [_intro(app, docname)]
    body = _rows(app, docname, api, dtypes)
    made.append(tables.table([_head(dtypes)], body, _widths(dtypes), "npudocs-support", stubs=1))
    said = [claim for claim in found.claims if claim.api == api]
    if said:
        made.append(nodes.rubric(text=say("Claims, in the words of their source")))
        made.append(claim_tables.quotes(app, docname, said, with_api=False))
    return made


def _intro(app: Sphinx, docname: str) -> nodes.paragraph:
    words = say(
        "By version of torch_npu, product and dtype. An empty cell means unknown, not unsupported"
    )
    intro = nodes.paragraph(text=words)
    page = next(iter(parts.pages(app.env, "support-legend")), "")
    if page and page != docname:
        address = app.builder.get_relative_uri(docname, page)
        link = nodes.reference("", say("what the marks mean"), internal=True, refuri=address)
        intro += [nodes.Text("; "), link]
    intro += nodes.Text(".")
    return intro


def overview(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The table of all APIs that have a support table on a page of their own."""
    found = cells.of(app)
    homes = {
        used[0]: page for page, all_ in parts.pages(app.env, "support").items() for used in all_
    }
    dtypes = found.dtypes([*homes])
    jump = nodes.paragraph()
    body = []
    for api, page in homes.items():
        anchor = cells.slug("support", evidence.short(api))
        name = nodes.literal(text=evidence.short(api))
        jump += nodes.Text(", " if len(jump) else say("To the rows of "))
        jump += nodes.reference("", "", name, internal=True, refid=anchor)
        address = app.builder.get_relative_uri(docname, page)
        link = nodes.reference("", "", name.deepcopy(), internal=True, refuri=address)
        title = tables.cell(link, across=1 + len(dtypes), classes="npudocs-api")
        body += [tables.row(title, anchor=anchor), *_rows(app, docname, api, dtypes)]
    jump += nodes.Text(".")
    widths, classes = _widths(dtypes), "npudocs-support npudocs-overview"
    return [jump, tables.table([_head(dtypes)], body, widths, classes, stubs=1)]


def _head(dtypes: list[str]) -> nodes.row:
    return tables.row(say("torch_npu, product"), *(dtype or say("any") for dtype in dtypes))


def _widths(dtypes: list[str]) -> list[int]:
    return [2, *[1] * len(dtypes)]


def _rows(app: Sphinx, docname: str, api: str, dtypes: list[str]) -> Iterator[nodes.row]:
    """A row for each version and product."""
    found = cells.of(app)
    for version, product, classes in _places(found):
        drawn = []
        for dtype in dtypes:
            anchor = cells.slug("cell", evidence.short(api), dtype or "any")
            drawn.append(_cell(app, docname, *found.api_cell(api, version, product, dtype), anchor))
        yield tables.row(f"{version}, {product}", *drawn, classes=classes)


def _places(found: Evidence) -> Iterator[tuple[str, str, str]]:
    """Versions and products, and the class of their row: a line above each version."""
    for version in found.versions:
        for product in evidence.PRODUCTS:
            yield version, product, "npudocs-first" * (product == evidence.PRODUCTS[0])


def items(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The eight test items by version and product."""
    found = cells.of(app)
    body = []
    for version, product, classes in _places(found):
        drawn = [
            _cell(app, docname, *found.item_cell(int(item), version, product), f"item-{item}")
            for item in ITEMS
        ]
        body.append(tables.row(f"{version}, {product}", *drawn, classes=classes))
    names = [f"{number} {say(item['name'])}" for number, item in ITEMS.items()]
    head = [tables.row(say("torch_npu, product"), *names)]
    widths = [2, *[1] * len(names)]
    return [tables.table(head, body, widths, "npudocs-support npudocs-items", stubs=1)]


def _cell(
    app: Sphinx, docname: str, made: list[Mark], said: list[Claim], anchor: str
) -> nodes.entry:
    drawn: list[nodes.Node] = []
    for mark in made:
        drawn += marks.record_mark(app, docname, mark, anchor)
    for claim in said:
        drawn.append(marks.claim_mark(claim, claim_tables.uri(app, docname, claim)))
    return tables.cell(drawn)


def legend(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Every mark and what it means."""
    rows = []
    for kind, words in LEGEND.items():
        drawn: list[nodes.Node] = []
        for verdict in ("passed", "failed", "partial"):
            drawn += [*marks.draw(kind, verdict), nodes.Text(" ")]
        rows.append(
            tables.row(drawn, say("{words}; a mark links to the record").format(words=say(words)))
        )
    stale = [
        *marks.draw("silicon", "passed", 1),
        nodes.Text(" "),
        *marks.draw("software", "passed", 1),
    ]
    words = say(
        "the check was changed since it ran, or ran with another build of the same release; "
        "it no longer speaks for what is here"
    )
    rows.append(tables.row(stale, words))
    quoted: list[nodes.Node] = []
    for says in marks.SAYS:
        quoted += [marks.quotation(says, "page"), nodes.Text(" ")]
    words = say(
        "what a published page or a report says; nobody ran it here, and it links to its source"
    )
    rows.append(tables.row(quoted, words))
    unknown = say("unknown: no record and no claim. It does not mean unsupported")
    rows.append(tables.row("", unknown))
    head = [tables.row(say("mark"), say("what it means"))]
    return [tables.table(head, rows, [2, 5], "npudocs-legend")]


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    for page, all_ in parts.pages(env, "support").items():
        for used in all_:
            try:
                resolve(used[0])
            except LookupError as error:
                problems.report(app, f"support: {error}", location=page)
    return []


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "support", support, arguments=1)
    parts.add(app, "support-overview", overview)
    parts.add(app, "support-items", items)
    parts.add(app, "support-legend", legend)
    app.connect("env-updated", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
