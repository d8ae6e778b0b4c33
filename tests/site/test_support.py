"""Support tables: drawn from the evidence alone, and each kind as what it is."""

from __future__ import annotations

import json
import re

import pytest
from evidencefiles import API, claims, entry, record
from tinyproject import Project

TABLE = f"```{{support}} {API}\n```\n"
INDEX = "".join(
    f"```{{{name}}}\n```\n\n"
    for name in ("support-legend", "support-overview", "support-items", "claims")
)


@pytest.fixture
def site(project: Project) -> Project:
    """A project with a script, a page with a support table, and the overview."""
    project.script("one")
    project.page(TABLE)
    project.write("docs/evidence/index.md", "---\norphan: true\n---\n# Evidence\n\n" + INDEX)
    return project


def table(site: Project, page: str = "page") -> str:
    """Build, and return the support table of a page."""
    result = site.build()
    assert result.code == 0, result.output
    found = re.search(
        r'<table class="[^"]*npudocs-support.*?</table>', site.read(f"html/{page}.html"), re.S
    )
    return found.group()


def marks(text: str) -> list[str]:
    """The kinds that are drawn in a text."""
    return re.findall(r"npudocs-mark-(\w+)", text)


def test_three_kinds_never_look_alike(site: Project) -> None:
    record(site, entry(site))
    record(site, entry(site), kind="silicon")
    claims(site, "page", {"dtypes": ["float32"]})
    drawn = table(site)
    assert marks(drawn) == ["silicon", "software", "claim"]
    assert '<span class="npudocs-sign">✔</span>' in drawn
    assert '<span class="npudocs-sign">SW ✓</span>' in drawn
    assert "“✔ claimed”" in drawn
    assert "(software NPU, Ascend910B1: 1 passed)" in drawn
    assert "(Ascend chip, Ascend910B1: 1 passed)" in drawn
    assert 'href="evidence/index.html#claim-page"' in drawn
    assert 'id="claim-page"' in site.read("html/evidence/index.html")


def test_a_claim_has_the_sign_of_what_it_says(site: Project) -> None:
    claims(site, "page", {"dtypes": ["float32"], "says": "not supported"})
    assert "“✘ claimed”" in table(site)


def test_failure_and_partial_results_carry_their_note(site: Project) -> None:
    failed = entry(site, part="b", outcome="crashed", message="signal 11")
    record(site, entry(site), failed, entry(site, part="c", outcome="skipped"))
    record(site, entry(site, outcome="timeout"), product="A3")
    drawn = table(site)
    assert "SW ✓✗" in drawn
    assert '<p class="npudocs-note">1 passed, 1 crashed, 1 skipped</p>' in drawn
    assert "SW ✗" in drawn


def test_dtypes_are_columns_and_none_is_any(site: Project) -> None:
    record(site, entry(site, dtype=""), entry(site, part="b", dtype="bfloat16"))
    drawn = table(site)
    assert re.findall(r">(any|bfloat16)</th>", drawn) == ["any", "bfloat16"]
    assert "#cell-make-dual-any" in drawn and "#cell-make-dual-bfloat16" in drawn


def test_items_by_version_and_product(site: Project) -> None:
    record(site, entry(site, items=[3, 8]), product="A3")
    claims(site, "report", {"items": [3], "product": "A3"}, kind="report")
    assert site.build().code == 0
    _, _, page = site.read("html/evidence/index.html").partition("npudocs-items")
    row = re.search(r"2\.13\.0, A3</th>.*?</tr>", page, re.S).group()
    cells = re.findall(r"<td.*?</td>", row, re.S)
    assert [marks(cell) for cell in cells] == [
        [],
        [],
        ["software", "claim"],
        [],
        [],
        [],
        [],
        ["software"],
    ]
    assert "#item-3" in cells[2]


def test_record_that_is_not_to_be_trusted_ends_the_build(site: Project) -> None:
    path = record(site, entry(site, outcome="failed"))
    path.write_text(path.read_text().replace("it broke", "it is fine"))
    result = site.build()
    assert result.code != 0
    assert f"software/{path.name}: digest: does not fit the content" in result.output


def test_unknown_api_is_an_error(site: Project) -> None:
    site.page("```{support} torch.no_such\n```\n")
    result = site.build()
    assert result.code != 0
    assert "docs/page.md:3: ERROR: support: there is no torch.no_such" in result.output


def test_without_records_the_tables_are_empty(site: Project) -> None:
    path = record(site, entry(site))
    assert marks(table(site)) == ["software"]
    assert marks(table(site, "evidence/index")) == ["software"]
    path.unlink()
    assert marks(table(site)) == marks(table(site, "evidence/index")) == []


def test_changed_check_makes_its_cells_stale(site: Project) -> None:
    site.script("two")
    record(site, entry(site), entry(site, "examples/two.py", dtype="float16"))
    assert "stale" not in table(site)
    site.script("one", "x = 1")
    drawn = table(site)
    assert drawn.count("npudocs-mark-software npudocs-passed npudocs-stale") == 1
    assert '<span class="npudocs-stale-word"> stale</span>' in drawn
    assert "1 of 1 stale" in drawn


def test_newer_record_replaces_an_older_one(site: Project) -> None:
    record(site, entry(site, outcome="failed"), kind="silicon")
    record(site, entry(site), kind="silicon", started="2026-12-01T10:00:00+00:00")
    drawn = table(site)
    assert marks(drawn) == ["silicon"]
    assert "npudocs-passed" in drawn


def test_the_search_finds_the_words_of_cells(site: Project) -> None:
    """They are raw HTML, of which the index strips the tags: cells must not run into each other."""
    claims(site, "page", {"words": "unheard"}, {"product": "A3", "words": "unseen"})
    table(site)
    index = json.loads(re.search(r"setIndex\((.*)\)", site.read("html/searchindex.js"), re.S)[1])
    assert {"unheard", "unseen"} <= {*index["terms"]}
