"""The CPU's own tangents against finite differences, so that the NPU is not blamed for them."""

from __future__ import annotations

import torch

from npudocs.sweep import compare
from npudocs.sweep.fallback import draws_random_numbers
from npudocs.sweep.forms import Call, Sample, differentiable, dual

STEP = 1e-6
TOLERANCE = 1e-4


def check(call: Call, sample: Sample) -> dict[str, str] | None:
    """Return what is wrong with the CPU's float64 tangents of one call, or None.

    A central difference along the tangents is compared, within 1e-4 of the largest element. Left
    out are calls that draw random numbers, tensors of a smaller dtype, whose rounding a step of
    1e-6 would only measure, views, which the sum with a step no longer is, and kinks and jumps.
    """
    if not all(_precise(x) and _whole(x) for x in call.inputs):
        return None
    try:
        values, found = dual(call)
    except Exception as error:
        try:
            call(*call.inputs)
        except Exception:
            return None
        return {"status": "refuses", "message": compare.of_error(error)}
    if not all(_precise(x) for x in values) or draws_random_numbers(lambda: call(*call.inputs)):
        return None
    pairs = [*zip(call.inputs, call.tangents, strict=True)]
    here, high, low = (
        differentiable(call(*(x + step * t for x, t in pairs))) for step in (0, STEP, -STEP)
    )
    for value, above, below, tangent in zip(here, high, low, found, strict=True):
        problem = _compare(tangent, (above - below) / (2 * STEP))
        if problem and _smooth(value, above, below):
            return {**problem, "call": sample.text}
    return None


def _compare(tangent: torch.Tensor | None, expected: torch.Tensor) -> dict[str, str] | None:
    if tangent is None:
        lost = {"status": "tangent lost", "message": "the tangent is None"}
        return lost if expected.any() else None
    far = (tangent - expected).abs() > TOLERANCE * _scale(expected)
    if not far.any():
        return None
    at = tuple(far.nonzero()[0].tolist())
    words = f"the tangent is {tangent[at].item():.6g}, finite differences give "
    return {"status": "wrong", "message": f"{words}{expected[at].item():.6g}"}


def _smooth(value: torch.Tensor, above: torch.Tensor, below: torch.Tensor) -> bool:
    """Return whether there is no kink or jump here, where a difference says nothing."""
    bend = (above + below - 2 * value).abs()
    return not (bend > 1e-8 * _scale(value)).any()


def _scale(tensor: torch.Tensor) -> float:
    return 1 + compare.largest(tensor)


def _precise(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float64, torch.complex128)


def _whole(tensor: torch.Tensor) -> bool:
    return tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
