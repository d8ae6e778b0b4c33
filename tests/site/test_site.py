"""What is around the pages: the switches, edit links, social cards, the page for 404, the front page's numbers."""

from __future__ import annotations

import json
import re

import pytest
from test_operator_table import OPERATORS, record
from tinyproject import Project

from npudocs.site import languages

THEME = """
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navbar_end": ["version-switch", "language-switch"],
    "secondary_sidebar_items": ["page-toc", "edit-page"],
}
version = "1.2"
"""


@pytest.fixture
def site(project: Project) -> Project:
    """A project with this site's theme and a page in a folder."""
    conf = project.root / "conf.py"
    conf.write_text(conf.read_text(encoding="utf-8") + THEME, encoding="utf-8")
    project.write("docs/api/one.md", "---\norphan: true\n---\n# One\n\nText of the page.\n")
    return project


def configure(site: Project, text: str) -> None:
    """Add lines to conf.py."""
    conf = site.root / "conf.py"
    conf.write_text(f"{conf.read_text(encoding='utf-8')}{text}\n", encoding="utf-8")


def test_a_page_links_to_itself_in_the_other_language() -> None:
    assert languages.way_up("en", "index.html") == ""
    assert languages.way_up("en", "api/one.html") == "../"
    assert languages.way_up("zh_CN", "index.html") == "../"
    assert languages.way_up("zh_CN", "api/one.html") == "../../"


def test_without_addresses_nothing_leads_nowhere(site: Project) -> None:
    result = site.build()
    assert result.code == 0, result.output
    html = site.read("html/api/one.html")
    assert "og:" not in html and "editthispage" not in html and 'rel="canonical"' not in html
    assert 'href="../zh/api/one.html"' in html
    assert re.search(r'rel="alternate" hreflang="zh-CN" href="../zh/api/one.html"', html)
    assert '<span title="Version 1.2">1.2</span>' in html
    assert site.json("html/versions.json") == [{"name": "1.2", "path": "./"}]
    lost = site.read("html/404.html")
    assert "There is no page at this address." in lost and 'href="/search.html"' in lost
    assert 'href="/zh/"' in lost


def test_addresses_bring_edit_links_and_social_cards(site: Project) -> None:
    configure(site, 'html_baseurl = "https://docs.example/it/"')
    configure(site, 'npudocs_repository = "https://code.example/a/b/"')
    site.script("ex")
    result = site.build()
    assert result.code == 0, result.output
    html = site.read("html/api/one.html")
    assert 'href="https://code.example/a/b/edit/main/docs/api/one.md"' in html
    assert 'content="https://docs.example/it/_static/card.png"' in html
    assert 'content="https://docs.example/it/api/one.html"' in html
    assert "b/edit/main/examples/ex.py" in site.read("html/gallery/ex.html")
    assert "b/edit/main/examples/GALLERY_HEADER.rst" in site.read("html/gallery/index.html")
    assert "editthispage" not in site.read("html/genindex.html")
    assert 'href="/it/search.html"' in site.read("html/404.html")


def test_another_host_has_its_own_form_of_edit_links(site: Project) -> None:
    configure(site, 'npudocs_repository = "https://code.example/-/edit/x/{path}?a=b"')
    assert site.build().code == 0
    assert "https://code.example/-/edit/x/docs/api/one.md?a=b" in site.read("html/api/one.html")


def test_the_front_page_has_numbers_of_the_newest_sweep(project: Project) -> None:
    record(project, OPERATORS)
    project.write("docs/operators/index.md", "---\norphan: true\n---\n# Operators\n")
    project.page("```{glance}\n```\n")
    result = project.build()
    assert result.code == 0, result.output
    html = project.read("html/page.html")
    tiles = re.findall(
        r'<li><a href="([^"]*)"><span class="npudocs-number">(\d+)</span> ([^<]*)</a>', html
    )
    found = {words: int(number) for _, number, words in tiles}
    # fft.fft alone is the same in every form; add is wrong in one.
    assert found["operators"] == 4 and found["same in every form"] == 1 and found["wrong"] == 1
    assert "npudocs-glance npudocs-software" in html and "<strong>software NPU</strong>" in html
    assert "operators/index.html#dtype=float32&amp;status=wrong" in [
        a for a, _, w in tiles if w == "wrong"
    ]
    assert not re.search("[✓✔✗✘]", html)


def test_without_a_sweep_the_front_page_counts_what_there_is(project: Project) -> None:
    project.page("```{glance}\n```\n")
    project.script("ex")
    assert project.build().code == 0
    html = project.read("html/page.html")
    assert "Operators swept" not in html and json.dumps("npudocs-number") in html
    assert re.search(
        r'href="gallery/index.html"><span class="npudocs-number">1</span> examples', html
    )
