"""Parts of a page that are drawn from the evidence when the page is written.

A directive leaves a placeholder; `render` functions fill it, so that a page need not be read again when
a record is added. Pages with such a part are written again whenever the evidence says something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from npudocs.site import cells

Render = Callable[[Sphinx, str, list[str]], list[nodes.Node]]
_renders: dict[str, Render] = {}


class evidence_part(nodes.General, nodes.Element):
    """Stands for a part until the page is written."""


class Part(SphinxDirective):
    """A directive of `add`; its arguments go to its render function."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder."""
        # Sphinx keeps and purges metadata with the page.
        used = self.env.metadata[self.env.docname].setdefault("npudocs_evidence", [])
        used.append([self.name, *self.arguments])
        part = evidence_part(name=self.name, arguments=self.arguments)
        self.set_source_info(part)
        return [part]


def add(app: Sphinx, name: str, render: Render, arguments: int = 0) -> None:
    """Add the directive ``{name}`` with so many arguments, filled by `render`."""
    _renders[name] = render
    app.add_directive(name, type("Part", (Part,), {"required_arguments": arguments}))


def pages(env: BuildEnvironment, name: str = "") -> dict[str, list[list[str]]]:
    """The pages with a part of this name, or with any, and the arguments of each."""
    found = {}
    for page, metadata in sorted(env.metadata.items()):
        used = [part[1:] for part in metadata.get("npudocs_evidence", []) if name in ("", part[0])]
        if used:
            found[page] = used
    return found


def _changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    if app.builder.format != "html":
        return []
    digest = cells.of(app).digest()
    if getattr(env, "npudocs_evidence_digest", "") == digest:
        return []
    env.npudocs_evidence_digest = digest
    return list(pages(env))


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for part in list(doctree.findall(evidence_part)):
        part.replace_self(_renders[part["name"]](app, docname, part["arguments"]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(evidence_part)
    app.connect("env-updated", _changed)
    # Before other handlers look for links and tables.
    app.connect("doctree-resolved", _fill, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
