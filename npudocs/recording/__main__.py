"""The command: ``python -m npudocs.recording``, below ``python -m softnpu run`` where no chip is."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from npudocs import evidence
from npudocs.recording import RecordingError, checks, messages, writing
from npudocs.recording.supervisor import TIMEOUT, WORKER, Result, Supervisor


def record(
    root: Path, folder: Path, timeout: float = TIMEOUT, worker: Sequence[str] = WORKER
) -> Path:
    """Run all checks of the project in `root` and write the record into `folder`.

    Raises:
        RecordingError: there is no device, no commit, or a check was edited during the run.
    """
    began = time.monotonic()
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    commit = writing.commit(root)
    units = checks.units(root)
    sources = writing.Sources(root, units)
    run = Supervisor(root, units, timeout, worker, _say)
    run.run()
    sources.check_unchanged()
    entries = writing.entries(root, units, run.results.values(), sources)
    seconds = round(time.monotonic() - began, 1)
    made = writing.content(
        run.where, commit=commit, started=started, seconds=seconds, entries=entries
    )
    path = writing.write(made, sources, folder)
    print(f"{summary(Counter(e['outcome'] for e in entries))} in {seconds:.0f} s")
    return path


def summary(outcomes: Counter[str]) -> str:
    """``127 passed, 3 failed``."""
    order = ("passed", "failed", "crashed", "timeout", "skipped")
    return ", ".join(f"{outcomes[name]} {name}" for name in order if outcomes[name])


def _say(result: Result) -> None:
    if result.outcome != "passed":
        first = messages.shorten(result.message.replace("\n", " "), 160)
        print(f"{result.outcome}: {result.file} {result.part}: {first}", flush=True)


def main() -> int:
    """Run the command; failed checks are results, and no failure of the command."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.recording", description=__doc__)
    parser.add_argument("--into", type=Path, default=evidence.FOLDER, metavar="FOLDER")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds for a check (%(default)g)"
    )
    options = parser.parse_args()
    try:
        path = record(evidence.ROOT, options.into.resolve(), options.timeout)
    except (RecordingError, evidence.EvidenceError) as error:
        print(f"npudocs.recording: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("npudocs.recording: stopped; nothing was written", file=sys.stderr)
        return 130
    print(f"written: {os.path.relpath(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
