"""``llms.txt``: the site for programs that read text, in the form of llmstxt.org.

It has the title, a summary and a list of the pages with what each begins with, in English.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.site import languages

DATA = {
    "data/support.json": "support by API, version, product and dtype; schema: data/support.schema.json",
    "data/operators.json": "what became of each operator's tangent; schema: data/operators.schema.json",
    "objects.inv": "the names that are documented, for intersphinx",
}


def _keep(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the first paragraph of a page, as plain text; a long one is cut."""
    section = next(doctree.findall(nodes.section), doctree)
    first = next((one for one in section.children if isinstance(one, nodes.paragraph)), None)
    text = textwrap.shorten(first.astext(), 204, placeholder=" ...") if first else ""
    app.env.metadata[app.env.docname]["npudocs_beginning"] = text


def _below(app: Sphinx, docname: str) -> list[str]:
    """A page and those below it, in their order."""
    children = app.env.toctree_includes.get(docname, [])
    return [docname, *dict.fromkeys(page for child in children for page in _below(app, child))]


def index(app: Sphinx) -> Iterator[str]:
    """The lines of ``llms.txt``: the pages of a folder stand under its title, the others at the end."""
    root = app.config.root_doc
    yield f"# {app.config.project}\n\n> {app.env.metadata[root]['npudocs_beginning']}"
    listed = [_below(app, child) for child in app.env.toctree_includes.get(root, [])]
    for pages in listed:
        if len(pages) > 1:
            yield from _section(app, app.env.titles[pages[0]].astext(), pages)
    yield from _section(app, "Other pages", [page for page, *below in listed if not below])
    yield "\n## Data\n"
    for name, words in DATA.items():
        if (Path(app.outdir) / name).is_file():
            yield f"- [{name}]({_address(app, name)}): {words}"


def _section(app: Sphinx, title: str, pages: Iterable[str]) -> Iterator[str]:
    yield f"\n## {title}\n"
    for page in pages:
        address = _address(app, app.builder.get_target_uri(page))
        words = app.env.metadata[page]["npudocs_beginning"]
        yield f"- [{app.env.titles[page].astext()}]({address})" + (f": {words}" if words else "")


def _address(app: Sphinx, name: str) -> str:
    """Where something of the site is: in full where the site's own address is known."""
    base = app.config.html_baseurl
    return f"{base.rstrip('/')}/{name}" if base else name


def _write(app: Sphinx, exception: Exception | None) -> None:
    if not exception and app.builder.format == "html" and not languages.translating(app):
        text = "\n".join(index(app))
        (Path(app.outdir) / "llms.txt").write_text(f"{text}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _keep)
    # After the data were written, which it lists.
    app.connect("build-finished", _write, priority=800)
