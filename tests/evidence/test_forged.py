"""Records forged with care, each with the digest that a run would give it: what is seen, and where."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evidencefiles
import pytest

from npudocs import evidence
from npudocs.evidence import Entry, EvidenceError, __main__, check, files, history, writing
from npudocs.evidence.model import Unrecorded

TEXTS = {"examples/1.py": "1\n", "tests/npu/test_a.py": "2\n", "docs/a.md": "prose\n"}
BLOCKS = "d" * 64
A2 = "records/software/torch_npu-2.13.0-Ascend910B1.json"
A3 = "records/software/torch_npu-2.13.0-Ascend910_9391.json"
CHIP = "records/silicon/torch_npu-2.13.0-Ascend910B1-2026-11-30.json"
SWEEP = "sweeps/silicon/torch_npu-2.13.0-Ascend910B1-2026-11-30.json"


class Clone:
    """A git repository with two records of the software NPU and one of a chip."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "evidence"
        for name, text in TEXTS.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("init", "-q", str(root))
        self.commit("2026-11-29")
        for product, kind in (("A2", "software"), ("A3", "software"), ("A2", "silicon")):
            self.record(product, kind)
        self.commit("2026-11-30")

    def git(self, *words: str, day: str = "2026-11-29") -> str:
        """Run git and return what it says."""
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.root), *identity, *words]
        env = {**os.environ, "GIT_COMMITTER_DATE": f"{day}T12:00:00+00:00"}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout

    def commit(self, day: str) -> str:
        """Commit everything and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-qm", "x", day=day)
        return self.git("rev-parse", "HEAD").strip()

    def record(self, product: str, kind: str, **about: Any) -> Path:
        """Write a record of the checks: a script, three tests of which one fails, a page's blocks."""
        soc, software = evidencefiles.SOCS[product], kind == "software"
        where = {
            "torch": "2.13.0+cpu", "torch_npu": "2.13.0", "soc": soc, "product": product,
            "device": f"{soc} (softnpu)" if software else soc, "python": "3.11.7",
            "softnpu": "f00d" if software else "", "machine": "x86_64",
            **({"cann": ""} if software else evidencefiles.CHIP),
        }  # fmt: skip
        made = {
            "kind": kind, "where": where, "commit": self.git("rev-parse", "HEAD").strip(),
            "started": "2026-11-30T10:00:00+00:00", "seconds": 9.0,
        }  # fmt: skip
        made |= about
        return writing.write_record(made, self.entries(made["seconds"] / 9), self.folder)[0]

    def entries(self, seconds: float = 1.0) -> list[Entry]:
        """The checks of all files, as they are now."""
        blobs = {n: evidence.blob((self.root / n).read_bytes()) for n in TEXTS}
        parts = [("examples/1.py", ""), *(("tests/npu/test_a.py", f"test_{n}") for n in "abc")]
        parts += [("docs/a.md", f"block {number}") for number in (1, 2)]
        found = []
        for file, part in parts:
            end = ("failed", "no") if part == "test_c" else ("passed", "")
            source = blobs[file] if file.endswith(".py") else BLOCKS
            found.append(Entry(file, part, (), (1,), "", source, *end, seconds, blobs[file]))
        return found

    def forge(self, name: str, edit: Callable[[dict[str, Any]], Any], to: str = "") -> None:
        """Edit a record by hand, with the right digest."""
        path = self.folder / name
        content = json.loads(path.read_text(encoding="utf-8"))
        edit(content)
        content["digest"] = evidence.digest(content)
        path.unlink()
        writing.replace(self.folder / (to or name), writing.lines(content))

    def id(self, part: str) -> str:
        """The id of a check."""
        table = files.read_checks(self.folder)["checks"]
        return next(name for name, one in table.items() if one["part"] == part)

    def problem(self) -> str:
        """The one thing that is wrong, besides that a record in git was edited."""
        found = check.problems(self.folder, self.root)
        edited = [one for one in found if one.endswith(": the record of this run said otherwise")]
        (only,) = [one for one in found if one not in edited] or edited
        return only


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone whose evidence is whole."""
    made = Clone(tmp_path)
    assert check.problems(made.folder, made.root) == []
    return made


def test_a_failure_turned_into_a_pass(clone: Clone) -> None:
    name = clone.id("test_c")

    def edit(content: dict[str, Any]) -> None:
        content["passed"][name] = content["others"].pop(name)["seconds"]

    clone.forge(CHIP, edit)
    assert clone.problem() == f"{CHIP}: started: the record of this run said otherwise"
    # Nor when it is committed.
    clone.commit("2026-12-01")
    assert clone.problem() == f"{CHIP}: started: the record of this run said otherwise"


def test_a_pass_with_a_new_start_and_the_old_times(clone: Clone) -> None:
    name = clone.id("test_c")

    def edit(content: dict[str, Any]) -> None:
        content["passed"][name] = content["others"].pop(name)["seconds"]
        content["started"] = "2026-11-30T11:00:00+00:00"

    clone.forge(A2, edit)
    assert clone.problem() == f"{A2}: started: the record of this run said otherwise"


def test_a_run_that_is_recorded_again_replaces_the_record(clone: Clone) -> None:
    first = clone.git("rev-list", "--max-parents=0", "HEAD").strip()
    about = {"commit": first, "started": "2026-11-30T11:00:00+00:00", "seconds": 8.0}
    clone.record("A2", "software", **about)
    assert check.problems(clone.folder, clone.root) == []


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("name", [A2, A3, CHIP])
def test_a_record_that_is_gone_needs_a_reason(clone: Clone, name: str, committed: bool) -> None:
    (clone.folder / name).unlink()
    if committed:
        clone.commit("2026-12-01")
    words = "was removed: say why in evidence/unrecorded.json, under removed"
    assert clone.problem() == f"{name}: file: {words}"
    reason = {"file": name, "reason": "the chip was broken", "seen": "2026-12-01"}
    text = json.dumps({"schema": 1, "removed": [reason]})
    (clone.folder / "unrecorded.json").write_text(text, encoding="utf-8")
    assert check.problems(clone.folder, clone.root) == []
    # A list that is written anew keeps it.
    new = Unrecorded("2.14.0", "2.14.0", "A2", "aborts", "2026-11-30")
    writing.write_unrecorded(clone.folder, new)
    writing.write_unrecorded(clone.folder)
    assert files.unrecorded(clone.folder) == [new] and files.removed(clone.folder) == [reason]


def test_a_removal_of_what_is_here_or_without_a_reason(clone: Clone) -> None:
    def write(**reason: str) -> None:
        content = {"schema": 1, "removed": [{"file": A2, "seen": "2026-12-01", **reason}]}
        (clone.folder / "unrecorded.json").write_text(json.dumps(content), encoding="utf-8")

    write(reason="it was broken")
    assert clone.problem().endswith(f"/unrecorded.json: removed: {Path(A2).name} is here")
    write(reason="")
    assert "unrecorded.json: removed[0].reason: " in clone.problem()


def _relabelled(content: dict[str, Any]) -> None:
    content["kind"] = "silicon"
    content["where"] |= {"softnpu": "", "device": content["where"]["soc"]}


def test_a_software_record_relabelled_as_a_chips(clone: Clone) -> None:
    (clone.folder / CHIP).unlink()
    clone.forge(A2, _relabelled, CHIP)
    words = f"{CHIP}: where.cann: '' is no version, and a chip's record has it"
    assert clone.problem().startswith(words)
    # A build does not show it either.
    with pytest.raises(EvidenceError, match="where.cann: '' is no version"):
        evidence.records(clone.folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cann": ""}, "where.cann: '' is no version"),
        ({"driver": ""}, "where.driver: '' is no version"),
        ({"firmware": ""}, "where.firmware: '' is no version"),
        ({"driver": "unknown"}, "where.driver: 'unknown' is no version"),
        ({"firmware": "NA"}, "where.firmware: 'NA' is no version"),
        ({"cann": "8.5.0"}, "where.cann: 8.5.0 is older than CANN 9, which torch_npu needs"),
        ({"torch": "2.13.0+cu130"}, "where.torch: torch_npu 2.13.0 aborts beside a CUDA build"),
        ({"torch": "2.12.0"}, "where.torch: does not match torch_npu 2.13.0"),
        (
            {"device": "Ascend910B4"},
            "where.device: 'Ascend910B4' does not name the SoC Ascend910B1",
        ),
        ({"device": "a chip"}, "where.device: 'a chip' does not name the SoC Ascend910B1"),
        ({"softnpu": "f00d"}, "kind: 'silicon' contradicts where.softnpu or where.device"),
    ],
)
def test_a_chip_that_cannot_be(clone: Clone, change: dict[str, str], words: str) -> None:
    clone.forge(CHIP, lambda content: content["where"].update(change))
    assert clone.problem().startswith(f"{CHIP}: {words}")


def test_a_chip_beside_the_cpu_build_of_torch_is_the_usual_one(clone: Clone) -> None:
    assert '"torch": "2.13.0+cpu"' in (clone.folder / CHIP).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["where"].pop("softnpu"),
        lambda content: content.update(started="yesterday"),
        lambda content: content["where"].update(torch="x"),
        lambda content: content.update(where=[]),
    ],
)
def test_a_build_names_what_is_malformed(
    clone: Clone, edit: Callable[[dict[str, Any]], Any]
) -> None:
    clone.forge(A2, edit)
    with pytest.raises(EvidenceError, match=f"{A2}: file: is malformed"):
        evidence.records(clone.folder)


@pytest.mark.parametrize("field", ["cann", "driver", "firmware"])
def test_a_software_npu_with_the_versions_of_a_chip(clone: Clone, field: str) -> None:
    clone.forge(A2, lambda content: content["where"].update({field: "9.1.0"}))
    assert clone.problem() == f"{A2}: where.{field}: a software NPU has none"


def test_a_commit_that_does_not_exist(clone: Clone) -> None:
    clone.forge(A2, lambda content: content.update(commit="5" * 40))
    words = "is not in git's history: push the commit that ran, unchanged"
    assert clone.problem() == f"{A2}: commit: {'5' * 40} {words}"


def test_a_commit_that_is_younger_than_the_run(clone: Clone) -> None:
    head = clone.git("rev-parse", "HEAD").strip()
    clone.forge(A2, lambda content: content.update(commit=head))
    assert f"{A2}: commit: {head} is younger than the run" in clone.problem()


def test_a_chips_record_is_of_a_commit(clone: Clone) -> None:
    def edit(content: dict[str, Any]) -> None:
        content["commit"] += "+changes"

    clone.forge(CHIP, edit)
    assert f"{CHIP}: commit: files were changed: commit them" in clone.problem()


@pytest.mark.parametrize("year", ["2999", "2024"])
def test_a_year_that_cannot_be(clone: Clone, year: str) -> None:
    started = f"{year}-11-30T10:00:00+00:00"
    clone.forge(A2, lambda content: content.update(started=started))
    assert clone.problem().startswith(f"{A2}: started: no run was then")


TIME = "a run takes some, and not weeks"


def _first(content: dict[str, Any], seconds: float) -> None:
    content["passed"][next(iter(content["passed"]))] = seconds


def test_a_number_without_bounds_and_a_file_without_a_text(clone: Clone) -> None:
    clone.forge(A2, lambda content: content.update(seconds=10**400))
    assert clone.problem().endswith(TIME)
    (clone.folder / A2).write_text("[" * 100_000)
    assert "is not JSON" in clone.problem()
    (clone.folder / A2).unlink()
    (clone.folder / A2).mkdir()
    assert "is not JSON" in clone.problem()


@pytest.mark.parametrize("name", ["more/a.json", "a.JSON", "note.txt"])
def test_a_file_that_is_no_record_is_named(clone: Clone, name: str) -> None:
    path = (clone.folder / A2).parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    found = check.problems(clone.folder, clone.root)
    assert f"{path.relative_to(clone.folder)}: nobody reads this file" in found


def _no_time(content: dict[str, Any]) -> None:
    content["passed"] = dict.fromkeys(content["passed"], 0)
    content["others"] = {k: {**v, "seconds": 0} for k, v in content["others"].items()}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda content: content.update(seconds=0), f"seconds: {TIME}"),
        (lambda content: content.update(seconds=float("nan")), f"seconds: {TIME}"),
        (lambda content: content.update(seconds=float("inf")), f"seconds: {TIME}"),
        (lambda content: content.update(seconds=1e308), f"seconds: {TIME}"),
        (lambda content: _first(content, float("nan")), f"seconds: {TIME}"),
        (_no_time, f"seconds: {TIME}"),
        (lambda content: content.update(seconds=5.5), "seconds: is 5.5, and the checks took 6.000"),
    ],
)
def test_seconds_that_cannot_be(
    clone: Clone, edit: Callable[[dict[str, Any]], None], words: str
) -> None:
    clone.forge(A2, edit)
    assert clone.problem() == f"{A2}: {words}"


def _run_again(content: dict[str, Any]) -> None:
    """Make a record that of another run, which began later and took longer."""
    content["started"] = "2026-11-30T11:00:00+00:00"
    content["passed"] = {name: seconds + 0.1 for name, seconds in content["passed"].items()}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            ["test_c"],
            "tests/npu/test_a.py: 2 checks, and other records of this text have 3: test_c",
        ),
        (["block 2"], "docs/a.md: 1 checks, and other records of this text have 2: block 2"),
        ([""], "examples/1.py: 0 checks, and other records of this text have 1"),
        (
            ["test_a", "test_b", "test_c"],
            "tests/npu/test_a.py: 0 checks, and other records of this text have 3: test_a",
        ),
    ],
)
def test_a_check_that_is_left_out(clone: Clone, parts: list[str], words: str) -> None:
    names = [clone.id(part) for part in parts]

    def edit(content: dict[str, Any]) -> None:
        _run_again(content)
        for name in names:
            content["passed"].pop(name, None) or content["others"].pop(name)

    clone.forge(CHIP, edit)
    assert clone.problem().startswith(f"{CHIP}: {words}")


def test_a_file_that_broke_has_fewer_checks(clone: Clone) -> None:
    lost, broken = clone.id("test_b"), clone.id("test_c")

    def edit(content: dict[str, Any]) -> None:
        _run_again(content)
        del content["passed"][lost]
        content["others"][broken]["outcome"] = "crashed"

    clone.forge(A3, edit)
    assert check.problems(clone.folder, clone.root) == []


@pytest.mark.parametrize("file", ["examples/1.py", "docs/a.md"])
def test_a_text_that_is_not_the_commits(clone: Clone, file: str) -> None:
    old = clone.git("rev-parse", "HEAD").strip()
    (clone.root / file).write_text("another\n", encoding="utf-8")
    clone.commit("2026-11-30")
    # It names the commit before, which did not have the text.
    clone.record("950DT", "software", commit=old, started="2026-11-30T13:00:00+00:00")
    clone.commit("2026-12-01")
    found = check.problems(clone.folder, clone.root)
    assert any(
        f"Ascend950DT_9582.json: {file}: is not the text in commit {old[:7]}" in p for p in found
    )


def test_a_page_may_have_other_prose(clone: Clone) -> None:
    (clone.root / "docs/a.md").write_text("other prose\n", encoding="utf-8")
    new = clone.commit("2026-11-30")
    clone.record("950DT", "software", commit=new, started="2026-11-30T13:00:00+00:00")
    assert check.problems(clone.folder, clone.root) == []


def test_a_sweep_cannot_lie_about_its_chip(clone: Clone) -> None:
    content = json.loads(
        (evidence.FOLDER / "sweeps/software").glob("*910B1.json").__next__().read_text()
    )
    content |= {"commit": clone.git("rev-parse", "HEAD").strip(), "started": "2026-11-30"}
    content["where"] |= {"torch": "2.13.0", "torch_npu": "2.13.0"}
    _relabelled(content)
    content["digest"] = evidence.digest(content)
    writing.replace(clone.folder / SWEEP, writing.lines(content))
    assert clone.problem().startswith(f"{SWEEP}: where.cann: '' is no version")


def test_a_shallow_clone_says_what_it_leaves_out(
    clone: Clone, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    clone.git("clone", "-q", "--depth", "1", f"file://{clone.root}", str(shallow))
    assert not history.whole(shallow) and history.whole(clone.root)
    clone.forge(A2, lambda content: content.update(commit="5" * 40))
    (shallow / "evidence" / A2).write_bytes((clone.folder / A2).read_bytes())
    assert check.problems(shallow / "evidence", shallow) == []
    monkeypatch.setattr(files, "ROOT", shallow)
    monkeypatch.setattr(check, "problems", list)
    assert __main__.main(["check"]) == 0
    assert "git fetch --unshallow" in capsys.readouterr().err
