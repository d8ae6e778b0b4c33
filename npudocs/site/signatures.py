"""What a page says of an API of torch: its name exists, and its signature is the installed torch's.

A translation asks torch nothing: its pages are those of the English site.
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
from sphinx.environment import BuildEnvironment
from sphinx.ext.intersphinx import InventoryAdapter

from npudocs.execute import problems
from npudocs.site import languages, parts

# Of the domain "py".
KINDS = ("function", "method", "class")
# In the metadata of a page, which Sphinx purges with it.
PARAMETERS = "npudocs_parameters"


def resolve(name: str) -> Any:
    """Return the object with this full name; raises LookupError where torch has none."""
    if name.partition(".")[0] not in ("torch", "torch_npu"):
        raise LookupError(f"{name} is not a name of torch or torch_npu")
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        raise LookupError(f"there is no {name}") from None


def parameters(env: BuildEnvironment, name: str) -> tuple[str, ...] | None:
    """Return the names of an API's parameters, from the page that describes it; None where no page does."""
    found = (metadata.get(PARAMETERS, {}).get(name) for metadata in env.metadata.values())
    return next((names for names in found if names is not None), None)


def _same(one: str, other: str) -> bool:
    """Compare two signatures as Python reads them, whatever their spaces and quotes."""
    try:
        return ast.dump(ast.parse(f"def f{one}: ...")) == ast.dump(ast.parse(f"def f{other}: ..."))
    except SyntaxError:
        return False


def _problem(signature: addnodes.desc_signature, name: str) -> str:
    """What is wrong with a signature; empty where nothing is."""
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
    kept = app.env.metadata[app.env.docname].setdefault(PARAMETERS, {})
    translated = languages.translating(app)
    for signature in doctree.findall(addnodes.desc_signature):
        name = ".".join(filter(None, (signature.get("module"), signature.get("fullname"))))
        listed = signature.findall(addnodes.desc_parameter)
        named = filter(None, (one.next_node(addnodes.desc_sig_name) for one in listed))
        kept[name] = tuple(one.astext() for one in named)
        if problem := "" if translated else _problem(signature, name):
            problems.report(app, problem, location=signature)
    for part in () if translated else doctree.findall(parts.evidence_part):
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
