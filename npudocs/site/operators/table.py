"""``{operator-counts}`` and ``{operator-table}``: how many operators have which status, and every operator.

The table is complete without JavaScript, for the newest version. ``operators.js`` adds filters, sorts, and
reads the other versions, products and dtypes from a file of its own when they are asked for.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.site import marks, parts
from npudocs.site.operators import data, files, markup
from npudocs.site.operators.data import Sweep, Sweeps
from npudocs.site.words import say

SCRIPT = "operators.js"
# The filters.
LABELS = {
    "status": "Status",
    "form": "Form",
    "family": "Family",
    "dtype": "Dtype",
    "version": "Version",
    "product": "Product",
    "kind": "Kind",
}


def counts(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The numbers of the newest record."""
    sweep = data.of(app).default
    if sweep is None:
        return markup.nothing()
    _, forms, _ = data.statuses_forms_dtypes()
    dtype = data.of(app).dtype(sweep)
    made: list[nodes.Node] = [markup.banner(sweep), nodes.paragraph(text=_total(sweep))]
    by_form = [
        (form, sweep.operators_by_status(dtype, form), {"form": form, "dtype": dtype})
        for form in forms
    ]
    by_dtype = [(name, sweep.operators_by_status(name), {"dtype": name}) for name in sweep.dtypes]
    made.append(
        markup.raw(
            _numbers(say("operators by form, in {dtype}").format(dtype=dtype), by_form, sweep)
        )
    )
    words = say("operators by dtype; one counts for each status that it has in any form")
    made.append(markup.raw(_numbers(words, by_dtype, sweep)))
    return made


def _total(sweep: Sweep) -> str:
    samples = sum(sum(cell.counts.values()) for cell in sweep.cells.values())
    found = ", ".join(
        f"{say(name)}: {number}" for name, number in evidence.sweep_counts(sweep.made).items()
    )
    return say(
        "{operators} operators, {combinations} combinations of operator, form and dtype, {samples} samples. "
        "Combinations by status: {counts}."
    ).format(
        operators=len(sweep.made["operators"]),
        combinations=len(sweep.cells),
        samples=samples,
        counts=found,
    )


def _numbers(
    title: str, listed: list[tuple[str, dict[str, int], dict[str, str]]], sweep: Sweep
) -> str:
    statuses = data.statuses_forms_dtypes()[0]
    used = [status for status in statuses if any(status in found for _, found, _ in listed)]
    rows = []
    for name, found, wanted in listed:
        cells = []
        for status in used:
            # A script makes these links; without one there is nothing to lead to.
            state = files.state({**wanted, "status": status})
            number = found.get(status, "")
            cells.append(
                f'<td data-state="{escape(state)}">{number}</td>' if number else "<td></td>"
            )
        rows.append(f'<tr><th scope="row">{say(name)}</th>{"".join(cells)}</tr>')
    label = say("Number of {what}").format(what=title)
    caption = f'<p class="npudocs-caption">{escape(label)}:</p>'
    return caption + markup.table(["", *used], rows, label, sweep.kind, "npudocs-counts")


def operators(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The filters, which a script shows, and the table."""
    sweeps = data.of(app)
    sweep = sweeps.default
    if sweep is None:
        return markup.nothing()
    dtype = sweeps.dtype(sweep)
    forms = [*data.statuses_forms_dtypes()[1]]
    rows = [_row(app, docname, sweeps, sweep, name, dtype) for name in sweeps.operators]
    label = f"{sweep.place}, {dtype}"
    drawn = markup.table(
        ["operator", "family", "worst", *forms], rows, label, sweep.kind, "npudocs-operators"
    )
    source = files.relative(app, docname, files.VIEWS)
    html = (
        f'<div id="operator-table" data-src="{source}"{_words(app)}>{_filters(sweeps, sweep, dtype)}'
        f'<p class="npudocs-caption" role="status" aria-live="polite">'
        f"{say('{number} operators: {place}.').format(number=len(rows), place=escape(label))}</p>\n{drawn}</div>"
    )
    return [markup.raw(html)]


def _words(app: Sphinx) -> str:
    """What the script says, in another language: an attribute with its texts and the statuses."""
    script = Path(app.confdir) / "docs" / "_static" / SCRIPT
    texts = (
        re.findall(r'\bsay\("([^"]+)"', script.read_text(encoding="utf-8"))
        if script.is_file()
        else []
    )
    found = {text: say(text) for text in (*texts, *data.statuses_forms_dtypes()[0])}
    changed = {text: words for text, words in found.items() if words != text}
    return f' data-words="{escape(json.dumps(changed, ensure_ascii=False))}"' if changed else ""


def _row(app: Sphinx, docname: str, sweeps: Sweeps, sweep: Sweep, name: str, dtype: str) -> str:
    forms = data.statuses_forms_dtypes()[1]
    found = [sweep.worst(name, dtype), *(sweep.status(name, form, dtype) for form in forms)]
    link = markup.link(app, docname, sweeps, name)
    cells = "".join(map(markup.status, found))
    return f'<tr><th scope="row">{link}</th><td>{sweeps.families[name]}</td>{cells}</tr>'


def _filters(sweeps: Sweeps, sweep: Sweep, dtype: str) -> str:
    statuses, forms, _ = data.statuses_forms_dtypes()
    versions = dict.fromkeys(one.version for one in reversed(sweeps.all))
    swept = {one.product for one in sweeps.all}
    products = [product for product in evidence.PRODUCTS if product in swept]
    kinds = {one.kind: say(marks.KINDS[one.kind]) for one in sweeps.all}
    controls = [
        f'<label class="npudocs-wide">{say("Search")}<input type="search" name="search" '
        'placeholder="conv, linalg, ..." autocomplete="off"></label>',
        _select(
            "status", {"": say("any"), "differs": say("differs from the CPU")} | _said(statuses)
        ),
        _select("form", {"": say("any")} | _said(forms)),
        _select("family", {"": say("any")} | _same(sorted({*sweeps.families.values()}))),
        _select("dtype", _same(sweeps.dtypes) | {"all": say("all: the worst")}, dtype),
        _select("version", _same(versions) | {"all": say("all: the worst")}, sweep.version),
        _select("product", _same(products) | {"all": say("all: the worst")}, sweep.product),
        _select("kind", kinds, sweep.kind),
        f'<button type="reset">{say("Reset")}</button>',
    ]
    return (
        '<form class="npudocs-filters" role="search" '
        f'aria-label="{say("Filter the operators")}" hidden>'
        f"{''.join(controls)}</form>"
    )


def _same(values: Any) -> dict[str, str]:
    return {value: value for value in values}


def _said(values: Any) -> dict[str, str]:
    return {value: say(value) for value in values}


def _select(name: str, options: dict[str, str], chosen: str = "") -> str:
    listed = "".join(
        f'<option value="{escape(value)}"{" selected" * (value == chosen)}>{escape(text)}</option>'
        for value, text in options.items()
    )
    return f'<label>{say(LABELS[name])}<select name="{name}">{listed}</select></label>'


def _style(app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any) -> None:
    """The style on every page with operators, the script on that of the table."""
    used = {name for name, *_ in app.env.metadata.get(pagename, {}).get("npudocs_evidence", [])}
    if any(name.startswith("operator-") for name in used):
        app.add_css_file("operators.css")
    if "operator-table" in used:
        app.add_js_file(SCRIPT, loading_method="defer")
        # The table needs the width.
        context["sidebars"] = []


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "operator-counts", counts)
    parts.add(app, "operator-table", operators)
    app.connect("html-page-context", _style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
