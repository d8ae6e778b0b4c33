"""What is measured, and how: the best of many short blocks, of all devices in turn.

A shared machine makes a block slower, never faster, and seldom a short one; so the best block
says what the code costs, and devices that take turns meet the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch.autograd import forward_ad

Call = Callable[[], object]
BLOCK = 2e-4  # seconds: shorter than the time slice of a process on a busy machine


def multiply(size: int, device: str) -> Call:
    x, y = torch.rand(size).to(device), torch.rand(size).to(device)
    return lambda: x * y


def matmul(size: int, device: str) -> Call:
    x, y = torch.rand(size, size).to(device), torch.rand(size, size).to(device)
    return lambda: x @ y


def jvp(size: int, device: str) -> Call:
    """Value and tangent of two layers."""
    x, tangent, first, second = (torch.rand(size, size).to(device) for _ in range(4))

    def call() -> object:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, tangent)
            return forward_ad.unpack_dual(torch.tanh(dual @ first) @ second)

    return call


# Each with its sizes, and the ratio to the CPU that softnpu has to keep at a size.
CASES = {
    "multiply, elements": (multiply, {3: 10.0, 1_000: None, 100_000: None, 1_000_000: None}),
    "matmul, n x n": (matmul, {16: None, 64: None, 256: None, 1024: 1.1}),
    "JVP of two layers, n x n": (jvp, {16: None, 64: 4.0, 256: None, 512: None}),
}


def best(calls: dict[str, Call], seconds: float = 1.0) -> dict[str, float]:
    """Seconds a call, for each of several that take turns for so many seconds in all."""
    counts, results = {}, {}
    for name, call in calls.items():
        call()  # what is done once
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(BLOCK / (time.perf_counter() - start)))
        results[name] = float("inf")
    end, turns = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or turns < 5:
        for name, call in calls.items():
            count = counts[name]
            start = time.perf_counter()
            for _ in range(count):
                call()
            results[name] = min(results[name], (time.perf_counter() - start) / count)
        turns += 1
    return results


def all_cases(device: str, seconds: float = 1.0) -> dict[str, tuple[float, float]]:
    """Seconds of each case and size on the CPU and on a device, with one thread."""
    torch.set_num_threads(1)  # threads that wait for one another measure the other programs
    results = {}
    for name, (make, sizes) in CASES.items():
        for size in sizes:
            taken = best({where: make(size, where) for where in ("cpu", device)}, seconds)
            results[f"{name} {size}"] = taken["cpu"], taken[device]
    return results
