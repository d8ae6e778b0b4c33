"""A build after another one reads and writes what has changed, and nothing else."""

from __future__ import annotations

import re

import pytest
from tinyproject import Project

EXAMPLES = "```{eval-rst}\n.. minigallery:: torch.ones\n```\n"


@pytest.fixture
def site(project: Project) -> Project:
    """A project that was built: a script with a drawing, and a page that lists the scripts of an API."""
    # sphinx-gallery adds to Sphinx's own list, which lives longer than a build here.
    conf = project.root / "conf.py"
    conf.write_text(conf.read_text(encoding="utf-8") + "templates_path = []\n", encoding="utf-8")
    project.page(EXAMPLES + "\n```{item-table}\n```\n")
    project.write("examples/thumbnails/one.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n")
    project.script("one", "import torch\ntorch.ones(1)", items="1, 2, 3, 4, 5, 6, 7, 8")
    assert project.build().code == 0
    return project


def test_an_unchanged_build_reads_and_writes_no_page(site: Project) -> None:
    result = site.build()
    assert result.code == 0, result.output
    assert "0 added, 0 changed, 0 removed" in result.output
    assert not re.search(r"writing output\.\.\. \[", result.output), result.output


def test_a_new_script_is_listed_where_its_api_is(site: Project) -> None:
    site.script("two", "import torch\ntorch.ones(2)")
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert "gallery/two.html" in page.partition("<table")[0]
    assert "gallery/two.html" in page.partition("<table")[2]
    (site.root / "examples/two.py").unlink()
    assert site.build().code == 0
    assert "gallery/two.html" not in site.read("html/page.html")


def test_a_script_that_proves_something_else_changes_the_item_table(site: Project) -> None:
    path = site.root / "examples/one.py"
    site.script("two", "import torch\ntorch.ones(2)", items="8")
    assert site.build().code == 0
    path.write_text(path.read_text().replace(", 8", ""))
    assert site.build().code == 0
    rows = re.findall(r"<tr>.*?</tr>", site.read("html/page.html"), re.S)
    assert "gallery/one" in rows[-2] and "gallery/one" not in rows[-1]
