"""``{operator-counts}`` and ``{operator-table}``: how many operators have which status, and all.

The table is complete without JavaScript, for the newest version. ``operators.js`` adds filters, sorts, and
reads the other versions, products and dtypes from a file of its own when they are asked for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence.sweep_records import FORMS, STATUSES
from npudocs.site import cells
from npudocs.site.parts import Page
from npudocs.site.words import say

SCRIPT = "operators.js"


def state(wanted: dict[str, str]) -> str:
    """Return the part of an address that sets the filters."""
    return f"#{urlencode(wanted)}"


def counts(page: Page) -> dict[str, Any]:
    """The numbers of the newest record: of each form, and of each dtype."""
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
        "pairs": lambda values: [(value, say(value)) for value in values],
    }


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
