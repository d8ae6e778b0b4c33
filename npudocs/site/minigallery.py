"""``{minigallery}`` in Markdown pages, and never silently empty.

sphinx-gallery's directive inserts reST into its parser, which MyST does not offer, and shows nothing
where no script uses the API.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery import directives as upstream

from npudocs.execute import problems
from npudocs.execute import scripts as gallery


class _Lines:
    """Takes what the upstream directive would insert into the reST parser."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def insert_input(self, lines: list[str], _source: str) -> None:
        """Keep the lines."""
        self.lines = list(lines)


class MiniGallery(SphinxDirective, upstream.MiniGallery):
    """sphinx-gallery's directive for reST and Markdown pages."""

    option_spec = upstream.MiniGallery.option_spec

    def run(self) -> list[nodes.Node]:
        """Return the thumbnails of the scripts that use the named APIs."""
        folder = gallery.output_folder(self.env.app)
        self.env.note_dependency(str(folder / "backreferences" / "backreferences_all.json"))
        parser, self.state_machine = self.state_machine, _Lines()
        upstream.MiniGallery.run(self)
        lines, self.state_machine = self.state_machine.lines, parser
        if not lines:
            name = " ".join([*self.arguments, *self.content])
            problems.report(
                self.env.app, f"no script in the gallery uses {name}", self.get_location()
            )
            return []
        text = "\n".join(lines)
        if Path(self.env.doc2path(self.env.docname)).suffix == ".md":
            text = f"```````{{eval-rst}}\n{text}\n```````"
        made = self.parse_text_to_nodes(text)
        # Links, which have the title of their page: nothing to translate.
        for paragraph in (p for node in made for p in node.findall(nodes.paragraph)):
            paragraph["translatable"] = False
        return made


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("minigallery", MiniGallery, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
