"""The process that runs the code of the checkouts; started by ``__main__.py``, never alone.

It reads jobs from its standard input, a JSON list of (kind, path, first case), and writes a line
for each case to what its standard output was: kind, path, number, outcome and why; before it, one
when the kernel begins, for what ends the process is the reference's until then. What the
checkouts' code prints goes nowhere.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from pathlib import Path

from .. import activate


def main() -> int:
    """Runs the jobs; returns 0. The environment variable SOFTNPU_CASES is how many of each."""
    jobs = json.load(sys.stdin)
    lines = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    warnings.simplefilter("ignore")
    activate()
    import torch

    from . import atk
    from .refusals import run_file
    from .run import Suite

    torch.set_num_threads(1)
    atk.install()
    most = int(sys.argv[1])
    for kind, path, first in jobs:
        if kind == "refusals":
            for number, outcome in enumerate(run_file(Path(path))):
                lines.write(json.dumps([kind, path, number, *outcome]) + "\n")
        else:
            note = functools.partial(lines.write, '["kernel"]\n')
            suite = Suite(Path(path), note, in_place=kind == "in place")
            for number in chosen(len(suite.cases), most):
                if number >= first:
                    lines.write(json.dumps([kind, path, number, *suite.run(number)]) + "\n")
        count = len(suite.cases) if kind != "refusals" else 0
        lines.write(json.dumps([kind, path, -1, "end", count]) + "\n")
    return 0


def chosen(count: int, most: int) -> list[int]:
    """Which of so many cases run: all, or that many at even distances."""
    step = max(1, -(-count // most)) if most else 1
    return list(range(0, count, step))


if __name__ == "__main__":
    sys.exit(main())
