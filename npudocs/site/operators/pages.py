"""``{operator-page}``: a page for each family of operators, with a section for each operator.

The pages are made when a build begins, in a folder that git ignores. One page an operator would take ten
times as long to build.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs.evidence import SweepCell
from npudocs.evidence.sweep_records import FORMS, NOT_COMPUTED
from npudocs.site import cells, languages, parts
from npudocs.site.operators import data
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
    if app.builder.format != "html" or languages.translating(app):
        return
    sweeps = data.of(app)
    source = Path(app.srcdir)
    wanted = {source / f"{home}.md": _text(sweeps, home) for home in sweeps.pages}
    for path in {*(source / data.FOLDER).glob("*.md")} - {*wanted}:
        path.unlink()
        # Sphinx leaves the page of what is gone.
        (Path(app.outdir) / data.FOLDER / f"{path.stem}.html").unlink(missing_ok=True)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written anew only where it differs, or Sphinx would read it again.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    # The files are in English; a translation has other titles.
    if languages.translating(app) and docname.startswith(f"{data.FOLDER}/"):
        source[0] = _text(data.of(app), docname)


def _text(sweeps: Sweeps, home: str) -> str:
    return PAGE.format(title=sweeps.title(home), name=home.rpartition("/")[2])


def operator_page(page: Page, name: str) -> dict[str, Any]:
    """The operators of one page, each with what its section shows."""
    sweeps = page.sweeps
    # The deviations that pages explain, each with the address and the title.
    explained = {
        deviation: (page.url(home, data.anchor(deviation)), page.title(home))
        for home, used in parts.pages(page.app.env, "deviation").items()
        for (deviation,) in used
    }
    names = sweeps.pages.get(f"{data.FOLDER}/{name}", [])
    return {
        "sections": [_section(sweeps, name, explained) for name in names],
        "messages": MESSAGES,
    }


def _section(sweeps: Sweeps, name: str, explained: dict[str, tuple[str, str]]) -> dict[str, Any]:
    # The first record, or the newest that has the operator.
    having = [one for one in sweeps.all if name in one.made["operators"]]
    shown = sweeps.default if sweeps.default in having else having[-1]
    found = shown.by_operator[name]
    dtypes = [dtype for dtype in shown.dtypes if shown.worst(name, dtype)]
    grid = {form: [shown.cell(name, form, dtype) for dtype in dtypes] for form in FORMS}
    return {
        "name": name,
        "shown": shown,
        "explained": [
            link
            for one, link in explained.items()
            if name in sweeps.explained[one] or name == sweeps.deviations[one]["operator"]
        ],
        "dtypes": dtypes,
        "grid": {form: row for form, row in grid.items() if any(row)},
        "random": any(cell.random for cell in found),
        "hosts": _hosts(found),
        "cpu": shown.made["operators"][name].get("cpu"),
        "told": [*_told(sweeps, shown, name)],
        "others": len(having) - 1,
        "elsewhere": [*_elsewhere(sweeps, shown, name)],
    }


def _hosts(found: list[SweepCell]) -> dict[str, list[str]]:
    """Where operators fell back to the host, and which."""
    hosts: dict[str, list[str]] = {}
    for operator in sorted({o for cell in found for o in cell.fallback} - NOT_COMPUTED):
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
        where = cells.spread(seen, cells.ON[kind])
        groups.setdefault((kind, where, status), []).append((form, dtype))
    for (kind, where, status), pairs in groups.items():
        yield {"kind": kind, "where": where, "status": status, "pairs": _where(pairs)}


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _write)
    app.connect("source-read", _read)
