"""What the evidence answers: as data, without a site around it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import evidencefiles
import pytest

from npudocs import evidence
from npudocs.evidence import Claim, Entry, Evidence, Mark, Record, writing
from npudocs.evidence.questions import REASONS

API = "torch.autograd.forward_ad.make_dual"
BLOB = evidence.blob(b"1\n")
WHERE = {
    "torch": "2.13.0+cpu", "torch_npu": "2.13.0", "cann": "", "soc": "Ascend910B1",
    "product": "A2", "device": "Ascend910B1 (softnpu)", "softnpu": "f00", "python": "3.11.7",
    "machine": "x86_64",
}  # fmt: skip
CHIP = {**WHERE, **evidencefiles.CHIP, "device": "Ascend910B1", "softnpu": ""}
HERE = SimpleNamespace(
    on=True, torch="2.13.0", torch_npu="2.13.0", softnpu="f00", stamp=lambda: "here"
)


def entry(part: str = "", outcome: str = "passed", **fields: Any) -> Entry:
    message = "" if outcome == "passed" else f"KeyError: {part}"
    made = Entry("examples/1.py", part, (API,), (3,), "", BLOB, outcome, message, 0.1, BLOB)
    return evidence.model.dataclasses.replace(made, **fields)


def asked(folder: Path, *entries: Entry, here: Any = HERE, **about: Any) -> Evidence:
    """The evidence with one more record of these entries."""
    base = {"kind": "software", "where": WHERE, "commit": "a" * 40, "seconds": 1.0}
    started = "2026-11-30T10:00:00+00:00"
    writing.write_record({**base, "started": started, **about}, entries, folder)
    return Evidence(folder, folder, {"examples/1.py": BLOB}, here)


@pytest.mark.parametrize(
    ("digests", "torch", "words"),
    [
        ({"examples/1.py": BLOB}, "2.13.0", ""),
        ({"examples/1.py": "0" * 40}, "2.13.0", REASONS["changed"]),
        ({}, "2.13.0", REASONS["gone"]),
        ({"examples/1.py": BLOB}, "2.13.0.post1", REASONS["other build"]),
    ],
)
def test_why_an_entry_is_stale(
    tmp_path: Path, digests: dict[str, str], torch: str, words: str
) -> None:
    found = asked(tmp_path, entry(), here=SimpleNamespace(**{**vars(HERE), "torch": torch}))
    before, found.digests = found.digest(), digests
    assert (found.digest() != before) == (digests != {"examples/1.py": BLOB})
    (record,) = found.records
    reason = found.stale(record, record.entries[0])
    assert (reason.words if reason else "") == words
    (mark,), _ = found.api_cell(API, "2.13.0", "A2", "")
    assert (mark.verdict, mark.stale) == ("passed", int(bool(words)))


def test_the_newest_record_of_a_chip_counts(tmp_path: Path) -> None:
    about = {"kind": "silicon", "where": CHIP}
    asked(tmp_path, entry(outcome="failed"), **about)
    found = asked(tmp_path, entry(), **about, started="2026-12-01T10:00:00+00:00")
    assert len(found.records) == 2 and [r.started[:10] for r in found.current] == ["2026-12-01"]


def test_current_digests_are_blobs_of_scripts_and_what_is_said_of_pages(tmp_path: Path) -> None:
    found = asked(
        tmp_path, entry(), entry(check="docs/a.md", source="b" * 64), entry("", check="x.py")
    )
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "1.py").write_bytes(b"2\n")
    said = evidence.current_digests(tmp_path, found.records, {"docs/a.md": "c" * 64})
    assert said == {"examples/1.py": evidence.blob(b"2\n"), "docs/a.md": "c" * 64}


def test_parts_are_in_the_order_of_the_page(tmp_path: Path) -> None:
    found = asked(tmp_path, *(entry(f"block {number}") for number in (10, 2, 1)))
    assert [e.part for e in found.records[0].entries] == ["block 1", "block 2", "block 10"]


def test_versions_with_the_same_products_are_told_together() -> None:
    pairs = [("2.12.0", "A2"), ("2.7.1", "A3"), ("2.7.1", "A2"), ("2.11.0", "A2"), ("2.11.0", "A3")]
    assert evidence.spread(pairs) == [
        (["2.7.1", "2.11.0"], ["A2", "A3"]),
        (["2.12.0"], ["A2"]),
    ]


def _claims(folder: Path, name: str, kind: str, **fields: Any) -> None:
    claim = {"api": API, "version": "2.13.0", "product": "A2", "says": "supported", "words": "w"}
    source = {"title": name, "kind": kind, "where": "a/b.md", "seen": "2026-11-30"}
    content = {"schema": 1, "source": source, "claims": [{**claim, **fields}]}
    path = folder / "claims" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_claims_contradict_each_other_a_signature_and_a_chip(tmp_path: Path) -> None:
    _claims(tmp_path, "page", "published page", words="`input` supports only x", dtypes=["float16"])
    _claims(tmp_path, "report", "report", dtypes=["float32"])
    failed = entry(outcome="failed", dtype="float16")
    found = asked(tmp_path, failed, kind="silicon", where=CHIP)
    said = evidence.contradictions(found, lambda api: ("tensor", "tangent"))
    assert [one.about for one in said] == ["dtypes", "parameter name", "a run on a chip"]
    assert isinstance(said[0].other, Claim) and said[0].claim.source["title"] == "page"
    assert (said[1].name, said[1].other) == ("input", ("tensor", "tangent"))
    assert isinstance(said[2].other, Mark) and said[2].name == "float16"
    assert len(evidence.contradictions(found, lambda api: None)) == 2


def test_differences_are_between_runs_of_the_same_source() -> None:
    def record(version: str, *entries: Entry) -> Record:
        where = {**WHERE, "torch_npu": version}
        return Record(version, "software", where, "", "", 1.0, entries)

    old = record("2.7.1", entry("a", "failed"), entry("b", "failed"), entry("c"))
    new = record("2.13.0", entry("a"), entry("b"), entry("c", "failed", source="0" * 40))
    explanation = evidence.Explanation("KeyError", "They came later.", "the notes")
    (group,) = evidence.differences([old, new], [explanation])
    assert [check.part for check in group.checks] == ["a", "b"]
    assert group.outcomes == {"failed": [("2.7.1", "A2")], "passed": [("2.13.0", "A2")]}
    assert len(evidence.differences([old, new], [])) == 2
    assert evidence.changed_between([old, new]) == ["examples/1.py"]


@pytest.mark.parametrize(
    ("field", "value"), [("pattern", "("), ("words", " "), ("source", ""), ("other", "x")]
)
def test_explanations_that_explain_nothing_are_refused(
    tmp_path: Path, field: str, value: str
) -> None:
    assert evidence.explanations(tmp_path) == []
    said = {"pattern": "x", "words": "y", "source": "z"}
    path = tmp_path / "explanations.json"
    path.write_text(json.dumps({"explanations": [said]}), encoding="utf-8")
    assert evidence.explanations(tmp_path) == [evidence.Explanation(**said)]
    path.write_text(json.dumps({"explanations": [{**said, field: value}]}), encoding="utf-8")
    with pytest.raises(evidence.EvidenceError, match=r"explanations\.json: explanations\[0\]"):
        evidence.explanations(tmp_path)
