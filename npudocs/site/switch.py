"""The language switch: each page links to itself in the other languages, without a script.

The English site is the root, every other language a folder in it. The links are relative, so that they hold
wherever the site lies.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from npudocs.site import languages


def folder(language: str) -> str:
    """The folder of a language in the site, with its slash; the root's is empty."""
    name = languages.FOLDERS.get(language, "")
    return f"{name}/" if name else ""


def tag(language: str) -> str:
    """A language as HTML names it."""
    return language.replace("_", "-")


def address(here: str, there: str, uri: str) -> str:
    """The relative address of a page in another language; `uri` is its address in the site."""
    up = uri.count("/") + folder(here).count("/")
    return f"{'../' * up}{folder(there)}{uri}"


def _context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    here = app.config.language
    context["npudocs_languages"] = []
    for there in app.config.npudocs_languages:
        name = languages.NAMES[there]
        if pagename == app.config.notfound_pagename:
            # That page is shown at any address, and there is none like it to lead to.
            href = f"{app.config.notfound_urls_prefix.removesuffix(folder(here))}{folder(there)}"
        else:
            href = address(here, there, app.builder.get_target_uri(pagename))
            link = f'<link rel="alternate" hreflang="{tag(there)}" href="{href}" />\n'
            context["metatags"] = context.get("metatags", "") + link
        if there != here:
            context["npudocs_languages"].append({"href": href, "tag": tag(there), "name": name})


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("notfound.extension")
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
