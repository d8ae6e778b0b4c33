"""The evidence: what is refused, and with which words."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npudocs import evidence
from npudocs.evidence import EvidenceError, sha256

CHECK = b"assert True\n"
ENTRY = {
    "check": "examples/01.py",
    "part": "",
    "apis": ["torch.autograd.forward_ad.make_dual"],
    "items": [2],
    "dtype": "",
    "source": sha256(CHECK),
    "outcome": "passed",
    "message": "",
    "seconds": 0.5,
}
CONTENT = {
    "schema": 1,
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
    "entries": [ENTRY],
}
NAME = "torch_npu-2.13.0-Ascend910B1"
RECORD = f"records/software/{NAME}.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An evidence folder with one record."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / f"{sha256(CHECK)[:16]}.py").write_bytes(CHECK)
    _write(tmp_path, RECORD, signed(CONTENT))
    return tmp_path


def signed(content: dict[str, Any]) -> dict[str, Any]:
    """`content` with the digest that a run would give it."""
    return {**content, "digest": evidence.digest(content)}


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
    assert evidence.problems(folder) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["entries"][0].update(seconds=0.4),
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
        (changed("kind", value="silicon"), "kind: 'silicon' contradicts where.softnpu"),
        (changed("where", "softnpu", value=""), "kind: 'software' contradicts where.softnpu"),
        (changed("where", "device", value="Ascend910B1"), "kind: 'software' contradicts"),
        (
            changed("where", "soc", value="Ascend910B3"),
            "where: belongs into torch_npu-2.13.0-Ascend910B3.json",
        ),
        (changed("started", value="yesterday"), "started: "),
        (changed("commit", value="HEAD"), "commit: 'HEAD' does not match"),
        (changed("entries", 0, "outcome", value="failed"), "entries[0].message: "),
        (changed("entries", 0, "outcome", value="skipped"), "entries[0].message: "),
        (changed("entries", 0, "message", value="but"), "entries[0].message: "),
        (
            changed("entries", 0, value={**ENTRY, "outcome": "ok", "message": "fine"}),
            "entries[0].outcome: 'ok' is not one of",
        ),
        (changed("entries", 0, "items", value=[9]), "entries[0].items[0]: 9 is greater than"),
        (changed("entries", value=[]), "entries: [] "),
        (changed("entries", value=[ENTRY, ENTRY]), "entries[1]: repeats entries[0]"),
        (changed("entries", 0, "source", value="0" * 64), "entries[0].source: its text is not in"),
        (changed("host", value="lab"), "'host' was unexpected"),
        ([], "file: [] is not of type 'object'"),
    ],
)
def test_a_malformed_or_contradictory_record_is_refused(
    folder: Path, content: Any, words: str
) -> None:
    _write(folder, RECORD, content)
    with pytest.raises(EvidenceError) as refused:
        evidence.records(folder)
    assert str(refused.value).startswith(f"{RECORD}: ")
    assert words in str(refused.value)
    assert str(refused.value) in evidence.problems(folder)


def test_what_is_no_json_is_refused(folder: Path) -> None:
    (folder / RECORD).write_text("{", encoding="utf-8")
    with pytest.raises(EvidenceError, match=rf"{RECORD}: file: is not JSON"):
        evidence.records(folder)


def test_a_record_in_the_wrong_folder_is_refused(folder: Path) -> None:
    wrong = f"records/silicon/{NAME}.json"
    shutil.move(folder / RECORD, _write(folder, wrong, {}))
    with pytest.raises(EvidenceError, match=f"{wrong}: kind: 'software' does not belong"):
        evidence.records(folder)


def test_every_problem_is_named(folder: Path) -> None:
    _write(folder, RECORD, changed("commit", value="x"))
    _write(folder, "records/software/other.json", {})
    found = evidence.problems(folder)
    assert [problem.split(":")[0] for problem in found] == ["records/software/other.json", RECORD]


def test_sources_are_the_texts_that_ran(folder: Path) -> None:
    source = next((folder / "sources").iterdir())
    source.write_text("assert False\n", encoding="utf-8")
    assert evidence.problems(folder) == [
        f"evidence/sources/{source.name}: file: is not the text that its record names"
    ]


def test_a_source_without_a_record_is_refused(folder: Path) -> None:
    (folder / "sources" / "0.py").write_text("", encoding="utf-8")
    assert evidence.problems(folder) == ["evidence/sources/0.py: file: no record names it"]


def test_without_records_there_is_nothing(tmp_path: Path) -> None:
    assert evidence.records(tmp_path) == evidence.claims(tmp_path) == []
    assert evidence.problems(tmp_path) == []


def test_an_edited_script_is_stale(folder: Path, tmp_path: Path) -> None:
    ((entry,),) = (record.entries for record in evidence.records(folder))
    root = tmp_path / "project"
    assert entry.stale(root)
    (root / "examples").mkdir(parents=True)
    (root / "examples" / "01.py").write_bytes(CHECK)
    assert not entry.stale(root)
    (root / "examples" / "01.py").write_bytes(CHECK + b"# more\n")
    assert entry.stale(root)


PAGE = """# Page

Prose.

```{doctest}
>>> 1 + 1
2
```

```python
not executed
```

    :::{testcode}
    :skipif: False
    print(1)
    :::
"""


def test_prose_does_not_make_a_page_stale_and_a_block_does(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    before = evidence.source_text(page)
    assert b"1 + 1" in before and b":skipif:" in before
    assert b"Prose" not in before and b"not executed" not in before
    page.write_text(PAGE.replace("Prose", "Other prose"), encoding="utf-8")
    assert evidence.source_text(page) == before
    page.write_text(PAGE.replace("print(1)", "print(2)"), encoding="utf-8")
    assert evidence.source_text(page) != before


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
    _write(folder, "unrecorded.json", {"schema": 1, "combinations": [one]})
    assert [found.reason for found in evidence.unrecorded(folder)] == ["aborts"]
    again = {**one, "version": "2.13.0", "torch_npu": "2.13.0"}
    _write(folder, "unrecorded.json", {"schema": 1, "combinations": [one, again]})
    with pytest.raises(EvidenceError, match=r"unrecorded\.json: combinations\[1\]: has a record"):
        evidence.unrecorded(folder)


def test_the_projects_own_evidence_is_whole() -> None:
    assert evidence.problems() == []
