"""The sessions of noxfile.py: what is decided and noted, without any environment."""

from __future__ import annotations

import dataclasses
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from npudocs import evidence
from npudocs.evidence import Entry, Record

WHERE = {"torch_npu": "2.13.0", "product": "A2", "soc": "Ascend910B1"}


class Skipped(Exception):
    """A session had nothing to do."""


class Failed(Exception):
    """A session failed."""


class FakeSession:
    """A session of nox that runs nothing."""

    name = "matrix"

    def __init__(self, home: Path, *posargs: str) -> None:
        self.posargs, self.lines = posargs, []
        self.virtualenv = SimpleNamespace(location=str(home / "environment"))
        Path(self.virtualenv.location).mkdir(exist_ok=True)

    def log(self, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)

    def skip(self, words: str) -> None:
        """End the session."""
        raise Skipped(words)

    def error(self, words: str) -> None:
        """Fail the session."""
        raise Failed(words)


# Once: nox knows each session by its name.
NOXFILE = runpy.run_path(str(evidence.ROOT / "noxfile.py"))["matrix"].func.__globals__


class Nox:
    """The noxfile with steps that note what is done, and fail as a test wants it."""

    def __init__(self, root: Path, known: list[Record]) -> None:
        self.done: list[str] = []
        self.problems: dict[str, str] = {}
        self.names = NOXFILE
        NOXFILE.update({"ROOT": root, "LOGS": root, "step": self.step})
        self.known, self.home = known, root

    def step(self, session: FakeSession, product: str, *module: str) -> str:
        """Note a step."""
        words = " ".join(word for word in (product, module[0], *module[-1:]) if word)
        self.done.append(words.replace(f"{self.home}/", ""))
        return next((said for key, said in self.problems.items() if key in words), "")

    def matrix(self, version: str, *posargs: str) -> FakeSession:
        """Run the session of a version."""
        session = FakeSession(self.home, *posargs)
        self.names["matrix"].func(session, version)
        return session


@pytest.fixture
def nox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nox:
    """Two scripts, and a record of them on an A2."""
    entries = []
    for number in (1, 2):
        path = tmp_path / "examples" / f"{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {number}\n", encoding="utf-8")
        blob, name = evidence.blob(path.read_bytes()), f"examples/{number}.py"
        entries.append(Entry(name, "", (), (), "", blob, "passed", "", 0.1, blob))
    started = "2026-11-30T06:00:00+00:00"
    known = [Record("r", "software", WHERE, "0" * 40, started, 30.0, tuple(entries))]
    monkeypatch.setattr(evidence, "records", lambda *folder: known)
    monkeypatch.setattr(evidence.files, "records", lambda *folder: known)
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    return Nox(tmp_path, known)


def test_the_packages_are_those_of_the_site(nox: Nox) -> None:
    packages = nox.names["PACKAGES"]
    assert tuple(packages) == evidence.VERSIONS
    assert all(evidence.release(npu) == torch for torch, npu in packages.items())


def test_what_is_asked_for(nox: Nox, tmp_path: Path) -> None:
    def wanted(version: str, *words: str, known: tuple[str, ...] = ()) -> list[str]:
        return nox.names["wanted"](FakeSession(tmp_path, *words), version, known.__contains__)

    assert wanted("2.7.1") == ["A2", "A3", "950DT"]
    assert wanted("2.7.1", "A3", "2.7.1") == ["A3"]
    assert wanted("2.7.1", "2.13.0") == []
    assert wanted("2.7.1", known=("A2", "A3")) == ["950DT"]
    assert wanted("2.7.1", "A2", "--force", known=("A2",)) == ["A2"]
    with pytest.raises(Failed, match=r"2\.13: no version or product"):
        wanted("2.7.1", "2.13")


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, False),
        ({"kind": "silicon"}, True),
        ({"where": {**WHERE, "torch_npu": "2.13.0.post1"}}, True),
        ({"where": {**WHERE, "product": "A3"}}, True),
    ],
)
def test_what_is_recorded_again(nox: Nox, change: dict[str, Any], again: bool) -> None:
    known = [dataclasses.replace(nox.known[0], **change)]
    assert nox.names["recorded"]("2.13.0", "A2", known) != again


@pytest.mark.parametrize("edit", ["changed", "gone", "new"])
def test_an_edit_is_recorded_again(nox: Nox, tmp_path: Path, edit: str) -> None:
    path = tmp_path / "examples" / ("3.py" if edit == "new" else "1.py")
    path.unlink() if edit == "gone" else path.write_text("other", encoding="utf-8")
    assert not nox.names["recorded"]("2.13.0", "A2", nox.known)


def test_one_environment_and_only_what_is_left(nox: Nox) -> None:
    session = nox.matrix("2.13.0", "A2", "A3")
    assert nox.done == [
        *("pip torch==2.13.0", "pip torch_npu==2.13.0", "pip docs/requirements.txt"),
        *("A3 softnpu 2.13.0-A3/execute", "A3 npudocs.evidence 2.13.0-A3/executed.json"),
    ]
    assert session.lines == ["torch_npu 2.13.0 as A3: recorded"]
    assert not Path(session.virtualenv.location).exists()
    with pytest.raises(Skipped, match="nothing is left"):
        nox.matrix("2.13.0", "A2")


def test_all_is_recorded_again_by_force(nox: Nox) -> None:
    nox.matrix("2.13.0", "A2", "--force")
    assert nox.done[-1] == "A2 npudocs.evidence 2.13.0-A2/executed.json"


def test_what_cannot_be_recorded_is_noted_and_the_others_run(nox: Nox, tmp_path: Path) -> None:
    nox.problems = {"A3 softnpu": f"Returned code -6\nin {tmp_path}/x.so"}
    with pytest.raises(Failed, match="not all is recorded"):
        nox.matrix("2.14.0")
    assert nox.done[-1] == "950DT npudocs.evidence 2.14.0-950DT/executed.json"
    nox.problems = {"torch==2.7.1": "Returned code 1\nERROR: no such torch"}
    with pytest.raises(Failed):
        nox.matrix("2.7.1", "A2", "A3")
    content = json.loads((tmp_path / "unrecorded.json").read_text(encoding="utf-8"))
    listed = {(c["version"], c["product"]): c["reason"] for c in content["combinations"]}
    assert sorted(listed) == [("2.14.0", "A3"), ("2.7.1", "A2"), ("2.7.1", "A3")]
    assert listed["2.7.1", "A2"].endswith("ERROR: no such torch")
    assert str(tmp_path) not in listed["2.14.0", "A3"]


def test_a_record_stays_though_it_cannot_be_made_again(nox: Nox, tmp_path: Path) -> None:
    nox.problems = {"A2 softnpu": "Returned code 1"}
    with pytest.raises(Failed):
        nox.matrix("2.13.0", "A2", "--force")
    assert not (tmp_path / "unrecorded.json").exists()


def test_a_stopped_install_leaves_no_environment(nox: Nox) -> None:
    def stop(*words: object) -> str:
        raise KeyboardInterrupt

    nox.names["step"] = stop
    with pytest.raises(KeyboardInterrupt):
        nox.matrix("2.13.0", "A3")
    assert not (nox.home / "environment").exists()
