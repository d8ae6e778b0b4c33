"""``python -m tools.bench``: what the software NPU costs, as ratios to CPU eager.

Each line is measured on both devices in the same run, so that the ratio means
something though the seconds belong to one machine on one day.
"""

from __future__ import annotations

import os

import softnpu

softnpu.activate()

import torch  # noqa: E402 (after activate, as everywhere)

from . import cases, openreg, phases, startup  # noqa: E402

GOALS = {
    f"{name} {size}": goal
    for name, (_, sizes) in cases.CASES.items()
    for size, goal in sizes.items()
}
FIRST_TENSOR_GOAL, COMPILE_GOAL = 1.2, 2.0


def table(
    npu: dict[str, tuple[float, float]], other: dict[str, tuple[float, float]] | str
) -> list[str]:
    """The lines of the table of cases."""
    lines = [f"{'':<34}{'CPU':>12}{'softnpu':>12}{'ratio':>8}{'goal':>8}{'openreg':>10}"]
    for name, (cpu, taken) in npu.items():
        goal = f"{GOALS[name]:.1f}" if GOALS[name] else ""
        beside = "-" if isinstance(other, str) else f"{other[name][1] / other[name][0]:.1f}"
        lines.append(
            f"{name:<34}{cpu * 1e6:>9.1f} us{taken * 1e6:>9.1f} us{taken / cpu:>8.2f}{goal:>8}"
            f"{beside:>10}"
        )
    lines.append("openreg: " + (other if isinstance(other, str) else "its ratio to the CPU"))
    return lines


def main() -> None:
    """Measures, and prints."""
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    queue = os.environ["TASK_QUEUE_ENABLE"]
    print(f"{torch.npu.get_device_name()}, torch {torch.__version__}, TASK_QUEUE_ENABLE={queue}")
    print(f"{os.cpu_count()} processors, load {load}", flush=True)
    print("\nBest of many blocks, CPU and softnpu in turn, one thread")
    print(*table(cases.all_cases("npu"), openreg.measured()), sep="\n", flush=True)
    print("\nWhere the time of a multiply of 3 elements goes")
    for name, seconds in phases.phases().items():
        print(f"{name:<50}{seconds * 1e6:>9.1f} us", flush=True)
    print("\nPaid once")
    activate, imported, first = startup.first_tensor()
    ratio = (activate + imported + first) / imported
    print(f"import of torch and torch_npu {imported:.2f} s; before it activate() {activate:.2f} s;")
    print(f"after it the first tensor {first:.2f} s: {ratio:.2f} times the import in all", end=" ")
    print(f"(goal {FIRST_TENSOR_GOAL})", flush=True)
    wall, processors = startup.compilation()
    print(f"compiling the libraries {wall:.2f} s (goal {COMPILE_GOAL}), ", end="")
    print(f"{processors:.2f} s of processor time")


if __name__ == "__main__":
    main()
