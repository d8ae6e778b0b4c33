"""``{operator-statuses}`` and ``{operator-limits}``: what the statuses mean, and what a sweep can see."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.site import parts, tables
from npudocs.site.operators import data, markup
from npudocs.site.words import say


def statuses(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The statuses, worst first, and the forms."""
    meanings, forms, _ = data.statuses_forms_dtypes()
    made: list[nodes.Node] = []
    for head, listed in ((say("status, the worst first"), meanings), (say("form"), forms)):
        body = [
            tables.row([nodes.strong(text=say(name))], say(words)) for name, words in listed.items()
        ]
        made.append(tables.table([tables.row(head, say("meaning"))], body, [2, 6], stubs=1))
    return made


def limits(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The tolerances and limits of the newest record."""
    sweep = data.of(app).default
    if sweep is None:
        return markup.nothing()
    samples, seconds = (sweep.made["limits"][key] for key in ("samples", "seconds"))
    words = say(
        "The form dual runs every sample of torch's database, the other forms the first {samples}; an "
        "operator has {seconds} seconds in one dtype. Two results count as equal within:"
    ).format(samples=samples, seconds=f"{seconds:g}")
    head = tables.row("dtype", say("relative to the largest element"), say("absolute"))
    body = [
        tables.row(dtype, f"{relative:g}", f"{absolute:g}")
        for dtype, (relative, absolute) in sweep.made["tolerances"].items()
    ]
    return [nodes.paragraph(text=words), tables.table([head], body, [2, 3, 2])]


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "operator-statuses", statuses)
    parts.add(app, "operator-limits", limits)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
