"""Runs jobs, each an operator in one dtype, in processes of their own, and keeps what is done in a file.

A job that kills its process, or takes too long, costs itself only. A run that is stopped goes on
where it was: each line of the file is one job, and the first line says what it is a run of.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import TimeoutError as TooLong
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pebble import ProcessExpired, ProcessPool
from tqdm import tqdm

from npudocs import evidence
from npudocs.evidence.sweep_records import DTYPES
from npudocs.evidence.writing import replace
from npudocs.sweep import SweepError, chosen
from npudocs.sweep.evaluate import evaluate
from npudocs.sweep.fallback import StandardError
from npudocs.sweep.variants import variants

# A process is replaced after so many jobs: what an operator leaves behind does not go far.
JOBS_A_PROCESS = 400


class Job(NamedTuple):
    """One operator in one dtype."""

    operator: str
    dtype: str


def shard_of(operators: Sequence[str], dtypes: Sequence[str], shard: tuple[int, int]) -> list[Job]:
    """Return the jobs of a shard ``(i, n)``, 1 <= i <= n; the shards of n make up all of them.

    Raises:
        SweepError: an operator or a dtype is not known.
    """
    dtypes = chosen(dtypes, DTYPES, "dtype of the sweep")
    known = chosen(operators, list(variants()), "operator of the sweep")
    listed = [
        Job(name, dtype) for dtype in dtypes for name in known if dtype in variants()[name].dtypes
    ]
    number, count = shard
    return listed[number - 1 :: count]


_errors: Any = None


def start(repaired: bool = False) -> None:
    """Prepare a process of the pool: the operators are small, one thread each is fastest."""
    global _errors
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    _errors = StandardError()
    if repaired:
        sys.path.insert(0, str(evidence.ROOT / "npu_forward_ad" / "src"))
        import npu_forward_ad

        npu_forward_ad.repair()


def run_job(job: Job, forms: tuple[str, ...]) -> dict[str, Any]:
    """Evaluate a job in this process; return its cells and how long it took."""
    accelerator = torch.accelerator.current_accelerator()
    began = time.perf_counter()
    found = evaluate(variants()[job.operator], job.dtype, forms, _errors, accelerator.type)
    return found | {"seconds": round(time.perf_counter() - began, 2)}


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header of a run's file and its lines; the last one may be cut off by a kill."""
    text = path.read_text(encoding="utf-8")
    header, *listed = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    return header, listed


class Results:
    """The file of a run: a header, and one line a job."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        self.done: dict[Job, dict[str, Any]] = {}
        if path.is_file():
            self._read()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")

    def _read(self) -> None:
        try:
            header, listed = read(self.path)
            # A run may go on the next day: it began when it began.
            self.header["started"] = header["started"]
            # A job that died or hung may have had a busy machine against it: it gets another try.
            listed = [line for line in listed if all(c["form"] != "all" for c in line["cells"])]
        except (ValueError, TypeError, KeyError) as error:
            raise SweepError(
                f"{self.path} is no file of results ({error}): remove it, or add --fresh"
            ) from error
        if header != self.header:
            raise SweepError(
                f"{self.path} is of another run (another device, torch, commit or choice): "
                "remove it, or add --fresh to begin anew"
            )
        kept = [self.header, *listed]
        # Whole or not at all: what was done before must not be lost by stopping here.
        replace(self.path, "".join(f"{json.dumps(line)}\n" for line in kept).encode())
        self.done = {Job(line["operator"], line["dtype"]): line for line in listed}

    def add(self, job: Job, found: dict[str, Any]) -> None:
        """Keep a job's result, on the disk too."""
        line = {**job._asdict(), **found}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.done[job] = line


def run(
    listed: Iterable[Job],
    act: Callable[[Job], dict[str, Any]],
    results: Results,
    workers: int,
    limit: float,
    repaired: bool = False,
) -> None:
    """`act` on what is not done yet in `workers` processes, at most `limit` seconds a job.

    Raises:
        SweepError: `act` raised an error, which is not an operator's.
    """
    left = [job for job in listed if job not in results.done]
    done = len(results.done)
    pool = ProcessPool(
        max_workers=workers,
        max_tasks=JOBS_A_PROCESS,
        initializer=start,
        initargs=(repaired,),
        context=multiprocessing.get_context("spawn"),
    )
    progress = tqdm(total=done + len(left), initial=done, unit="job", disable=None)
    with pool, progress:
        futures = [(job, pool.schedule(act, (job,), timeout=limit)) for job in left]
        try:
            for job, future in futures:
                results.add(job, _result(future, limit))
                progress.update()
        except BaseException:
            pool.stop()
            raise


def _result(future: Any, limit: float) -> dict[str, Any]:
    try:
        return future.result()
    except TooLong:
        return _whole("timeout", f"no answer within {limit:g} seconds", limit)
    except ProcessExpired as error:
        code = error.exitcode
        how = f"ended with exit code {code}"
        if code < 0:
            how = f"was ended by signal {signal.Signals(-code).name}"
        return _whole("crashed", f"the process {how}")
    except Exception as error:
        # Not the operator's: the sweep itself is broken, and its numbers would be too.
        raise SweepError(f"the sweep failed at a job: {type(error).__name__}: {error}") from error


def _whole(status: str, message: str, seconds: float = 0.0) -> dict[str, Any]:
    told = [{"sample": 0, "status": status, "message": message, "call": ""}]
    cell = {"form": "all", "status": status, "counts": {status: 1}, "told": told}
    return {"cells": [cell], "seconds": seconds}
