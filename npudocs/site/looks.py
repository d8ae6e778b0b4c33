"""How the site looks beyond its pages: the theme's options, switches, edit links, social cards and the page for 404.

What needs an address that is empty in ``conf.py`` is left out. Links to other languages are relative: English is the
root of the site, every other language a folder in it. ``versions.json`` names this version alone; where several are
published next to each other, whoever publishes them puts a file that lists all into each:
``[{"name": "0.1.0", "path": "./"}, {"name": "0.2.0", "path": "../0.2.0/"}]``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs.execute import scripts as gallery
from npudocs.site import languages
from npudocs.site.operators import data
from npudocs.site.words import say

TEMPLATES = Path(__file__).with_name("templates")
CARD = "_static/card.png"
VERSIONS, VERSIONS_SCRIPT = "versions.json", "versions.js"
# Pages that the build writes: there is nothing to edit.
MADE = (f"{data.FOLDER}/",)


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
    folder = languages.FOLDERS.get(config.language, "")
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
    context["npudocs_languages"] = []
    here, uri = app.config.language, app.builder.get_target_uri(pagename)
    context["npudocs_page"] = uri
    for there in app.config.npudocs_languages:
        tag = there.replace("_", "-")
        if pagename == app.config.notfound_pagename:
            # That page is shown at any address, and there is none like it to lead to.
            prefix = app.config.notfound_urls_prefix.removesuffix(languages.FOLDERS[here])
            href = f"{prefix}{languages.FOLDERS[there]}"
        else:
            href = f"{languages.way_up(here, uri)}{languages.FOLDERS[there]}{uri}"
            link = f'<link rel="alternate" hreflang="{tag}" href="{href}" />\n'
            context["metatags"] = context.get("metatags", "") + link
        if there != here:
            name = languages.NAMES[there]
            context["npudocs_languages"].append({"href": href, "tag": tag, "name": name})


def _write_versions(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        text = json.dumps([{"name": app.config.version, "path": "./"}])
        (Path(app.outdir) / VERSIONS).write_text(f"{text}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_config_value("npudocs_repository", "", "html", types=frozenset({str}))
    app.setup_extension("notfound.extension")
    # Its tags need absolute addresses.
    if app.config.html_baseurl:
        app.setup_extension("sphinxext.opengraph")
    # Before the extensions above look at their values.
    app.connect("config-inited", _configure, priority=400)
    app.connect("html-page-context", _context)
    app.connect("build-finished", _write_versions)
    if "html_static_path" in app.config and app.config.html_static_path:
        app.add_js_file(VERSIONS_SCRIPT, loading_method="defer")
