"""A page that documents an API of torch shows the signature the installed torch has."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from npudocs.execute import problems
from npudocs.site.verifies import resolve


def _documented(signature: addnodes.desc_signature) -> str:
    parameters = signature.next_node(addnodes.desc_parameterlist)
    if parameters is None:
        # Sphinx shows the empty parentheses of a function and leaves out those of a class.
        return "()" if signature.parent["objtype"] == "class" else "(none shown)"
    listed = ", ".join(it.astext() for it in parameters.findall(addnodes.desc_parameter))
    returns = signature.next_node(addnodes.desc_returns)
    # Its text begins with the arrow.
    return f"({listed})" + (returns.astext() if returns else "")


def _same(one: str, other: str) -> bool:
    """Compare two signatures as Python reads them, whatever their spaces and quotes."""
    try:
        return ast.dump(ast.parse(f"def f{one}: ...")) == ast.dump(ast.parse(f"def f{other}: ..."))
    except SyntaxError:
        return one == other


def _check(app: Sphinx, doctree: nodes.document) -> None:
    for signature in doctree.findall(addnodes.desc_signature):
        if signature.parent["domain"] != "py" or signature.parent["objtype"] not in (
            "function",
            "method",
            "class",
        ):
            continue
        name = ".".join(part for part in (signature.get("module"), signature["fullname"]) if part)
        if not name.startswith("torch."):
            continue
        try:
            actual = str(inspect.signature(resolve(name)))
        except LookupError as error:
            problems.report(app, f"{error}", location=signature)
        except (ValueError, TypeError):
            # Written in C: Python has no signature to compare with.
            continue
        else:
            shown = _documented(signature)
            if not _same(shown, actual):
                problems.report(
                    app,
                    f"the signature of {name} is not the installed torch's\n"
                    f"  page:  {shown}\n  torch: {actual}",
                    location=signature,
                )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
