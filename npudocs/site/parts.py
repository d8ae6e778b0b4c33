"""Parts of a page that a template draws from data when the page is written.

A directive ``{NAME} ARGUMENTS`` leaves a placeholder; `npudocs.site.registry` names them all. When the page is
written, the directive's function answers what the data say, and ``templates/parts/NAME.html.j2`` draws it. So a page
need not be read again when a record is added: pages with a part are written again whenever the evidence says
something else.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from docutils import nodes
from markupsafe import Markup, escape
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from npudocs.evidence import Evidence, short
from npudocs.execute import scripts
from npudocs.site import cells, languages
from npudocs.site.operators import data
from npudocs.site.operators.data import Sweeps
from npudocs.site.words import pairs, say, say_number

TEMPLATES = Path(__file__).with_name("templates") / "parts"
Context = Callable[..., Mapping[str, Any]]
# Hashes and numbers of blocks, which nobody searches for.
UNSEARCHED = ("checks",)
# What there is to draw once a sweep was recorded.
SWEPT = tuple(
    f"operator-{name}" for name in ("changes", "counts", "cpu", "files", "limits", "table")
)
_contexts: dict[str, Context] = {}
_BLOCK_END = re.compile(r"</(?:t[dh]|p|li|summary)>(?!\n)")


class Page:
    """The page that a part stands on: the first argument of its function, and ``page`` in its template."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app, self.docname = app, docname

    @property
    def evidence(self) -> Evidence:
        """The evidence of the project."""
        return cells.of(self.app)

    @property
    def sweeps(self) -> Sweeps:
        """What the sweeps of the project say of operators."""
        return data.of(self.app)

    def operator(self, name: str) -> str:
        """The address of an operator's section, seen from here."""
        return self.url(self.sweeps.page(name), name)

    def has(self, docname: str) -> bool:
        """Whether there is a page of this name."""
        return docname in self.app.env.found_docs

    def with_part(self, name: str) -> str:
        """The first page that has this part, or an empty text."""
        return next(iter(pages(self.app.env, name)), "")

    def title(self, docname: str = "") -> str:
        """The title of a page."""
        return self.app.env.titles[docname or self.docname].astext()

    def url(self, docname: str = "", anchor: str = "") -> str:
        """The address of a page, or of a place on it, seen from here."""
        here = docname in ("", self.docname)
        address = "" if here else self.app.builder.get_relative_uri(self.docname, docname)
        return f"{address}#{quote(anchor)}" if anchor else address

    def file(self, name: str) -> str:
        """The address of a file at the top of the site, where the data are, seen from here."""
        here = self.app.builder.get_target_uri(self.docname)
        return f"{languages.way_up(self.app.config.language, here)}{name}"


def code(words: str) -> Markup:
    """Return the text as HTML; what stands between backticks is literal."""
    literal = r'<code class="docutils literal notranslate">\1</code>'
    return Markup(re.sub("`([^`]*)`", literal, str(escape(str(words)))))


@functools.cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {one.__name__: one for one in (say, say_number, pairs, cells.slug, short)}
    made.globals |= {name: value for name, value in vars(cells).items() if name.isupper()}
    made.filters |= {"code": code, "counts": cells.counts_words}
    return made


class evidence_part(nodes.General, nodes.Element):
    """Stands for a part until the page is written."""


class Part(SphinxDirective):
    """A directive of `draw`; its arguments go to its function."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder."""
        # Sphinx keeps and purges metadata with the page.
        used = self.env.metadata[self.env.docname].setdefault("npudocs_evidence", [])
        used.append([self.name, *self.arguments])
        part = evidence_part(name=self.name, arguments=self.arguments)
        self.set_source_info(part)
        return [part]


def draw(app: Sphinx, name: str, context: Context) -> None:
    """Add the directive ``{name}``: its template gets what `context` returns for the page and the arguments."""
    _contexts[name] = context
    arguments = len(inspect.signature(context).parameters) - 1
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
    """The pages to write again: all that have a part, where what they are drawn from has changed."""
    if app.builder.format != "html":
        return []
    ended = {stem: unit.outcome for stem, unit in scripts.results(app).items()}
    pages_of = [f"{scripts.FOLDER}/{stem}" for stem in scripts.scripts(app)]
    said = [(str(env.titles.get(page)), env.metadata[page]) for page in pages_of]
    digest = repr((cells.of(app).digest(), ended, said))
    if getattr(env, "npudocs_evidence_digest", "") == digest:
        return []
    env.npudocs_evidence_digest = digest
    return list(pages(env))


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    page = Page(app, docname)
    for part in list(doctree.findall(evidence_part)):
        name = part["name"]
        if name in SWEPT and not page.sweeps.all:
            name, context = "no-sweep", {}
        else:
            context = _contexts[name](page, *part["arguments"])
        html = _templates().get_template(f"{name}.html.j2").render(page=page, **context)
        # The search index strips tags: words of two blocks must not become one.
        html = _BLOCK_END.sub(r"\g<0>\n", html)
        classes = ["no-search"] if name in UNSEARCHED else []
        part.replace_self(nodes.raw("", html, format="html", classes=classes))


def setup(app: Sphinx) -> None:
    app.add_node(evidence_part)
    app.connect("env-updated", _changed)
    # Before other handlers look for links and tables.
    app.connect("doctree-resolved", _fill, priority=400)
