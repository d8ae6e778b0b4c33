"""What became of blocks, scripts and tests: one shape of result, and the file that keeps a run.

``executed.json`` lies beside the folders of the builders (``build/executed.json``), so that every builder
knows what another one ran. A result belongs to a device (its stamp) and to a text (the digest of its
unit), and counts for nothing else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

FILE = "executed.json"
# What passed under another code of this package may not pass now.
CODE = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py"))))


@dataclasses.dataclass
class Result:
    """What became of one block, script or test. `line` is 1-based, `seconds` is wall time."""

    part: str  # "block 3", "test_x"; empty for a whole script
    line: int
    outcome: str  # "passed", "failed", "skipped", "crashed" or "timeout"
    message: str = ""
    seconds: float = 0.0
    used: int | None = None  # what the device did for it; None where nobody counts


@dataclasses.dataclass
class UnitRun:
    """One file of checks, and what became of them when they last ran.

    `source` is the file's hash in git, `digest` that of what decides the results, `about` what the
    project wants remembered with them, `not_executed` the code that the page marks so.
    """

    file: str
    kind: str  # "page", "script" or "tests"
    source: str
    digest: str
    ran: str = ""
    about: dict[str, Any] = dataclasses.field(default_factory=dict)
    results: list[Result] = dataclasses.field(default_factory=list)
    not_executed: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    # In this build, and not in an earlier one. Not kept.
    fresh: bool = False

    @property
    def outcome(self) -> str:
        """``passed``, ``failed``, ``skipped`` (nothing ran) or ``not executed``."""
        outcomes = {result.outcome for result in self.results}
        if outcomes - {"passed", "skipped"}:
            return "failed"
        return next((one for one in ("passed", "skipped") if one in outcomes), "not executed")

    @property
    def counted(self) -> list[Result]:
        """The results that are counted: set-up and clean-up blocks only where they broke."""
        serving = ("testsetup", "testcleanup")
        return [
            result
            for result in self.results
            if result.outcome not in ("passed", "skipped") or not result.part.startswith(serving)
        ]

    @property
    def used(self) -> int | None:
        """What the device did for all of it; None where nobody counts."""
        counts = [result.used for result in self.results if result.used is not None]
        return sum(counts) if counts else None

    @property
    def seconds(self) -> float:
        """How long all of it took."""
        return sum(result.seconds for result in self.results)


@dataclasses.dataclass
class Run:
    """All units of a project by file, on one device."""

    device: dict[str, Any]
    stamp: str
    units: dict[str, UnitRun] = dataclasses.field(default_factory=dict)

    def current(self, file: str, digest: str) -> UnitRun | None:
        """The unit where its results are about this text, and nothing of it broke."""
        unit = self.units.get(file)
        known = unit is not None and unit.digest == digest
        return unit if known and unit.outcome in ("passed", "skipped") else None


def load(path: Path, device: dict[str, Any], stamp: str) -> Run:
    """The run in a file; an empty one where there is none or it is another device's."""
    run = Run(device, stamp)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != 1 or content["stamp"] != stamp:
            return run
        if content["code"] != CODE.hexdigest():
            return run
        for entry in content["units"]:
            results = [Result(**result) for result in entry["results"]]
            run.units[entry["file"]] = UnitRun(**{**entry, "results": results})
    except (OSError, ValueError, KeyError, TypeError):
        return Run(device, stamp)
    return run


def save(run: Run, path: Path) -> None:
    """Write the file whole or not at all."""
    units = [dataclasses.asdict(unit) for _, unit in sorted(run.units.items())]
    for unit in units:
        del unit["fresh"]
    about = {"code": CODE.hexdigest(), "device": run.device, "stamp": run.stamp}
    content = {"schema": 1, **about, "units": units}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def blob(path: Path) -> str:
    """The hash that git has for the content of a file."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
