"""Evidence of a tiny project: records that carry a true digest, and claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tinyproject import Project

from npudocs import evidence
from npudocs.evidence import Entry, writing

API = "torch.autograd.forward_ad.make_dual"
CHIP = {"cann": "9.1.0", "driver": "25.5.1", "firmware": "7.1.0.11.220"}
SOCS = {"A2": "Ascend910B1", "A3": "Ascend910_9391", "950DT": "Ascend950DT_9582"}


def entry(project: Project, check: str = "examples/one.py", **fields: Any) -> Entry:
    """An entry for a script of the project, as it is now."""
    blob = evidence.blob((project.root / check).read_bytes())
    made = {
        "check": check, "part": "", "apis": [API], "items": [3], "dtype": "float32", "source": blob,
        "outcome": "passed", "message": "", "seconds": 0.5, "blob": blob,
    }  # fmt: skip
    made |= fields
    if made["outcome"] != "passed" and not made["message"]:
        made["message"] = "it broke"
    return Entry(**{**made, **{key: tuple(made[key]) for key in ("apis", "items")}})


def record(
    project: Project,
    *entries: Entry,
    kind: str = "software",
    version: str = "2.13.0",
    product: str = "A2",
    started: str = "2026-11-30T10:00:00+00:00",
) -> Path:
    """Write a record of these entries and return its file."""
    software = kind == "software"
    soc = SOCS[product]
    where = {
        "torch": version, "torch_npu": version, "soc": soc, **({"cann": ""} if software else CHIP),
        "product": product, "device": f"{soc} (softnpu)" if software else soc,
        "softnpu": "f00" if software else "", "python": "3.11.7", "machine": "x86_64",
    }  # fmt: skip
    about = {"kind": kind, "where": where, "commit": "a" * 40, "started": started, "seconds": 61.0}
    return writing.write_record(about, entries, project.root / "evidence")[0]


def claims(
    project: Project, name: str, *said: dict[str, Any], kind: str = "published page"
) -> None:
    """Write one source; what a claim leaves out is about make_dual in 2.13.0 on an A2."""
    usual = {"api": API, "version": "2.13.0", "product": "A2", "says": "supported", "dtypes": []}
    listed = [{**usual, "words": "words of it", **claim} for claim in said]
    source = {"title": name, "kind": kind, "where": "a repository", "seen": "2026-11-30"}
    content = {"schema": 1, "source": source, "claims": listed}
    project.write(f"evidence/claims/{name}.json", json.dumps(content))
