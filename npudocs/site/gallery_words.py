"""What sphinx-gallery writes into pages, in a translation: thumbnails, and how long a script ran.

It writes titles and introductions as HTML, where Sphinx finds no text to translate: they are taken from the
translated pages of the scripts, which are known by their pictures. The time is another one in each run, so that
no catalog can have it.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.execute import scripts as gallery
from npudocs.site import languages
from npudocs.site.words import say

_PICTURE = re.compile(r"sphx_glr_(\w+)_thumb\.")
_TOOLTIP = re.compile(r'(<div class="sphx-glr-thumbcontainer" tooltip=")[^"]*(")')
_TITLE = re.compile(r'(<div class="sphx-glr-thumbnail-title">).*?(</div>)', re.DOTALL)


_TIME = re.compile(r"Total running time of the script: \((\d+) minutes ([\d.]+) seconds\)")


def _translate(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if not languages.translating(app):
        return
    _thumbnails(app, doctree)
    if gallery.script_of(app, docname):
        for node in doctree.findall(nodes.paragraph):
            if found := _TIME.fullmatch(node.astext()):
                words = say("{minutes} minutes {seconds} seconds")
                words = words.format(minutes=found[1], seconds=found[2])
                head = nodes.strong(text=say("Total running time of the script:"))
                node.children = []
                node += [head, nodes.Text(f" ({words})")]


def _thumbnails(app: Sphinx, doctree: nodes.document) -> None:
    parts = [n for n in doctree.findall(nodes.Element) if isinstance(n, nodes.raw | nodes.image)]
    for number, part in enumerate(parts):
        if not isinstance(part, nodes.image) or not (found := _PICTURE.search(part["uri"])):
            continue
        page = f"{gallery.FOLDER}/{found[1]}"
        if page not in app.env.titles:
            continue
        # The tooltip is in the HTML before the picture, the title in that after it.
        for other, pattern, text in (
            (parts[number - 1], _TOOLTIP, _introduction(app, page)),
            (parts[min(number + 1, len(parts) - 1)], _TITLE, app.env.titles[page].astext()),
        ):
            if isinstance(other, nodes.raw):
                _replace(other, pattern, escape(text))


def _replace(part: nodes.raw, pattern: re.Pattern[str], text: str) -> None:
    html = pattern.sub(lambda match: f"{match[1]}{text}{match[2]}", part.astext())
    part.children = [nodes.Text(html)]


def _introduction(app: Sphinx, page: str) -> str:
    """The first paragraph of a script's page."""
    for section in app.env.get_doctree(page).findall(nodes.section):
        for node in section.children:
            if isinstance(node, nodes.paragraph):
                return " ".join(node.astext().split())
    return ""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", _translate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
