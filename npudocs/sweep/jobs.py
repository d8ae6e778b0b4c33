"""The jobs of a sweep, each an operator in one dtype, and how a process of the pool does one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from npudocs.evidence.sweep_records import DTYPES
from npudocs.sweep import SweepError
from npudocs.sweep.evaluate import evaluate
from npudocs.sweep.fallback import StandardError
from npudocs.sweep.variants import variants


class Job(NamedTuple):
    """One operator in one dtype."""

    operator: str
    dtype: str


def chosen(words: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the words that were asked for, all known ones where none was.

    Raises:
        SweepError: a word is not known.
    """
    for word in words:
        if word not in known:
            near = ", ".join(known) if len(known) < 12 else "see docs/operators"
            raise SweepError(f"{word!r} is no {what}; known are: {near}")
    return tuple(word for word in known if not words or word in words)


def shard_of(operators: Sequence[str], dtypes: Sequence[str], shard: tuple[int, int]) -> list[Job]:
    """Return the jobs of a shard ``(i, n)``, 1 <= i <= n; the shards of n make up all of them.

    Raises:
        SweepError: an operator or a dtype is not known.
    """
    names = chosen(operators, list(variants()), "operator of the sweep")
    dtypes = chosen(dtypes, DTYPES, "dtype of the sweep")
    listed = [
        Job(name, dtype) for dtype in dtypes for name in names if dtype in variants()[name].dtypes
    ]
    number, count = shard
    return listed[number - 1 :: count]


_errors: Any = None


def start() -> None:
    """Prepare a process of the pool: the operators are small, one thread each is fastest."""
    global _errors
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    _errors = StandardError()


def run(job: Job, forms: tuple[str, ...]) -> dict[str, Any]:
    """Evaluate a job in this process; return its cells and how long it took."""
    accelerator = torch.accelerator.current_accelerator()
    began = time.perf_counter()
    found = evaluate(variants()[job.operator], job.dtype, forms, _errors, accelerator.type)
    return found | {"seconds": round(time.perf_counter() - began, 2)}
