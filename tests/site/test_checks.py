"""The page of all checks: where they ran, what differs there, and what became of each."""

from __future__ import annotations

import json
import re

import pytest
from evidencefiles import API, entry, record
from tinyproject import Project

TABLE = f"```{{support}} {API}\n```\n"
CHECKS = "".join(f"```{{{name}}}\n```\n\n" for name in ("records", "differences", "checks"))


@pytest.fixture
def site(project: Project) -> Project:
    """A project with a script, a page with a support table, and the page of all checks."""
    project.script("one")
    project.page(TABLE)
    project.write("docs/evidence/checks.md", "---\norphan: true\n---\n# Checks\n\n" + CHECKS)
    return project


def checks(site: Project) -> str:
    """Build, and return the page of all checks."""
    result = site.build()
    assert result.code == 0, result.output
    return site.read("html/evidence/checks.html")


def words(html: str) -> str:
    """The text of some HTML."""
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


def row(page: str, anchor: str) -> str:
    """The row with this anchor."""
    return re.search(rf'<tr id="{re.escape(anchor)}">.*?</tr>', page, re.S).group()


def test_the_page_says_what_ran_where_and_when(site: Project) -> None:
    record(site, entry(site), entry(site, part="b", outcome="failed", message="first\nsecond"))
    page = checks(site)
    assert 'href="evidence/checks.html#cell-make-dual-float32"' in site.read("html/page.html")
    ran = words(row(page, "record-torch-npu-2-13-0-ascend910b1"))
    assert ran.startswith("2.13.0 as A2 software NPU 2.13.0 2.13.0 A2 Ascend910B1 3.11.7 aaaaaaaa")
    for said in (
        "Ascend910B1 (softnpu)",
        "f00",
        "2026-11-30",
        "x86_64",
        "61 s",
        "1 passed, 1 failed",
    ):
        assert said in ran
    for anchor in ("cell-make-dual-float32", "item-3", "check-examples-one-py"):
        assert f'id="{anchor}"' in page
    assert "SW ✓✗" in row(page, "cell-make-dual-float32") and "SW ✓✗" in row(page, "item-3")
    part = words(row(page, "check-examples-one-py"))
    assert "b float32 SW ✗ (software NPU: failed) failed: 2.13.0 as A2 first second" in part
    assert "first\nsecond" in page


def test_records_that_ended_alike_are_one_column(site: Project) -> None:
    for product in ("A2", "A3"):
        record(site, entry(site), product=product)
    record(site, entry(site, outcome="skipped"), product="950DT")
    record(site, entry(site), kind="silicon")
    page = checks(site)
    heads = re.findall('scope="col">([^<]*)<', page.partition("npudocs-entries")[2])
    assert heads[1:] == [
        "Ascend chip: 2.13.0 on A2", "software NPU: 2.13.0 as A2, A3", "software NPU: 2.13.0 as 950DT",
    ]  # fmt: skip
    drawn = row(page, "cell-make-dual-float32")
    assert re.findall(r"npudocs-mark-(\w+) npudocs-(\w+)", drawn) == [
        ("silicon", "passed"), ("software", "passed"), ("software", "skipped"),
    ]  # fmt: skip


def test_neighbors_that_end_alike_are_one_cell(site: Project) -> None:
    site.script("two")
    same = entry(site, "examples/two.py")
    record(site, entry(site), same)
    record(site, entry(site, outcome="failed"), same, product="A3")
    page = checks(site)
    assert 'colspan="2"' in row(page, "check-examples-two-py")
    assert "colspan" not in row(page, "check-examples-one-py")


def test_newer_record_replaces_an_older_one(site: Project) -> None:
    record(site, entry(site, outcome="failed"), kind="silicon")
    record(site, entry(site), kind="silicon", started="2026-12-01T10:00:00+00:00")
    page = checks(site)
    old = row(page, "record-torch-npu-2-13-0-ascend910b1-2026-11-30")
    assert "replaced by a newer one" in old and page.count("replaced by a newer one") == 1
    assert "npudocs-failed" not in page and "SW" not in page


def test_changed_check_makes_its_cells_stale(site: Project) -> None:
    site.script("two")
    record(site, entry(site), entry(site, "examples/two.py", dtype="float16"))
    assert "stale" not in checks(site)
    site.script("one", "x = 1")
    page = checks(site)
    said = row(page, "check-examples-one-py")
    assert "npudocs-stale" in said and words(said).count("stale: the check has changed since") == 1
    assert "stale" not in row(page, "check-examples-two-py")
    (site.root / "examples/one.py").unlink()
    assert "the check no longer exists" in checks(site)


def test_another_build_of_the_same_release_is_stale(site: Project) -> None:
    record(site, entry(site), version="2.13.0.post1")
    record(site, entry(site), version="2.12.0.post1")
    page = checks(site)
    assert "it ran with torch 2.13.0.post1, this site has 2.13.0" in page
    assert row(page, "check-examples-one-py").count("npudocs-stale-word") == 1


def test_hashes_and_numbers_are_not_searched(site: Project) -> None:
    record(site, entry(site, part="unheard"))
    assert "unheard" in checks(site)
    assert "unheard" not in site.read("html/searchindex.js")


def test_without_records_the_page_says_so(site: Project) -> None:
    path = record(site, entry(site))
    assert "npudocs-cells" in checks(site)
    path.unlink()
    page = checks(site)
    assert "There is no record yet." in page and page.count("There is no record.") == 2
    assert "npudocs-cells" not in page


def test_differences_are_found_grouped_and_explained(site: Project) -> None:
    site.page("```{differences}\n```\n")
    old = [entry(site, part=p, outcome="failed", message=f"KeyError: {p} is missing") for p in "ab"]
    new = [entry(site, part=p) for p in "ab"]
    record(site, *old, version="2.7.1")
    record(site, *new)
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert "2 of 2 checks end differently in 2 records (2.7.1, 2.13.0 as A2)." in page
    assert page.count("Not explained yet.") == 2
    skipped = [entry(site, part=p, outcome="skipped", message="no such thing") for p in "ab"]
    record(site, *skipped, version="2.7.1")
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert page.count("Not explained yet.") == 0
    assert page.count("The reason stands beside the block that is skipped.") == 1
    record(site, *old, version="2.7.1")
    said = {"pattern": "is missing", "words": "They came later.", "source": "the notes"}
    site.write("evidence/explanations.json", json.dumps({"explanations": [said]}))
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert page.count("They came later.") == 1
    assert "a float32, b float32" in page
    text = re.sub(r"<[^>]+>", "", page)
    assert "KeyError: a is missing" in text and "KeyError: b is missing" in text
    record(site, *new, version="2.7.1")
    assert site.build().code == 0
    assert "No difference: each of the 2 checks ends in the same way" in site.read("html/page.html")
    said["words"] = ""
    site.write("evidence/explanations.json", json.dumps({"explanations": [said]}))
    result = site.build()
    assert "explanations[0].words: '' does not match" in result.output and result.code != 0


def test_only_runs_of_the_same_source_are_compared(site: Project) -> None:
    site.page("```{differences}\n```\n")
    site.script("two")
    same = entry(site, "examples/two.py")
    record(site, entry(site, outcome="failed"), same, version="2.7.1")
    site.script("one", "x = 1")
    record(site, entry(site), same)
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert "No difference: each of the 1 checks" in page
    assert "Not compared, since the check was changed between the records: examples/one.py." in page


def test_unrecorded_combinations_are_listed_with_their_reason(site: Project) -> None:
    one = {"version": "2.14.0", "torch_npu": "2.14.0", "product": "A2", "reason": "no wheel for it"}
    content = {"schema": 1, "combinations": [{**one, "seen": "2026-11-30"}]}
    site.write("evidence/unrecorded.json", json.dumps(content))
    assert "no wheel for it" in checks(site)
