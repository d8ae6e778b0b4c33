"""Sphinx extension of this site: pages whose code runs on the NPU, and proves what they say.

Each module is one concern with its own ``setup``; this one only loads them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


__version__ = "0.1.0"

MODULES = (
    "npudocs.site.state",
    "npudocs.site.languages",
    "npudocs.site.search_zh",
    "npudocs.site.mathml",
    "npudocs.site.verifies",
    "npudocs.site.rules",
    "npudocs.site.signatures",
    "npudocs.site.cells",
    "npudocs.site.parts",
    "npudocs.site.deviations",
    "npudocs.site.operators.table",
    "npudocs.site.operators.pages",
    "npudocs.site.data_files",
    "npudocs.site.registry",
    "npudocs.site.looks",
    "npudocs.site.prose",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Load every part of the extension."""
    app.setup_extension("npudocs.execute")
    for module in MODULES:
        import_module(module).setup(app)
    return {"version": __version__, "env_version": 1}
