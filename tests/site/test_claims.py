"""What others say, and where they contradict each other or a run on a chip."""

from __future__ import annotations

import re

from evidencefiles import API, claims, entry, record
from tinyproject import Project

from npudocs import evidence

SIGNATURE = "(tensor, tangent, *, level=None)"


def test_contradictions_are_found_in_the_claims(project: Project) -> None:
    project.page("```{contradictions}\n```\n")
    assert project.build().code == 0
    assert "No two sources contradict each other." in project.read("html/page.html")
    limit = {"dtypes": ["float32"], "words": "`input`仅支持fp32"}
    claims(project, "page", limit, {"product": "950DT", "says": "not supported"})
    both = {"dtypes": ["float16", "float32"]}
    claims(project, "report", both, {**both, "product": "950DT"}, kind="report")
    assert project.build().code == 0
    rows = re.findall(r"<tr.*?</tr>", project.read("html/page.html"), re.S)[1:]
    text = [re.sub(r"<[^>]+>|\s+", " ", row) for row in rows]
    assert "dtypes; 2.13.0 on A2" in text[0] and "float16, float32" in text[0]
    assert "support; 2.13.0 on 950DT" in text[1] and "✘" in text[1] and "✔" in text[1]
    assert len(text) == 2
    # The page of the API has its parameters.
    project.page(f"```{{contradictions}}\n```\n\n```{{py:function}} {API}{SIGNATURE}\n```\n")
    assert project.build().code == 0
    rows = re.findall(r"<tr.*?</tr>", project.read("html/page.html"), re.S)[1:]
    assert "parameter name" in rows[2] and "tensor" in rows[2] and "tangent" in rows[2]
    assert len(rows) == 3


def test_claim_that_a_chip_did_not_confirm(project: Project) -> None:
    project.page("```{contradictions}\n```\n")
    project.script("one")
    claims(project, "page", {"dtypes": ["float32"]})
    record(project, entry(project, outcome="failed"))
    assert project.build().code == 0
    assert "No two sources contradict" in project.read("html/page.html")
    record(project, entry(project, outcome="failed"), kind="silicon")
    assert project.build().code == 0
    assert "a run on a chip; 2.13.0 on A2" in project.read("html/page.html")


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
