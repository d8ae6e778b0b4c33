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
from npudocs.upstream import page

NAMES = evidence.FOLDER / "native_names.json"
_LINK = re.compile(r"^\*\*原生文档\*\*：\[[^\]]*\]\(\S+?/([\w.]+)\.html(?:#([\w.]+))?\)")


@dataclasses.dataclass(frozen=True)
class Gap:
    """One page of one version: the public names, those without an entry, and entries of other names."""

    module: str
    version: str
    path: str
    public: tuple[str, ...]
    missing: tuple[str, ...]
    other: tuple[str, ...]


def collect(checkout: Path, names: Path = NAMES) -> list[Gap]:
    """Return the gaps of every page whose version's public names are known.

    Raises:
        PageError: a page is not there or has no entry at all.
    """
    data = json.loads(names.read_text(encoding="utf-8"))
    found = []
    for native in data["pages"]:
        for version, path in page.find(checkout, native["file"]):
            public = known(data["versions"], native["names"], version)
            if public:
                entries = linked(path, page.load(checkout, path))
                missing = tuple(name for name in public if name not in entries)
                other = tuple(name for name in entries if name not in public)
                found.append(Gap(native["module"], version, path, public, missing, other))
    return found


def known(versions: list[str], names: list[dict[str, str]], version: str) -> tuple[str, ...]:
    """Return the public names of a version; none where they were not collected for it."""
    release = ".".join(version.split(".")[:2])
    if release not in versions:
        return ()
    place = versions.index(release)
    return tuple(n["name"] for n in names if versions.index(n.get("since", versions[0])) <= place)


def linked(path: str, text: str) -> list[str]:
    """Return the names whose native documentation the entries of a page link to."""
    found = []
    for line in text.splitlines():
        if match := _LINK.match(line):
            found.append(match[2] or match[1])
    if not found:
        raise page.PageError(f"{path}: expected entries with a line '**原生文档**：[...](...)'")
    return list(dict.fromkeys(found))


def table(found: list[Gap]) -> str:
    """Return the gaps for a reader."""
    lines = []
    for gap in found:
        count = f"{len(gap.missing)} of {len(gap.public)} public names have no entry"
        lines += [f"{gap.module} {gap.version}: {count}", *(f"  {name}" for name in gap.missing)]
    return "\n".join(lines)
