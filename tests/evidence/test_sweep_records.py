"""The records of sweeps: their files are smaller than what they say, and say all of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from npudocs import evidence
from npudocs.evidence import check, sweep_records
from npudocs.evidence.sweep_records import DTYPES, FORMS, STATUSES

TOLD = [
    {"sample": 0, "status": "error", "message": "<time>.123 a <time>.456 b", "call": "f(x)"},
    {"sample": 3, "status": "wrong", "message": "the tangent is 1", "call": "f(x)"},
]
CELLS = [
    {"dtype": "float32", "form": "dual", "status": "same", "counts": {"same": 2}},
    {"dtype": "float32", "form": "out", "status": "wrong", "counts": {"wrong": 1, "same": 1},
     "told": TOLD},
    {"dtype": "float32", "form": "batched", "status": "same", "counts": {"same": 2}},
    {"dtype": "float64", "form": "dual", "status": "same", "counts": {"same": 2}},
    {"dtype": "float64", "form": "forward over reverse", "status": "cpu fallback",
     "counts": {"cpu fallback": 1}, "random": True, "fallback": ["aten::a", "aten::b"]},
    {"dtype": "float64", "form": "batched", "status": "same", "counts": {"same": 2}},
    {"dtype": "complex64", "form": "all", "status": "crashed", "counts": {"crashed": 1}},
]  # fmt: skip
CPU = {"status": "wrong", "message": "it is 1"}
OPERATORS = {"add": {"family": "torch", "cells": CELLS, "cpu": CPU}}


def test_a_file_says_all(tmp_path: Path) -> None:
    (made, *_) = evidence.sweeps()
    made = {**made, "operators": OPERATORS}
    path = sweep_records.write(made, tmp_path)
    (found,) = evidence.sweeps(tmp_path)
    made["digest"] = found["digest"]
    assert found == made and json.dumps(found["operators"]) == json.dumps(made["operators"])
    rows = json.loads(path.read_text(encoding="utf-8"))["operators"]["add"]["cells"]
    both = ["dual", "batched"]
    assert rows[0] == {"forms": {"float32": both, "float64": both}, "counts": {"same": 2}}
    assert len(rows) == 4


def test_the_records_that_are_here_are_whole() -> None:
    for made in evidence.sweeps():
        cells = [*evidence.sweep_cells(made)]
        assert {cell.status for cell in cells} <= {*STATUSES}
        assert {cell.form for cell in cells} <= {*FORMS, "all"}
        assert {cell.dtype for cell in cells} == {*made["dtypes"]} <= {*DTYPES}
        assert len({cell.operator for cell in cells}) > 400


def _edit_count(stored: dict[str, Any]) -> None:
    next(iter(stored["operators"].values()))["cells"][0]["counts"] = {"wrong": 1}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_edit_count, "digest: does not fit the content"),
        (lambda stored: stored["texts"].reverse(), "digest: does not fit the content"),
        (lambda stored: stored["texts"].clear(), "digest: does not fit the content"),
        (lambda stored: stored.update(commit="none"), "digest: does not fit the content"),
    ],
)
def test_an_edited_record_is_refused(tmp_path: Path, edit: Any, words: str) -> None:
    original = next((evidence.FOLDER / "sweeps").glob("*/*.json"))
    stored = copy.deepcopy(json.loads(original.read_text(encoding="utf-8")))
    edit(stored)
    path = tmp_path / "sweeps" / original.parent.name / original.name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(evidence.EvidenceError, match=words):
        evidence.sweeps(tmp_path)
    assert len(check.problems(tmp_path, tmp_path)) == 1


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda made: made.update(commit="none"), "commit: 'none' does not match"),
        (lambda made: made["dtypes"].append("int8"), r"dtypes\[.*'int8' is not one of"),
    ],
)
def test_what_no_schema_allows_is_not_written(tmp_path: Path, edit: Any, words: str) -> None:
    made = copy.deepcopy(evidence.sweeps()[0])
    edit(made)
    with pytest.raises(evidence.EvidenceError, match=words):
        sweep_records.write(made, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_record_with_another_name_is_refused(tmp_path: Path) -> None:
    original = next((evidence.FOLDER / "sweeps").glob("*/*.json"))
    path = tmp_path / "sweeps" / "software" / "other.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(original.read_bytes())
    (problem,) = check.problems(tmp_path, tmp_path)
    assert "where: belongs into software/torch_npu-" in problem
