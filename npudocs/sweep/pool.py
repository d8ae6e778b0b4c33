"""Runs units in processes of their own, and keeps what is done in a file.

A unit that kills its process, or takes too long, costs itself only. A run that is stopped goes on
where it was: each line of the file is one unit, and the first line says what it is a run of.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as UnitTimeout
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool
from tqdm import tqdm

from npudocs.evidence.messages import ending
from npudocs.evidence.writing import replace
from npudocs.sweep import SweepError
from npudocs.sweep.units import Unit, start

# A process is replaced after so many units: what an operator leaves behind does not go far.
UNITS_A_PROCESS = 400


class Results:
    """The file of a run: a header, and one line a unit."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        self.done: dict[Unit, dict[str, Any]] = {}
        self.seconds = 0.0
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
            # A unit that died or hung may have had a busy machine against it: it gets another try.
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
        for line in listed:
            self._keep(line)

    def _keep(self, line: dict[str, Any]) -> None:
        self.done[Unit(line["operator"], line["dtype"])] = line
        self.seconds += line["seconds"]

    def add(self, unit: Unit, found: dict[str, Any]) -> None:
        """Keep a unit's result, on the disk too."""
        line = {"operator": unit.operator, "dtype": unit.dtype, **found}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._keep(line)


def run(
    listed: Iterable[Unit],
    evaluate: Callable[[Unit], dict[str, Any]],
    results: Results,
    workers: int,
    limit: float,
    bar: bool = True,
) -> None:
    """Evaluate what is not done yet in `workers` processes, at most `limit` seconds a unit.

    Raises:
        SweepError: `evaluate` raised an error, which is not an operator's.
    """
    left = [unit for unit in listed if unit not in results.done]
    done = len(results.done)
    pool = ProcessPool(
        max_workers=workers,
        max_tasks=UNITS_A_PROCESS,
        initializer=start,
        context=multiprocessing.get_context("spawn"),
    )
    progress = tqdm(total=done + len(left), initial=done, unit="unit", disable=not bar)
    with pool, progress:
        futures = [(unit, pool.schedule(evaluate, (unit,), timeout=limit)) for unit in left]
        try:
            for unit, future in futures:
                results.add(unit, _result(future, limit))
                progress.update()
        except BaseException:
            pool.stop()
            raise


def _result(future: Any, limit: float) -> dict[str, Any]:
    try:
        return future.result()
    except UnitTimeout:
        return _whole("timeout", f"no answer within {limit:g} seconds", limit)
    except ProcessExpired as error:
        return _whole("crashed", ending(error.exitcode))
    except Exception as error:
        # Not the operator's: the sweep itself is broken, and its numbers would be too.
        raise SweepError(f"the sweep failed at a unit: {type(error).__name__}: {error}") from error


def _whole(status: str, message: str, seconds: float = 0.0) -> dict[str, Any]:
    told = [{"sample": 0, "status": status, "message": message, "call": ""}]
    cell = {"form": "all", "status": status, "counts": {status: 1}, "told": told}
    return {"cells": [cell], "seconds": seconds}
