"""Support tables, record pages and claims: drawn from the evidence alone, and each kind as what it is."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from evidencefiles import API, claims, entry, record
from tinyproject import Project

from npudocs import evidence

TABLE = f"```{{support}} {API}\n```\n"
INDEX = "".join(
    f"```{{{name}}}\n```\n\n"
    for name in ("support-legend", "support-overview", "support-items", "claims", "records")
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
    assert re.findall(r"<p>(any|bfloat16)</p>", drawn) == ["any", "bfloat16"]
    assert "#cell-make-dual-any" in drawn and "#cell-make-dual-bfloat16" in drawn


def test_record_page_says_what_ran_where_and_when(site: Project) -> None:
    for words in (["init", "-q"], ["add", "examples"]):
        subprocess.run(["git", "-C", str(site.root), *words], check=True)
    record(site, entry(site), entry(site, part="b", outcome="failed", message="first\nsecond"))
    assert (
        'href="evidence/records/torch_npu-2.13.0-Ascend910B1.html#cell-make-dual-float32"'
        in table(site)
    )
    page = site.read("html/evidence/records/torch_npu-2.13.0-Ascend910B1.html")
    for words in (
        "Ascend910B1 (softnpu)",
        "f00",
        "a" * 40,
        "2026-11-30T10:00:00",
        "3.11.7",
        "x86_64",
        "61 s",
    ):
        assert words in page
    for anchor in ("cell-make-dual-float32", "item-3", "check-1", "check-2"):
        assert f'id="{anchor}"' in page
    assert "first\nsecond" in page
    source = re.search(r'href="\.\./\.\./(evidence/sources/[0-9a-f]{40}\.txt)"', page).group(1)
    assert site.read(f"html/{source}") == (site.root / "examples/one.py").read_text()


def test_without_git_a_check_is_named_without_its_text(site: Project) -> None:
    record(site, entry(site))
    table(site)
    page = site.read("html/evidence/records/torch_npu-2.13.0-Ascend910B1.html")
    assert "examples/one.py" in page and "evidence/sources" not in page


def test_without_records_the_tables_are_empty(site: Project) -> None:
    path = record(site, entry(site))
    assert marks(table(site)) == ["software"]
    assert marks(table(site, "evidence/index")) == ["software"]
    path.unlink()
    assert marks(table(site)) == marks(table(site, "evidence/index")) == []
    assert not (site.root / "docs/evidence/records" / f"{path.stem}.md").exists()
    assert not (site.root / "build/html/evidence/records" / f"{path.stem}.html").exists()
    assert "There is no record yet." in site.read("html/evidence/index.html")


def test_changed_check_makes_its_cells_stale(site: Project) -> None:
    site.script("two")
    record(site, entry(site), entry(site, "examples/two.py", dtype="float16"))
    assert "stale" not in table(site)
    site.script("one", "assert 1")
    drawn = table(site)
    assert drawn.count("npudocs-mark-software npudocs-passed npudocs-stale") == 1
    assert '<span class="npudocs-stale-word"> stale</span>' in drawn
    assert "1 of 1 stale" in drawn
    page = site.read("html/evidence/records/torch_npu-2.13.0-Ascend910B1.html")
    assert page.count("stale: the check has changed since") == 1
    (site.root / "examples/one.py").unlink()
    table(site)
    assert "the check no longer exists" in site.read(
        "html/evidence/records/torch_npu-2.13.0-Ascend910B1.html"
    )


def test_another_build_of_the_same_release_is_stale(site: Project) -> None:
    record(site, entry(site), version="2.13.0.post1")
    record(site, entry(site), version="2.12.0.post1")
    drawn = table(site)
    assert drawn.count("npudocs-stale-word") == 1
    page = site.read("html/evidence/records/torch_npu-2.13.0.post1-Ascend910B1.html")
    assert "it ran with torch 2.13.0.post1, this site has 2.13.0" in page


def test_newer_record_replaces_an_older_one(site: Project) -> None:
    record(site, entry(site, outcome="failed"), kind="silicon")
    record(site, entry(site), kind="silicon", started="2026-12-01T10:00:00+00:00")
    drawn = table(site)
    assert marks(drawn) == ["silicon"]
    assert "npudocs-passed" in drawn
    assert "replaced by a newer one" in site.read("html/evidence/index.html")


def test_items_by_version_and_product(site: Project) -> None:
    record(site, entry(site, items=[3, 8]), product="A3")
    claims(site, "report", {"items": [3], "product": "A3"}, kind="report")
    assert site.build().code == 0
    _, _, page = site.read("html/evidence/index.html").partition("npudocs-items")
    row = re.search(r"2\.13\.0, A3</p></th>.*?</tr>", page, re.S).group()
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
    assert "docs/page.md: ERROR: support: there is no torch.no_such" in result.output


def test_contradictions_are_found_in_the_claims(site: Project) -> None:
    site.page("```{contradictions}\n```\n")
    assert site.build().code == 0
    assert "No two sources contradict each other." in site.read("html/page.html")
    limit = {"dtypes": ["float32"], "words": "`input`仅支持fp32"}
    claims(site, "page", limit, {"product": "950DT", "says": "not supported"})
    both = {"dtypes": ["float16", "float32"]}
    claims(site, "report", both, {**both, "product": "950DT"}, kind="report")
    assert site.build().code == 0
    rows = re.findall(r"<tr.*?</tr>", site.read("html/page.html"), re.S)[1:]
    text = [re.sub(r"<[^>]+>|\s+", " ", row) for row in rows]
    assert "dtypes; 2.13.0 on A2" in text[0] and "float16, float32" in text[0]
    assert "support; 2.13.0 on 950DT" in text[1] and "✘" in text[1] and "✔" in text[1]
    assert "parameter name" in text[2] and "tensor" in text[2] and "tangent" in text[2]
    assert len(text) == 3


def test_claim_that_a_chip_did_not_confirm(site: Project) -> None:
    site.page("```{contradictions}\n```\n")
    claims(site, "page", {"dtypes": ["float32"]})
    record(site, entry(site, outcome="failed"))
    assert site.build().code == 0
    assert "No two sources contradict" in site.read("html/page.html")
    record(site, entry(site, outcome="failed"), kind="silicon")
    assert site.build().code == 0
    assert "a run on a chip; 2.13.0 on A2" in site.read("html/page.html")


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
    site.script("one", "assert 1")
    record(site, entry(site), same)
    assert site.build().code == 0
    page = site.read("html/page.html")
    assert "No difference: each of the 1 checks" in page
    assert "Not compared, since the check was changed between the records: examples/one.py." in page


def test_unrecorded_combinations_are_listed_with_their_reason(site: Project) -> None:
    one = {"version": "2.14.0", "torch_npu": "2.14.0", "product": "A2", "reason": "no wheel for it"}
    content = {"schema": 1, "combinations": [{**one, "seen": "2026-11-30"}]}
    site.write("evidence/unrecorded.json", json.dumps(content))
    assert marks(table(site)) == []
    assert "no wheel for it" in site.read("html/evidence/index.html")


def test_claims_of_this_project() -> None:
    said = evidence.claims()
    pages = [claim for claim in said if claim.source["kind"] == "published page"]
    assert {claim.version for claim in pages} == {"2.7.1", "2.11.0", "2.12.0", "2.13.0"}
    # Versions, products, and the entries of torch.autograd and of torch.func.
    assert len(pages) == 4 * 3 * (8 + 5)
    assert {c.says for c in pages if c.product == "950DT"} == {"not supported"}
    assert {c.words.count("`input`仅支持fp32") for c in pages if c.dtypes} == {1}
    report = [claim for claim in said if claim.source["kind"] == "report"]
    assert {item for claim in report for item in claim.items} == {*range(1, 9)}
