"""``make sweep-matrix``: sweeps other versions and products on the software NPU, in float32.

One environment at a time, made and removed again, as ``make matrix`` does for the records of checks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from npudocs import evidence
from npudocs.recording.environments import Environment
from npudocs.recording.matrix import Combination, combinations
from npudocs.sweep import records

DTYPES = "float32"


def missing(wanted: Sequence[Combination], made: Sequence[dict[str, Any]]) -> list[Combination]:
    """The combinations that no record is of."""
    there = {
        (one["where"]["torch_npu"], one["where"]["product"])
        for one in made
        if one["kind"] == "software"
    }
    return [one for one in wanted if (one.torch_npu, one.product) not in there]


def sweep(wanted: Sequence[Combination]) -> Iterator[str]:
    """Sweep the combinations; yields what became of each, in words."""
    logs = evidence.ROOT / "build" / "sweep-matrix"
    for version in dict.fromkeys(one.version for one in wanted):
        mine = [one for one in wanted if one.version == version]
        environment = Environment(evidence.ROOT, logs / version)
        try:
            problem = environment.install(version, mine[0].torch_npu)
            yield f"torch {version}: installed in {environment.seconds:.0f} s"
            for one in mine:
                began = time.monotonic()
                log = logs / f"{version}-{one.product}.log"
                words = problem or environment.module(
                    *("npudocs.sweep", "run", "--dtypes", DTYPES, "--fresh"),
                    log=log,
                    SOFTNPU_SOC=one.product,
                )
                seconds = time.monotonic() - began
                said = f"NO RECORD: {words}" if words else f"recorded in {seconds:.0f} s"
                yield f"torch_npu {one.torch_npu} as {one.product}: {said}"
        finally:
            environment.remove()


def main() -> int:
    """Run the command; fails where a combination has no record afterwards."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.sweep.matrix", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="VERSION|PRODUCT", help="by default all")
    parser.add_argument("--force", action="store_true", help="also what is recorded already")
    options = parser.parse_args()
    try:
        wanted = combinations(options.only)
        left = wanted if options.force else missing(wanted, records.load())
        for line in sweep(left):
            print(line, flush=True)
        return 1 if missing(wanted, records.load()) else 0
    except (ValueError, evidence.EvidenceError) as error:
        print(f"sweep: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("sweep: stopped; the same command goes on from here", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
