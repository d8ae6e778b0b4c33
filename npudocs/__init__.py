"""Sphinx extension of this site: pages whose code runs on the NPU, and proves what they say.

Each module is one concern with its own ``setup``; this one only loads them.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

__version__ = "0.1.0"

MODULES = (
    "npudocs.problems",
    "npudocs.device",
    "npudocs.languages",
    "npudocs.search_zh",
    "npudocs.inventory",
    "npudocs.mathml",
    "npudocs.doctests",
    "npudocs.fences",
    "npudocs.gallery",
    "npudocs.minigallery",
    "npudocs.gallery_words",
    "npudocs.verifies",
    "npudocs.items",
    "npudocs.signatures",
    "npudocs.banner",
    "npudocs.cells",
    "npudocs.parts",
    "npudocs.support",
    "npudocs.support_data",
    "npudocs.badges",
    "npudocs.claim_tables",
    "npudocs.record_pages",
    "npudocs.differences",
    "npudocs.deviations",
    "npudocs.operators",
    "npudocs.upstream_tests",
    "npudocs.machines",
    "npudocs.llms",
    "npudocs.glance",
    "npudocs.switch",
    "npudocs.versions",
    "npudocs.site",
    "npudocs.prose",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Load every part of the extension."""
    for module in MODULES:
        app.setup_extension(module)
    return {"version": __version__}
