"""Runs fuzzed operator calls in child processes and collects what crashes.

A long run: ``python tests/softnpu/fuzz/campaign.py FIRST COUNT``; one input: ``... NUMBER 1``.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).absolute().parent
ROOT = HERE.parents[2]
START = 300  # seconds until the first call of a child
HANG = 60  # seconds that one call may take


class Fault(NamedTuple):
    """An input that did not come back with a code."""

    number: int
    input: str
    how: str
    trace: str


def _wait(child: subprocess.Popen, progress: Path) -> bool:
    """Waits for the end; false, after killing it, where one call takes too long."""
    last, since = "", time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        now = progress.read_text(encoding="utf-8", errors="replace")[:20]
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > (HANG if last else START):
            child.kill()
            child.wait()
            return False
    return True


def run(first: int, count: int, most: int, *mistake: str) -> tuple[str, list[Fault]]:
    """Runs the inputs from ``first``, going on after each fault, up to ``most`` faults."""
    faults: list[Fault] = []
    end = first + count
    with tempfile.TemporaryDirectory() as folder:
        progress, output = Path(folder, "progress"), Path(folder, "output")
        while first < end and len(faults) < most:
            progress.write_text("")
            with output.open("wb") as file:
                words = [sys.executable, str(HERE / "child.py"), str(first), str(end - first)]
                child = subprocess.Popen(
                    [*words, str(progress), *mistake],
                    stdout=file,
                    stderr=file,
                    env=os.environ
                    | {"PYTHONPATH": str(ROOT), "SOFTNPU_MEMORY": "1", "OMP_NUM_THREADS": "1"},
                )
                in_time = _wait(child, progress)
            text = output.read_text(errors="replace")
            if child.returncode == 0:
                return text.strip().splitlines()[-1], faults
            line = progress.read_text(errors="replace").partition("\n")[0]
            if not line or child.returncode in (1, 2):
                raise RuntimeError(f"the fuzzer itself failed at {line[:500]!r}:\n{text}")
            how = f"exit {child.returncode}" if in_time else f"no answer in {HANG} s"
            number, _, rest = line.partition(" ")
            faults.append(Fault(int(number), rest, how, text[-3000:]))
            print(f"{number} {how}: {rest[:1500]}", flush=True)
            first = int(number) + 1
    return "not to the end", faults


def main() -> int:
    """A long run: prints each fault as it is found, and at the end the operators that had one."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    summary, faults = run(first, count, most=100)
    table = collections.Counter((fault.input.split(" ")[0], fault.how) for fault in faults)
    print(summary, f"{len(faults)} faults", dict(table))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
