"""The evidence: what is refused, and with which words."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npudocs import evidence
from npudocs.evidence import EvidenceError, check, files, history, writing
from npudocs.evidence.model import Unrecorded

BLOB = evidence.blob(b"assert True\n")
CHECK = {
    "file": "examples/01.py",
    "source": BLOB,
    "part": "",
    "dtype": "",
    "apis": ["torch.autograd.forward_ad.make_dual"],
    "items": [2],
}
ID = files.check_id(CHECK)
CONTENT = {
    "schema": 2,
    "kind": "software",
    "where": {
        "torch": "2.13.0+cpu",
        "torch_npu": "2.13.0",
        "cann": "",
        "soc": "Ascend910B1",
        "product": "A2",
        "device": "Ascend910B1 (softnpu)",
        "softnpu": "f00d",
        "python": "3.11.7",
        "machine": "x86_64",
    },
    "commit": "0" * 40,
    "started": "2026-11-30T06:00:00+00:00",
    "seconds": 12.5,
    "passed": {ID: 0.5},
    "others": {},
}
NAME = "torch_npu-2.13.0-Ascend910B1"
RECORD = f"records/software/{NAME}.json"
FAILED = {"outcome": "failed", "message": "no", "seconds": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An evidence folder with one record."""
    _write(tmp_path, "checks.json", checks(CHECK))
    _write(tmp_path, RECORD, signed(CONTENT))
    return tmp_path


def checks(*listed: dict[str, Any]) -> dict[str, Any]:
    """The table of these checks."""
    sources = {check["source"]: BLOB for check in listed}
    return {"schema": 2, "sources": sources, "checks": {files.check_id(c): c for c in listed}}


def signed(content: dict[str, Any]) -> dict[str, Any]:
    """`content` with the digest that a run would give it."""
    return {**content, "digest": evidence.digest(content)}


def problems(folder: Path) -> list[str]:
    """What is wrong with the evidence, where git knows nothing of it."""
    return check.problems(folder, folder)


def _write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def changed(*keys: Any, value: Any) -> dict[str, Any]:
    """A signed record in which one field has another value."""
    content = copy.deepcopy(CONTENT)
    place: Any = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return signed(content)


def test_a_record_is_read(folder: Path) -> None:
    (record,) = evidence.records(folder)
    assert (record.name, record.kind, record.version) == (NAME, "software", "2.13.0")
    assert record.entries[0].apis == ("torch.autograd.forward_ad.make_dual",)
    assert problems(folder) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["passed"].update({ID: 0.4}),
        lambda content: content["where"].update(python="3.12.1"),
        lambda content: content.update(seconds=1),
    ],
)
def test_a_hand_edited_record_is_refused(
    folder: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    content = signed(copy.deepcopy(CONTENT))
    edit(content)
    _write(folder, RECORD, content)
    with pytest.raises(EvidenceError, match=rf"{RECORD}: digest: .*only a run may write a record"):
        evidence.records(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed("where", "torch", value="2.12.0"), "where.torch: does not match torch_npu 2.13.0"),
        (changed("where", "product", value="A3"), "where.product: Ascend910B1 is not a SoC of A3"),
        (changed("kind", value="silicon"), "where: belongs into silicon/"),
        (changed("where", "softnpu", value=""), "kind: 'software' contradicts where.softnpu"),
        (changed("where", "device", value="Ascend910B1"), "kind: 'software' contradicts"),
        (
            changed("where", "soc", value="Ascend910B3"),
            "where: belongs into software/torch_npu-2.13.0-Ascend910B3.json",
        ),
        (changed("started", value="yesterday"), "started: "),
        (changed("commit", value="HEAD"), "commit: 'HEAD' does not match"),
        (changed("others", value={ID: {**FAILED, "message": ""}}), f"others['{ID}'].message: "),
        (
            changed("others", value={ID: {**FAILED, "outcome": "ok"}}),
            f"others['{ID}'].outcome: 'ok' is not one of",
        ),
        (changed("passed", value={}), "passed: no check ran"),
        (changed("others", value={ID: FAILED}), "passed: examples/01.py stands here twice"),
        (changed("passed", "0" * 12, value=1), f"{'0' * 12}: is not in checks.json"),
        (changed("passed", "first", value=1), "passed: 'first' does not match"),
        (changed("host", value="lab"), "'host' was unexpected"),
        ([], "file: [] is not of type 'object'"),
    ],
)
def test_a_malformed_or_contradictory_record_is_refused(
    folder: Path, content: Any, words: str
) -> None:
    _write(folder, RECORD, content)
    (problem,) = problems(folder)
    assert problem.startswith(f"{RECORD}: ") and words in problem


def test_what_is_no_json_is_refused(folder: Path) -> None:
    (folder / RECORD).write_text("{", encoding="utf-8")
    with pytest.raises(EvidenceError, match=rf"{RECORD}: file: is not JSON"):
        evidence.records(folder)


def test_a_record_in_the_wrong_folder_is_refused(folder: Path) -> None:
    wrong = f"records/silicon/{NAME}.json"
    shutil.move(folder / RECORD, _write(folder, wrong, {}))
    assert problems(folder) == [f"{wrong}: where: belongs into software/{NAME}.json"]


def test_every_problem_is_named(folder: Path) -> None:
    _write(folder, RECORD, changed("commit", value="x"))
    _write(folder, "records/software/other.json", {})
    found = problems(folder)
    assert [problem.split(":")[0] for problem in found] == ["records/software/other.json", RECORD]


@pytest.mark.parametrize(
    ("field", "value"), [("items", [3]), ("part", "b"), ("file", "examples/02.py")]
)
def test_a_hand_edited_check_is_refused(folder: Path, field: str, value: Any) -> None:
    _write(folder, "checks.json", {**checks(), "checks": {ID: {**CHECK, field: value}}})
    with pytest.raises(EvidenceError, match=rf"checks\.json: checks\.{ID}: is not the hash of"):
        evidence.records(folder)
    assert len(problems(folder)) == 1


def test_a_check_has_a_source_that_git_can_name(folder: Path) -> None:
    _write(folder, "checks.json", {**checks(CHECK), "sources": {}})
    (problem,) = problems(folder)
    assert f"{ID}.source: is not in the sources" in problem
    _write(folder, "checks.json", {**checks(CHECK), "sources": {BLOB: "0" * 40}})
    (problem,) = problems(folder)
    assert f"sources.{BLOB}: is not the blob of a script" in problem


def test_a_check_with_items_that_are_none_is_refused(folder: Path) -> None:
    _write(folder, "checks.json", checks({**CHECK, "items": [9]}))
    (problem,) = problems(folder)
    assert ".items[0]: 9 is greater than" in problem


def test_one_check_has_one_outcome(folder: Path) -> None:
    again = {**CHECK, "items": [3]}
    _write(folder, "checks.json", checks(CHECK, again))
    both = changed("passed", value={ID: 1, files.check_id(again): 1})
    _write(folder, RECORD, both)
    (problem,) = problems(folder)
    assert problem.endswith("examples/01.py stands here twice")


def test_a_check_without_a_record_is_refused(folder: Path) -> None:
    other = {**CHECK, "part": "b"}
    _write(folder, "checks.json", checks(CHECK, other))
    (problem,) = problems(folder)
    assert problem.endswith(f"checks.json: checks.{files.check_id(other)}: no record names it")


def test_the_text_of_a_check_is_in_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert history.missing_blobs(tmp_path, [BLOB]) == [BLOB]
    command = ["git", "-C", str(tmp_path), "hash-object", "-w", "--stdin"]
    subprocess.run(command, input=b"assert True\n", check=True, capture_output=True)
    assert history.missing_blobs(tmp_path, [BLOB, "0" * 40]) == ["0" * 40]
    assert history.whole(tmp_path) and not history.whole(tmp_path / "nowhere")


def test_without_records_there_is_nothing(tmp_path: Path) -> None:
    assert evidence.records(tmp_path) == evidence.claims(tmp_path) == []
    assert problems(tmp_path) == []


CLAIM = {
    "api": "torch.autograd.forward_ad.make_dual",
    "version": "2.13.0",
    "product": "A2",
    "says": "supported",
    "dtypes": ["float32"],
    "words": "✔",
}
SOURCE = {"title": "Page", "kind": "published page", "where": "a/b.md", "seen": "2026-11-30"}


def test_claims_carry_their_source(folder: Path) -> None:
    _write(folder, "claims/a.json", {"schema": 1, "source": SOURCE, "claims": [CLAIM]})
    (claim,) = evidence.claims(folder)
    assert (claim.says, claim.dtypes, claim.items) == ("supported", ("float32",), ())
    assert claim.source == SOURCE


def test_one_source_does_not_say_two_things(folder: Path) -> None:
    other = {**CLAIM, "says": "not supported"}
    _write(folder, "claims/a.json", {"schema": 1, "source": SOURCE, "claims": [CLAIM, other]})
    with pytest.raises(EvidenceError, match=r"claims/a\.json: claims: .* stands here twice"):
        evidence.claims(folder)


def test_a_claim_without_source_is_refused(folder: Path) -> None:
    _write(folder, "claims/a.json", {"schema": 1, "claims": [CLAIM]})
    with pytest.raises(EvidenceError, match="'source' is a required property"):
        evidence.claims(folder)


def test_what_has_a_record_is_not_unrecorded(folder: Path) -> None:
    one = {
        "version": "2.14.0",
        "torch_npu": "2.14.0",
        "product": "A2",
        "reason": "aborts",
        "seen": "2026-11-30",
    }
    again = {**one, "version": "2.13.0", "torch_npu": "2.13.0"}
    _write(folder, "unrecorded.json", {"schema": 1, "combinations": [one, again]})
    assert len(files.unrecorded(folder)) == 2
    writing.write_unrecorded(folder)
    assert files.unrecorded(folder) == [Unrecorded(**one)]
    _write(folder, "unrecorded.json", {"schema": 1, "combinations": []})
    (problem,) = problems(folder)
    assert "unrecorded.json: combinations: [] " in problem


def test_the_projects_own_evidence_is_whole() -> None:
    assert check.problems() == []


def test_the_evidence_is_small() -> None:
    found = [path.stat().st_size for path in evidence.FOLDER.rglob("*") if path.is_file()]
    assert sum(found) <= 3_000_000 and len(found) <= 60


def test_neither_sphinx_nor_torch_is_needed() -> None:
    code = """if True:
        import importlib, pkgutil, sys
        for name in ("sphinx", "docutils", "torch", "torch_npu"):
            sys.modules[name] = None
        from npudocs import evidence
        for module in pkgutil.iter_modules(evidence.__path__):
            if module.name != "__main__":
                importlib.import_module(f"npudocs.evidence.{module.name}")
        from npudocs.evidence.__main__ import main
        assert evidence.records() and evidence.sweeps()
        assert not [name for name in sys.modules if name.startswith("npudocs.site")]
    """
    subprocess.run([sys.executable, "-c", code], check=True, cwd=evidence.ROOT)
