"""``gaps``: which public names of PyTorch have no entry on the published pages.

The public names are data, ``evidence/native_names.json``, taken from PyTorch's own documentation of each version. An
entry is told by the native page that it links to, because its heading often has a shorter name.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from npudocs import evidence
from npudocs.upstream import house

NAMES = evidence.FOLDER / "native_names.json"
_LINK = re.compile(
    r"^\*\*原生文档\*\*：\[[^\]]*\]\(\S+?/([\w.]+)\.html(?:#([\w.]+))?\)", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Gap:
    """One page of one version: the public names, and those without an entry."""

    module: str
    version: str
    public: list[str]
    missing: list[str]


def collect(checkout: Path) -> list[Gap]:
    """Return the gaps of every page whose version's public names are known.

    Raises:
        PageError: a page is not there or has no entry at all.
    """
    data = json.loads(NAMES.read_text(encoding="utf-8"))
    found = []
    for native in data["pages"]:
        for version, path in house.find(checkout, native["file"]):
            if public := known(data["versions"], native["names"], version):
                linked = {
                    match[2] or match[1] for match in _LINK.finditer(house.load(checkout, path))
                }
                if not linked:
                    expected = "expected entries with a line '**原生文档**：[...](...)'"
                    raise house.PageError(f"{path}: {expected}")
                missing = [name for name in public if name not in linked]
                found.append(Gap(native["module"], version, public, missing))
    return found


def known(versions: list[str], names: list[dict[str, str]], version: str) -> list[str]:
    """Return the public names of a version; none where they were not collected for it."""
    release = house.release(version)
    if release not in versions:
        return []
    place = versions.index(release)
    return [n["name"] for n in names if versions.index(n.get("since", versions[0])) <= place]


def table(found: list[Gap]) -> str:
    """Return the gaps for a reader."""
    lines = []
    for gap in found:
        count = f"{len(gap.missing)} of {len(gap.public)} public names have no entry"
        lines += [f"{gap.module} {gap.version}: {count}", *(f"  {name}" for name in gap.missing)]
    return "\n".join(lines)
