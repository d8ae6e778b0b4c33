"""``{operator-changes}`` and ``{operator-cpu}``: what a version changed, and what is wrong on the CPU itself."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.site import marks, parts
from npudocs.site.operators import data, markup
from npudocs.site.operators.data import Change, Sweep, Sweeps
from npudocs.site.words import say, say_number

# A longer list is folded.
FEW = 25


@dataclasses.dataclass
class Fault:
    """Something that is wrong on the CPU: what was said first, and where it was seen."""

    message: str
    dtypes: list[str] = dataclasses.field(default_factory=list)
    versions: list[str] = dataclasses.field(default_factory=list)

    def add(self, dtype: str, version: str) -> None:
        """Seen here, too."""
        for known, one in ((self.dtypes, dtype), (self.versions, version)):
            if one not in known:
                known.append(one)


def changes(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """From each version to the next one that was recorded, for each product."""
    sweeps = data.of(app)
    if not sweeps.all:
        return markup.nothing()
    pairs = sweeps.pairs()
    made: list[nodes.Node] = []
    for before, after in dict.fromkeys((one.version, two.version) for one, two in pairs):
        made.append(
            nodes.rubric(text=say("{before} to {after}").format(before=before, after=after))
        )
        here = [pair for pair in pairs if (pair[0].version, pair[1].version) == (before, after)]
        # Products with the same changes are shown as one.
        groups: dict[tuple[Any, ...], list[tuple[Sweep, Sweep]]] = {}
        for one, two in here:
            key = (one.kind, tuple(data.changes(one, two)), *_only(one, two))
            groups.setdefault(key, []).append((one, two))
        for key, listed in groups.items():
            made += _group(app, docname, sweeps, listed, key[1])
    if not pairs:
        words = say("No product has records of two versions yet, so that nothing can be compared.")
        made.append(nodes.paragraph(text=words))
    missing = [v for v in evidence.VERSIONS if v not in {one.version for one in sweeps.all}]
    if missing:
        words = say("There is no record of torch_npu {versions}.")
        words = words.format(versions=", ".join(missing))
        made.append(nodes.paragraph(text=words))
    return made


def _only(before: Sweep, after: Sweep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operators that only the later version has, and those that only the earlier one had."""
    then, now = (one.made["operators"] for one in (before, after))
    return tuple(n for n in now if n not in then), tuple(n for n in then if n not in now)


def _group(
    app: Sphinx,
    docname: str,
    sweeps: Sweeps,
    listed: list[tuple[Sweep, Sweep]],
    found: tuple[Change, ...],
) -> list[nodes.Node]:
    before, after = listed[0]
    as_ = say("as" if after.kind == "software" else "on")
    products = ", ".join(two.product for _, two in listed)
    where = f"{as_} {products}, {say(marks.KINDS[after.kind])}"
    dtypes = [dtype for dtype in after.dtypes if dtype in before.dtypes]
    compared = len(before.cells.keys() & after.cells.keys())
    words = say(
        "{where}: {number} of {all} combinations have another status (in {dtypes})."
        if dtypes
        else "{where}: {number} of {all} combinations have another status (no dtype was swept in both)."
    ).format(where=where, number=len(found), all=compared, dtypes=", ".join(dtypes))
    made: list[nodes.Node] = [nodes.paragraph(text=words[0].upper() + words[1:])]
    if before.made["where"]["softnpu"] != after.made["where"]["softnpu"]:
        words = say("The software NPU was another one, so that a change can come from there.")
        made.append(nodes.paragraph(text=words, classes=["npudocs-note"]))
    if found:
        made.append(markup.raw(_table(app, docname, sweeps, found, after)))
    heads = (say("Only in {version}"), say("Not in {version}"))
    for names, head in zip(_only(before, after), heads, strict=True):
        if names:
            links = ", ".join(markup.link(app, docname, sweeps, name) for name in names)
            words = head.format(version=after.version)
            made.append(markup.raw(_folded(words, links, len(names))))
    return made


def _table(
    app: Sphinx, docname: str, sweeps: Sweeps, found: tuple[Change, ...], after: Sweep
) -> str:
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for change in found:
        name, form, dtype = change.key
        operators = groups.setdefault((change.before, change.after), {})
        operators.setdefault(name, []).append(f"{form} {dtype}")
    statuses = [*data.statuses_forms_dtypes()[0]]
    rows = []
    for (was, is_), operators in sorted(
        groups.items(), key=lambda one: [statuses.index(status) for status in reversed(one[0])]
    ):
        links = "; ".join(
            f"{markup.link(app, docname, sweeps, name)} ({', '.join(cells)})"
            for name, cells in operators.items()
        )
        drawn = _folded("", links, len(operators))
        rows.append(f"<tr>{markup.status(was)}{markup.status(is_)}<td>{drawn}</td></tr>")
    label = say("Changes in {place}").format(place=after.place)
    return markup.table(["was", "is", "operators"], rows, label, after.kind, "npudocs-grid")


def _folded(head: str, html: str, number: int) -> str:
    """A list; a long one can be opened."""
    counted = say_number("{number} operator", "{number} operators", number).format(number=number)
    words = f"{head}{': ' * bool(head)}{counted}"
    if number <= FEW:
        return f"<p>{words}: {html}</p>" if head else html
    return f"<details><summary>{words}</summary><p>{html}</p></details>"


def cpu(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The operators whose tangents are wrong on the CPU, by version where they differ."""
    sweeps = data.of(app)
    if sweeps.default is None:
        return markup.nothing()
    faults: dict[tuple[str, str], Fault] = {}
    for sweep in sweeps.all:
        for name, entry in sweep.made["operators"].items():
            if "cpu" in entry:
                told = entry["cpu"]
                fault = faults.setdefault((name, told["status"]), Fault(told["message"]))
                fault.add("float64", sweep.version)
            for cell in sweep.by_operator.get(name, []):
                if cell.status == "cpu wrong":
                    message = cell.told[0]["message"] if cell.told else ""
                    fault = faults.setdefault(
                        (name, say("wrong in {form}").format(form=say(cell.form))), Fault(message)
                    )
                    fault.add(cell.dtype, sweep.version)
    if not faults:
        return [nodes.paragraph(text=say("Nothing was found wrong on the CPU."))]
    rows = []
    for (name, what), fault in sorted(faults.items(), key=lambda one: one[0][0].lower()):
        texts = (say(what), ", ".join(fault.dtypes), fault.message, ", ".join(fault.versions))
        cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
        link = markup.link(app, docname, sweeps, name)
        rows.append(f'<tr><th scope="row">{link}</th>{cells}</tr>')
    words = say("{number} operators:").format(number=len({name for name, _ in faults}))
    table = markup.table(
        ["operator", "on the CPU", "dtypes", "message", "torch_npu of the records"],
        rows,
        say("Faults of the CPU"),
        "cpu",
        "npudocs-grid",
    )
    return [nodes.paragraph(text=words), markup.raw(table)]


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "operator-changes", changes)
    parts.add(app, "operator-cpu", cpu)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
