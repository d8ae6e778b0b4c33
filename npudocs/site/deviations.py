"""``{deviations}`` and ``{deviation}``: where the NPU differs from the CPU, why, and what to report upstream.

What is known about a deviation is data, ``evidence/deviations.json``. Its section is a page's own: an executed
block that shows it, then ``{deviation} name``. The directive adds the cause, a workaround, and a text for
an upstream report, whose steps and result are those of the section's first executed block, so that nothing is
said twice. ``{deviations}`` is the table of all, each linked to its section. Both say which operators of the
sweep (``evidence/sweeps``) a deviation explains.
"""

from __future__ import annotations

import ast
import builtins
import doctest
from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from npudocs.execute import blocks, problems
from npudocs.site import parts
from npudocs.site.operators import data
from npudocs.site.parts import Page

# A line of a block that is for whoever maintains the page, and not part of a report.
MAINTENANCE = ", gone"
# What the first lines of a report define.
KNOWN = {"torch", "fwAD", "F", "device"}


def table(page: Page) -> dict[str, Any]:
    """All deviations, each with the address of its section and how many cells it explains."""
    used = parts.pages(page.app.env, "deviation")
    homes = {name: home for home, listed in used.items() for (name,) in listed}
    sweeps = page.sweeps
    return {
        "rows": [
            (one, page.url(homes.get(name, ""), data.anchor(name)), sweeps.explained[name])
            for name, one in sweeps.deviations.items()
        ]
    }


def section(page: Page, name: str) -> dict[str, Any]:
    """One deviation, what its section shows, and the operators of the sweep seen first that it explains."""
    one = page.sweeps.deviations.get(name)
    sources = one["sources"] + one["family"]["sources"] if one else []
    return {
        "one": one,
        "sources": ["{repository}, `{path}`: `{name}`".format(**source) for source in sources],
        "anchor": data.anchor(name),
        "shown": page.app.env.metadata[page.docname]["deviation_blocks"][name],
        "cells": page.sweeps.explained.get(name),
    }


def _read(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what the sections of a page show; a section without a block that stands alone is an error."""
    for part in doctree.findall(parts.evidence_part):
        if part["name"] != "deviation":
            continue
        (name,) = part["arguments"]
        message, shown, missing = "", None, []
        try:
            shown = _shown(part.parent)
            missing = _unknown(shown[0]) if shown else []
        except (SyntaxError, ValueError) as error:
            missing = [f"Python ({error})"]
        if name not in data.of(app).deviations:
            message = f"evidence/{data.DEVIATIONS} has no deviation {name!r}"
        elif shown is None:
            message = f"the section of {name} has no executed block before {{deviation}}"
        elif missing:
            message = (
                f"the first block of {name} does not stand alone: it needs {', '.join(missing)}"
            )
        if message:
            problems.report(app, message, location=part)
        metadata = app.env.metadata[app.env.docname]
        metadata.setdefault("deviation_blocks", {})[name] = shown or ("", "")


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
    tree = ast.parse(code, "the block")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)} | KNOWN
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return sorted({node.id for node in names} - bound - set(dir(builtins)))


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    """Every deviation has one section, where there is a table of all."""
    pages = [*parts.pages(env, "deviations")]
    listed = Counter(name for used in parts.pages(env, "deviation").values() for (name,) in used)
    for name in data.of(app).deviations if pages else ():
        if (number := listed[name]) != 1:
            message = (
                f"the deviation {name} of evidence/{data.DEVIATIONS} has {number} sections, not one"
            )
            problems.report(app, message, location=pages[0])


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _read)
    app.connect("env-updated", _check)
