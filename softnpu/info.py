"""What ``python -m softnpu info`` prints."""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter

from . import activation, build, soc
from .kernels import kernels
from .limits import limits
from .operators import operators


def text() -> str:
    """What is emulated here, in lines for a person."""
    kind = activation.activate()
    if kind == "silicon":
        return "An Ascend device is present: softnpu steps aside. Set SOFTNPU_FORCE=1 to use it."
    name = soc.soc_name()
    have = kernels()
    known = {
        operator: f"CANN's {limits()[operator].known}" if operator in limits() else "none found"
        for operator in operators()
    }
    lines = [
        f"softnpu             a software NPU, not a chip; sources {activation.fingerprint()}",
        f"emulated SoC        {name} ({soc.product(name)}); choose with SOFTNPU_SOC",
        f"emulated memory     {soc.memory_bytes() / (1 << 30):g} GiB; choose with SOFTNPU_MEMORY",
        f"libraries           {build.cann_home()}",
        f"Python, machine     {platform.python_version()}, {platform.machine()}",
        *(f"{package:<20}{_version(package)}" for package in ("torch", "torch_npu")),
        f"operators           {len(known)} known, {len(have)} with a kernel",
        "their limits        what each accepts is known from:",
        *(f"    {count:<4} {source}" for source, count in Counter(known.values()).most_common()),
        "an operator         its limits, and whether it has a kernel:",
        *(
            f"    {operator:<44}{source:<36}{'kernel' if operator in have else 'no kernel'}"
            for operator, source in sorted(known.items())
        ),
    ]
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
