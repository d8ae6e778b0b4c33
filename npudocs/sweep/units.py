"""What one process of the pool does: a unit is an operator in one dtype."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from npudocs.evidence.sweep_records import DTYPES, FORMS
from npudocs.sweep import SweepError
from npudocs.sweep.variants import variants


@dataclasses.dataclass(frozen=True)
class Unit:
    """One operator in one dtype."""

    operator: str
    dtype: str


def chosen(words: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The words that were asked for, all known ones where none was.

    Raises:
        SweepError: a word is not known.
    """
    for word in words:
        if word not in known:
            near = ", ".join(known) if len(known) < 12 else "see docs/operators"
            raise SweepError(f"{word!r} is no {what}; known are: {near}")
    return tuple(word for word in known if not words or word in words)


def units(operators: Sequence[str], dtypes: Sequence[str], shard: tuple[int, int]) -> list[Unit]:
    """The units of a shard ``(i, n)``, 1 <= i <= n; the shards of n make up all of them.

    Raises:
        SweepError: an operator or a dtype is not known.
    """
    names = chosen(operators, list(variants()), "operator of the sweep")
    dtypes = chosen(dtypes, DTYPES, "dtype of the sweep")
    listed = [
        Unit(name, dtype) for dtype in dtypes for name in names if dtype in variants()[name].dtypes
    ]
    number, count = shard
    return listed[number - 1 :: count]


def forms(words: Sequence[str]) -> tuple[str, ...]:
    """The forms that were asked for, all where none was.

    Raises:
        SweepError: a form is not known.
    """
    return chosen(words, list(FORMS), "form")


_errors: Any = None


def start() -> None:
    """Prepare a process of the pool: the operators are small, one thread each is fastest."""
    global _errors
    import warnings

    import torch

    from npudocs.sweep.fallback import StandardError

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    _errors = StandardError()


def run(unit: Unit, forms: tuple[str, ...]) -> dict[str, Any]:
    """Evaluate a unit in this process."""
    import torch

    from npudocs.sweep.evaluate import evaluate

    accelerator = torch.accelerator.current_accelerator()
    began = time.perf_counter()
    found = evaluate(variants()[unit.operator], unit.dtype, forms, _errors, accelerator.type)
    return found | {"seconds": round(time.perf_counter() - began, 2)}
