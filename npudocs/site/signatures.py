"""What a page says of an API of torch: its name exists, and its signature is the installed torch's.

A translation asks nothing: its pages are those of the English site.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
from difflib import get_close_matches
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains import Domain
from sphinx.ext.intersphinx import InventoryAdapter

from npudocs.execute import problems
from npudocs.site import languages, parts

# Of the domain "py".
KINDS = ("function", "method", "class")


def resolve(name: str) -> Any:
    """Return the object with this full name; raises LookupError where torch has none."""
    if name.partition(".")[0] not in ("torch", "torch_npu"):
        raise LookupError(f"{name} is not a name of torch or torch_npu")
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        raise LookupError(f"there is no {name}") from None


def _same(one: str, other: str) -> bool:
    """Compare two signatures as Python reads them, whatever their spaces and quotes."""
    try:
        return ast.dump(ast.parse(f"def f{one}: ...")) == ast.dump(ast.parse(f"def f{other}: ..."))
    except SyntaxError:
        return False


def _problem(signature: addnodes.desc_signature) -> str:
    """What is wrong with a signature; empty where nothing is."""
    name = ".".join(filter(None, (signature.get("module"), signature["fullname"])))
    if signature.parent["objtype"] not in KINDS or not name.startswith("torch."):
        return ""
    try:
        actual = str(inspect.signature(resolve(name)))
    except LookupError as error:
        return str(error)
    except (ValueError, TypeError):
        return ""  # Written in C: Python has no signature to compare with.
    shapes = (addnodes.desc_parameterlist, addnodes.desc_returns)
    shown = "".join(node.astext() for node in signature.children if isinstance(node, shapes))
    if not shown and signature.parent["objtype"] == "class":
        shown = "()"  # Sphinx leaves out the empty parentheses of a class.
    if _same(shown, actual):
        return ""
    words = f"the signature of {name} is not the installed torch's"
    return f"{words}\n  page:  {shown or '(none shown)'}\n  torch: {actual}"


def _check(app: Sphinx, doctree: nodes.document) -> None:
    if languages.translating(app):
        return
    for signature in doctree.findall(addnodes.desc_signature):
        if problem := _problem(signature):
            problems.report(app, problem, location=signature)
    for part in doctree.findall(parts.evidence_part):
        if part["name"] == "support":
            try:
                resolve(*part["arguments"])
            except LookupError as error:
                problems.report(app, f"support: {error}", location=part)


def _unknown(app: Sphinx, domain: Domain | None, node: nodes.Element) -> bool:
    """Say in place of Sphinx what to do about a name of Python that no page and no inventory has."""
    name = node["reftarget"]
    if domain is None or domain.name != "py":
        return False
    advice = "correct it, or describe it on a page"
    if name.startswith("torch."):
        known = InventoryAdapter(app.env).main_inventory
        names = [one for kind, found in known.items() if kind.startswith("py:") for one in found]
        near = "".join(f" ({one} is there)" for one in get_close_matches(name, names, 1, 0.8))
        advice = f"correct it{near}, or add a line for it to docs/inventory.txt: NAME KIND PATH"
    problems.report(app, f"no page and no inventory has the name {name!r}: {advice}", location=node)
    return True


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _check)
    app.connect("warn-missing-reference", _unknown)
