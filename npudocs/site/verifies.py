"""``verifies`` and ``{item-table}``: a script says which APIs and which test items it proves.

::

    .. verifies::
       :apis: torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual
       :items: 3, 5

It is shown as a box with links. Every script must have one, and every item a script.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from npudocs.evidence import ITEMS
from npudocs.execute import problems
from npudocs.execute import scripts as gallery
from npudocs.site import languages, parts
from npudocs.site.parts import Page
from npudocs.site.signatures import resolve
from npudocs.site.words import say

# In the metadata of a page, which Sphinx purges with it.
CLAIM = "npudocs_verifies"


def about(app: Sphinx, docname: str) -> dict[str, list[Any]]:
    """The APIs that a page documents or a script verifies, and its test items."""
    if claim := app.env.metadata[docname].get(CLAIM):
        return {"apis": claim["apis"], "items": [int(item) for item in claim["items"]]}
    objects = app.env.get_domain("py").objects
    apis = [name for name, entry in objects.items() if entry.docname == docname]
    return {"apis": apis, "items": []}


class Verifies(SphinxDirective):
    """``verifies``: see the head of this file."""

    option_spec: ClassVar = {
        "apis": directives.unchanged_required,
        "items": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Check the names, keep the claim and return the box."""
        apis, items = (
            [word.strip() for word in self.options.get(name, "").split(",") if word.strip()]
            for name in ("apis", "items")
        )
        wrong = [] if apis else ["it needs the option :apis:"]
        for api in [] if languages.translating(self.env.app) else apis:
            try:
                resolve(api)
            except LookupError as error:
                wrong.append(str(error))
        known = f"there are 1 to {len(ITEMS)}"
        wrong += [f"no test item {item}; {known}" for item in items if item not in ITEMS]
        for words in wrong:
            problems.report(self.env.app, f"verifies: {words}", self.get_location())
        items = [item for item in items if item in ITEMS]
        self.env.metadata[self.env.docname][CLAIM] = {"apis": apis, "items": items}
        return [self._box(apis, items)]

    def _box(self, apis: list[str], items: list[str]) -> nodes.Element:
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
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=api, refdoc=self.env.docname,
                refwarn=True,
            )  # fmt: skip
            self.set_source_info(link)
            link += nodes.literal(api, api, classes=["xref", "py", "py-obj"])
            uses += link
        uses += nodes.Text(".")
        entries += nodes.list_item("", uses)
        title = nodes.title(text=say("This example verifies"), translatable=False)
        return nodes.admonition("", title, entries, classes=["npudocs-verifies"])


def item_table(page: Page) -> dict[str, Any]:
    """The items, each with the pages of its scripts and what became of them on which device."""
    ended = {f"{gallery.FOLDER}/{stem}": unit for stem, unit in gallery.results(page.app).items()}
    rows = [
        (number, item, [(name, ended.get(name)) for name in _verifying(page.app.env, number)])
        for number, item in ITEMS.items()
    ]
    return {"rows": rows, "device": page.app.config.execute_device}


def _verifying(env: BuildEnvironment, number: str) -> list[str]:
    """The pages of the scripts that verify an item."""
    claims = {page: metadata.get(CLAIM) for page, metadata in sorted(env.metadata.items())}
    return [page for page, claim in claims.items() if claim and number in claim["items"]]


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    for stem, path in gallery.scripts(app).items():
        place = f"{gallery.name_of(app, path)}:1"
        if CLAIM not in env.metadata[f"{gallery.FOLDER}/{stem}"]:
            problems.report(app, "this script has no `.. verifies::` in its text", place)
    for page in parts.pages(env, "item-table"):
        for number, item in ITEMS.items():
            if not _verifying(env, number):
                message = f"no script verifies test item {number} ({item['name']})"
                problems.report(app, message, location=page)


def setup(app: Sphinx) -> None:
    app.add_directive("verifies", Verifies)
    app.connect("env-updated", _check)
