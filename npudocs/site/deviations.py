"""``{deviations}`` and ``{deviation}``: where the NPU differs from the CPU, why, and what to report upstream.

What is known about a deviation is data, ``evidence/deviations.json``. Its section is a page's own: an executed
block that shows it, then ``{deviation} name``, then a workaround. The directive adds the cause and a text for
an upstream report, whose steps and result are those of the section's first executed block, so that nothing is
said twice. ``{deviations}`` is the table of all, each linked to its section. Both say which operators of the newest
sweep (``evidence/sweeps``) a deviation explains.
"""

from __future__ import annotations

import ast
import builtins
import doctest
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from npudocs.execute import blocks, problems
from npudocs.site import tables
from npudocs.site.deviation_data import NAME, STATUSES, Deviation, DeviationError, load, report
from npudocs.site.parts import Page
from npudocs.site.words import say, say_number

if TYPE_CHECKING:
    from npudocs.site.operators.data import Sweeps

# A line of a block that is for whoever maintains the page, and not part of a report.
MAINTENANCE = ", gone"
# What the first lines of a report define.
KNOWN = {"torch", "fwAD", "F", "device"}


class deviation_table(nodes.General, nodes.Element):
    """Stands for the table until every page was read."""


class deviation_report(nodes.General, nodes.Element):
    """Stands for a report until the section around it is complete."""


class deviation_seen(nodes.General, nodes.Element):
    """Stands for the operators that a sweep found, until a page is written."""


class _Directive(SphinxDirective):
    def _load(self) -> list[Deviation]:
        folder = Path(self.env.app.confdir) / "evidence"
        self.env.note_dependency(str(folder / NAME))
        try:
            return load(folder)
        except DeviationError as error:
            problems.stop(str(error))


class Table(_Directive):
    """``{deviations}``: see the head of this file."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder."""
        self.env.metadata[self.env.docname]["deviation_table"] = True
        table = deviation_table(rows=self._load())
        self.set_source_info(table)
        return [table]


class Section(_Directive):
    """``{deviation} name``: see the head of this file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the cause, and a placeholder for the report."""
        name = self.arguments[0]
        found = {one.name: one for one in self._load()}
        if name not in found:
            raise self.error(f"evidence/{NAME} has no deviation {name!r}")
        one = found[name]
        self.env.metadata[self.env.docname].setdefault("deviations", []).append(name)
        anchor = nodes.target("", "", ids=[anchor_of(name)])
        listed = nodes.bullet_list(
            "",
            *(
                nodes.list_item("", tables.text(str(s)))
                for s in (*one.sources, *one.family.sources)
            ),
        )
        made: list[nodes.Node] = [
            anchor,
            _said(say("Cause. "), f"{say(one.cause)} {say(one.family.cause)}"),
            listed,
        ]
        if one.confirmed != "source":
            made.append(
                _said(
                    say("Not confirmed. "),
                    say("this was seen to happen; the source was not followed to the end."),
                )
            )
        made.append(_said(say("How to notice. "), say(one.notice)))
        placeholder = deviation_report(deviation=one)
        self.set_source_info(placeholder)
        seen = deviation_seen(deviation=one)
        return [*made, seen, placeholder, _said(say("Workaround. "), say(one.workaround))]


def anchor_of(name: str) -> str:
    """The anchor of a deviation's section."""
    return f"deviation-{name.replace('_', '-')}"


def _said(head: str, words: str) -> nodes.paragraph:
    strong = nodes.strong(text=head)
    return nodes.paragraph("", "", strong, *tables.inline(words))


def _complete(app: Sphinx, doctree: nodes.document) -> None:
    for placeholder in list(doctree.findall(deviation_report)):
        one = placeholder["deviation"]
        section = placeholder.parent
        found = _shown(section)
        if found is None:
            message = f"the section of {one.name} has no executed block before {{deviation}}"
            problems.report(app, message, location=placeholder)
        elif missing := _unknown(found[0]):
            message = (
                f"the first block of {one.name} does not stand alone: it needs {', '.join(missing)}"
            )
            problems.report(app, message, location=placeholder)
        text = report(one, *(found or ("", "")))
        head = say("Upstream report")
        html = f'<details class="npudocs-report"><summary>{head}</summary><pre>{escape(text)}</pre></details>'
        placeholder.replace_self(nodes.raw("", html, format="html"))


def _shown(section: nodes.Element) -> tuple[str, str] | None:
    """The code of a section's first executed block, without prompts and maintenance, and its result."""
    found = iter(section.findall(lambda node: "testnodetype" in getattr(node, "attributes", {})))
    code = next((node for node in found if node["testnodetype"] in blocks.COUNTED), None)
    if code is None:
        return None
    text = code["test"] if "test" in code else code.astext()
    if code["testnodetype"] == "doctest":
        examples = doctest.DocTestParser().get_examples(text)
        return "".join(one.source for one in examples), "".join(one.want for one in examples)
    lines = [line for line in text.splitlines() if not line.endswith(MAINTENANCE)]
    after = next(found, None)
    output = after.astext() if after is not None and after["testnodetype"] == "testoutput" else ""
    return "\n".join(lines), output


def _unknown(code: str) -> list[str]:
    """The names that a block takes from elsewhere, apart from those of a report's first lines."""
    tree = ast.parse(code)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)} | KNOWN
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return sorted({node.id for node in names} - bound - set(dir(builtins)))


def _sections(env: BuildEnvironment) -> Iterator[tuple[str, str]]:
    for page, metadata in sorted(env.metadata.items()):
        for name in metadata.get("deviations", []):
            yield name, page


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    pages = [page for page, metadata in env.metadata.items() if "deviation_table" in metadata]
    if not pages:
        return []
    try:
        known = [one.name for one in load(Path(app.confdir) / "evidence")]
    except DeviationError as error:
        problems.stop(str(error))
    listed = [name for name, _ in _sections(env)]
    for name in known:
        if (number := listed.count(name)) != 1:
            message = f"the deviation {name} of evidence/{NAME} has {number} sections, not one"
            problems.report(app, message, location=pages[0])
    return pages


def _sweeps(app: Sphinx) -> Sweeps:
    from npudocs.site.operators import data  # which needs this module

    return data.of(app)


def _cells(app: Sphinx, one: Deviation) -> Counter[str]:
    """How many cells of the newest sweep a deviation explains, by operator."""
    sweep = _sweeps(app).default
    if sweep is None:
        return Counter()
    bad = (cell for cell in sweep.cells.values() if cell.status in STATUSES)
    return Counter(cell.operator for cell in bad if one.explains(cell))


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for placeholder in list(doctree.findall(deviation_table)):
        pages = dict(_sections(app.env))
        body = [
            _row(app, docname, one, pages.get(one.name, docname)) for one in placeholder["rows"]
        ]
        head = [
            tables.row(
                *map(say, ("operator", "what happens", "why", "instead", "operators (cells)"))
            )
        ]
        placeholder.replace_self(tables.table(head, body, [4, 3, 5, 5, 2]))
    for placeholder in list(doctree.findall(deviation_seen)):
        placeholder.replace_self(_seen(app, docname, placeholder["deviation"]))


def _row(app: Sphinx, docname: str, one: Deviation, page: str) -> nodes.row:
    uri = f"{app.builder.get_relative_uri(docname, page)}#{anchor_of(one.name)}"
    link = nodes.reference("", "", nodes.literal(text=one.operator), internal=True, refuri=uri)
    found = _cells(app, one)
    number = f"{len(found)} ({found.total()})" if found else ""
    workaround = tables.text(say(one.workaround))
    return tables.row(link, say(one.status), say(one.family.title), workaround, number)


def _seen(app: Sphinx, docname: str, one: Deviation) -> list[nodes.Node]:
    """The operators of the newest sweep that a deviation explains, each linked to its section."""
    from npudocs.site.operators import places

    sweeps, found = _sweeps(app), _cells(app, one)
    if sweeps.default is None or not found:
        return []
    words = say_number(
        "Explains {number} cell of {place}: ", "Explains {number} cells of {place}: ", found.total()
    ).format(number=found.total(), place=sweeps.default.place)
    address = places.addresses(Page(app, docname), sweeps)
    made = nodes.paragraph("", "", nodes.strong(text=say("In the sweep. ")), nodes.Text(words))
    for number, name in enumerate(sorted(found)):
        uri = address(name)
        made += nodes.Text(", " if number else "")
        made += nodes.reference("", "", nodes.literal(text=name), internal=True, refuri=uri)
    made += nodes.Text(".")
    return [made]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(deviation_table)
    app.add_node(deviation_report)
    app.add_node(deviation_seen)
    app.add_directive("deviations", Table)
    app.add_directive("deviation", Section)
    app.connect("doctree-read", _complete)
    app.connect("env-updated", _check)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
