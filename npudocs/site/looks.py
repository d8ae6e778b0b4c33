"""How the site looks beyond its pages: the theme's options, edit links, social cards and the page for 404.

What needs the site's own address (``html_baseurl``) or that of its repository is left out while these are
empty, so that no link leads nowhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs.execute import scripts as gallery
from npudocs.site import switch
from npudocs.site.operators import places
from npudocs.site.words import say

TEMPLATES = Path(__file__).with_name("templates")
CARD = "_static/card.png"
# Pages that the build writes: there is nothing to edit.
MADE = (f"{places.FOLDER}/",)


def theme_options(title: str) -> dict[str, Any]:
    """Return ``html_theme_options``."""
    return {
        "logo": {"text": title},
        "navbar_align": "left",
        "header_links_before_dropdown": 7,
        "navbar_persistent": ["search-button"],
        "navbar_end": ["version-switch", "language-switch", "theme-switcher"],
        "secondary_sidebar_items": ["page-toc", "edit-page"],
        "show_prev_next": True,
        "footer_start": ["copyright"],
        "footer_end": [],
    }


def context() -> dict[str, Any]:
    """Return ``html_context``: the color mode follows the reader's system until the reader chooses."""
    return {"default_mode": "auto"}


def edit_address(app: Sphinx, docname: str) -> str:
    """Return where a page is edited, or an empty text.

    ``npudocs_repository`` is the repository's address on GitHub, GitCode or Gitee; for another host it is
    the whole address of a file, with ``{path}`` where the file's path belongs.
    """
    repository = app.config.npudocs_repository.rstrip("/")
    path = _source(app, docname)
    if not repository or not path:
        return ""
    pattern = repository if "{path}" in repository else f"{repository}/edit/main/{{path}}"
    return pattern.replace("{path}", path)


def _source(app: Sphinx, docname: str) -> str:
    """The file that a page is made of, relative to the project, or an empty text."""
    if docname not in app.env.found_docs or docname.startswith(MADE):
        return ""
    if docname == f"{gallery.FOLDER}/index":
        examples = Path(app.srcdir) / app.config.sphinx_gallery_conf["examples_dirs"]
        return gallery.name_of(app, examples / "GALLERY_HEADER.rst")
    script = gallery.script_of(app, docname)
    return gallery.name_of(app, script or Path(app.env.doc2path(docname)))


def _configure(app: Sphinx, config: Config) -> None:
    config.templates_path = [*config.templates_path, str(TEMPLATES)]
    folder = switch.folder(config.language)
    # The page for 404 is shown at any address, so that its own links cannot be relative.
    config.notfound_urls_prefix = f"{urlsplit(config.html_baseurl).path.rstrip('/')}/{folder}"
    config.notfound_template = "notfound.html"
    config.notfound_context = {}
    if config.html_baseurl:
        config.html_baseurl = f"{config.html_baseurl.rstrip('/')}/{folder}"
        config.ogp_site_url = config.html_baseurl
        config.ogp_image = CARD
        config.ogp_image_alt = config.html_title
        config.ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image" />']


def _context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["npudocs_edit"] = edit_address(app, pagename)
    context["say"] = say


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("npudocs_repository", "", "html", types=frozenset({str}))
    app.setup_extension("notfound.extension")
    # Its tags need absolute addresses.
    if app.config.html_baseurl:
        app.setup_extension("sphinxext.opengraph")
    # Before the extensions above look at their values.
    app.connect("config-inited", _configure, priority=400)
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
