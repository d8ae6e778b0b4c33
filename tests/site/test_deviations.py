"""Deviations: data that is checked, sections that stand for each, and reports made of what a page shows."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_operator_table import OPERATORS, record
from tinyproject import Project

from npudocs.evidence import EvidenceError
from npudocs.site.operators.data import deviations

ROOT = Path(__file__).parents[2]

PAGE = """
```{deviations}
```

## One

```{testcode}
x = 1 + 1
print(x)
assert x == 2, gone
```

```{testoutput}
2
```

```{deviation} one
```
"""


def data(**fields: Any) -> dict[str, Any]:
    """A file with one deviation; `fields` replace some of its own."""
    source = {"repository": "Ascend/op-plugin", "path": "config/derivatives.yaml", "name": "one"}
    deviation = {
        "name": "one",
        "operator": "torch.one",
        "status": "tangent lost",
        "family": "formula",
        "cause": "The `cause` of one.",
        "sources": [source],
        "confirmed": "source",
        "rests_on": "torch_npu",
        "repaired": True,
        "notice": "By looking.",
        "workaround": "Take `two`.",
        "report": {"title": "One loses it", "expected": "Three."},
        "explains": [{"operators": ["one"], "statuses": ["tangent lost"]}],
    }
    family = {
        "title": "no formula",
        "cause": "A formula is missing.",
        "sources": [],
        "fix": "Add it.",
        "repository": "Ascend/op-plugin",
    }
    return {
        "schema": 1,
        "seen_with": "2.13.0",
        "families": {"formula": family},
        "deviations": [{**deviation, **fields}],
    }


def write(project: Project, content: Any) -> None:
    project.write("evidence/deviations.json", json.dumps(content))
    setup = "```{testsetup}\ngone = 'gone'\n```\n"
    project.page(setup + PAGE)


def test_table_section_and_report(project: Project) -> None:
    write(project, data())
    result = project.build()
    assert result.code == 0, result.output
    page = project.read("html/page.html")
    assert 'href="#deviation-one"' in page and 'id="deviation-one"' in page
    text = html.unescape(re.search(r"<details.*?</details>", page, re.DOTALL).group())
    assert "Title: One loses it\nRepository: Ascend/op-plugin\n" in text
    assert "x = 1 + 1\nprint(x)\n```" in text and "gone" not in text
    assert "## Actual\n\n```text\n2\n```" in text
    assert "The `cause` of one. A formula is missing." in text
    assert "- Ascend/op-plugin, `config/derivatives.yaml`: `one`" in text
    assert "Add it." in text
    assert "On a chip. The same: it rests on torch_npu's code." in text
    assert "Repaired. </strong>Yes, by npu_forward_ad." in page
    assert "Not confirmed." not in page
    write(project, data(confirmed="seen"))
    assert project.build().code == 0
    assert "Not confirmed." in project.read("html/page.html")


def test_prompts_are_no_steps(project: Project) -> None:
    write(project, data())
    block = ">>> one = 2\n>>> 1 / 0\nTraceback (most recent call last):\n...\nZeroDivisionError: division by zero"
    project.page(
        "```{deviations}\n```\n\n## One\n\n```{doctest}\n"
        + block
        + "\n```\n\n```{deviation} one\n```\n"
    )
    result = project.build()
    assert result.code == 0, result.output
    text = html.unescape(project.read("html/page.html"))
    assert "one = 2\n1 / 0\n```" in text
    assert "```text\nTraceback (most recent call last):\n" in text


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("## One\n\n```{deviation} two\n```\n", "has no deviation 'two'"),
        ("```{deviations}\n```\n", "the deviation one of evidence/deviations.json has 0 sections"),
        ("## One\n\n```{deviation} one\n```\n", "has no executed block before {deviation}"),
        (
            "## One\n\n```{testcode}\na = other\n```\n\n```{deviation} one\n```\n",
            "the first block of one does not stand alone: it needs other",
        ),
        (
            "## One\n\n```{testcode}\na =\n\n```{deviation} one\n```\n",
            "docs/page.md:5: ERROR: a fence begins in line 8 inside of this one",
        ),
        (
            "## One\n\n```{testcode}\na =\n```\n\n```{deviation} one\n```\n",
            "it needs Python (invalid syntax (the block, line 1))",
        ),
    ],
)
def test_page_and_data_belong_together(project: Project, page: str, message: str) -> None:
    write(project, data())
    project.page(page)
    result = project.build()
    assert result.code != 0
    assert message in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "deviations.json: file: is not JSON"),
        (data(status="slow"), "deviations[0].status: 'slow' is not one of"),
        (data(rests_on="softnpu"), "deviations[0].rests_on: 'softnpu' is not one of"),
        (data(rests_on="CANN"), "deviations[0].sources: "),
        (data(cause=""), "deviations[0].cause: '' should be non-empty"),
        (data(family="other"), "one: family: 'other' is no family of this file"),
        ({**data(), "deviations": data()["deviations"] * 2}, "one: stands here twice"),
    ],
)
def test_one_clear_message(tmp_path: Path, content: Any, message: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / "deviations.json").write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError) as error:
        deviations(tmp_path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_message_ends_the_build(project: Project) -> None:
    write(project, data(status="slow"))
    result = project.build()
    assert result.code != 0
    assert "evidence/deviations.json: deviations[0].status" in result.output


def test_no_file_is_no_deviation(tmp_path: Path) -> None:
    assert deviations(tmp_path) == []


def test_own_file() -> None:
    found = deviations()
    assert found
    for one in found:
        assert one["sources"] or one["family"]["sources"], f"{one['name']} names no source"


def test_guard_of_page_and_example_are_one() -> None:
    example = (ROOT / "examples/12_notice_lost_tangents.py").read_text(encoding="utf-8")
    page = (ROOT / "docs/deviations/guard.md").read_text(encoding="utf-8")
    start = example.index("ASKS = ")
    guard = example[start : example.index("# %%", start)].rstrip()
    assert guard in page, "the guard differs in docs/deviations/guard.md and examples/12_..."


def test_what_a_sweep_saw_is_shown(project: Project) -> None:
    write(project, data(explains=[{"operators": ["ad*"], "statuses": ["wrong", "error"]}]))
    record(project, OPERATORS)
    project.write("docs/operators/index.md", "---\norphan: true\n---\n# Operators\n")
    result = project.build()
    assert result.code == 0, result.output
    page = project.read("html/page.html")
    text = re.sub("<[^>]+>", "", page)
    assert "In the sweep. Explains 2 cells of torch_npu 2.13.0 as A2, software NPU: add." in text
    assert re.search(r'href="operators/[^"]*#add"', page)
    assert "1 (2)" in text
