"""Runs jobs in processes of their own, and keeps what is done in a file.

A job that kills its process, or takes too long, costs itself only. A run that is stopped goes on
where it was: each line of the file is one job, and the first line says what it is a run of.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as TooLong
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool
from tqdm import tqdm

from npudocs.evidence.writing import replace
from npudocs.sweep import SweepError
from npudocs.sweep.jobs import Job, start

# A process is replaced after so many jobs: what an operator leaves behind does not go far.
JOBS_A_PROCESS = 400


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
            text = self.path.read_text(encoding="utf-8")
            # The last line of a run that was killed may be cut off.
            lines = text[: text.rfind("\n") + 1].splitlines()
            header, *listed = [json.loads(line) for line in lines]
            # A run may go on the next day: it began when it began.
            self.header["started"] = header.get("started")
            # A job that died or hung may have had a busy machine against it: it gets another try.
            listed = [line for line in listed if all(c["form"] != "all" for c in line["cells"])]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
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
    evaluate: Callable[[Job], dict[str, Any]],
    results: Results,
    workers: int,
    limit: float,
) -> None:
    """Evaluate what is not done yet in `workers` processes, at most `limit` seconds a job.

    Raises:
        SweepError: `evaluate` raised an error, which is not an operator's.
    """
    left = [job for job in listed if job not in results.done]
    done = len(results.done)
    pool = ProcessPool(
        max_workers=workers,
        max_tasks=JOBS_A_PROCESS,
        initializer=start,
        context=multiprocessing.get_context("spawn"),
    )
    progress = tqdm(total=done + len(left), initial=done, unit="job", disable=None)
    with pool, progress:
        futures = [(job, pool.schedule(evaluate, (job,), timeout=limit)) for job in left]
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
