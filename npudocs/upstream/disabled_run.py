"""Performs the disabled tests in a process of their own, which may crash or hang without ending the run.

What does not pass on the NPU is performed on the CPU too: a failure there is not the NPU's.
"""

from __future__ import annotations

import dataclasses
import datetime
import faulthandler
import functools
import json
import multiprocessing
import os
import re
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool
from tqdm import tqdm

from npudocs import evidence
from npudocs.evidence import messages
from npudocs.site import device
from npudocs.upstream.disabled import LIST, Case

TIMEOUT = 60.0
MESSAGE = 300
# torch_npu's stamp, and the stack of a kernel of the software NPU.
_STAMP = re.compile(r"\[ERROR\] <time> \(PID.*?RankID:-?\d+\) ?")
_STACK = re.compile(r"the kernel raised\nTraceback \(most recent call last\):\n(?: .*\n)+")

Check = Callable[[str, str, str, str], dict[str, Any]]


def run(cases: list[Case], disabled: int, commit: str) -> dict[str, Any]:
    """Perform the cases; the content of the file of evidence."""
    from npudocs.upstream import forward_gradients

    found = device.describe()
    started, start = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    listed = perform(cases, "npu")
    again = [place for place, one in enumerate(listed) if one["outcome"] in UNSOUND]
    on_cpu = perform([cases[place] for place in again], "cpu")
    for place, one in zip(again, on_cpu, strict=True):
        listed[place]["cpu"] = one["outcome"]
    content = {
        "schema": 1,
        "source": {"repository": "Ascend/pytorch", "file": LIST, "commit": commit,
                   "disabled": disabled},
        "where": {name: getattr(found, name)
                  for name in ("kind", "soc", "torch", "torch_npu", "cann", "softnpu", "python")},
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - start, 1),
        "limits": {"samples": forward_gradients.SAMPLES, "of_the_first": forward_gradients.FIRST,
                   "seconds": TIMEOUT, "seed": forward_gradients.SEED},
        "counts": dict(sorted(Counter(one["outcome"] for one in listed).items())),
        "cases": listed,
    }  # fmt: skip
    return {**content, "digest": evidence.digest(content)}


UNSOUND = ("failed", "error", "crashed", "timeout")


def perform(
    cases: list[Case],
    where: str,
    check: Check | None = None,
    timeout: float = TIMEOUT,
    start: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """What became of each case on the device `where`, in one worker process that `start` prepares."""
    with tempfile.TemporaryDirectory() as scratch:
        pool = ProcessPool(
            max_workers=1,
            context=multiprocessing.get_context("spawn"),
            initializer=start or _start,
            initargs=(scratch,),
        )
        with pool:
            futures = [
                pool.schedule(check or _check, (c.method, c.op, c.dtype, where), timeout=timeout)
                for c in cases
            ]
            made = tqdm(zip(cases, futures, strict=True), where, len(cases), mininterval=5)
            return [_result(case, future, Path(scratch), timeout) for case, future in made]


def _result(case: Case, future: Any, logs: Path, timeout: float) -> dict[str, Any]:
    said = {"test": case.method, "op": case.op, "dtype": case.dtype, "reason": case.reason}
    return {key: value for key, value in (said | _ended(future, logs, timeout)).items() if value}


def _ended(future: Any, logs: Path, timeout: float) -> dict[str, Any]:
    try:
        return future.result()
    except TimeoutError:
        return {"outcome": "timeout", "message": f"no result after {timeout:g} s"}
    except ProcessExpired as error:
        log = logs / str(error.pid)
        words = log.read_text(errors="replace") if log.is_file() else ""
        ending = messages.ending(error.exitcode)
        return {"outcome": "crashed", "message": brief(f"{ending}: {messages.last_lines(words)}")}


def keep_output(logs: str) -> None:
    """In the worker: keep what it writes, for the case under which it dies."""
    log = os.open(os.path.join(logs, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    faulthandler.enable()
    warnings.simplefilter("ignore")


def _start(logs: str) -> None:
    keep_output(logs)
    import torch

    torch.set_num_threads(1)
    from npudocs.upstream import forward_gradients

    # The time of a case does not begin before the table is there.
    forward_gradients.operators()


def _check(method: str, op: str, dtype: str, where: str) -> dict[str, Any]:
    from npudocs.upstream import forward_gradients

    ended = dataclasses.asdict(forward_gradients.check(method, op, dtype, where))
    return ended | {key: brief(ended[key]) for key in ("message", "made_on_cpu")}


@functools.cache
def _scrubber() -> messages.Scrubber:
    return messages.Scrubber(evidence.ROOT)


def brief(text: str) -> str:
    """A message in one short line, with nothing of the machine."""
    text = _STACK.sub("", _scrubber()(messages.without_frames(text)))
    text = _STAMP.sub("", text)
    return messages.shorten(" ".join(text.split()), MESSAGE)


def as_text(content: dict[str, Any]) -> str:
    """The file: a case a line."""
    return "".join(_lines(content))


def _lines(content: dict[str, Any]) -> Iterator[str]:
    yield "{\n"
    for key, value in content.items():
        if key != "cases":
            yield f" {json.dumps(key)}: {json.dumps(value)},\n"
    cases = ",\n".join(f"  {json.dumps(case)}" for case in content["cases"])
    yield f' "cases": [\n{cases}\n ]\n}}\n'
