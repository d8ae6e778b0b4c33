"""Which chip the software NPU answers to be, and how much memory it has."""

from __future__ import annotations

import os

from .errors import SoftNpuError

# Products and the SoC names their drivers report (the task's facts; for A5 the
# driver's names begin with Ascend950).
PRODUCTS = {
    "A2": (
        "Ascend910B1",
        "Ascend910B2",
        "Ascend910B2C",
        "Ascend910B3",
        "Ascend910B4",
        "Ascend910B4-1",
    ),
    "A3": (
        "Ascend910_9391",
        "Ascend910_9392",
        "Ascend910_9381",
        "Ascend910_9382",
        "Ascend910_9372",
        "Ascend910_9362",
        "Ascend910_9363",
    ),
    "950DT": ("Ascend950DT",),
}

DEFAULT_MEMORY = 16 << 30
MOST_MEMORY = 1 << 47  # what a process can address
MOST_DEVICES = 16  # SOFTNPU_MAX_DEVICES in csrc/device.h


def soc_name() -> str:
    """The SoC name that ``SOFTNPU_SOC`` chooses: a product or a SoC name, in any case; A2 by default.

    Raises:
        SoftNpuError: the variable names neither a product nor a SoC.
    """
    wanted = os.environ.get("SOFTNPU_SOC") or "A2"
    names = {name.lower(): name for socs in PRODUCTS.values() for name in socs}
    names |= {product.lower(): socs[0] for product, socs in PRODUCTS.items()}
    if wanted.strip().lower() in names:
        return names[wanted.strip().lower()]
    known = "; ".join(f"{product} ({', '.join(names)})" for product, names in PRODUCTS.items())
    raise SoftNpuError(f"SOFTNPU_SOC={wanted!r} is not a product or SoC name. Known: {known}.")


def product(soc: str) -> str:
    """The product of a SoC name, for example ``"A2"`` for ``"Ascend910B1"``."""
    return next((name for name, socs in PRODUCTS.items() if soc in socs), "unknown")


def memory_bytes() -> int:
    """The size of the device's memory in bytes, from ``SOFTNPU_MEMORY`` in GiB (16 by default).

    Raises:
        SoftNpuError: the variable is not a positive number.
    """
    text = os.environ.get("SOFTNPU_MEMORY")
    if not text:
        return DEFAULT_MEMORY
    try:
        size = int(float(text) * (1 << 30))
    except (ValueError, OverflowError):
        size = 0
    if not 0 < size <= MOST_MEMORY:
        raise SoftNpuError(
            f"SOFTNPU_MEMORY={text!r} is not a number of GiB between 0 and {MOST_MEMORY >> 30}."
        )
    return size


def check_device_count() -> None:
    """Checks ``SOFTNPU_DEVICES``, which the C library reads (1 by default).

    Raises:
        SoftNpuError: the variable is not a number of devices.
    """
    text = os.environ.get("SOFTNPU_DEVICES") or "1"
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DEVICES:
        raise SoftNpuError(f"SOFTNPU_DEVICES={text!r} is not a number from 1 to {MOST_DEVICES}.")
