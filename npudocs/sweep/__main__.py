"""The sweep's commands: ``python -m npudocs.sweep run|merge`` (``make sweep``)."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import hashlib
import importlib.metadata
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npudocs import device, evidence
from npudocs.evidence import recording, sweep_records
from npudocs.evidence.sweep_records import DTYPES, FORMS
from npudocs.sweep import SweepError, chosen


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    options = _parser().parse_args(words)
    try:
        _check_operators(getattr(options, "operators", ()))
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
    run.add_argument("--workers", type=_number, default=os.cpu_count())
    run.add_argument("--limit", type=float, default=120, help="seconds a job (default 120)")
    run.add_argument("--fresh", action="store_true", help="forget what an earlier run did")
    run.add_argument("--check", action="store_true", help="compare with the record, write none")
    run.add_argument("--repaired", action="store_true", help="with npu_forward_ad's repair")
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


def _check_operators(words: Sequence[str]) -> None:
    """Refuse an operator that torch's database does not have, without the seconds it takes to import it.

    What the installed torch_npu was swept with stands in its record; where there is none, and for
    torch_npu's own functions, `pool.shard_of` looks.

    Raises:
        SweepError: an operator is not known.
    """
    version = importlib.metadata.version("torch_npu")
    paths = sorted((evidence.FOLDER / "sweeps").glob(f"*/torch_npu-{version}-*.json"))
    words = [word for word in words if not word.startswith("torch_npu.")]
    if words and paths:
        known = json.loads(paths[0].read_text(encoding="utf-8"))["operators"]
        chosen(words, [*known], "operator of the sweep")


def _run(options: argparse.Namespace) -> None:
    from npudocs.sweep import pool, records  # with torch, after a wrong word

    forms = chosen(options.forms, list(FORMS), "form")
    listed = pool.shard_of(options.operators, options.dtypes, options.shard)
    header = _header(options, forms)
    number, count = options.shard
    where = header["where"]
    repaired = "-repaired" if options.repaired else ""
    name = f"{where['torch_npu']}-{where['soc']}-{number}of{count}{repaired}.jsonl"
    path = evidence.ROOT / "build" / "sweep" / name
    if options.fresh:
        path.unlink(missing_ok=True)
    results = pool.Results(path, header)
    began = time.monotonic()
    pool.run(
        listed,
        functools.partial(pool.run_job, forms=forms),
        results,
        options.workers,
        options.limit,
        options.repaired,
    )
    seconds = time.monotonic() - began
    print(f"{len(listed)} jobs in {seconds:.0f} s with {options.workers} workers: {path}")
    if options.check:
        made = records.content([path], partly=True)
        print(records.table(made))
        asked = {(job.operator, form, job.dtype) for job in listed for form in forms}
        if found := records.differences(made, evidence.sweeps(), asked):
            words = f"{len(found)} cells are not as recorded; if that is meant, make sweep again:"
            raise SweepError("\n  ".join([words, *found]))
        print("As recorded.")
    elif count > 1:
        print("Merge all shards: python -m npudocs.sweep merge FILES")
    elif not options.operators and forms == tuple(FORMS):
        _merge([path])
    else:
        print(records.table(records.content([path])))
        print("Not recorded: only a sweep of all operators in all forms is.")


def _header(options: argparse.Namespace, forms: tuple[str, ...]) -> dict[str, Any]:
    """Return what this is a run of: results of another are not mixed with it."""
    from npudocs.sweep.evaluate import SAMPLES_OF_OTHER_FORMS  # with torch, after a wrong word

    found = device.describe()
    if not found.on:
        raise SweepError("the device is switched off (DEVICE=off): a sweep needs one")
    return {
        "kind": found.kind,
        "where": recording.where(dataclasses.asdict(found)),
        "commit": recording.commit(evidence.ROOT),
        "code": _code(),
        "started": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "limits": {"samples": SAMPLES_OF_OTHER_FORMS, "seconds": options.limit},
        "choice": {
            "operators": list(options.operators),
            "dtypes": [name for name in DTYPES if not options.dtypes or name in options.dtypes],
            "forms": list(forms),
        },
        "shard": list(options.shard),
        **({"repaired": True} if options.repaired else {}),
    }


def _code() -> str:
    """Return a digest of the sweep's own code: results of another are not mixed with these."""
    files = [*sorted(Path(__file__).parent.glob("*.py")), evidence.FOLDER / "npu_functions.json"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _merge(paths: Sequence[Path]) -> None:
    from npudocs.sweep import records

    made = records.content(paths)
    target = sweep_records.write(made)
    print(records.table(made))
    print(f"The record: {target.relative_to(evidence.ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
