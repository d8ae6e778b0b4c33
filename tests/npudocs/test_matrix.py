"""The version matrix and the comparison with a run: what is decided, without any environment."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from npudocs.recording.environments import DiskWatch
from npudocs.recording.matrix import Combination, Matrix, combinations, current

from npudocs import evidence
from npudocs.evidence import Entry, Record
from npudocs.recording import check, matrix

A2 = Combination("2.13.0", "2.13.0", "A2")
ENTRY = Entry("examples/1.py", "", (), (), "", "aa", "passed", "", 0.1)
WHERE = {"torch_npu": "2.13.0", "product": "A2", "soc": "Ascend910B1"}
RECORD = Record("r", "software", WHERE, "0" * 40, "2026-11-30T06:00:00+00:00", 30.0, (ENTRY,))


def test_fifteen_combinations() -> None:
    assert len(combinations()) == 15
    assert combinations(["A2", "2.13.0"]) == [A2]
    assert [c.product for c in combinations(["2.7.1"])] == ["A2", "A3", "950DT"]
    assert {evidence.release(npu) == torch for torch, npu in matrix.PACKAGES.items()} == {True}
    with pytest.raises(ValueError, match=r"2\.13: no version or product"):
        combinations(["2.13"])


@pytest.mark.parametrize(
    ("change", "sources", "again"),
    [
        ({}, {"examples/1.py": "aa"}, False),
        ({}, {"examples/1.py": "bb"}, True),
        ({}, {"examples/1.py": "aa", "examples/2.py": "cc"}, True),
        ({}, {}, True),
        ({"kind": "silicon"}, {"examples/1.py": "aa"}, True),
        ({"where": {**WHERE, "torch_npu": "2.13.0.post1"}}, {"examples/1.py": "aa"}, True),
        ({"where": {**WHERE, "product": "A3"}}, {"examples/1.py": "aa"}, True),
    ],
)
def test_what_is_recorded_again(
    change: dict[str, object], sources: dict[str, str], again: bool
) -> None:
    record = dataclasses.replace(RECORD, **change)
    assert (current(A2, [record], sources) is None) == again


class FakeEnvironment:
    """Notes what is done, and records nothing or everything."""

    done: list[str]
    problems: dict[str, str]
    records: list[Record]

    def __init__(self, root: Path, home: Path) -> None:
        self.version, self.seconds, self.disk = home.name, 12.0, 5_000_000_000

    def install(self, torch: str, torch_npu: str) -> str:
        """Make it, or not."""
        self.done.append(f"install {torch} {torch_npu}")
        return self.problems.get(f"install {torch}", "")

    def module(self, name: str, *arguments: str, log: Path, SOFTNPU_SOC: str) -> str:
        """Record, or not."""
        self.done.append(f"record {self.version} {SOFTNPU_SOC}")
        problem = self.problems.get(f"{self.version} {SOFTNPU_SOC}", "")
        if not problem:
            where = {"torch_npu": matrix.PACKAGES[self.version], "product": SOFTNPU_SOC}
            self.records.append(dataclasses.replace(RECORD, where=where))
        return problem

    def remove(self) -> None:
        """Remove it."""
        self.done.append(f"remove {self.version}")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[FakeEnvironment]:
    """Let no environment be made."""
    FakeEnvironment.done, FakeEnvironment.problems, FakeEnvironment.records = [], {}, []
    monkeypatch.setattr(matrix, "Environment", FakeEnvironment)
    monkeypatch.setattr(matrix.checks, "units", lambda root: [])
    monkeypatch.setattr(evidence, "records", lambda folder: FakeEnvironment.records)
    return FakeEnvironment


def _matrix(tmp_path: Path, *only: str) -> Matrix:
    made = Matrix(tmp_path, tmp_path, combinations(only))
    made.sources = {"examples/1.py": "aa"}
    return made


def test_one_environment_at_a_time_and_only_for_what_is_left(
    fake: type[FakeEnvironment], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.records.append(RECORD)
    assert _matrix(tmp_path, "2.12.0", "2.13.0", "A2", "A3").run()
    assert fake.done == [
        *("install 2.12.0 2.12.0.post2", "record 2.12.0 A2", "record 2.12.0 A3", "remove 2.12.0"),
        *("install 2.13.0 2.13.0", "record 2.13.0 A3", "remove 2.13.0"),
    ]
    output = capsys.readouterr().out
    assert "[1/4] torch_npu 2.12.0.post2 as A2: 1 passed in 0 s\n" in output
    assert "[3/4] torch_npu 2.13.0 as A2: 1 passed, recorded before in 30 s\n" in output
    assert "most disk used at once: 5.0 GB" in output


def test_all_is_recorded_again_by_force(fake: type[FakeEnvironment], tmp_path: Path) -> None:
    fake.records.append(RECORD)
    assert _matrix(tmp_path, "2.13.0", "A2").run(force=True)
    assert fake.done == ["install 2.13.0 2.13.0", "record 2.13.0 A2", "remove 2.13.0"]


def test_what_cannot_be_recorded_is_said_and_the_others_run(
    fake: type[FakeEnvironment], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.problems |= {
        "install 2.7.1": "the process ended with exit code 1\nERROR: no such torch",
        "2.14.0 A3": f"the process was ended by signal SIGABRT\nin {tmp_path}/x.so",
    }
    one = _matrix(tmp_path, "2.7.1", "2.14.0", "A2", "A3")
    assert not one.run()
    assert "2.14.0 A2" in " ".join(fake.done) and fake.done[-1] == "remove 2.14.0"
    content = json.loads((tmp_path / "unrecorded.json").read_text(encoding="utf-8"))
    listed = {(c["version"], c["product"]): c["reason"] for c in content["combinations"]}
    assert sorted(listed) == [("2.14.0", "A3"), ("2.7.1", "A2"), ("2.7.1", "A3")]
    assert listed["2.7.1", "A2"].endswith("ERROR: no such torch")
    assert str(tmp_path) not in listed["2.14.0", "A3"]
    assert "NO RECORD: ERROR: no such torch" in capsys.readouterr().out

    # What can be recorded later is taken out again.
    fake.problems.clear()
    assert _matrix(tmp_path, "2.7.1", "2.14.0", "A2", "A3").run()
    assert not (tmp_path / "unrecorded.json").exists()


def test_a_record_stays_though_it_cannot_be_made_again(
    fake: type[FakeEnvironment], tmp_path: Path
) -> None:
    fake.records.append(RECORD)
    fake.problems["2.13.0 A2"] = "the process ended with exit code 1"
    assert not _matrix(tmp_path, "2.13.0", "A2").run(force=True)
    assert not (tmp_path / "unrecorded.json").exists()


def test_a_stopped_run_leaves_no_environment(
    fake: type[FakeEnvironment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*words: object, **more: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "module", stop)
    with pytest.raises(KeyboardInterrupt):
        _matrix(tmp_path, "2.13.0").run()
    assert fake.done == ["install 2.13.0 2.13.0", "remove 2.13.0"]


def test_disk_is_watched(tmp_path: Path) -> None:
    with DiskWatch(tmp_path, every=0.01) as watch:
        (tmp_path / "x").write_bytes(b"x")
    assert watch.most >= 0 and not watch.thread.is_alive()


# --- a record against a run


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
    found = {"a": [ran] if committed else [], "b": [ran]}
    monkeypatch.setattr(evidence, "records", lambda folder: found[folder.name])
    assert check.compare(Path("a"), Path("b")) == words
    found["b"] = []
    assert check.compare(Path("a"), Path("b")) == ["no run was recorded in b"]
