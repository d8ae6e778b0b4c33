"""The softmax functions, so that a tangent of theirs can be differentiated in reverse.

PyTorch's formula for their tangents (``logsumexp_jvp``) writes into what the backward pass needs, on every device: the
gradient of a loss that contains a tangent is an error there. These are composed of exponentials and sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu_forward_ad.registration import HAS_KERNELS, Own, Repair, closed, guarded, known, overload


def _parts(x: Tensor, dim: Any, safe: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the largest element, the exponentials of the distances to it, and their sum."""
    largest = x.detach().amax(dim, keepdim=True)
    if safe:
        largest = largest.masked_fill(largest.isinf(), 0)
    parts = torch.exp(x - largest)
    return largest, parts, parts.sum(dim, keepdim=True)


def _cast(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    return x if dtype is None else x.to(dtype)


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def softmax(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    x = _cast(x, dtype)
    _, parts, total = _parts(_wide(x), dim, False)
    return (parts / total).to(x.dtype)


def safe_softmax(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Zeros where all elements are negative infinity."""
    x = _cast(x, dtype)
    _, parts, total = _parts(_wide(x), dim, True)
    return (parts / total.masked_fill(total == 0, 1)).to(x.dtype)


def log_softmax(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    x = _cast(x, dtype)
    largest, _, total = _parts(_wide(x), dim, False)
    return (_wide(x) - largest - total.log()).to(x.dtype)


def logsumexp(x: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    largest, _, total = _parts(_wide(x), dim, True)
    result = (total.log() + largest).to(x.dtype)
    return result if keepdim else result.squeeze(dim)


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "aten::_safe_softmax": safe_softmax,
    "aten::log_softmax.int": log_softmax,
    "aten::logsumexp": logsumexp,
    "aten::softmax.int": softmax,
}


def register(made: Repair) -> None:
    """Put the formulas in place, for what reverse mode records; else PyTorch's own are shorter.

    Before torch 2.9, where formulas are taken always, that of PyTorch's composition alone.
    """
    for name, formula in FORMULAS.items():
        if HAS_KERNELS and known(name):
            made.put(name, _recorded(name, formula))
    if not HAS_KERNELS:
        made.put(
            "aten::softmax.int",
            guarded("aten::softmax.int", overload("aten::softmax.int").decompose),
        )


def _recorded(name: str, formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
    operator, theirs = overload(name), Own(name).kernel
    composed = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")

    def kernel(keyset: Any, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if closed():
            return theirs(keyset, x, *args, **kwargs)
        if x.numel() and (x.requires_grad and torch.is_grad_enabled()):
            return formula(x, *args, **kwargs)
        if composed:
            return operator.decompose(x, *args, **kwargs)
        return theirs(keyset, x, *args, **kwargs)

    return kernel
