"""Every part of a page that is drawn from data: the name of its directive and the function that answers.

The template is ``templates/parts/NAME.html.j2``. See `npudocs.site.parts`.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from npudocs.site import glance, parts, upstream_tests

PARTS = {
    "corrections": upstream_tests.corrections,
    "glance": glance.glance,
    "upstream-tests": upstream_tests.inventory,
}


def setup(app: Sphinx) -> dict[str, Any]:
    for name, context in PARTS.items():
        parts.draw(app, name, context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
