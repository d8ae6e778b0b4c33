"""``verifies``: a script says which APIs and which test items it proves.

::

    .. verifies::
       :apis: torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual
       :items: 3, 5

It is shown as a box with links, and written to ``verifies.json`` for tools. Every script must have one.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from npudocs.evidence.task import ITEMS
from npudocs.execute import problems
from npudocs.execute import scripts as gallery
from npudocs.site.words import say

RESULT = "verifies.json"


@dataclasses.dataclass
class Verification:
    """What one script says it verifies."""

    script: str
    page: str
    apis: list[str]
    items: list[str]


def claims(env: BuildEnvironment) -> dict[str, Verification]:
    """Return the claims by page."""
    if not hasattr(env, "npudocs_claims"):
        env.npudocs_claims = {}
    return env.npudocs_claims


def resolve(name: str) -> Any:
    """Return the object with this full name; raises LookupError where torch has none."""
    parts = name.split(".")
    if parts[0] not in ("torch", "torch_npu"):
        raise LookupError(f"{name} is not a name of torch or torch_npu")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        try:
            for attribute in parts[size:]:
                found = getattr(found, attribute)
        except AttributeError:
            break
        return found
    raise LookupError(f"there is no {name}")


def about(app: Sphinx, docname: str) -> dict[str, list[Any]]:
    """The APIs that a page documents or a script verifies, and its test items."""
    if claim := claims(app.env).get(docname):
        return {"apis": claim.apis, "items": [int(item) for item in claim.items]}
    objects = app.env.get_domain("py").objects
    apis = [name for name, entry in objects.items() if entry.docname == docname]
    return {"apis": apis, "items": []}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("\n", " ").split(",") if word.strip()]


class Verifies(SphinxDirective):
    """``verifies``: see the head of this file."""

    option_spec: ClassVar = {
        "apis": directives.unchanged_required,
        "items": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Check the names, keep the claim and return the box."""
        apis, items = (_words(self.options.get(name, "")) for name in ("apis", "items"))
        if not apis:
            self._problem("verifies needs the option :apis:", "verifies::")
        for api in apis:
            try:
                resolve(api)
            except LookupError as error:
                self._problem(f"verifies: {error}", api)
        for item in items:
            if item not in ITEMS:
                self._problem(
                    f"verifies: no test item {item}; there are 1 to {len(ITEMS)}", ":items:"
                )
        items = [item for item in items if item in ITEMS]
        script = gallery.script_of(self.env.app, self.env.docname)
        name = gallery.name_of(self.env.app, script) if script else self.env.docname
        claims(self.env)[self.env.docname] = Verification(name, self.env.docname, apis, items)
        return [self._box(apis, items)]

    def _box(self, apis: list[str], items: list[str]) -> nodes.Element:
        box = nodes.admonition(classes=["npudocs-verifies"])
        box += nodes.title(text=say("This example verifies"), translatable=False)
        entries = nodes.bullet_list()
        for number in items:
            item = ITEMS[number]
            words = say("Test item {number}, {name}: {expected}.")
            name, expected = say(item["name"]), say(item["expected"])
            text = words.format(number=number, name=name, expected=expected)
            entries += nodes.list_item("", nodes.paragraph(text=text))
        uses = nodes.paragraph(text=say("The use of "))
        for index, api in enumerate(apis):
            uses += nodes.Text(", " if index else "")
            uses += self._link(api)
        uses += nodes.Text(".")
        entries += nodes.list_item("", uses)
        box += entries
        return box

    def _link(self, api: str) -> nodes.Element:
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=api, refdoc=self.env.docname, refwarn=True
        )
        self.set_source_info(link)
        link += nodes.literal(api, api, classes=["xref", "py", "py-obj"])
        return link

    def _problem(self, message: str, needle: str) -> None:
        problems.report(self.env.app, message, self._place(needle))

    def _place(self, needle: str) -> str:
        """Return the place in the script, not in the page made from it."""
        script = gallery.script_of(self.env.app, self.env.docname)
        if script is None:
            return self.get_location()
        lines = script.read_text(encoding="utf-8").splitlines()
        start = next((n for n, line in enumerate(lines) if "verifies::" in line), 0)
        line = next((n for n in range(start, len(lines)) if needle in lines[n]), start)
        return f"{gallery.name_of(self.env.app, script)}:{line + 1}"


def _asserts(path: Path) -> bool:
    """Whether a script has an ``assert``, or calls a function that is named like one."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:
        return True  # running it says so, with the line
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and node.attr.startswith("assert"))
        for node in ast.walk(tree)
    )


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    claims(env).pop(docname, None)


def _check(app: Sphinx, env: BuildEnvironment) -> list[str]:
    for stem, path in gallery.scripts(app).items():
        name = gallery.name_of(app, path)
        if f"{gallery.FOLDER}/{stem}" not in claims(env):
            problems.report(app, "this script has no `.. verifies::` in its text", f"{name}:1")
        if not _asserts(path):
            problems.report(app, "this script asserts nothing, so it verifies nothing", f"{name}:1")
    return []


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    found = [dataclasses.asdict(claim) for _, claim in sorted(claims(app.env).items())]
    text = json.dumps({"items": ITEMS, "scripts": found}, indent=1) + "\n"
    (Path(app.outdir) / RESULT).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("verifies", Verifies)
    app.connect("env-purge-doc", _purge)
    app.connect("env-updated", _check)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
