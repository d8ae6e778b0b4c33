"""Derivatives of backward functions: second and third derivatives in reverse mode.

torch_npu computes the backward pass of its own functions by operators without an autograd kernel. A gradient
through such a gradient is silently zero, also where nothing is differentiated forward. Here they are written
in operators that have one, for calls in which somebody may ask: with ``create_graph=True``, or on tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
from torch import Tensor
from torch.utils._pytree import tree_leaves

from npu_forward_ad.formulas_aten import (
    bce_with_logits,
    max_pool2d_with_indices_backward,
    renorm,
)
from npu_forward_ad.registration import Own, Repair, known

aten = torch.ops.aten


def vjp(
    function: Callable[..., Any], inputs: Sequence[Tensor], grads: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `function` at `inputs`, which can be differentiated again."""
    with torch.enable_grad():
        leaves = [aten.alias(x) for x in inputs]
        leaves = [x if x.requires_grad else x.requires_grad_() for x in leaves]
        outputs = function(*leaves)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=False) if g is not None]
        outs, weights = zip(*pairs, strict=False)
        return torch.autograd.grad(outs, leaves, weights, create_graph=True, allow_unused=True)


def matmul_backward(
    own: Own, grad: Tensor, a: Tensor, b: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of ``a @ b``; products again, so that there is no end to derivatives."""
    if a.dim() == 1 and b.dim() == 1:
        return (grad * b.conj() if mask[0] else None), (grad * a.conj() if mask[1] else None)
    left = a.unsqueeze(0) if a.dim() == 1 else a
    right = b.unsqueeze(-1) if b.dim() == 1 else b
    grad = grad.unsqueeze(-2) if a.dim() == 1 else grad
    grad = grad.unsqueeze(-1) if b.dim() == 1 else grad
    for_a = for_b = None
    if mask[0]:
        for_a = torch.matmul(grad, right.mH).sum_to_size(left.shape).view_as(a)
    if mask[1] and right.dim() == 2:  # one product in place of a batch and its sum
        for_b = torch.matmul(left.flatten(0, -2).mH, grad.flatten(0, -2)).view_as(b)
    elif mask[1]:
        for_b = torch.matmul(left.mH, grad).sum_to_size(right.shape).view_as(b)
    return for_a, for_b


def gather_backward(
    own: Own, grad: Tensor, size: Sequence[int], dim: int, index: Tensor, sparse: bool
) -> Tensor:
    """Each gradient goes back where it was taken from."""
    return grad.new_zeros(size).scatter_add(dim, index, grad)


def _of(function: Callable[..., Any], tensors: int = 1) -> Callable[..., Any]:
    """The backward function of a `function` of one output: the gradient, `tensors` inputs, other arguments."""

    def backward(own: Own, grad: Tensor, *args: Any, **kwargs: Any) -> Any:
        others = args[tensors:]
        found = vjp(lambda *x: function(*x, *others, **kwargs), args[:tensors], [grad])
        return found[0] if tensors == 1 else found

    return backward


def _of_second(function: Callable[..., Any]) -> Callable[..., Any]:
    """The backward function for the second of two inputs."""

    def backward(own: Own, grad: Tensor, x: Tensor, y: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return vjp(lambda y: function(x, y, *args, **kwargs), [y], [grad])[0]

    return backward


def _stft(x: Tensor, *args: Any) -> Tensor:
    return aten.stft.default.decompose(x, *args)


def _renorm(x: Tensor, *args: Any) -> Tensor:
    return renorm(None, x, *args)


def _repeat(kind: str) -> Callable[..., Tensor]:
    return lambda x, *args: getattr(aten.repeat_interleave, kind).decompose(x, *args)


def lstm_backward(
    own: Own,
    grad_y: Tensor,
    grad_h: Tensor,
    grad_c: Tensor,
    x: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    i: Tensor,
    j: Tensor,
    f: Tensor,
    o: Tensor,
    h: Tensor,
    c: Tensor,
    tanhc: Tensor,
    *words: Any,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Through PyTorch's composition of the layers."""

    def composed(x: Tensor, *rest: Tensor) -> Any:
        states, weights = list(rest[:2]), list(rest[2:])
        if batch_sizes is None:
            return aten.lstm.input.decompose(x, states, weights, *words, bool(batch_first))
        return aten.lstm.data.decompose(x, batch_sizes, states, weights, *words)

    found = vjp(composed, [x, *hx, *params], [grad_y, grad_h, grad_c])
    return found[0], list(found[1:3]), list(found[3:])


def gru_backward(
    own: Own,
    grad_y: Tensor,
    grad_h: Tensor,
    x: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    r: Tensor,
    z: Tensor,
    n: Tensor,
    h_n: Tensor,
    h: Tensor,
    *words: Any,
    batch_first: bool | None = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Through PyTorch's composition of the layers."""

    def composed(x: Tensor, hx: Tensor, *weights: Tensor) -> Any:
        if batch_sizes is None:
            return aten.gru.input.decompose(x, hx, list(weights), *words, bool(batch_first))
        return aten.gru.data.decompose(x, batch_sizes, hx, list(weights), *words)

    found = vjp(composed, [x, hx, *params], [grad_y, grad_h])
    return found[0], found[1], list(found[2:])


BACKWARD: dict[str, Callable[..., Any]] = {
    "aten::matmul_backward": matmul_backward,
    "aten::max_pool2d_with_indices_backward": max_pool2d_with_indices_backward,
    "npu::npu_gather_backward": gather_backward,
    "npu::npu_renorm_backward": _of(_renorm),
    "npu::npu_binary_cross_entropy_with_logits_backward": _of(bce_with_logits),
    "npu::l1_loss_backward": _of(aten.l1_loss.default.decompose),
    "npu::kl_div_backward": _of(aten.kl_div.default.decompose),
    "npu::kl_div_target_backward": _of_second(aten.kl_div.default.decompose),
    "npu::stft_backward": _of(_stft),
    "npu::repeat_interleave_backward_int": _of(_repeat("self_int")),
    "npu::repeat_interleave_backward_tensor": _of(_repeat("self_Tensor")),
    "npu::_lstm_npu_backward": lstm_backward,
    "npu::_gru_npu_backward": gru_backward,
}


def differentiated(
    name: str, formula: Callable[..., Any], always: bool = False
) -> Callable[..., Any]:
    """Return the kernel that takes `formula` where the gradient may be differentiated, else torch_npu's own.

    With `always` also where no argument records: what it misses is not among them.
    """
    own = Own(name)
    original = own.kernel

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        recorded = torch.is_grad_enabled() and (always or _wanted(args, kwargs))
        if fwAD._current_level < 0 and not recorded:
            return original(keyset, *args, **kwargs)
        return formula(own, *args, **kwargs)

    return kernel


def _wanted(args: Any, kwargs: Any) -> bool:
    return any(isinstance(x, Tensor) and x.requires_grad for x in tree_leaves((args, kwargs)))


def register(made: Repair) -> None:
    """Put the backward functions in place, those that this torch_npu has."""
    from npu_forward_ad import second_npu

    for name, formula in {**BACKWARD, **second_npu.BACKWARD}.items():
        if known(name):
            made.put(name, differentiated(name, formula))
    for name, formula in second_npu.ALWAYS.items():
        if known(name):
            made.put(name, differentiated(name, formula, always=True))
