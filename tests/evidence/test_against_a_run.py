"""A committed record against a run of the same combination."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from npudocs.evidence import Entry, Record, check, files

ENTRY = Entry("examples/1.py", "", (), (), "", "aa", "passed", "", 0.1)
WHERE = {"torch_npu": "2.13.0", "product": "A2", "soc": "Ascend910B1"}
RECORD = Record("r", "software", WHERE, "0" * 40, "2026-11-30T06:00:00+00:00", 30.0, (ENTRY,))


def _ran(**change: object) -> Record:
    return dataclasses.replace(RECORD, entries=(dataclasses.replace(ENTRY, **change),))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, []),
        ({"seconds": 9.0}, []),
        (
            {"outcome": "failed", "message": "ValueError: no"},
            ["r: examples/1.py: recorded as passed, and now failed: ValueError: no"],
        ),
        ({"source": "bb"}, ["r: examples/1.py: its source changed since it was recorded"]),
        ({"items": (3,)}, ["r: examples/1.py: its APIs or items changed since it was recorded"]),
        (
            {"part": "x"},
            [
                "r: examples/1.py: is recorded, and did not run",
                "r: examples/1.py x: ran (passed), and is not recorded",
            ],
        ),
    ],
)
def test_a_record_that_disagrees_with_a_run(change: dict[str, object], words: list[str]) -> None:
    assert check.differences(RECORD, _ran(**change)) == words


@pytest.mark.parametrize(
    ("kind", "committed", "words"),
    [
        ("software", True, []),
        ("software", False, ["r: is not recorded in a/"]),
        ("silicon", False, []),
    ],
)
def test_a_run_without_a_committed_record(
    monkeypatch: pytest.MonkeyPatch, kind: str, committed: bool, words: list[str]
) -> None:
    ran = dataclasses.replace(RECORD, kind=kind)
    monkeypatch.setattr(files, "records", lambda folder: [ran] if committed else [])
    assert check.compare(Path("a"), ran) == words
