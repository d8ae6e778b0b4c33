"""The evidence's commands: ``python -m npudocs.evidence record|check``."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from npudocs.evidence import check, files, history, recording, sweep_records
from npudocs.evidence.model import EvidenceError

AGAIN = "record again (make record, or make matrix for all versions)"


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Failed checks are results, and no failure of it."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.evidence", description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="make the record of a finished run")
    record.add_argument("results", type=Path, metavar="RESULTS.json")
    record.add_argument("--into", type=Path, default=files.FOLDER, metavar="FOLDER")
    record.set_defaults(command=_record)
    look = commands.add_parser("check", help="is the evidence whole; does it agree with a run")
    look.add_argument("--against", type=Path, metavar="RESULTS.json")
    look.set_defaults(command=_check)
    options = parser.parse_args(words)
    try:
        return options.command(options)
    except EvidenceError as error:
        print(f"evidence: {error}", file=sys.stderr)
        return 1


def _record(options: argparse.Namespace) -> int:
    path, made = recording.record(options.results, options.into.resolve(), files.ROOT)
    found = Counter(entry.outcome for entry in made.entries)
    print(", ".join(f"{number} {outcome}" for outcome, number in found.most_common()))
    print(f"written: {os.path.relpath(path)}")
    return 0


def _check(options: argparse.Namespace) -> int:
    problems = check.problems()
    if not problems and options.against:
        ran = recording.as_record(recording.read_results(options.against), files.ROOT)
        problems = check.compare(files.FOLDER, ran)
        problems += [AGAIN] if problems else []
    for problem in problems:
        print(f"evidence: {problem}", file=sys.stderr)
    if not history.whole(files.ROOT):
        print(f"evidence: {history.LEFT_OUT}", file=sys.stderr)
    if not problems:
        counts = [len(read()) for read in (files.records, files.claims, sweep_records.load)]
        print("evidence: {} records, {} claims, {} sweeps: whole".format(*counts))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
