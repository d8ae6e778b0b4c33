"""The sweep's commands: ``python -m npudocs.sweep run|merge`` (``make sweep``)."""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npudocs import device, evidence
from npudocs.evidence import recording, sweep_records, writing
from npudocs.evidence.sweep_records import DTYPES, FORMS
from npudocs.sweep import SweepError, checking, jobs, pool, records
from npudocs.sweep.variants import variants

ROOT = Path(__file__).parents[2]


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    options = _parser().parse_args(words)
    try:
        options.command(options)
    except (SweepError, device.DeviceError, evidence.EvidenceError) as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsweep: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make sweep ARGS=...", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="sweep, and write a record where all was swept")
    run.add_argument("operators", nargs="*", help="names as torch's database has them; default all")
    run.add_argument("--dtypes", type=_words, default=(), help=",".join(DTYPES))
    run.add_argument("--forms", type=_words, default=(), help=",".join(FORMS))
    run.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N")
    run.add_argument("--workers", type=_number, default=os.cpu_count() or 1)
    run.add_argument("--limit", type=float, default=120, help="seconds a job (default 120)")
    run.add_argument("--fresh", action="store_true", help="forget what an earlier run did")
    run.add_argument("--check", action="store_true", help="compare with the record, write none")
    run.add_argument("--into", type=Path, default=ROOT / "build" / "sweep", help=argparse.SUPPRESS)
    run.set_defaults(command=_run)
    merge = commands.add_parser("merge", help="make one record of the files of all shards")
    merge.add_argument("shards", nargs="+", type=Path)
    merge.set_defaults(command=lambda options: _merge(options.shards))
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard; the second of four is 2/4")
    return int(found[1]), int(found[2])


def _number(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of workers")
    return int(text)


def _run(options: argparse.Namespace) -> None:
    forms = jobs.chosen(options.forms, list(FORMS), "form")
    listed = jobs.shard_of(options.operators, options.dtypes, options.shard)
    header = _header(options, forms)
    number, count = options.shard
    where = header["where"]
    name = f"{where['torch_npu']}-{where['soc']}-{number}of{count}.jsonl"
    path = options.into / name
    if options.fresh:
        path.unlink(missing_ok=True)
    results = pool.Results(path, header)
    began = time.monotonic()
    evaluate = functools.partial(jobs.run, forms=forms)
    pool.run(listed, evaluate, results, options.workers, options.limit)
    seconds = time.monotonic() - began
    print(f"{len(listed)} jobs in {seconds:.0f} s with {options.workers} workers: {path}")
    if options.check:
        operators = {job.operator for job in listed}
        asked = checking.Asked(operators, forms, header["choice"]["dtypes"])
        _check(_content([path], partly=True), asked)
    elif count > 1:
        print("Merge all shards: python -m npudocs.sweep merge FILES")
    elif not options.operators and forms == tuple(FORMS):
        _merge([path])
    else:
        made = _content([path])
        print(records.table(made))
        print("Not recorded: only a sweep of all operators in all forms is.")


def _header(options: argparse.Namespace, forms: tuple[str, ...]) -> dict[str, Any]:
    """Return what this is a run of: results of another are not mixed with it."""
    from npudocs.sweep.evaluate import SAMPLES_OF_OTHER_FORMS  # with torch, after a wrong word

    found = device.describe()
    if not found.on:
        raise SweepError("the device is switched off (DEVICE=off): a sweep needs one")
    names = ("name", "soc", "torch", "torch_npu", "cann", "softnpu", "python")
    about = {name: getattr(found, name) for name in names}
    return {
        "kind": found.kind,
        "where": recording.where(about),
        "commit": recording.commit(ROOT),
        "code": _code(),
        "started": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "limits": {"samples": SAMPLES_OF_OTHER_FORMS, "seconds": options.limit},
        "choice": {
            "operators": list(options.operators),
            "dtypes": [name for name in DTYPES if not options.dtypes or name in options.dtypes],
            "forms": list(forms),
        },
        "shard": list(options.shard),
    }


def _code() -> str:
    """Return a digest of the sweep's own code: results of another are not mixed with these."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return evidence.sha256(b"".join(file.read_bytes() for file in files))


def _content(paths: Sequence[Path], partly: bool = False) -> dict[str, Any]:
    shards = []
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            shards.append([json.loads(line) for line in lines])
        except (OSError, ValueError) as error:
            raise SweepError(f"{path} is not the file of a shard: {error}") from error
    families = {name: variant.family for name, variant in variants().items()}
    operators = records.merged(shards, families, partly)
    seconds = sum(line["seconds"] for _, *lines in shards for line in lines)
    header = shards[0][0]
    fields = {"started": header["started"], "dtypes": header["choice"]["dtypes"]}
    return records.content(header, **fields, seconds=round(seconds), operators=operators)


def _check(made: dict[str, Any], asked: checking.Asked) -> None:
    found = checking.differences(made, checking.record_of(made, evidence.sweeps()), asked)
    print(records.table(made))
    if found:
        listed = "\n  ".join(found)
        raise SweepError(
            f"{len(found)} cells are not as recorded; if that is meant, make sweep again:\n  {listed}"
        )
    print("As recorded.")


def _merge(paths: Sequence[Path]) -> None:
    made = _content(paths)
    target = evidence.FOLDER / "sweeps" / made["kind"] / f"{evidence.file_name(made)}.json"
    evidence.check_schema(sweep_records.packed(made), target, sweep_records.SCHEMA)
    writing.replace(target, sweep_records.text(made))
    print(records.table(made))
    print(f"The record: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
