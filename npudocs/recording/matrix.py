"""``make matrix``: records all versions and products on the software NPU.

One environment at a time, made and removed again. What was recorded stays recorded, so that a run that
was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from npudocs import evidence
from npudocs.evidence import Record
from npudocs.recording import RecordingError, checks, messages, writing
from npudocs.recording.__main__ import summary
from npudocs.recording.environments import Environment

# The newest torch_npu on PyPI for each torch that loads beside the torch of PyPI: the third
# post-releases of 2.11.0 and 2.12.0 abort beside a CUDA build (softnpu/packages.py).
PACKAGES = {
    "2.7.1": "2.7.1.post11",
    "2.11.0": "2.11.0.post2",
    "2.12.0": "2.12.0.post2",
    "2.13.0": "2.13.0",
    "2.14.0": "2.14.0",
}


@dataclasses.dataclass(frozen=True)
class Combination:
    """One torch with its torch_npu, on one product."""

    version: str
    torch_npu: str
    product: str


@dataclasses.dataclass
class Outcome:
    """What became of a combination; `words` are counts, or why there is no record."""

    combination: Combination
    words: str
    seconds: float = 0.0
    recorded: bool = True


def combinations(only: Sequence[str] = ()) -> list[Combination]:
    """All combinations, or those of the versions and products that `only` names.

    Raises:
        ValueError: a word is neither a version nor a product.
    """
    if wrong := set(only) - {*evidence.VERSIONS, *evidence.PRODUCTS}:
        raise ValueError(f"{', '.join(sorted(wrong))}: no version or product of the matrix")
    versions = [word for word in evidence.VERSIONS if word in only] or evidence.VERSIONS
    products = [word for word in evidence.PRODUCTS if word in only] or evidence.PRODUCTS
    return [Combination(v, PACKAGES[v], product) for v in versions for product in products]


def current(
    combination: Combination, records: Iterable[Record], sources: dict[str, str]
) -> Record | None:
    """The software record of a combination that a new run would only repeat.

    `sources` holds the digest of each file of checks as it is now. A record counts only where
    torch_npu is the same, and the files are the same, none missing and none more.
    """
    record = of(combination, records)
    if record and {entry.check: entry.source for entry in record.entries} == sources:
        return record
    return None


def of(combination: Combination, records: Iterable[Record]) -> Record | None:
    """The software record of a combination, be it old or new."""
    for record in records:
        about = (record.where["torch_npu"], record.where["product"])
        if record.kind == "software" and about == (combination.torch_npu, combination.product):
            return record
    return None


class Matrix:
    """Records what is left of the `wanted` combinations."""

    def __init__(self, root: Path, folder: Path, wanted: Sequence[Combination]) -> None:
        self.root, self.folder, self.wanted = root, folder, list(wanted)
        self.logs = root / "build" / "matrix"
        self.sources = {
            unit.file: evidence.sha256(evidence.source_text(root / unit.file))
            for unit in checks.units(root)
        }
        self.outcomes: list[Outcome] = []
        self.environments: dict[str, Environment] = {}

    def run(self, force: bool = False) -> bool:
        """Record, and say how it goes; returns whether there is a record of each combination."""
        found = [] if force else evidence.records(self.folder)
        for version in dict.fromkeys(combination.version for combination in self.wanted):
            left = []
            for combination in self.wanted:
                if combination.version != version:
                    continue
                if record := current(combination, found, self.sources):
                    words = f"{_counts(record)}, recorded before"
                    self._note(Outcome(combination, words, record.seconds))
                else:
                    left.append(combination)
            if left:
                self._version(left)
        self._keep_unrecorded()
        print(self.table())
        return all(outcome.recorded for outcome in self.outcomes)

    def _version(self, left: list[Combination]) -> None:
        first = left[0]
        environment = Environment(self.root, self.logs / first.version)
        self.environments[first.version] = environment
        print(f"torch {first.version}, torch_npu {first.torch_npu}: installing ...", flush=True)
        try:
            problem = environment.install(first.version, first.torch_npu)
            for combination in left:
                if problem:
                    self._note(Outcome(combination, problem, recorded=False))
                else:
                    self._note(self._record(combination, environment))
        finally:
            environment.remove()

    def _record(self, combination: Combination, environment: Environment) -> Outcome:
        began = time.monotonic()
        log = self.logs / f"{combination.version}-{combination.product}.log"
        log.unlink(missing_ok=True)
        arguments = ("npudocs.recording", "--into", str(self.folder))
        problem = environment.module(*arguments, log=log, SOFTNPU_SOC=combination.product)
        seconds = time.monotonic() - began
        if problem:
            return Outcome(combination, problem, seconds, recorded=False)
        record = of(combination, evidence.records(self.folder))
        return Outcome(combination, _counts(record), seconds)

    def _note(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        about = outcome.combination
        number = self.wanted.index(about) + 1
        words = outcome.words if outcome.recorded else f"NO RECORD: {outcome.words}"
        print(
            f"[{number}/{len(self.wanted)}] torch_npu {about.torch_npu} as {about.product}: "
            f"{words} in {outcome.seconds:.0f} s",
            flush=True,
        )

    def _keep_unrecorded(self) -> None:
        """Write what has no record and why into the evidence, in place of what was known of it.

        A record that is there from before stays; that it could not be made again is not evidence.
        """
        found = evidence.records(self.folder)
        scrub = messages.Scrubber(self.root)
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        recorded, failed = [], []
        for outcome in self.outcomes:
            about = outcome.combination
            if outcome.recorded or of(about, found):
                recorded.append((about.version, about.product))
            else:
                reason = messages.shorten(scrub(outcome.words))
                failed.append({**dataclasses.asdict(about), "reason": reason, "seen": today})
        writing.update_unrecorded(self.folder, recorded, failed)

    def table(self) -> str:
        """What became of all combinations, in lines for a person."""
        lines = ["", f"{'torch_npu':<15}{'product':<9}{'seconds':>7}  result"]
        for outcome in self.outcomes:
            about = outcome.combination
            last = outcome.words.splitlines()[-1]
            words = last if outcome.recorded else f"NO RECORD: {last}"
            start = f"{about.torch_npu:<15}{about.product:<9}{outcome.seconds:>7.0f}"
            lines.append(f"{start}  {words}")
        for version, environment in self.environments.items():
            made = f"{environment.seconds:.0f} s to install, {environment.disk / 1e9:.1f} GB"
            lines.append(f"environment of torch {version}: {made}")
        if self.environments:
            most = max(environment.disk for environment in self.environments.values())
            lines.append(f"most disk used at once: {most / 1e9:.1f} GB")
        return "\n".join(lines)


def _counts(record: Record) -> str:
    return summary(Counter(entry.outcome for entry in record.entries))


def main() -> int:
    """Run the command; fails where a combination has no record."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.recording.matrix", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="VERSION|PRODUCT", help="by default all")
    parser.add_argument("--force", action="store_true", help="also what is recorded as it is now")
    options = parser.parse_args()
    try:
        wanted = combinations(options.only)
        matrix = Matrix(evidence.ROOT, evidence.FOLDER, wanted)
        return 0 if matrix.run(options.force) else 1
    except (ValueError, RecordingError) as error:
        print(f"npudocs.recording: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("npudocs.recording: stopped; the same command goes on from here", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
