"""Records and claims that the tests of the upstream artefacts make up."""

from __future__ import annotations

from npudocs.evidence import Claim, Entry, Record
from npudocs.upstream.rule import MODULE

VERSION = "2.11.0"
PAGE = "published page"


def entry(api: str, outcome: str = "passed", dtype: str = "") -> Entry:
    message = "" if outcome == "passed" else "why"
    return Entry("c.py", dtype, (f"{MODULE}.{api}",), (7,), dtype, "0" * 64, outcome, message, 0.1)


def record(
    *entries: Entry, kind: str = "silicon", soc: str = "Ascend910B1", day: int = 1
) -> Record:
    where = {
        **dict.fromkeys(("cann", "device", "softnpu"), ""),
        "torch": VERSION,
        "torch_npu": VERSION,
        "soc": soc,
        "product": "A2",
        "python": "3.11.2",
        "machine": "aarch64",
    }
    started = f"2026-01-0{day}T00:00:00+00:00"
    return Record(f"{kind}-{soc}-{day}", kind, where, "0" * 40, started, 1.0, entries)


def claim(
    api: str, says: str = "supported", kind: str = "report", dtypes: tuple[str, ...] = ()
) -> Claim:
    source = {"title": f"the {kind}", "kind": kind, "where": "", "seen": ""}
    return Claim(f"{MODULE}.{api}", VERSION, "A2", says, dtypes, (7,), "words", source)
