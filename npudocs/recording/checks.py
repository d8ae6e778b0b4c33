"""What there is to check: gallery scripts, executable blocks of pages, test methods.

Found without importing torch: the process that plans and watches must not fall with the device.
"""

from __future__ import annotations

import dataclasses
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from npudocs.execute import blocks

# What conf.py loads, less the gallery: the blocks of the pages alone are wanted.
EXTENSIONS = ["myst_parser", "sphinx_design", "npudocs.execute.doctests"]
MYST = ["colon_fence", "deflist", "dollarmath"]
_API = re.compile(r"^`{3,}\{py:(?:function|class|data|method)\} ([\w.]+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Unit:
    """One file of checks. A page's blocks share a namespace, so a unit is run in order."""

    kind: str  # "script", "page" or "tests"
    file: str
    apis: tuple[str, ...] = ()
    items: tuple[int, ...] = ()
    blocks: tuple[blocks.Block, ...] = ()

    def job(self) -> dict[str, Any]:
        """The unit as JSON for the worker."""
        listed = [{**dataclasses.asdict(block), "path": str(block.path)} for block in self.blocks]
        return {"kind": self.kind, "file": self.file, "blocks": listed}


def units(root: Path) -> list[Unit]:
    """All units of the project in `root`: scripts, then pages, then test files."""
    return [*_scripts(root), *_pages(root), *_tests(root)]


def _scripts(root: Path) -> list[Unit]:
    found = []
    for path in sorted((root / "examples").glob("*.py")):
        apis, items = verified(path.read_text(encoding="utf-8"))
        found.append(Unit("script", path.relative_to(root).as_posix(), apis, items))
    return found


def verified(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The APIs and items that a script's ``verifies`` directive names."""
    body = re.search(r"^\.\. verifies::\n((?:[ \t]+\S.*\n)+)", text, re.MULTILINE)
    fields = dict(re.findall(r":(\w+):([^:]*)", body.group(1)) if body else ())
    apis, items = (
        tuple(word.strip() for word in fields.get(name, "").split(",") if word.strip())
        for name in ("apis", "items")
    )
    return apis, tuple(map(int, items))


def _pages(root: Path) -> list[Unit]:
    docs = root / "docs"
    if not docs.is_dir():
        return []
    found = []
    with tempfile.TemporaryDirectory() as scratch, docutils_namespace():
        settings = {
            "extensions": EXTENSIONS,
            "myst_enable_extensions": MYST,
            "exclude_patterns": ["gallery"],
            "npudocs_device": None,
        }
        # The site's own build says what is wrong with a page; here it would be noise.
        app = Sphinx(
            *(str(docs), None, scratch, scratch, "dummy", settings),
            status=None,
            warning=io.StringIO(),
        )
        app.builder.read()
        for name in sorted(app.env.found_docs):
            members, _ = blocks.collect(app.env.get_doctree(name))
            if any(block.kind in blocks.COUNTED for block in members):
                path = Path(app.env.doc2path(name)).resolve()
                file = path.relative_to(root.resolve()).as_posix()
                apis = _page_apis(path) if file.startswith("docs/api/") else ()
                found.append(Unit("page", file, apis, blocks=tuple(members)))
    return found


def _page_apis(path: Path) -> tuple[str, ...]:
    return tuple(_API.findall(path.read_text(encoding="utf-8")))


def _tests(root: Path) -> list[Unit]:
    found = sorted((root / "tests" / "npu").glob("test_*.py"))
    return [Unit("tests", path.relative_to(root).as_posix()) for path in found]
