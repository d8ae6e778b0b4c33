"""``python -m softnpu.bench``: what the software NPU costs, as ratios to CPU eager.

Each line is measured on both devices in the same run, so that the ratio means
something though the seconds belong to one machine on one day.
"""

from __future__ import annotations

import os

import softnpu

softnpu.activate()

import torch  # noqa: E402 (after activate, as everywhere)
from torch.utils.benchmark import Timer  # noqa: E402

SMALL_NETWORK = """
dual = fwAD.make_dual(x, v)
fwAD.unpack_dual(torch.tanh(dual @ a) @ a)
"""
CASES = {
    "multiply, 3 elements": ("x[0] * x[1]", 3),
    "multiply, 1,000,000 elements": ("x[0] * x[1]", 1_000_000),
    "matmul, 1024 x 1024": ("x @ x", (1024, 1024)),
    "JVP of two layers, 64 x 64": (SMALL_NETWORK, (64, 64)),
}


def measure(statement: str, size: int | tuple[int, int], device: str) -> float:
    """Median seconds of a statement on a device, waiting for the device at the end."""
    shape = (2, size) if isinstance(size, int) else size
    x = torch.rand(shape, device=device)
    names = {"x": x, "v": torch.rand_like(x), "a": torch.rand_like(x), "torch": torch}
    names["fwAD"] = torch.autograd.forward_ad
    wait = "torch.npu.synchronize()" if device == "npu" else "pass"
    with torch.autograd.forward_ad.dual_level():
        timer = Timer(f"{statement}\n{wait}", globals=names)
        return timer.blocked_autorange(min_run_time=0.5).median


def main() -> None:
    """Prints the table."""
    print(f"{torch.npu.get_device_name()}, TASK_QUEUE_ENABLE={os.environ['TASK_QUEUE_ENABLE']}")
    print(f"{'':<32}{'CPU':>12}{'softnpu':>12}{'ratio':>8}")
    for name, (statement, size) in CASES.items():
        cpu, npu = (measure(statement, size, device) for device in ("cpu", "npu"))
        print(f"{name:<32}{cpu * 1e6:>9.1f} us{npu * 1e6:>9.1f} us{npu / cpu:>8.1f}")


if __name__ == "__main__":
    main()
