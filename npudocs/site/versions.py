"""The version switch: ``versions.json`` in the site's root names this version alone.

Where several versions are published next to each other, whoever publishes them puts a file that lists all
into each: ``[{"name": "0.1.0", "path": "./"}, {"name": "0.2.0", "path": "../0.2.0/"}]``. A script reads it
and makes a choice of it that keeps the page; without it, or where pages are opened as files, the page names
its own version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FILE = "versions.json"
SCRIPT = "versions.js"


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        text = json.dumps([{"name": app.config.version, "path": "./"}])
        (Path(app.outdir) / FILE).write_text(f"{text}\n", encoding="utf-8")


def _context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["npudocs_page"] = app.builder.get_target_uri(pagename)


def setup(app: Sphinx) -> dict[str, Any]:
    if "html_static_path" in app.config and app.config.html_static_path:
        app.add_js_file(SCRIPT, loading_method="defer")
    app.connect("html-page-context", _context)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
