"""A record is made of a finished run's results: whole, true and private, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npudocs import evidence
from npudocs.evidence import EvidenceError, __main__, check, files, messages, recording, writing
from npudocs.evidence.model import Unrecorded

API = "torch.autograd.forward_ad.make_dual"
DEVICE = {
    "kind": "software", "name": "softnpu Ascend910B1", "soc": "Ascend910B1", "torch": "2.13.0",
    "torch_npu": "2.13.0", "cann": "", "softnpu": "f00d", "python": "3.11.7", "queue": "",
    "driver": "", "firmware": "",
}  # fmt: skip
PASSED = {"part": "", "line": 1, "outcome": "passed", "message": "", "seconds": 0.25}


class Project:
    """A git repository with a script, a page and a test file, and the results of a run."""

    def __init__(self, root: Path) -> None:
        self.root, self.results = root, root / "build" / "executed.json"
        self.folder = root / "evidence"
        self.device: dict[str, str] = {**DEVICE}
        self.units: list[dict[str, Any]] = []
        self.write("docs/api/make_dual.md", "prose\n")
        self.write("examples/1.py", "1\n")
        self.write("tests/npu/test_a.py", "2\n")
        self.git("init", "-q")
        self.write(".gitignore", "build\n")
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        about = {"apis": [API], "items": []}
        blocks = [
            {**PASSED, "part": "testsetup 1"},
            *({**PASSED, "part": f"block {n}"} for n in (1, 2)),
        ]
        self.unit("docs/api/make_dual.md", "page", blocks, about, digest="d" * 64)
        self.unit("examples/1.py", "script", [PASSED], {"apis": [API], "items": [1, 2]})
        method = {**PASSED, "part": "test_item7_make_dual_float16"}
        failed = {**method, "part": "test_other", "outcome": "failed", "message": "ValueError: no"}
        self.unit("tests/npu/test_a.py", "tests", [method, failed], {"apis": [], "items": []})

    def write(self, name: str, text: str) -> None:
        """Write one file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *words: str) -> None:
        """Run git."""
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.root), *identity, *words]
        env = {**os.environ, "GIT_COMMITTER_DATE": "2026-11-30T12:00:00+00:00"}
        subprocess.run(command, check=True, capture_output=True, env=env)

    def unit(self, file: str, kind: str, results: list, about: dict, digest: str = "") -> None:
        """Add what became of a file, as it is now."""
        source = evidence.blob((self.root / file).read_bytes())
        ran = f"2026-11-30T13:0{len(self.units)}:00+00:00"
        made = {
            "file": file,
            "kind": kind,
            "source": source,
            "digest": digest or source,
            "ran": ran,
        }
        self.units = [unit for unit in self.units if unit["file"] != file]
        self.units.append({**made, "about": about, "results": results, "not_executed": []})

    def record(self) -> evidence.Record:
        """Make the record of the run."""
        content = {"schema": 1, "device": self.device, "stamp": "", "units": self.units}
        self.write("build/executed.json", json.dumps(content))
        path, made = recording.record(self.results, self.folder, self.root)
        (found,) = (one for one in evidence.records(self.folder) if one.name == path.stem)
        assert found == made and check.problems(self.folder, self.folder) == []
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that ran."""
    return Project(tmp_path / "project")


def test_a_run_is_recorded(project: Project) -> None:
    made = project.record()
    assert made.name == "torch_npu-2.13.0-Ascend910B1"
    assert (made.where["product"], len(made.commit), made.seconds) == ("A2", 40, 1.5)
    assert made.started == "2026-11-30T13:00:00+00:00"
    found = {(e.check, e.part): (e.apis, e.items, e.dtype, e.outcome) for e in made.entries}
    assert found == {
        ("docs/api/make_dual.md", "block 1"): ((API,), (), "", "passed"),
        ("docs/api/make_dual.md", "block 2"): ((API,), (), "", "passed"),
        ("examples/1.py", ""): ((API,), (1, 2), "", "passed"),
        ("tests/npu/test_a.py", "test_item7_make_dual_float16"): (
            (API,),
            (7,),
            "float16",
            "passed",
        ),
        ("tests/npu/test_a.py", "test_other"): ((), (), "", "failed"),
    }
    page, script = made.entries[0], made.entries[2]
    assert (page.source, script.source) == ("d" * 64, evidence.blob(b"1\n"))
    assert page.blob == evidence.blob(b"prose\n")
    assert check.problems(project.folder, project.root) == []


def test_a_table_has_each_check_once_and_no_more(project: Project) -> None:
    project.record()
    before = files.read_checks(project.folder)["checks"]
    project.device |= {"soc": "Ascend910_9391", "name": "softnpu Ascend910_9391"}
    project.record()
    assert files.read_checks(project.folder)["checks"] == before and len(before) == 5
    # Another run takes the place of the first; what is named by no record goes.
    project.write("examples/1.py", "other\n")
    project.unit("examples/1.py", "script", [PASSED], {"apis": [API], "items": [1, 2]})
    assert project.record().commit.endswith("+changes")
    assert len(files.read_checks(project.folder)["checks"]) == 6
    project.device |= {"soc": "Ascend910B1", "name": "softnpu Ascend910B1"}
    project.record()
    assert len(files.read_checks(project.folder)["checks"]) == 5


def test_the_newest_text_of_a_page_stands_for_its_digest(project: Project) -> None:
    project.record()
    project.write("docs/api/make_dual.md", "other prose\n")
    unit = project.units[0]
    project.unit(unit["file"], "page", unit["results"], unit["about"], digest=unit["digest"])
    made = project.record()
    page = next(entry for entry in made.entries if entry.check.endswith(".md"))
    assert page.source == "d" * 64 and page.blob == evidence.blob(b"other prose\n")


def test_a_set_up_block_is_recorded_where_it_breaks(project: Project) -> None:
    project.units[0]["results"][0] |= {"outcome": "failed", "message": "RuntimeError: no"}
    assert "testsetup 1" in {entry.part for entry in project.record().entries}


def test_what_is_recorded_is_no_longer_unrecorded(project: Project) -> None:
    about = {"version": "2.13.0", "torch_npu": "2.13.0", "reason": "aborts", "seen": "2026-11-30"}
    project.folder.mkdir()
    listed = [Unrecorded(**about, product=product) for product in ("A2", "A3")]
    writing.write_unrecorded(project.folder, *listed)
    project.record()
    assert files.unrecorded(project.folder) == listed[1:]


@pytest.mark.parametrize("gone", [False, True])
def test_a_check_that_was_edited_makes_no_record(project: Project, gone: bool) -> None:
    path = project.root / "examples" / "1.py"
    path.unlink() if gone else path.write_text("other", encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"examples/1\.py was edited since it ran: run again"):
        project.record()
    assert not project.folder.exists()


def test_a_check_that_ran_twice_makes_no_record(project: Project) -> None:
    project.units[1]["results"].append({**PASSED, "outcome": "failed", "message": "no"})
    with pytest.raises(EvidenceError, match=r"examples/1\.py ran twice"):
        project.record()
    assert not project.folder.exists()


def test_without_a_device_there_is_no_record(project: Project) -> None:
    project.device = {"kind": "off"}
    with pytest.raises(EvidenceError, match="the device was switched off"):
        project.record()
    project.device, project.units = DEVICE, []
    with pytest.raises(EvidenceError, match="nothing ran"):
        project.record()


def test_without_a_repository_there_is_no_record(project: Project) -> None:
    (project.root / ".git").rename(project.root / "elsewhere")
    with pytest.raises(EvidenceError, match="git cannot tell it"):
        project.record()
    assert not project.folder.exists()


def test_what_is_no_results_file_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(["record", str(tmp_path / "no.json"), "--into", str(tmp_path)]) == 1
    (tmp_path / "no.json").write_text("[]", encoding="utf-8")
    assert __main__.main(["record", str(tmp_path / "no.json"), "--into", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.count("is no results file of a run") == 2 and "Traceback" not in said


def test_a_write_that_fails_leaves_all_as_it_was(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.record()
    before = {path: path.read_bytes() for path in project.folder.rglob("*.json")}
    project.write("examples/1.py", "other\n")
    project.unit("examples/1.py", "script", [PASSED], {"apis": [], "items": []})

    def stop(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        project.record()
    found = {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}
    assert found == before


def test_nothing_of_the_machine_is_recorded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path("/", "home", "walter")
    monkeypatch.setattr(messages.socket, "gethostname", lambda: "lab-seven.example.org")
    monkeypatch.setattr(messages, "_user", lambda: "walter")
    monkeypatch.setattr(Path, "home", lambda: home)
    words = (
        f"ValueError: {home}/x.py lab-seven walter@lab-seven.example.org {home.parent}/eve/data "
        f"/scratch/a/b.c {project.root}/examples/1.py {sys.prefix} {sys.executable} (PID:4711) "
        "0x7fdeadbeef"
    )
    project.units[1]["results"] = [{**PASSED, "outcome": "failed", "message": words, "line": 2}]
    made = project.record()
    text = "".join(path.read_text(encoding="utf-8") for path in project.folder.rglob("*.json"))
    for private in ("walter", "lab-seven", "eve", "scratch", str(project.root), sys.prefix, "4711"):
        assert private not in text
    (message,) = (entry.message for entry in made.entries if entry.check == "examples/1.py")
    assert "x.py" in message and "b.c" in message and "examples/1.py" in message
    assert message.endswith("at examples/1.py:2")


@pytest.mark.parametrize(
    ("method", "apis", "items", "dtype"),
    [
        ("test_item7_float16", ("x.file",), (7,), "float16"),
        ("test_make_dual_bfloat16", ("x.make_dual",), (), "bfloat16"),
        ("test_dual_level_complex64", ("x.dual_level",), (), "complex64"),
        ("test_enter_dual_level_float32", ("x.enter_dual_level",), (), "float32"),
        ("test_item1_level_is_free", ("x.file",), (1,), ""),
    ],
)
def test_what_the_name_of_a_test_says(
    method: str, apis: tuple[str, ...], items: tuple[int, ...], dtype: str
) -> None:
    names = {name: f"x.{name}" for name in ("dual_level", "enter_dual_level", "make_dual")}
    said = recording.of_method(method, "test_file", ("x.file",), names)
    assert said == {"apis": apis, "items": items, "dtype": dtype}
    file = recording.of_method("test_other", "test_make_dual", (), names)
    assert file["apis"] == ("x.make_dual",)


def test_apis_of_one_name_are_told_apart() -> None:
    names = {
        "make_dual": API,
        "func_jvp": "torch.func.jvp",
        "functional_jvp": "torch.autograd.functional.jvp",
        "Function_jvp": "torch.autograd.Function.jvp",
        "gradcheck": "torch.autograd.gradcheck.gradcheck",
    }
    units = [{"file": "a.md", "kind": "page", "about": {"apis": [*names.values()]}}]
    assert recording.names_in_tests(units) == names
    for name, api in names.items():
        assert recording.named_apis(f"test_{name}_float16", names) == (api,)
    assert recording.named_apis("test_jvp_float16", names) == ()
    both = tuple(sorted((names["func_jvp"], names["functional_jvp"])))
    assert recording.named_apis("test_func_jvp_and_functional_jvp", names) == both
    units.append({"file": "other.md", "kind": "page", "about": {"apis": ["torch.other.func.jvp"]}})
    with pytest.raises(EvidenceError, match=r"other.md: tests call both torch.other.func.jvp and"):
        recording.names_in_tests(units)


@pytest.mark.parametrize(
    ("soc", "product"),
    [("Ascend910B4-1", "A2"), ("Ascend910_9362", "A3"), ("Ascend950PR_9589", "950DT")],
)
def test_the_product_of_a_chip(soc: str, product: str) -> None:
    assert recording.where({**DEVICE, "soc": soc})["product"] == product


def test_a_chip_without_a_product_makes_no_record() -> None:
    with pytest.raises(EvidenceError, match="'Ascend310P3' belongs to no product"):
        recording.where({**DEVICE, "soc": "Ascend310P3"})
