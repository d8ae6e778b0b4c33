"""The jobs of a sweep, each an operator in one dtype, and how a process of the pool does one."""

from __future__ import annotations

import difflib
import importlib.metadata
import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from npudocs import evidence
from npudocs.evidence.sweep_records import DTYPES
from npudocs.sweep import SweepError
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
            raise SweepError(f"{word!r} is no {what}; {_near(word, known)}")
    return tuple(word for word in known if not words or word in words)


def _near(word: str, known: Sequence[str]) -> str:
    if len(known) < 12:
        return f"known are: {', '.join(known)}"
    inside = [name for name in known if word.lower() in name.lower()]
    near = [*difflib.get_close_matches(word, known, n=5), *sorted(inside, key=len)]
    named = ", ".join([*dict.fromkeys(near)][:8])
    return f"near it: {named}" if named else "see docs/operators"


def check_operators(words: Sequence[str]) -> None:
    """Refuse an operator that torch's database does not have, without the seconds it takes to import it.

    What the installed torch_npu was swept with stands in its record; where there is none, and for
    torch_npu's own functions, `shard_of` looks.

    Raises:
        SweepError: an operator is not known.
    """
    version = importlib.metadata.version("torch_npu")
    paths = sorted((evidence.FOLDER / "sweeps").glob(f"*/torch_npu-{version}-*.json"))
    words = [word for word in words if not word.startswith("torch_npu.")]
    if words and paths:
        known = json.loads(paths[0].read_text(encoding="utf-8"))["operators"]
        chosen(words, [*known], "operator of the sweep")


def shard_of(operators: Sequence[str], dtypes: Sequence[str], shard: tuple[int, int]) -> list[Job]:
    """Return the jobs of a shard ``(i, n)``, 1 <= i <= n; the shards of n make up all of them.

    Raises:
        SweepError: an operator or a dtype is not known.
    """
    dtypes = chosen(dtypes, DTYPES, "dtype of the sweep")
    check_operators(operators)
    names = chosen(operators, list(variants()), "operator of the sweep")
    listed = [
        Job(name, dtype) for dtype in dtypes for name in names if dtype in variants()[name].dtypes
    ]
    number, count = shard
    return listed[number - 1 :: count]


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


def run(job: Job, forms: tuple[str, ...]) -> dict[str, Any]:
    """Evaluate a job in this process; return its cells and how long it took."""
    import torch

    from npudocs.sweep.evaluate import evaluate

    accelerator = torch.accelerator.current_accelerator()
    began = time.perf_counter()
    found = evaluate(variants()[job.operator], job.dtype, forms, _errors, accelerator.type)
    return found | {"seconds": round(time.perf_counter() - began, 2)}
