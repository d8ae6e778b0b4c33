"""Links to other sites' objects without the network.

``npudocs_inventories`` maps a name to a base URL and a text file (relative to the pages) with one object a
line, ``ROLE NAME PATH``, where ``$`` in PATH stands for the name::

    py:class torch.Tensor tensors.html#$

It is turned into the inventory that intersphinx reads.
"""

from __future__ import annotations

import re
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.domains import Domain
from sphinx.errors import ConfigError

from npudocs.execute import problems

HEADER = "# Sphinx inventory version 2\n# Project: {name}\n# Version: \n# The remainder is compressed using zlib.\n"


def encode(name: str, text: str) -> bytes:
    """Return the objects.inv of the objects that `text` lists."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            role, target, path = line.split()
        except ValueError:
            raise ConfigError(
                f"inventory {name}, line {number}: expected 'ROLE NAME PATH', got {line!r}"
            ) from None
        lines.append(f"{target} {role} 1 {path} -\n")
    return HEADER.format(name=name).encode() + zlib.compress("".join(lines).encode())


def _add(app: Sphinx, config: Config) -> None:
    app.doctreedir.mkdir(parents=True, exist_ok=True)
    for name, (url, source) in config.npudocs_inventories.items():
        text = (Path(app.srcdir) / source).read_text(encoding="utf-8")
        target = app.doctreedir / f"{name}.inv"
        target.write_bytes(encode(name, text))
        config.intersphinx_mapping[name] = (url, str(target))


def _unknown(app: Sphinx, domain: Domain | None, node: nodes.Element) -> bool:
    """Say in place of Sphinx what to do about a name of Python that no page and no inventory has."""
    name, site = node["reftarget"], node["reftarget"].partition(".")[0]
    if domain is None or domain.name != "py":
        return False
    advice = "correct it, or describe it on a page"
    if site in app.config.npudocs_inventories:
        source = Path(app.srcdir) / app.config.npudocs_inventories[site][1]
        known = re.findall(r"^\S+ (\S+) ", source.read_text(encoding="utf-8"), re.M)
        near = "".join(f" ({one} is there)" for one in get_close_matches(name, known, 1, 0.8))
        line = f"py:{domain.objtypes_for_role(node['reftype'], ['class'])[0]} {name} generated/$.html#$"
        advice = f"correct it{near}, or add the line {line!r} with its path to docs/{source.name}"
    problems.report(app, f"no page and no inventory has the name {name!r}: {advice}", location=node)
    return True


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.intersphinx")
    app.add_config_value("npudocs_inventories", {}, "env", types=frozenset({dict}))
    # Before intersphinx checks its mapping (800).
    app.connect("config-inited", _add, priority=700)
    app.connect("warn-missing-reference", _unknown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
