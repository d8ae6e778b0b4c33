"""``llms.txt`` and ``llms-full.txt``: the site for programs that read text, in the form of llmstxt.org.

The first has the title, a summary and a list of the pages with what each begins with. The second has the
sources of all these pages: Markdown, and the scripts of the gallery. Both are in English.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.execute import scripts as gallery
from npudocs.site import languages

INDEX, FULL = "llms.txt", "llms-full.txt"
LENGTH = 200
DATA = {
    "data/support.json": "support by API, version, product and dtype; schema: data/support.schema.json",
    "data/operators.json": "what became of each operator's tangent; schema: data/operators.schema.json",
    "objects.inv": "the names that are documented, for intersphinx",
    FULL: "the sources of all pages that are listed here, in one file",
}


def pages(app: Sphinx, docname: str) -> list[str]:
    """The pages below a page, in their order."""
    found: list[str] = []
    for child in app.env.toctree_includes.get(docname, []):
        if child not in found:
            found += [child, *(page for page in pages(app, child) if page not in found)]
    return found


def sections(app: Sphinx) -> dict[str, list[str]]:
    """The pages by section: those of a folder under its title, the others at the end."""
    found: dict[str, list[str]] = {}
    alone: list[str] = []
    for child in app.env.toctree_includes.get(app.config.root_doc, []):
        if below := pages(app, child):
            found[app.env.titles[child].astext()] = [child, *below]
        else:
            alone.append(child)
    return found | ({"Other pages": alone} if alone else {})


def index(app: Sphinx) -> str:
    """The text of ``llms.txt``."""
    lines = [f"# {app.config.project}", "", f"> {beginning(app, app.config.root_doc)}"]
    for title, listed in sections(app).items():
        lines += ["", f"## {title}", ""]
        lines += [_line(app, page) for page in listed if page in app.env.titles]
    lines += ["", "## Data", ""]
    for name, words in DATA.items():
        if name == FULL or (Path(app.outdir) / name).is_file():
            lines.append(f"- [{name}]({address(app, name)}): {words}")
    return "\n".join(lines) + "\n"


def address(app: Sphinx, name: str) -> str:
    """Where something of the site is: in full where the site's own address is known."""
    base = app.config.html_baseurl
    return f"{base.rstrip('/')}/{name}" if base else name


def _line(app: Sphinx, page: str) -> str:
    uri = address(app, app.builder.get_target_uri(page))
    words = beginning(app, page)
    return f"- [{app.env.titles[page].astext()}]({uri})" + (f": {words}" if words else "")


def beginning(app: Sphinx, page: str) -> str:
    """The first paragraph of a page, as plain text; a long one is cut."""
    for section in app.env.get_doctree(page).findall(nodes.section):
        for node in section.children:
            if isinstance(node, nodes.paragraph):
                text = " ".join(node.astext().split())
                return text if len(text) <= LENGTH else f"{text[:LENGTH].rsplit(' ', 1)[0]} ..."
        break
    return ""


def full(app: Sphinx) -> Iterator[str]:
    """The pages of ``llms-full.txt``: a head with the address, and the source."""
    listed = [page for group in sections(app).values() for page in group]
    for page in [app.config.root_doc, *listed]:
        if page not in app.env.titles:
            continue
        path = gallery.script_of(app, page) or Path(app.env.doc2path(page))
        if path.is_file():
            uri = address(app, app.builder.get_target_uri(page))
            yield f"=== {uri}\n\n{path.read_text(encoding='utf-8').strip()}\n"


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html" or languages.translating(app):
        return
    folder = Path(app.outdir)
    (folder / INDEX).write_text(index(app), encoding="utf-8")
    (folder / FULL).write_text("\n".join(full(app)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    # After the data were written, which it lists.
    app.connect("build-finished", _write, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
