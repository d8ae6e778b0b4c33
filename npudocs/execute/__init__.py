"""Sphinx extension: runs executable blocks, scripts and tests, and labels pages by the device.

It knows no device and no project: what a device is, how state is reset and what may not be left behind
are handed in by ``conf.py``; see `session`.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

MODULES = ("problems", "session", "blocks", "scripts", "fences", "builders", "banner")


def setup(app: Sphinx) -> dict[str, Any]:
    """Load every part."""
    for module in MODULES:
        app.setup_extension(f"{__name__}.{module}")
    return {"parallel_read_safe": False, "parallel_write_safe": False}
