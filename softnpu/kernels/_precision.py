"""Half precision where torch's CPU has none."""

from __future__ import annotations

from collections.abc import Callable

import torch

_HALF = torch.float16, torch.bfloat16


def in_single(function: Callable[..., object]) -> Callable[..., object]:
    """The function with its half-precision tensors given to it as float32.

    For what torch's CPU does not compute in half precision, or not beside float32 statistics.
    The result is float32; writing it into a half-precision output rounds it, once.
    """

    def run(*arguments):
        return function(*map(_single, arguments))

    return run


def _single(argument: object) -> object:
    if isinstance(argument, torch.Tensor) and argument.dtype in _HALF:
        return argument.float()
    return argument
