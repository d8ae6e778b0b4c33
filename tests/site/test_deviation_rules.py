"""What explains the cells of the sweeps: rules that are strict, none too many, and all of evidence/sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_deviations import data

from npudocs import evidence
from npudocs.evidence import EvidenceError
from npudocs.site.operators.data import (
    DEVIATING,
    Deviation,
    deviations,
    explains,
    matches,
    messages,
)


def unexplained(deviations: Iterable[Deviation], cells: Iterable[Any]) -> list[str]:
    """The cells that deviate and are not explained by one deviation, each with what to do.

    A cell has the status of its worst sample. Each message that is told for this status has to be
    explained by exactly one deviation: two samples of a cell may have two causes.
    """
    listed = list(deviations)
    found = []
    for cell in cells:
        if cell.status not in DEVIATING:
            continue
        for said in messages(cell):
            names = [
                one["name"]
                for one in listed
                if any(matches(rule, cell, said) for rule in one["explains"])
            ]
            if len(names) != 1:
                place = f"{cell.operator} / {cell.form} / {cell.dtype}: {cell.status}"
                found.append(f"{place} ({said or 'no message'}) {_advice(names)}")
    return found


def words(rule: dict[str, Any]) -> str:
    """A rule in words."""
    fields = [rule.get(name) for name in ("operators", "forms", "dtypes", "statuses")]
    listed = [", ".join(field) for field in fields if field]
    return " / ".join([*listed, repr(rule["message"])] if "message" in rule else listed)


def _advice(names: list[str]) -> str:
    if names:
        return f"is explained by {' and '.join(names)}: narrow a rule of evidence/deviations.json"
    return (
        "is explained by no deviation: add a rule to the deviation of evidence/deviations.json that has this "
        "cause, or a new one with a section in docs/deviations; or mend what is wrong with the sweep"
    )


def unused(deviations: Iterable[Deviation], cells: Iterable[Any]) -> list[str]:
    """The rules, and operators of rules, that no cell needs, each with what to do."""
    bad = [cell for cell in cells if cell.status in DEVIATING]
    found = []
    for one in deviations:
        for rule in one["explains"]:
            hits = [cell for cell in bad if explains({"explains": [rule]}, cell)]
            for pattern in rule["operators"]:
                if not any(fnmatchcase(cell.operator, pattern) for cell in hits):
                    found.append(
                        f"evidence/deviations.json: {one['name']}: no record has a cell of {pattern} for the rule "
                        f"{words(rule)}: remove it, with the deviation and its section if nothing is left"
                    )
    return found


def loaded(folder: Path, *rules: dict[str, Any]) -> list[Deviation]:
    """A deviation for each rule, with the names one, two, ..."""
    content = data()
    first = content["deviations"][0]
    names = ("one", "two", "three")
    content["deviations"] = [
        {**first, "name": name, "explains": [rule]}
        for name, rule in zip(names, rules, strict=False)
    ]
    (folder / "deviations.json").write_text(json.dumps(content), encoding="utf-8")
    return deviations(folder)


def cell(**fields: Any) -> Any:
    """A cell of a sweep that lost its tangent; `fields` replace some of its own."""
    status = fields.get("status", "tangent lost")
    message = fields.pop("message", "the tangent is None")
    told = [{"sample": 0, "status": status, "message": message, "call": "one(x)"}]
    base = {"operator": "one", "form": "dual", "dtype": "float32", "status": status, "told": told}
    return SimpleNamespace(**{**base, **fields})


LOST = {"operators": ["one"], "statuses": ["tangent lost"]}


@pytest.mark.parametrize(
    ("fields", "explained"),
    [
        ({}, True),
        ({"form": "out", "dtype": "float16"}, True),
        ({"operator": "other"}, False),
        ({"operator": "one.more"}, False),
        ({"status": "wrong"}, False),
        ({"operator": "other", "status": "same"}, True),
        ({"operator": "other", "status": "cpu fallback"}, True),
    ],
)
def test_cells_have_to_be_explained(
    tmp_path: Path, fields: dict[str, Any], explained: bool
) -> None:
    found = unexplained(loaded(tmp_path, LOST), [cell(**fields)])
    assert (not found) == explained, found


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ({"forms": ["dual"]}, {"form": "out"}),
        ({"dtypes": ["float32"]}, {"dtype": "float64"}),
        ({"message": "tangent is None"}, {"message": "the tangent is zero in every element"}),
        ({"operators": ["on*"]}, {"operator": "two"}),
    ],
)
def test_a_rule_is_no_wider_than_it_says(
    tmp_path: Path, rule: dict[str, Any], other: dict[str, Any]
) -> None:
    found = loaded(tmp_path, {**LOST, **rule})
    assert unexplained(found, [cell()]) == []
    assert unused(found, [cell()]) == []
    assert len(unexplained(found, [cell(**other)])) == 1


def test_a_new_cell_is_named_with_what_to_do(tmp_path: Path) -> None:
    new = cell(operator="new", status="error", message="RuntimeError: no")
    (said,) = unexplained(loaded(tmp_path, LOST), [cell(), new])
    assert said.startswith("new / dual / float32: error (RuntimeError: no) is explained by no")
    assert "add a rule to the deviation of evidence/deviations.json" in said


def test_each_message_of_a_cell_counts(tmp_path: Path) -> None:
    rule = {"operators": ["one"], "statuses": ["error"], "message": "the first"}
    told = [
        {"sample": 0, "status": "error", "message": "the first cause", "call": ""},
        {"sample": 1, "status": "error", "message": "the second cause", "call": ""},
        {"sample": 2, "status": "same", "message": "of a sample that is less bad", "call": ""},
    ]
    (said,) = unexplained(loaded(tmp_path, rule), [cell(status="error", told=told)])
    assert "the second cause" in said


def test_two_explanations_are_one_too_many(tmp_path: Path) -> None:
    found = loaded(tmp_path, LOST, {**LOST, "operators": ["o*"]})
    (said,) = unexplained(found, [cell()])
    assert "is explained by one and two: narrow a rule" in said


def test_a_stale_rule_is_named_with_what_to_do(tmp_path: Path) -> None:
    found = loaded(tmp_path, {**LOST, "operators": ["one", "gone"]})
    (said,) = unused(found, [cell(), cell(operator="gone", status="same")])
    assert "one: no record has a cell of gone for the rule one, gone / tangent lost" in said
    assert "remove it" in said


def test_the_same_rule_twice(tmp_path: Path) -> None:
    (said,) = unexplained(loaded(tmp_path, LOST, LOST), [cell()])
    assert "is explained by one and two: narrow a rule" in said


def test_all_operators_only_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"explains\[0\]: 'message' is a required property"):
        loaded(tmp_path, {**LOST, "operators": ["*"]})
    assert loaded(tmp_path, {**LOST, "operators": ["*"], "message": "the tangent is"})


# Cells of records that say nothing about torch_npu: what the records or the software NPU have to lose.
# An entry goes when no record has the cell any more; the test below says so.
NOT_DEVIATIONS = {
    (
        "nn.functional.logsigmoid",
        "batched",
    ): "2.7.1 sets a tangent of another size; not looked into",
    ("nn.functional.soft_margin_loss", "dual"): "the CPU overflows in float16",
    ("nn.functional.soft_margin_loss", "func.jvp"): "the CPU overflows in float16",
    ("nn.functional.soft_margin_loss", "batched"): "the CPU overflows in float16",
    ("nn.functional.layer_norm", "dual"): "the CPU gives nan in float16",
    ("nn.functional.layer_norm", "forward over reverse"): "the CPU gives nan in float16",
}


# Recorded, and not explained one by one: most have the causes of the other forms.
LATER = ("reverse over forward", "double backward", "triple backward")


@pytest.fixture(scope="module")
def swept() -> list[Any]:
    """The cells of all records that deviate and are to be explained."""
    found = [one for made in evidence.sweeps() for one in evidence.sweep_cells(made)]
    return [one for one in found if one.status in DEVIATING and one.form not in LATER]


def test_records_are_explained(swept: list[Any]) -> None:
    left = [one for one in swept if (one.operator, one.form) not in NOT_DEVIATIONS]
    lines = unexplained(deviations(), left)
    assert not lines, "\n".join(lines)


def test_no_rule_is_left_over(swept: list[Any]) -> None:
    lines = unused(deviations(), swept)
    assert not lines, "\n".join(lines)


def test_no_exception_is_left_over(swept: list[Any]) -> None:
    lines = "\n".join(unexplained(deviations(), swept))
    stale = [key for key in NOT_DEVIATIONS if f"{key[0]} / {key[1]} / " not in lines]
    assert not stale, f"remove from NOT_DEVIATIONS in this file: {stale}"
