"""Runs fuzzed operator calls: ``child.py FIRST COUNT PROGRESS [MISTAKE]``.

A process of its own, so that a crash is seen from outside: before each call its number and what
it is are written to the file PROGRESS. Every input is made from its number alone. A MISTAKE is
made by every kernel: that the tests see it is tested.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import random
import resource
import sys
import time
from pathlib import Path

import softnpu

softnpu.activate()
sys.path.append(str(Path(__file__).parents[1]))

import kernel_calls_found  # noqa: E402, F401 - adds its calls
import kernel_calls_fused  # noqa: E402, F401
import kernel_calls_layers  # noqa: E402, F401
import kernel_calls_lists  # noqa: E402, F401
import kernel_calls_losses  # noqa: E402, F401
import torch  # noqa: E402
from kernel_calls import CALLS, Inputs  # noqa: E402
from specs import changed, random_argument, recorded  # noqa: E402

import softnpu.kernels  # noqa: E402
from softnpu.operators import operators  # noqa: E402

INPUTS_PER_CALL = 8
MEMORY = 3 << 30  # more is an error of the kernel, not the end of the machine
CASES = [(name, number) for name, calls in CALLS.items() for number in range(len(calls))]
MISTAKES = {
    "crash": lambda tensor: ctypes.string_at(8),
    "write": lambda tensor: ctypes.memset(tensor.data_ptr() - 40, 1, 8),
    "hang": lambda tensor: time.sleep(1000),
}
TOUCHED_OUTSIDE = 3  # exit status
_record: list[tuple[str, list[object]]] | None = None


def _recording(name: str, function):
    types = [type_ for type_, _ in operators()[name].parameters]

    @functools.wraps(function)
    def run(*arguments):
        if _record is not None:
            _record.append((name, [recorded(t, a) for t, a in zip(types, arguments, strict=True)]))
        elif len(sys.argv) > 4:
            MISTAKES[sys.argv[4]](next(a for a in arguments if isinstance(a, torch.Tensor)))
        return function(*arguments)

    return run


@functools.lru_cache(maxsize=2)
def real_calls(case: int) -> list[tuple[str, list[object]]]:
    """What a call of test_kernels.py gave to the kernels."""
    global _record
    name, number = CASES[case]
    _record = []
    with contextlib.suppress(RuntimeError):  # not every call is for this chip
        CALLS[name][number](Inputs("npu"))
        torch.npu.synchronize()
    calls, _record = _record, None
    return [call for call in calls if call[0] == name] or calls


def fuzzed(number: int) -> tuple[str, list[object]]:
    """The operator and the arguments of an input."""
    rng = random.Random(number)
    calls = real_calls(random.Random(number // INPUTS_PER_CALL).randrange(len(CASES)))
    if not calls or rng.random() < 0.1:
        name = rng.choice([*softnpu.kernels.kernels()])
        types = [type_ for type_, _ in operators()[name].parameters]
        return name, [random_argument(type_, rng) for type_ in types]
    name, values = rng.choice(calls)
    values = list(values)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        i = rng.randrange(len(values))
        values[i] = changed(operators()[name].parameters[i][0], values[i], rng)
    return name, values


def main() -> int:
    """Runs the inputs; a last line says how many succeeded."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    faulthandler.enable()
    torch.set_num_threads(1)
    torch.ones(1, device="npu")
    from replay import Call, DoesNotFit, TouchedOutside  # after the libraries are loaded

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kernels = softnpu.kernels.kernels()
    for name, function in list(kernels.items()):
        kernels[name] = _recording(name, function)
    succeeded = 0
    with Path(sys.argv[3]).open("w", buffering=1, encoding="utf-8") as progress:
        for number in range(first, first + count):
            name, values = fuzzed(number)
            progress.seek(0)
            progress.write(f"{number} {name} {values}"[:4000].replace("\n", " ") + "\n")
            try:
                succeeded += Call().run(operators()[name], values) == 0
            except DoesNotFit:
                continue
            except TouchedOutside as error:
                print(f"memory of no tensor was written: {error}", flush=True)
                return TOUCHED_OUTSIDE
    print(f"{count} inputs, {succeeded} succeeded", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
