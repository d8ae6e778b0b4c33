"""A tiny real Sphinx project a test: it writes pages and scripts, builds them and reads what came out."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sphinx import locale
from sphinx.cmd.build import build_main

CONF = """
from npudocs.device import Device
from npudocs.execute import scripts

execute_device = Device({device})
execute_state = "tinystate"
execute_about = "npudocs.site.verifies.about"
execute_say = "npudocs.site.words.say"
execute_tests = ["tests/test_*.py"]
extensions = ["myst_parser", "sphinx.ext.intersphinx", "npudocs"]
html_theme = "basic"
html_math_renderer = "mathml"
highlight_language = "none"
sphinx_gallery_conf = scripts.configuration(
    doc_module=("torch", "torch_npu"),
    prefer_full_module={{"torch"}},
    image_scrapers=("npudocs.site.rules.look_at_figures", "matplotlib"),
)
intersphinx_mapping = {{"torch": ("https://docs.example/", "inventory.txt")}}
html_extra_path = ["{extra}"]
"""
SOFTWARE = "'software', 'softnpu', 'Ascend910B1', '2.13.0', '2.13.0', '', 'f00', '3.11.7'"
SILICON = "'silicon', 'Ascend910B1', 'Ascend910B1', '2.13.0', '2.13.0', '9.1.0', '', '3.11.7'"
OFF = "'off'"
EXTRA = Path(__file__).parents[1] / "docs" / "extra"
INVENTORY = """\
# Sphinx inventory version 1
# Project: torch
# Version: 2.13
torch.Tensor class tensors.html
"""

SCRIPT = '''
"""
{title}
=======

Text of the script.

.. verifies::
   :apis: torch.Tensor
   :items: {items}
"""

{code}
'''

# Without it, a script asserts nothing and never calls what it verifies.
LAST = "import torch\n\nassert isinstance(torch.ones(1), torch.Tensor)"


@dataclass
class Result:
    """What one build ended with."""

    code: int
    output: str


class Project:
    """A project in a folder of its own."""

    # That warnings are errors.
    strict: tuple[str, ...] = ("-W", "--keep-going")

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.root, self.capfd = root, capfd
        self.device(SOFTWARE)
        self.write("docs/inventory.txt", INVENTORY)
        self.write("examples/GALLERY_HEADER.rst", "Gallery\n=======\n")
        self.write("docs/about.md", "# About\n")
        self.write("docs/index.md", "# Home\n\n```{toctree}\n:glob:\n*\ngallery/index\n```\n")

    def write(self, name: str, text: str) -> Path:
        """Write one file; the text may be indented."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def device(self, arguments: str) -> None:
        """Say what executes the pages from now on."""
        self.write("conf.py", CONF.format(device=arguments, extra=EXTRA))

    def page(self, text: str) -> None:
        """Write docs/page.md; its text begins in line 3."""
        self.write("docs/page.md", "# Page\n\n" + textwrap.dedent(text).lstrip("\n"))

    def script(self, name: str, code: str = "", items: str = "1", last: str = LAST) -> None:
        """Write examples/NAME.py with this code; without an assertion a script is refused."""
        text = SCRIPT.format(title=name, items=items, code=textwrap.dedent(code).strip())
        self.write(f"examples/{name}.py", f"{text.lstrip()}{last}\n")

    def build(self, builder: str = "html", *options: str) -> Result:
        """Build as the Makefile does, and return the exit code and all output."""
        self.capfd.readouterr()
        root = self.root
        flags = ["-n", *self.strict, "-c", str(root), "-b", builder, *options]
        try:
            # Sphinx keeps catalogs as long as the process lives, which is longer than a project here.
            locale.translators.clear()
            code = build_main([*flags, str(root / "docs"), str(root / "build" / builder)])
        except SystemExit as stop:
            print(stop.code)
            code = 1
        captured = self.capfd.readouterr()
        return Result(code, captured.out + captured.err)

    def read(self, name: str) -> str:
        """Return a built file's text."""
        return (self.root / "build" / name).read_text(encoding="utf-8")

    def json(self, name: str) -> Any:
        """Return a built JSON file's content."""
        return json.loads(self.read(name))

    def units(self) -> dict[str, Any]:
        """Return what the last builds executed, by file."""
        return {unit["file"]: unit for unit in self.json("executed.json")["units"]}

    def outcomes(self, file: str = "docs/page.md") -> list[tuple[str, int, str]]:
        """Return part, line and outcome of each result of a file."""
        return [(r["part"], r["line"], r["outcome"]) for r in self.units()[file]["results"]]
