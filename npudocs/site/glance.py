"""``{glance}``: the state of the tables in a few numbers, for the front page.

Numbers alone, each with a link to what it counts. They say on which kind of device they were seen, and none
of them is a mark: what works where is for the tables to say.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.execute import scripts as gallery
from npudocs.site import cells, marks, parts
from npudocs.site.operators import data, files, markup
from npudocs.site.operators.data import Sweep
from npudocs.site.words import say

OPERATORS = "operators/index"
# No difference to the CPU.
QUIET = ("same", "both refuse")
Number = tuple[int, str, str]  # how many, of what, and the address of the list


def glance(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The numbers of the operators, if they were swept, and those of records and pages."""
    made = []
    sweep = data.of(app).default
    if sweep is not None and OPERATORS in app.env.found_docs:
        dtype = data.of(app).dtype(sweep)
        place = f"torch_npu {sweep.version}, {sweep.product}"
        words = say("Operators swept in {dtype}: {place}").format(dtype=dtype, place=place)
        title = f"<strong>{escape(say(marks.KINDS[sweep.kind]))}</strong> {escape(words)}"
        made.append(_box(title, _operators(app, docname, sweep, dtype), sweep.kind))
    made.append(_box(say("Records and pages"), _rest(app, docname), "pages"))
    return [markup.raw("\n".join(made))]


def _operators(app: Sphinx, docname: str, sweep: Sweep, dtype: str) -> list[Number]:
    """All, those without any difference, and how many have which status in any form."""
    home = app.builder.get_relative_uri(docname, OPERATORS)
    worst = [sweep.worst(name, dtype) for name in sweep.made["operators"]]
    numbers = [
        (sum(status != "" for status in worst), say("operators"), home),
        (sum(status in QUIET for status in worst), say("same in every form"), home),
    ]
    for status, number in sweep.operators_by_status(dtype).items():
        if status not in QUIET:
            state = files.state({"dtype": dtype, "status": status})
            numbers.append((number, say(status), f"{home}{state}"))
    return numbers


def _rest(app: Sphinx, docname: str) -> list[Number]:
    """How many records and pages there are; only what has a page to lead to."""
    records = cells.of(app).current
    kinds = {kind: sum(record.kind == kind for record in records) for kind in marks.KINDS}
    documented = [name for name in app.env.found_docs if name.startswith("api/")]
    listed = [
        (kinds["software"], say("records of the software NPU"), "evidence/index"),
        (kinds["silicon"], say("records of Ascend chips"), "evidence/index"),
        (len({*documented} - {"api/index"}), say("API pages"), "api/index"),
        (len(gallery.scripts(app)), say("examples"), f"{gallery.FOLDER}/index"),
    ]
    return [
        (number, words, app.builder.get_relative_uri(docname, home))
        for number, words, home in listed
        if home in app.env.found_docs
    ]


def _box(title: str, numbers: list[Number], kind: str) -> str:
    tiles = "".join(
        f'<li><a href="{escape(address)}"><span class="npudocs-number">{number}</span> '
        f"{escape(words)}</a></li>"
        for number, words, address in numbers
    )
    return (
        f'<div class="npudocs-glance npudocs-{kind}"><p class="npudocs-glance-title">{title}</p>'
        f"<ul>{tiles}</ul></div>"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "glance", glance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
