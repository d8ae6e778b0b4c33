"""The tables of operators: how many have which status, all, what a version changed, and faults of the CPU itself.

The table is complete without JavaScript, for the version built with. ``operators.js`` adds filters, sorts, and
reads the other versions, products and dtypes from a file of its own when they are asked for. ``{glance}`` on the
front page has numbers alone, each with a link to what it counts, and none of them is a mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence.sweep_records import FORMS, STATUSES
from npudocs.execute import scripts as gallery
from npudocs.site import cells
from npudocs.site.operators.data import DEVIATING, Sweep
from npudocs.site.parts import Page
from npudocs.site.words import say

SCRIPT = "operators.js"
# No difference to the CPU.
QUIET = ("same", "both refuse")
Number = tuple[int, str, str]  # with its words, and the address of what it counts


def state(wanted: dict[str, str]) -> str:
    """Return the part of an address that sets the filters."""
    return f"#{urlencode(wanted)}"


def counts(page: Page) -> dict[str, Any]:
    """The numbers of the record seen first: of each form, and of each dtype."""
    sweep = page.sweeps.default
    dtype = page.sweeps.dtype(sweep)
    by_form = {
        form: (sweep.operators_by_status(dtype, form), {"form": form, "dtype": dtype})
        for form in FORMS
    }
    by_dtype = {name: (sweep.operators_by_status(name), {"dtype": name}) for name in sweep.dtypes}
    tables = [
        ([s for s in STATUSES if any(s in found for found, _ in rows.values())], rows)
        for rows in (by_form, by_dtype)
    ]
    return {
        "dtype": dtype,
        "tables": tables,
        "samples": sum(sum(cell.counts.values()) for cell in sweep.cells.values()),
        "by_status": evidence.sweep_counts(sweep.made),
        "state": state,
    }


def operators(page: Page) -> dict[str, Any]:
    """Every operator with its status in each form, and the choices of the filters."""
    sweeps, sweep = page.sweeps, page.sweeps.default
    dtype = sweeps.dtype(sweep)
    swept = {one.product for one in sweeps.all}
    return {
        "dtype": dtype,
        "forms": FORMS,
        "statuses": STATUSES,
        "rows": [
            (name, [sweep.worst(name, dtype), *(sweep.status(name, f, dtype) for f in FORMS)])
            for name in sweeps.families
        ],
        "products": [product for product in evidence.PRODUCTS if product in swept],
        "kinds": {one.kind: say(cells.KINDS[one.kind]) for one in sweeps.all},
        "words": _words(page.app),
        "repaired": _repaired(sweep, sweeps.default_repaired),
    }


def _repaired(shipped: Sweep, repaired: Sweep | None) -> dict[str, Any]:
    """How many cells deviate without and with the repair, of those that both records have."""
    if repaired is None:
        return {}
    both = shipped.cells.keys() & repaired.cells.keys()
    counts = [Counter(one.cells[key].status for key in both) for one in (shipped, repaired)]
    return {
        "cells": len(both),
        "rows": {status: [found[status] for found in counts] for status in DEVIATING},
    }


def changes(page: Page) -> dict[str, Any]:
    """From each version to the next one that was recorded; products with the same changes are one."""
    sweeps = page.sweeps.all
    steps: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    earlier: dict[tuple[str, str], Sweep] = {}
    for after in sweeps:
        before = earlier.get((after.kind, after.product))
        earlier[after.kind, after.product] = after
        if before:
            found = _step(before, after)
            groups = steps.setdefault((before.version, after.version), {})
            same = repr([after.kind, *(found[name] for name in ("rows", "new", "gone"))])
            groups.setdefault(same, found)["products"].append(after.product)
    return {
        "steps": {step: groups.values() for step, groups in steps.items()},
        "missing": [v for v in evidence.VERSIONS if v not in {one.version for one in sweeps}],
    }


def _step(before: Sweep, after: Sweep) -> dict[str, Any]:
    then, now = (one.made["operators"] for one in (before, after))
    softnpu = {one.made["where"]["softnpu"] for one in (before, after)}
    rows = _rows(before, after)
    return {
        "after": after,
        "products": [],
        "dtypes": [dtype for dtype in after.dtypes if dtype in before.dtypes],
        "compared": len(before.cells.keys() & after.cells.keys()),
        "other_softnpu": len(softnpu) == 2,
        "rows": rows,
        "number": sum(len(cells) for *_, found in rows for cells in found.values()),
        "new": [name for name in now if name not in then],
        "gone": [name for name in then if name not in now],
    }


def _rows(before: Sweep, after: Sweep) -> list[tuple[str, str, dict[str, list[str]]]]:
    """The statuses before and after, and the operators with the cells that changed so."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (name, form, dtype), cell in after.cells.items():
        was = before.status(name, form, dtype)
        if was and was != cell.status:
            operators = groups.setdefault((was, cell.status), {})
            operators.setdefault(name, []).append(f"{form} {dtype}")
    statuses = [*STATUSES]
    order = sorted(groups, key=lambda one: [statuses.index(status) for status in reversed(one)])
    return [(*step, groups[step]) for step in order]


def cpu(page: Page) -> dict[str, Any]:
    """The operators whose tangents are wrong on the CPU, with what was said first and where it was seen."""
    faults: dict[tuple[str, str], dict[str, Any]] = {}
    for sweep in page.sweeps.all:
        for name, entry in sweep.made["operators"].items():
            told = [("float64", entry["cpu"]["status"], entry["cpu"])] if "cpu" in entry else []
            told += [
                (cell.dtype, say("wrong in {form}").format(form=say(cell.form)), *cell.told[:1])
                for cell in sweep.by_operator.get(name, [])
                if cell.status == "cpu wrong"
            ]
            for dtype, what, *said in told:
                message = said[0]["message"] if said else ""
                new = {"message": message, "dtypes": {}, "versions": {}}
                fault = faults.setdefault((name, what), new)
                fault["dtypes"][dtype] = fault["versions"][sweep.version] = True
    return {
        "faults": sorted(faults.items(), key=lambda one: one[0][0].lower()),
        "number": len({name for name, _ in faults}),
    }


def glance(page: Page) -> dict[str, Any]:
    """The numbers of the operators, if they were swept, and those of records and pages."""
    boxes = []
    sweep = page.sweeps.default
    if sweep is not None and page.has("operators/index"):
        dtype = page.sweeps.dtype(sweep)
        title = say("Operators swept in {dtype}: {place}").format(
            dtype=dtype, place=f"torch_npu {sweep.version}, {sweep.product}"
        )
        numbers = [*_operator_numbers(page.url("operators/index"), sweep, dtype)]
        boxes.append((sweep.kind, say(cells.KINDS[sweep.kind]), title, numbers))
    boxes.append(("pages", "", say("Records and pages"), [*_rest(page)]))
    return {"boxes": boxes}


def _operator_numbers(home: str, sweep: Sweep, dtype: str) -> Iterator[Number]:
    """All, those without any difference, and how many have which status in any form."""
    worst = [sweep.worst(name, dtype) for name in sweep.made["operators"]]
    yield sum(status != "" for status in worst), say("operators"), home
    yield sum(status in QUIET for status in worst), say("same in every form"), home
    for status, count in sweep.operators_by_status(dtype).items():
        if status not in QUIET:
            yield count, say(status), home + state({"dtype": dtype, "status": status})


def _rest(page: Page) -> Iterator[Number]:
    """How many records and pages there are; only what has a page to lead to."""
    kinds = [record.kind for record in page.evidence.current]
    documented = [name for name in page.app.env.found_docs if name.startswith("api/")]
    for count, words, home in (
        (kinds.count("software"), say("records of the software NPU"), "evidence/index"),
        (kinds.count("silicon"), say("records of Ascend chips"), "evidence/index"),
        (len({*documented} - {"api/index"}), say("API pages"), "api/index"),
        (len(gallery.scripts(page.app)), say("examples"), f"{gallery.FOLDER}/index"),
    ):
        if page.has(home):
            yield count, words, page.url(home)


def _words(app: Sphinx) -> dict[str, str]:
    """What the script says, in another language: its texts, and the statuses."""
    script = Path(app.confdir) / "docs" / "_static" / SCRIPT
    text = script.read_text(encoding="utf-8") if script.is_file() else ""
    texts = re.findall(r'\bsay\("([^"]+)"', text)
    found = {text: say(text) for text in (*texts, *STATUSES)}
    return {text: words for text, words in found.items() if words != text}


def _style(app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any) -> None:
    """The style on every page with operators, the script on that of the table."""
    used = {name for name, *_ in app.env.metadata.get(pagename, {}).get("npudocs_evidence", [])}
    if any(name.startswith("operator-") for name in used):
        app.add_css_file("operators.css")
    if "operator-table" in used:
        app.add_js_file(SCRIPT, loading_method="defer")
        # The table needs the width.
        context["sidebars"] = []


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _style)
