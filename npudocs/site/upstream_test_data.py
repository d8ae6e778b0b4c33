"""The data behind the page of upstream's tests: the inventory, and what the disabled tests found.

``evidence/upstream_tests.json`` is written by hand and checked against the tests it names;
``evidence/upstream_disabled.json`` is written by ``python -m npudocs.upstream.disabled run`` alone.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import Any

from npudocs import evidence

TESTS, DISABLED = "upstream_tests.json", "upstream_disabled.json"
OUTCOMES = ("passed", "failed", "error", "crashed", "timeout", "skipped", "not in op_db")
SOUND = ("passed", "skipped", "not in op_db")

_CALL = re.compile(r"^\w+: .*?NPU function error: call (\w+) failed, error code is \d+ ")
_NOISE = re.compile(r"ERR\d+ PTA call acl api failed\. |; the largest difference is \S+$")
_PLACE = re.compile(r" for output \d+ with respect to input \d+")
_PART = re.compile(r"^While considering the (?:real|imaginary) part of complex \w+ only, ")

# Why a case does not pass, the first that fits.
CAUSES = {
    "marked": "PyTorch's own table expects the failure",
    "cpu": "It does not pass on the CPU either",
    "softnpu": "A kernel of the software NPU stopped it",
    "torch_npu": "It passes on the CPU and not here",
}


@dataclasses.dataclass(frozen=True)
class Group:
    """Disabled cases that do not pass, for the same cause and with the same words."""

    cause: str
    words: str
    cases: tuple[dict[str, Any], ...]


def inventory(folder: Path, root: Path) -> dict[str, Any] | None:
    """The inventory; None where there is none.

    Raises:
        EvidenceError: it is malformed, repeats a test or names one of ours that is not there.
    """
    path = folder / TESTS
    if not path.is_file():
        return None
    content = evidence.load_checked(path, "upstream_tests.schema.json")
    seen: set[tuple[str, str]] = set()
    for number, test in enumerate(content["tests"]):
        place = f"tests[{number}]"
        key = (test["class"], test["method"])
        if key in seen:
            raise evidence.refusal(path, place, f"{'.'.join(key)} stands here twice")
        seen.add(key)
        for name in test["equivalent"]:
            file, _, method = name.partition("::")
            found = root / file
            if not found.is_file() or f"def {method}(" not in found.read_text(encoding="utf-8"):
                raise evidence.refusal(path, f"{place}.equivalent", f"there is no test {name}")
    return content


def disabled(folder: Path) -> dict[str, Any] | None:
    """What the disabled tests found; None where they were not performed.

    Raises:
        EvidenceError: the file is malformed or was edited.
    """
    path = folder / DISABLED
    if not path.is_file():
        return None
    content = evidence.load_checked(path, "upstream_disabled.schema.json")
    if content["digest"] != evidence.digest(content):
        raise evidence.refusal(path, "digest", "does not fit the content: only a run may write it")
    if content["counts"] != Counter(case["outcome"] for case in content["cases"]):
        raise evidence.refusal(path, "counts", "are not those of the cases")
    return content


def groups(cases: list[dict[str, Any]]) -> list[Group]:
    """The cases that do not pass: by cause, and the most frequent words of a cause first."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for case in cases:
        if case["outcome"] not in SOUND:
            found.setdefault((cause(case), words(case)), []).append(case)
    made = [Group(*key, tuple(members)) for key, members in found.items()]
    order = [*CAUSES]
    return sorted(made, key=lambda g: (order.index(g.cause), -len(g.cases), g.words))


def cause(case: dict[str, Any]) -> str:
    """The name in `CAUSES` of why a case does not pass."""
    if case.get("marked") == "expected failure":
        return "marked"
    if case.get("cpu") not in ("passed", None):
        return "cpu"
    return "softnpu" if "softnpu: " in case["message"] else "torch_npu"


def words(case: dict[str, Any]) -> str:
    """A message without what differs from operator to operator."""
    text = _PART.sub("", _PLACE.sub("", _NOISE.sub("", case["message"])))
    return _CALL.sub("", text)
