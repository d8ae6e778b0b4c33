"""A page for each family of operators, the large ones by first letter, with a section for each operator.

The pages are made when a build begins, in a folder that git ignores. One page an operator would take ten
times as long to build.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.site import cells, languages, parts
from npudocs.site.deviations import anchor_of
from npudocs.site.operators import data, markup
from npudocs.site.operators.data import Sweep, Sweeps
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


def homes(sweeps: Sweeps) -> dict[str, list[str]]:
    """The pages, and the operators on each."""
    found: dict[str, list[str]] = {}
    for name in sweeps.operators:
        found.setdefault(markup.page(name, sweeps.families[name]), []).append(name)
    return found


def _write_pages(app: Sphinx) -> None:
    # The files are in English; a translation has other titles.
    if app.builder.format != "html" or languages.translating(app):
        return
    wanted = {}
    for home, names in homes(data.of(app)).items():
        path = Path(app.srcdir) / f"{home}.md"
        wanted[path] = PAGE.format(title=_title(app, home, names[0]), name=path.stem)
    folder = Path(app.srcdir) / markup.FOLDER
    for path in {*folder.glob("*.md")} - {*wanted}:
        path.unlink()
        # Sphinx leaves the page of what is gone.
        (Path(app.outdir) / markup.FOLDER / f"{path.stem}.html").unlink(missing_ok=True)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written anew only where it differs, or Sphinx would read it again.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _title(app: Sphinx, home: str, name: str) -> str:
    """The title of the page of this operator."""
    family = data.of(app).families[name]
    part = home.removeprefix(f"{markup.FOLDER}/{family.replace('.', '-')}").lstrip("-")
    title = f"{family}, {part}" if family in markup.LARGE else family
    return say("Operators: {family}").format(family=title)


def _page_title(app: Sphinx, docname: str) -> str:
    names = homes(data.of(app)).get(docname)
    return _title(app, docname, names[0]) if names else docname


def operator_page(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The sections of the operators of one page."""
    sweeps = data.of(app)
    names = homes(sweeps).get(f"{markup.FOLDER}/{arguments[0]}", [])
    if sweeps.default is None or not names:
        return markup.nothing()
    back = app.builder.get_relative_uri(docname, "operators/index")
    jump = ", ".join(markup.link(app, docname, sweeps, name) for name in names)
    sections = [_section(app, docname, sweeps, name) for name in names]
    top = f'<p><a href="{back}">{say("All operators")}</a>. {say("On this page")}: {jump}.</p>'
    return [markup.banner(sweeps.default), markup.raw("\n".join([top, *sections]))]


def _section(app: Sphinx, docname: str, sweeps: Sweeps, name: str) -> str:
    shown = _shown(sweeps, name)
    parts_ = [
        f'<h2>{escape(name)}<a class="headerlink" href="#{escape(name)}" '
        f'title="{say("Link to this operator")}">#</a></h2>',
        _deviations(app, docname, sweeps, name),
        _grid(sweeps, shown, name),
        *_remarks(shown, name),
        _messages(sweeps, shown, name),
        _elsewhere(sweeps, shown, name),
    ]
    return f'<section class="npudocs-operator" id="{escape(name)}">\n{"".join(filter(None, parts_))}</section>'


def _shown(sweeps: Sweeps, name: str) -> Sweep:
    """The record that is shown in full: the first one, or the newest that has the operator."""
    if name in sweeps.default.made["operators"]:
        return sweeps.default
    return next(one for one in reversed(sweeps.all) if name in one.made["operators"])


def _deviations(app: Sphinx, docname: str, sweeps: Sweeps, name: str) -> str:
    """Links to the sections that explain what is different."""
    links = []
    for home, metadata in sorted(app.env.metadata.items()):
        for deviation in metadata.get("deviations", []):
            if deviation in sweeps.deviations.get(name, []):
                uri = f"{app.builder.get_relative_uri(docname, home)}#{anchor_of(deviation)}"
                title = app.env.titles[home].astext()
                links.append(f'<a href="{escape(uri)}">{escape(title)}</a>')
    return f"<p>{say('Explained')}: {', '.join(links)}.</p>" if links else ""


def _grid(sweeps: Sweeps, sweep: Sweep, name: str) -> str:
    """Forms by dtypes: the status, and how many samples have it."""
    dtypes = [d for d in sweep.dtypes if sweep.worst(name, d)]
    rows = []
    for form in data.statuses_forms_dtypes()[1]:
        found = [sweep.cell(name, form, dtype) for dtype in dtypes]
        if not any(found):
            continue
        drawn = "".join(
            markup.status(
                cell.status,
                "<br>".join(f"{say(status)}&nbsp;({n})" for status, n in cell.counts.items()),
            )
            if cell
            else markup.status("")
            for cell in found
        )
        rows.append(f'<tr><th scope="row">{say(form)}</th>{drawn}</tr>')
    label = say("{operator}: {place}; status (samples)").format(operator=name, place=sweep.place)
    where = f'<p class="npudocs-caption">{escape(label)}</p>' if sweep != sweeps.default else ""
    return where + markup.table(["form", *dtypes], rows, label, sweep.kind, "npudocs-grid")


def _remarks(sweep: Sweep, name: str) -> Iterator[str]:
    found = sweep.by_operator[name]
    if any(cell.random for cell in found):
        yield f"<p>{say('Draws random numbers: values are not compared.')}</p>"
    hosts: dict[str, list[str]] = {}
    for operator in sorted({o for cell in found for o in cell.fallback} - data.not_computed()):
        where = _where([(c.form, c.dtype) for c in found if operator in c.fallback])
        hosts.setdefault(where, []).append(f"<code>{escape(operator)}</code>")
    for where, operators in hosts.items():
        yield f"<p>{say('Computed on the host')}: {', '.join(operators)} ({where}).</p>"
    if cpu := sweep.made["operators"][name].get("cpu"):
        call = f" {_call(cpu['call'])}" if "call" in cpu else ""
        words = say("The CPU itself: {status}, against finite differences in float64: {message}")
        words = words.format(status=say(cpu["status"]), message=cpu["message"])
        yield f"<p>{escape(words)}{call}</p>"


def _messages(sweeps: Sweeps, shown: Sweep, name: str) -> str:
    """What was said, each text once: in the record that is shown, and elsewhere where it differs."""
    told: dict[tuple[str, str], list[tuple[Sweep, str, str, str]]] = {}
    for sweep in (shown, *(one for one in sweeps.all if one is not shown)):
        for cell in sweep.by_operator.get(name, []):
            if sweep is not shown and shown.status(name, cell.form, cell.dtype) == cell.status:
                continue
            for one in cell.told:
                key = (one["status"], one["message"])
                told.setdefault(key, []).append((sweep, cell.form, cell.dtype, one["call"]))
    if not told:
        return ""
    listed = []
    for (status, message), places in [*told.items()][:MESSAGES]:
        first = places[0][0]
        where = _where([(form, dtype) for sweep, form, dtype, _ in places if sweep is first])
        where += f"; {first.place}" if first is not shown else ""
        listed.append(
            f"<li>{markup.status(status, tag='strong')} ({escape(where)}): "
            f"<code>{escape(message)}</code> {_call(places[0][3])}</li>"
        )
    if len(told) > MESSAGES:
        more = say("{number} more messages are in the data.").format(number=len(told) - MESSAGES)
        listed.append(f"<li>{more}</li>")
    return f'<ul class="npudocs-told">{"".join(listed)}</ul>'


def _call(call: str) -> str:
    if not call:
        return ""
    return f"<details><summary>{say('sample')}</summary><pre>{escape(call)}</pre></details>"


def _where(pairs: list[tuple[str, str]]) -> str:
    """Forms and dtypes in few words."""
    by_dtypes: dict[tuple[str, ...], list[str]] = {}
    for form in dict.fromkeys(form for form, _ in pairs):
        dtypes = tuple(dict.fromkeys(dtype for one, dtype in pairs if one == form))
        by_dtypes.setdefault(dtypes, []).append(form)
    return "; ".join(
        say("{forms} in {dtypes}").format(forms=", ".join(map(say, f)), dtypes=", ".join(d))
        for d, f in by_dtypes.items()
    )


def _elsewhere(sweeps: Sweeps, shown: Sweep, name: str) -> str:
    """The statuses in other versions, products and kinds, where they are other ones."""
    others = [one for one in sweeps.all if one is not shown and name in one.made["operators"]]
    found: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for sweep in others:
        for cell in sweep.by_operator[name]:
            if cell.status != shown.status(name, cell.form, cell.dtype):
                key = (sweep.kind, cell.status, cell.form, cell.dtype)
                found.setdefault(key, []).append((sweep.version, sweep.product))
    if not others:
        return ""
    if not found:
        words = say(
            "The other records ({number}): the same status in every form and dtype that they have."
        )
        return f'<p class="npudocs-note">{words.format(number=len(others))}</p>'
    groups: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for (kind, status, form, dtype), places in found.items():
        where = cells.spread(places, "as" if kind == "software" else "on")
        groups.setdefault((kind, where, status), []).append((form, dtype))
    rows = [
        f'<tr><th scope="row">{where}{say(", on a chip") * (kind == "silicon")}</th>'
        f"{markup.status(status)}<td>{_where(pairs)}</td></tr>"
        for (kind, where, status), pairs in groups.items()
    ]
    label = say("{operator} in other versions and products, where it differs").format(operator=name)
    caption = say("Other versions and products, where they differ:")
    caption = f'<p class="npudocs-caption">{caption}</p>'
    return caption + markup.table(
        ["torch_npu", "status", "forms and dtypes"], rows, label, shown.kind, "npudocs-grid"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "operator-page", operator_page, arguments=1)
    languages.title(f"{markup.FOLDER}/", _page_title)
    app.connect("builder-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
