"""The CPU's own tangents against finite differences, so that the NPU is not blamed for them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from npudocs.sweep import compare
from npudocs.sweep.fallback import draws_random_numbers
from npudocs.sweep.forms import Call, differentiable, dual
from npudocs.sweep.variants import Sample

STEP = 1e-6
TOLERANCE = 1e-4


def check(call: Call, tangents: list[torch.Tensor], sample: Sample) -> dict[str, str] | None:
    """What is wrong with the CPU's float64 tangents of one call, or None.

    A central difference along the tangents is compared, within 1e-4 of the largest element. Left
    out are calls that draw random numbers, and outputs of a smaller dtype, whose rounding a step
    of 1e-6 would only measure.
    """
    try:
        values, found = dual(call, tangents)
    except Exception as error:
        try:
            call(*call.inputs)
        except Exception:
            return None
        return {"status": "refuses", "message": compare.of_error(error)}
    if not all(value.dtype in (torch.float64, torch.complex128) for value in values):
        return None
    if draws_random_numbers(lambda: call(*call.inputs)):
        return None
    ends = [
        differentiable(
            call(*(x + sign * STEP * t for x, t in zip(call.inputs, tangents, strict=True)))
        )
        for sign in (1, -1)
    ]
    for high, low, tangent in zip(*ends, found, strict=True):
        expected = (high - low) / (2 * STEP)
        if tangent is None and not expected.any():
            continue
        if tangent is None:
            return {"status": "tangent lost", "message": "the tangent is None", "call": sample.text}
        scale = 1 + expected.abs().nan_to_num(0, 0, 0).max().item() if expected.numel() else 1
        far = (tangent - expected).abs() > TOLERANCE * scale
        if far.any():
            at = tuple(far.nonzero()[0].tolist())
            words = f"the tangent is {tangent[at].item():.6g}, finite differences give "
            message = f"{words}{expected[at].item():.6g}"
            return {"status": "wrong", "message": message, "call": sample.text}
    return None


def call_of(sample: Sample, function: Any) -> tuple[Call, list[torch.Tensor]] | None:
    """A sample as a call on the CPU with tangents; None where nothing is differentiated."""
    leaves, structure = tree_flatten((sample.arguments, sample.keywords))
    places = [
        place
        for place, leaf in enumerate(leaves)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if not places:
        return None
    leaves = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    call = Call(function, leaves, structure, places, sample.process)
    generator = torch.Generator().manual_seed(1)
    return call, [torch.randn(x.shape, generator=generator, dtype=x.dtype) for x in call.inputs]
