"""``make evidence``: is what lies in ``evidence/`` whole, and does it agree with what runs here?

``python -m npudocs.recording.check [--against-run FOLDER]``; FOLDER is where a run was just recorded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from npudocs import evidence
from npudocs.evidence import Entry, Record
from npudocs.sweep import records


def differences(committed: Record, ran: Record) -> list[str]:
    """Where a committed record disagrees with a run of the same combination."""
    before, now = _by_check(committed), _by_check(ran)
    found = []
    for key in dict.fromkeys([*before, *now]):
        name = " ".join(filter(None, key))
        if key not in now:
            found.append(f"{name}: is recorded, and did not run")
        elif key not in before:
            found.append(f"{name}: ran ({now[key].outcome}), and is not recorded")
        elif before[key].outcome != now[key].outcome:
            words = f"recorded as {before[key].outcome}, and now {now[key].outcome}"
            found.append(f"{name}: {words}: {now[key].message}".rstrip(": "))
        elif before[key].source != now[key].source:
            found.append(f"{name}: its source changed since it was recorded")
        elif (before[key].apis, before[key].items) != (now[key].apis, now[key].items):
            found.append(f"{name}: its APIs or items changed since it was recorded")
    return [f"{committed.name}: {words}" for words in found]


def _by_check(record: Record) -> dict[tuple[str, str, str], Entry]:
    return {(entry.check, entry.part, entry.dtype): entry for entry in record.entries}


def compare(folder: Path, run_folder: Path) -> list[str]:
    """Compare the newest run in `run_folder` with the committed record of its combination."""
    runs = evidence.records(run_folder)
    if not runs:
        return [f"no run was recorded in {run_folder}"]
    ran = runs[-1]
    same = [
        record
        for record in evidence.records(folder)
        if record.kind == ran.kind
        and all(record.where[name] == ran.where[name] for name in ("torch_npu", "soc"))
    ]
    if not same:
        # A chip's record is sent by who has the chip; nothing of it has to be there before.
        return [] if ran.kind == "silicon" else [f"{ran.name}: is not recorded in {folder.name}/"]
    return differences(same[-1], ran)


def main() -> int:
    """Print what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.recording.check", description=__doc__)
    parser.add_argument("--against-run", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    problems = evidence.problems()
    sweeps = []
    try:
        sweeps = records.load()
    except evidence.EvidenceError as error:
        problems.append(str(error))
    if not problems and options.against_run:
        try:
            problems = compare(evidence.FOLDER, options.against_run)
        except evidence.EvidenceError as error:
            problems = [str(error)]
        if problems:
            problems.append("record again (make record, or make matrix for all versions)")
    for problem in problems:
        print(f"evidence: {problem}", file=sys.stderr)
    if problems:
        return 1
    found, claims = evidence.records(), evidence.claims()
    stale = sum(entry.stale() for record in found for entry in record.entries)
    entries = sum(len(record.entries) for record in found)
    print(
        f"evidence: {len(found)} records, {entries} entries ({stale} stale), "
        f"{len(claims)} claims, {len(sweeps)} sweeps"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
