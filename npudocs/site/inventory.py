"""Links to other sites' objects without the network.

``npudocs_inventories`` maps a name to a base URL and a text file (relative to the pages) with one object a
line, ``ROLE NAME PATH``, where ``$`` in PATH stands for the name::

    py:class torch.Tensor tensors.html#$

It is turned into the inventory that intersphinx reads.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

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


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.intersphinx")
    app.add_config_value("npudocs_inventories", {}, "env", types=frozenset({dict}))
    # Before intersphinx checks its mapping (800).
    app.connect("config-inited", _add, priority=700)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
