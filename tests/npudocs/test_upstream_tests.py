"""Upstream's tests: the inventory, the list of disabled tests, and the run that performs them."""

from __future__ import annotations

import copy
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tinyproject import Project

from npudocs import evidence
from npudocs.site import upstream_test_data
from npudocs.upstream import disabled, disabled_run
from npudocs.upstream.disabled import Case

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
    "tests": [TEST],
}
CASES = [
    {"test": "test_forward_mode_AD", "op": "abs", "dtype": "float64", "outcome": "passed"},
    *(
        {"test": "test_forward_mode_AD", "op": op, "dtype": "float64", "outcome": "error",
         "message": f"RuntimeError: x NPU function error: call {op} failed, error code is 3 ERR00100 PTA call "
                    "acl api failed. softnpu: aclnnMv: no complex", "cpu": "passed"}
        for op in ("mv", "addmv", "addr", "dot")
    ),
    {"test": "test_fn_fwgrad_bwgrad", "op": "renorm", "dtype": "complex128", "outcome": "failed", "cpu": "passed",
     "message": "mismatch for output 0 with respect to input 3; forward mode gives zero; the largest difference is 0.4",
     "made_on_cpu": "no svd"},
    {"test": "test_fn_fwgrad_bwgrad", "op": "cov", "dtype": "float64", "outcome": "failed", "message": "differs",
     "marked": "expected failure", "cpu": "failed"},
]  # fmt: skip
PERFORMED = {
    "schema": 1,
    "source": {
        "repository": "Ascend/pytorch",
        "file": disabled.LIST,
        "commit": "a" * 40,
        "disabled": 9,
    },
    "where": {"kind": "software", "soc": "Ascend910B1", "torch": "2.13.0", "torch_npu": "2.13.0",
              "cann": "", "softnpu": "f00", "python": "3.11.7"},
    "started": "2026-11-30T10:00:00+00:00",
    "seconds": 120.0,
    "limits": {"samples": 4, "of_the_first": 12, "seconds": 60.0, "seed": 0},
    "counts": {"passed": 1, "error": 4, "failed": 2},
    "cases": CASES,
}  # fmt: skip


def written(project: Project, tests: Any = TESTS, performed: Any = PERFORMED) -> None:
    """Write both files, a test of ours, and the page that shows them."""
    project.write("tests/npu/test_mine.py", "def test_mine():\n    pass\n")
    project.write("evidence/upstream_tests.json", json.dumps(tests))
    signed = {**performed, "digest": evidence.digest(performed)}
    project.write("evidence/upstream_disabled.json", json.dumps(signed))
    project.page("```{upstream-tests}\n```\n\n```{upstream-disabled}\n```\n")


def test_the_page(project: Project) -> None:
    written(project)
    result = project.build()
    assert result.code == 0, result.output
    text = project.read("html/page.html")
    assert "test_one" in text and "test_mine" in text and "SW ✓" in text
    assert "0 of them reach an NPU" in text and "cpu only; names no device" in text
    assert "A kernel of the software NPU stopped it: 4" in text
    assert "aclnnMv:" in text and "NPU function error" not in text
    assert "<details><summary>4 cases</summary>" in text and "mv, addmv, addr, dot" in text
    assert "mismatch;" in text and "0.4" not in text
    # Nothing is collapsed that is short.
    assert text.count("<details>") == 1


def test_without_data_the_page_says_so(project: Project) -> None:
    project.page("```{upstream-tests}\n```\n\n```{upstream-disabled}\n```\n")
    result = project.build()
    assert result.code == 0, result.output
    assert "There is no inventory." in project.read("html/page.html")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["tests", 0, "device"], "gpu", "tests[0].device: 'gpu' is not one of"),
        (["tests", 0, "equivalent"], [], "tests[0].why_none: '' should be non-empty"),
        (
            ["tests", 0, "equivalent"],
            ["tests/npu/test_mine.py::test_other"],
            "tests[0].equivalent: there is no test tests/npu/test_mine.py::test_other",
        ),
        (["tests"], [TEST, TEST], "tests[1]: TestOne.test_one stands here twice"),
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 1.0}, "digest: does not fit the content: only a run may write it"),
        ({"counts": {"passed": 7}}, "digest: does not fit"),
        ({"cases": [{**CASES[0], "outcome": "fine"}]}, "cases[0].outcome: 'fine' is not one of"),
    ],
)
def test_an_edited_result_is_one_message(
    project: Project, change: dict[str, Any], message: str
) -> None:
    written(project)
    path = project.root / "evidence/upstream_disabled.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    result = project.build()
    assert result.code != 0
    assert result.output.count(f"evidence/upstream_disabled.json: {message}") == 1


def test_counts_are_those_of_the_cases(project: Project) -> None:
    written(project, performed={**PERFORMED, "counts": {"passed": 7}})
    assert "counts: are not those of the cases" in project.build().output


def test_the_projects_own_data_is_whole() -> None:
    assert upstream_test_data.inventory(evidence.FOLDER, evidence.ROOT)
    found = upstream_test_data.disabled(evidence.FOLDER)
    assert found and len(found["cases"]) == found["source"]["disabled"]


def listed(checkout: Path, content: Any) -> Path:
    """A checkout with this list."""
    path = checkout / disabled.LIST
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    return checkout


def test_the_list_of_a_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "{}_npu_{} (__main__.TestFwdGradientsPRIVATEUSE1)"
    content = {
        name.format("test_fn_fwgrad_bwgrad_T", "complex128"): ["", [""]],
        name.format("test_inplace_forward_mode_AD_nn_functional_celu", "float64"): ["", ["A2"]],
        name.format("test_forward_mode_AD_interpolate_nearest-exact", "float64"): ["slow", [""]],
        "test_other_npu (__main__.TestOtherPRIVATEUSE1)": ["", [""]],
    }
    assert disabled.read(listed(tmp_path, content)) == [
        Case("test_fn_fwgrad_bwgrad", "T", "complex128"),
        Case("test_forward_mode_AD", "interpolate_nearest-exact", "float64", "slow"),
        Case("test_inplace_forward_mode_AD", "nn_functional_celu", "float64", "only on A2"),
    ]
    assert disabled.main(["groups", str(tmp_path)]) == 0
    assert "1 test_fn_fwgrad_bwgrad complex128: no reason" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected an object"),
        ({"test_new_x_npu_float64 (__main__.TestFwdGradientsPRIVATEUSE1)": ["", [""]]}, "found test_new"),
        ({"test_forward_mode_AD_x_npu_float64 (__main__.TestFwdGradients)": "slow"}, "found slow"),
    ],
)  # fmt: skip
def test_a_list_of_another_form(
    content: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert disabled.main(["groups", str(listed(tmp_path, content))]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: {disabled.LIST}: expected") and message in said


def test_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert disabled.main(["groups", str(tmp_path)]) == 1
    assert "expected this file in a checkout of Ascend/pytorch" in capsys.readouterr().err


def stand_in(method: str, op: str, dtype: str, where: str) -> dict[str, Any]:
    """A check that ends as its operator is called."""
    if op == "crash":
        os.abort()
    if op == "hang":
        time.sleep(600)
    return {"outcome": op, "message": "", "samples": 2, "marked": ""}


def test_a_crash_and_a_hang_do_not_end_the_run() -> None:
    ops = ("passed", "crash", "hang", "failed")
    cases = [Case("test_forward_mode_AD", op, "float64") for op in ops]
    found = disabled_run.perform(cases, "npu", stand_in, 3, disabled_run.keep_output)
    assert [one["outcome"] for one in found] == ["passed", "crashed", "timeout", "failed"]
    assert "the process was ended by signal SIGABRT" in found[1]["message"]
    assert found[2]["message"] == "no result after 3 s"
    assert found[0] == {"test": "test_forward_mode_AD", "op": "passed", "dtype": "float64",
                        "outcome": "passed", "samples": 2}  # fmt: skip


def test_a_message_without_the_machine_and_without_stacks() -> None:
    text = (
        "RuntimeError: x\n[ERROR] 2026-11-30-07:52:58 (PID:17766, Device:0, RankID:-1) ERR00100 PTA\n"
        'softnpu: aclnnMv: the kernel raised\nTraceback (most recent call last):\n  File "/a/b.py"\n'
        "ValueError: no"
    )
    assert (
        disabled_run.brief(text) == "RuntimeError: x ERR00100 PTA softnpu: aclnnMv: ValueError: no"
    )


def test_one_case_that_passes_one_that_is_refused_and_one_that_is_not_there() -> None:
    from npudocs.upstream import forward_gradients

    check = forward_gradients.check
    assert check("test_forward_mode_AD", "sin", "float64", "cpu").outcome == "passed"
    assert check("test_inplace_forward_mode_AD", "sin", "float64", "cpu").samples == 1
    assert check("test_fn_fwgrad_bwgrad", "igamma", "float64", "cpu").outcome in (
        "passed",
        "skipped",
    )
    assert check("test_forward_mode_AD", "no_such", "float64", "cpu").outcome == "not in op_db"


def test_what_gradcheck_says_in_short() -> None:
    from npudocs.upstream import forward_gradients

    text = (
        "Jacobian computed with forward mode mismatch for output 0,\nnumerical:tensor([1.])\n"
        "analytical:tensor([0., 0.e+00], dtype=x)\n\n"
        "The max per-element difference (slow mode) is: 0.04000000000019613.\n"
    )
    assert forward_gradients.difference(text) == (
        "Jacobian computed with forward mode mismatch for output 0; forward mode gives zero; "
        "the largest difference is 0.04"
    )
