"""Languages: the English build executes and writes data, a translation shows the same in other words.

A build with another ``language`` reads the results of the English one. The gallery is not made again, no
script runs, generated pages and data files are taken as they are; where they are missing the build ends.
Its pages come to stand in the folder ``zh`` inside of the English site.

sphinx-gallery writes titles and introductions as HTML, where Sphinx finds no text to translate: they are taken from
the translated pages of the scripts, which are known by their pictures. How long a script ran is another text in each
run, so that no catalog can have it.
"""

from __future__ import annotations

import functools
import hashlib
import re
from html import escape

from docutils import nodes
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils import base
from myst_parser.parsers import sphinx_
from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs.execute import problems
from npudocs.execute import scripts as gallery
from npudocs.site import words

# By language: its folder inside of the site, and its own name.
FOLDERS = {words.ENGLISH: "", "zh_CN": "zh/"}
NAMES = {words.ENGLISH: "English", "zh_CN": "简体中文"}

_PICTURE = re.compile(r"sphx_glr_(\w+)_thumb\.")
_TOOLTIP = re.compile(r'(<div class="sphx-glr-thumbcontainer" tooltip=")[^"]*(")')
_TITLE = re.compile(r'(<div class="sphx-glr-thumbnail-title">).*?(</div>)', re.DOTALL)
_TIME = re.compile(r"Total running time of the script: \((\d+) minutes ([\d.]+) seconds\)")


def translating(app: Sphinx) -> bool:
    """Whether this build is a translation of the English one."""
    return app.config.language != words.ENGLISH


def way_up(language: str, uri: str) -> str:
    """The relative address of the top of the site, where the data files are, from a page at `uri` of a language."""
    return "../" * (FOLDERS.get(language, "") + uri).count("/")


def _load(app: Sphinx, config: Config) -> None:
    """Load the words; other words are a change of the configuration."""
    found = words.load(config.language, words.LOCALES)
    config.npudocs_words = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()
    if translating(app):
        config.html_title = words.say(config.html_title)
        if logo := config.html_theme_options.get("logo"):
            config.html_theme_options["logo"] = {**logo, "text": config.html_title}
        config.html_extra_path = []
        # It shows what the English build has executed.
        config.execute_nothing = True


def _check(app: Sphinx) -> None:
    """End the build where the English one, with the same device, was not there before."""
    if not translating(app):
        return
    device = app.config.execute_device
    # MyST asks docutils for the same settings, and makes the same parser, at each text that is translated.
    base.get_default_settings = functools.cache(base.get_default_settings)
    MdParserConfig.__hash__ = object.__hash__
    sphinx_.create_md_parser = functools.cache(sphinx_.create_md_parser)
    # Markup may begin and end between Chinese characters, which have no spaces between them.
    app.env.settings["character_level_inline_markup"] = True
    built = gallery.made_on(app) == device.stamp()
    missing = [] if not device.on else sorted({*gallery.scripts(app)} - {*gallery.results(app)})
    if app.builder.format == "html" and (not built or missing):
        problems.stop(
            "a translation shows the results of the English site, and there are none of this device"
            f"{f' for {chr(44).join(missing)}' if missing else ''}: run make html, which builds both"
        )


def _translate(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if not translating(app):
        return
    _thumbnails(app, doctree)
    if gallery.script_of(app, docname):
        for node in doctree.findall(nodes.paragraph):
            if found := _TIME.fullmatch(node.astext()):
                spent = words.say("{minutes} minutes {seconds} seconds")
                spent = spent.format(minutes=found[1], seconds=found[2])
                head = nodes.strong(text=words.say("Total running time of the script:"))
                node.children = []
                node += [head, nodes.Text(f" ({spent})")]


def _thumbnails(app: Sphinx, doctree: nodes.document) -> None:
    parts = [n for n in doctree.findall(nodes.Element) if isinstance(n, nodes.raw | nodes.image)]
    # The tooltip is in the HTML before the picture, the title in that after it.
    for before, picture, after in zip(parts, parts[1:], parts[2:], strict=False):
        found = _PICTURE.search(picture.get("uri", ""))
        page = f"{gallery.FOLDER}/{found[1]}" if found else ""
        if page in app.env.titles:
            _replace(before, _TOOLTIP, _introduction(app, page))
            _replace(after, _TITLE, app.env.titles[page].astext())


def _replace(part: nodes.Element, pattern: re.Pattern[str], text: str) -> None:
    html = pattern.sub(lambda match: f"{match[1]}{escape(text)}{match[2]}", part.astext())
    part.children = [nodes.Text(html)]


def _introduction(app: Sphinx, page: str) -> str:
    """The first paragraph of a script's page."""
    paragraphs = app.env.get_doctree(page).findall(nodes.paragraph)
    found = (one.astext() for one in paragraphs if isinstance(one.parent, nodes.section))
    return " ".join(next(found, "").split())


def setup(app: Sphinx) -> None:
    # What the site has; the first is English.
    app.add_config_value("npudocs_languages", [*NAMES], "html", types=frozenset({list}))
    app.add_config_value("npudocs_words", "", "env", types=frozenset({str}))
    # Before other handlers use words, and after the device is known.
    app.connect("config-inited", _load, priority=550)
    app.connect("builder-inited", _check, priority=60)
    app.connect("doctree-resolved", _translate)
