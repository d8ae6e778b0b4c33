"""The pages about single operators: what the sweeps (``evidence/sweeps``) say of each.

`data` answers questions about the records, and draws nothing; the other modules draw one thing each.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

MODULES = (
    "npudocs.site.operators.table",
    "npudocs.site.operators.pages",
    "npudocs.site.operators.files",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Load every part."""
    for module in MODULES:
        app.setup_extension(module)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
