"""CANN's tolerances, and the comparison of a result with a reference.

The table is of the document ``docs/zh/ops_precision_standard/experimental_standard.md`` of
CANN's repository ``opbase`` (commit aa3cd74b): an element is right within ``atol + rtol * |golden|``;
a result is right where 99 % of its elements are, and none is further off than the limit or 32
units in the last place. Integers, which it leaves to each operator, must be equal. It has no row
for float64, which is held to the one of float32, nor for complex numbers, held to their parts'.
A case that states an error of its own (``"fp16_error": "2**-8"``) is held to that as ``rtol``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch


class Tolerance(NamedTuple):
    """What an element may be off: absolutely, relative to the reference, and at most."""

    atol: float
    rtol: float
    limit: float


TOLERANCES = {
    torch.float16: Tolerance(2**-9, 2**-9, 1e-1),
    torch.bfloat16: Tolerance(2**-6, 2**-6, 1.0),
    torch.float32: Tolerance(2**-16, 2**-10, 1e-2),
    torch.float64: Tolerance(2**-16, 2**-10, 1e-2),
}
MATCHED = 0.99
NAMES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


def own_errors(standard: dict) -> dict[torch.dtype, float]:
    """The relative errors that a case states itself, by dtype."""
    stated = standard.get("acc")
    found = {}
    for settings in stated.values() if isinstance(stated, dict) else ():
        for name, dtype in NAMES.items():
            error = settings.get(f"{name}_error") if isinstance(settings, dict) else None
            if isinstance(error, str) and error.startswith("2**"):
                error = 2.0 ** float(error[3:])
            if isinstance(error, (int, float)):
                found[dtype] = float(error)
    return found


def difference(
    mine: torch.Tensor, golden: torch.Tensor, own: dict[torch.dtype, float] | None = None
) -> str:
    """How a result differs from the reference; empty where it does not.

    Args:
        mine: what the kernel wrote; its dtype says how near it must be.
        golden: the reference's result.
        own: the relative errors that the case states, by dtype.
    """
    if golden.dim() == 1 and mine.numel() == golden.numel():
        mine = mine.reshape(golden.shape)  # some references give their result in a row
    if mine.shape != golden.shape:
        return f"the shape is {tuple(mine.shape)}, the reference's {tuple(golden.shape)}"
    if mine.is_complex() or golden.is_complex():
        mine, golden = (t.to(torch.complex128) for t in (mine, golden))
        mine, golden = torch.view_as_real(mine).float(), torch.view_as_real(golden).float()
    if mine.dtype not in TOLERANCES:
        wrong = int((mine != golden.to(mine.dtype)).sum())
        return f"{wrong} of {mine.numel()} integers differ" if wrong else ""
    tolerance = TOLERANCES[mine.dtype]
    rtol = max((own or {}).get(mine.dtype, 0.0), tolerance.rtol)
    ulp = torch.finfo(mine.dtype).eps
    golden = golden.to(mine.dtype)  # a reference in float32 rounds as the output does
    a, b = mine.double(), golden.double()
    finite = a.isfinite() & b.isfinite()
    if not bool(torch.where(finite, True, (a == b) | (a.isnan() & b.isnan())).all()):
        return "infinities or nan in other places"
    error, size = (a - b)[finite].abs(), b[finite].abs()
    if not error.numel():
        return ""
    right = error <= tolerance.atol + rtol * size
    limit = torch.clamp(size * ulp * 32, min=tolerance.limit).maximum(tolerance.atol + rtol * size)
    share, worst = float(right.double().mean()), float(error.max())
    if share < MATCHED or not bool((error <= limit).all()):
        return f"{math.ceil((1 - share) * error.numel())} of {error.numel()} differ, by up to {worst:.3g}"
    return ""
