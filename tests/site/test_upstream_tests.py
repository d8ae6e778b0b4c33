"""Upstream's tests: the inventory, and the corrections to the task's report."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tinyproject import Project

from npudocs import evidence
from npudocs.site import upstream_tests

TEST = {
    "class": "TestOne", "method": "test_one", "file": "test/test_one.py", "checks": "one thing",
    "device": "cpu only", "reaches_npu": False, "how": "names no device",
    "on_npu": {"outcome": "passed", "message": ""},
    "equivalent": ["tests/npu/test_mine.py::test_mine"], "why_none": "",
}  # fmt: skip
TESTS = {
    "schema": 1,
    "source": {"repository": "Ascend/pytorch", "commit": "a" * 40, "what": "test/"},
    "how": "run",
    "where": {
        "kind": "software",
        "soc": "Ascend910B1",
        "torch": "2.13.0+cpu",
        "torch_npu": "2.13.0",
    },
    "seen": "2026-11-30",
    "report": {
        "about": "x", "source": "test/", "commit": "a" * 40, "seen": "2026-11-30", "tests": [],
    },
    "tests": [TEST],
}  # fmt: skip


def written(project: Project, tests: Any = TESTS) -> None:
    """Write the inventory, a test of ours, and the page that shows them."""
    project.write("tests/npu/test_mine.py", "def test_mine():\n    pass\n")
    project.write("evidence/upstream_tests.json", json.dumps(tests))
    project.page("```{upstream-tests}\n```\n")


def test_the_page(project: Project) -> None:
    written(project)
    result = project.build()
    assert result.code == 0, result.output
    text = project.read("html/page.html")
    assert "test_one" in text and "test_mine" in text and "SW ✓" in text
    assert "0 of them reach an NPU" in text and "cpu only; names no device" in text


def test_corrections_of_the_report_are_drawn(project: Project) -> None:
    project.page("```{corrections}\n```\n")
    result = project.build()
    assert result.code == 0, result.output
    text = re.sub("<[^>]+>", "", project.read("html/page.html"))
    assert "enter_dual_level returns a unique id" in text and "it always returns 0" in text
    pages = evidence.ROOT / "docs"
    for one in json.loads(upstream_tests.REPORT.read_text(encoding="utf-8"))["corrections"]:
        assert (pages / f"{one['page']}.md").is_file()


def test_without_data_the_page_says_so(project: Project) -> None:
    project.page("```{upstream-tests}\n```\n")
    result = project.build()
    assert result.code == 0, result.output
    assert "There is no inventory." in project.read("html/page.html")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["tests", 0, "device"], "gpu", "tests[0].device: 'gpu' is not one of"),
        (["tests", 0, "equivalent"], [], "tests[0].why_none: '' should be non-empty"),
        (["tests", 0, "on_npu", "outcome"], "failed", "tests[0].on_npu.message: '' should be non"),
    ],
)
def test_a_broken_inventory_is_one_message(
    project: Project, place: list[Any], value: Any, message: str
) -> None:
    broken = copy.deepcopy(TESTS)
    at: Any = broken
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    written(project, tests=broken)
    result = project.build()
    assert result.code != 0
    assert result.output.count(f"evidence/upstream_tests.json: {message}") == 1
    assert result.output.count("ERROR") == 1 and "Traceback" not in result.output


def problems_of(content: dict[str, Any], root: Path) -> list[str]:
    """The tests that stand in the inventory twice, and those of ours that are not there."""
    names = Counter(f"{test['class']}.{test['method']}" for test in content["tests"])
    found = [f"{name} stands here twice" for name, number in names.items() if number > 1]
    for ours in (name for test in content["tests"] for name in test["equivalent"]):
        file, _, method = ours.partition("::")
        path = root / file
        if not path.is_file() or f"def {method}(" not in path.read_text(encoding="utf-8"):
            found.append(f"there is no test {ours}")
    return found


def test_the_projects_own_data_is_whole() -> None:
    path = evidence.FOLDER / upstream_tests.TESTS
    content = evidence.load_checked(path, "upstream_tests.schema.json")
    assert content["report"]["tests"] and content["tests"]
    assert problems_of(content, evidence.ROOT) == []


def test_what_is_wrong_in_the_inventory_is_found(tmp_path: Path) -> None:
    other = {**TEST, "equivalent": ["tests/npu/test_mine.py::test_other"]}
    found = problems_of({"tests": [TEST, other]}, tmp_path)
    assert found[0] == "TestOne.test_one stands here twice"
    assert found[-1] == "there is no test tests/npu/test_mine.py::test_other"
