"""``{operator-page}``: a page for each family of operators, with a section for each operator.

The pages are made when a build begins, in a folder that git ignores. One page an operator would take ten
times as long to build.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from npudocs.evidence import SweepCell
from npudocs.evidence.sweep_records import FORMS
from npudocs.site import cells, languages, marks, parts
from npudocs.site.operators import data, places
from npudocs.site.operators.data import Sweep, Sweeps
from npudocs.site.parts import Page
from npudocs.site.words import say

PAGE = """---
orphan: true
nosearch: true
---
# {title}

```{{operator-page}} {name}
```
"""
# How many messages of an operator are shown; all are in the files.
MESSAGES = 6


def _write(app: Sphinx) -> None:
    # The files are in English; a translation has other titles.
    if app.builder.format != "html" or languages.translating(app):
        return
    sweeps = data.of(app)
    wanted = {}
    for home, names in places.pages(sweeps).items():
        path = Path(app.srcdir) / f"{home}.md"
        wanted[path] = PAGE.format(title=places.title(sweeps, home, names[0]), name=path.stem)
    folder = Path(app.srcdir) / places.FOLDER
    for path in {*folder.glob("*.md")} - {*wanted}:
        path.unlink()
        # Sphinx leaves the page of what is gone.
        (Path(app.outdir) / places.FOLDER / f"{path.stem}.html").unlink(missing_ok=True)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written anew only where it differs, or Sphinx would read it again.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class _Title(SphinxTransform):
    """Gives a page its title in a translation; the file is written in English."""

    default_priority = 21  # after Sphinx put in the translations (20)

    def apply(self, **kwargs: Any) -> None:
        """Replace the text of the first title."""
        home = self.env.docname
        if not languages.translating(self.app) or not home.startswith(f"{places.FOLDER}/"):
            return
        sweeps = data.of(self.app)
        if names := places.pages(sweeps).get(home):
            title = next(self.document.findall(nodes.title))
            title.children = []
            title += nodes.Text(places.title(sweeps, home, names[0]))


def operator_page(page: Page, name: str) -> dict[str, Any]:
    """The operators of one page, each with what its section shows."""
    sweeps = data.of(page.app)
    names = places.pages(sweeps).get(f"{places.FOLDER}/{name}", [])
    explained = _explained(page)
    sections = [_section(sweeps, name, explained) for name in names]
    return {
        "sweeps": sweeps,
        "sections": sections,
        "messages": MESSAGES,
        "address": places.addresses(page, sweeps),
    }


def _section(
    sweeps: Sweeps, name: str, explained: list[tuple[str, tuple[str, str]]]
) -> dict[str, Any]:
    # The first record, or the newest that has the operator.
    having = [
        one for one in (sweeps.default, *reversed(sweeps.all)) if name in one.made["operators"]
    ]
    shown = having[0]
    found = shown.by_operator[name]
    dtypes = [dtype for dtype in shown.dtypes if shown.worst(name, dtype)]
    grid = {form: [shown.cell(name, form, dtype) for dtype in dtypes] for form in FORMS}
    return {
        "name": name,
        "shown": shown,
        "explained": [link for one, link in explained if one in sweeps.deviations.get(name, [])],
        "dtypes": dtypes,
        "grid": {form: row for form, row in grid.items() if any(row)},
        "random": any(cell.random for cell in found),
        "hosts": _hosts(found),
        "cpu": shown.made["operators"][name].get("cpu"),
        "told": [*_told(sweeps, shown, name)],
        "others": sum(one is not shown and name in one.made["operators"] for one in sweeps.all),
        "elsewhere": [*_elsewhere(sweeps, shown, name)],
    }


def _explained(page: Page) -> list[tuple[str, tuple[str, str]]]:
    """The deviations that pages explain, each with the address and the title."""
    return [
        (name, (page.url(home, places.anchor(name)), page.title(home)))
        for home, used in parts.pages(page.app.env, "deviation").items()
        for (name,) in used
    ]


def _hosts(found: list[SweepCell]) -> dict[str, list[str]]:
    """Where operators fell back to the host, and which."""
    hosts: dict[str, list[str]] = {}
    for operator in sorted({o for cell in found for o in cell.fallback} - data.not_computed()):
        where = _where([(c.form, c.dtype) for c in found if operator in c.fallback])
        hosts.setdefault(where, []).append(operator)
    return hosts


def _told(sweeps: Sweeps, shown: Sweep, name: str) -> Iterator[dict[str, str]]:
    """What was said, each text once: in the record that is shown, and elsewhere where it differs."""
    told: dict[tuple[str, str], list[tuple[Sweep, str, str, str]]] = {}
    for sweep in (shown, *(one for one in sweeps.all if one is not shown)):
        for cell in sweep.by_operator.get(name, []):
            if sweep is not shown and shown.status(name, cell.form, cell.dtype) == cell.status:
                continue
            for one in cell.told:
                key = (one["status"], one["message"])
                told.setdefault(key, []).append((sweep, cell.form, cell.dtype, one["call"]))
    for (status, message), seen in told.items():
        first = seen[0][0]
        where = _where([(form, dtype) for sweep, form, dtype, _ in seen if sweep is first])
        where += f"; {first.place}" if first is not shown else ""
        yield {"status": status, "where": where, "message": message, "call": seen[0][3]}


def _where(pairs: list[tuple[str, str]]) -> str:
    """Forms and dtypes in few words."""
    by_dtypes: dict[tuple[str, ...], list[str]] = {}
    for form in dict.fromkeys(form for form, _ in pairs):
        dtypes = tuple(dict.fromkeys(dtype for one, dtype in pairs if one == form))
        by_dtypes.setdefault(dtypes, []).append(form)
    words = say("{forms} in {dtypes}")
    return "; ".join(
        words.format(forms=", ".join(map(say, forms)), dtypes=", ".join(dtypes))
        for dtypes, forms in by_dtypes.items()
    )


def _elsewhere(sweeps: Sweeps, shown: Sweep, name: str) -> Iterator[dict[str, str]]:
    """The statuses in other versions, products and kinds, where they are other ones."""
    found: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for sweep in (one for one in sweeps.all if one is not shown):
        for cell in sweep.by_operator.get(name, []):
            if cell.status != shown.status(name, cell.form, cell.dtype):
                key = (sweep.kind, cell.status, cell.form, cell.dtype)
                found.setdefault(key, []).append((sweep.version, sweep.product))
    groups: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for (kind, status, form, dtype), seen in found.items():
        where = cells.spread(seen, marks.ON[kind])
        groups.setdefault((kind, where, status), []).append((form, dtype))
    for (kind, where, status), pairs in groups.items():
        yield {"kind": kind, "where": where, "status": status, "pairs": _where(pairs)}


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(_Title)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
