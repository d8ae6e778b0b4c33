"""The backward functions of torch_npu's own functions, so that they can be differentiated again.

Each is the gradient of the formula in ``formulas_npu.py``, at the tensors that torch_npu saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu_forward_ad import formulas_npu as forward
from npu_forward_ad.attention import ATTENTION
from npu_forward_ad.registration import Own
from npu_forward_ad.second import vjp

Backward = Callable[..., Any]


def _elementwise(function: Callable[..., Any], saved: int = 0) -> Backward:
    """The gradient of a function of one input, behind which torch_npu hands over `saved` outputs."""

    def backward(own: Own, grad: Tensor, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        words = args[saved:]
        return vjp(lambda x: function(None, x, *words, **kwargs), [x], [grad])[0]

    return backward


def _epsilon(rstd: Tensor, variance: Tensor) -> Tensor:
    """What was added to the variance: torch_npu saves the reciprocal deviation, not this."""
    return (rstd.float().pow(-2).reshape(variance.shape) - variance).detach()


def _variance(x: Tensor, gamma: Tensor) -> Tensor:
    dims = [*range(x.dim() - gamma.dim(), x.dim())]
    return (x - x.mean(dims, keepdim=True)).square().mean(dims, keepdim=True)


def rms_norm(own: Own, grad: Tensor, x: Tensor, gamma: Tensor, rstd: Tensor) -> Any:
    wide = x.detach().float()
    dims = [*range(x.dim() - gamma.dim(), x.dim())]
    epsilon = _epsilon(rstd, wide.square().mean(dims, keepdim=True))
    return vjp(lambda x, g: forward.rms_norm(own, x, g, epsilon)[0], [x, gamma], [grad])


def add_layer_norm(
    own: Own,
    grad: Tensor | None,
    x1: Tensor,
    x2: Tensor,
    rstd: Tensor,
    mean: Tensor,
    gamma: Tensor,
    grad_sum: Tensor | None,
) -> Any:
    epsilon = _epsilon(rstd, _variance(x1.detach().float() + x2.detach().float(), gamma))

    def function(x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        y, _, _, total = forward.add_layer_norm(own, x1, x2, gamma, beta, epsilon)
        return y, total

    return vjp(function, [x1, x2, gamma, torch.zeros_like(gamma)], [grad, grad_sum])


def deep_norm(
    own: Own,
    grad: Tensor,
    x: Tensor,
    gx: Tensor,
    gamma: Tensor,
    mean: Tensor,
    rstd: Tensor,
    alpha: float = 0.3,
) -> Any:
    epsilon = _epsilon(rstd, _variance(alpha * x.detach().float() + gx.detach().float(), gamma))

    def function(x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
        return forward.deep_norm(own, x, gx, beta, gamma, alpha, epsilon)[2]

    return vjp(function, [x, gx, torch.zeros_like(gamma), gamma], [grad])


def group_norm_swish(
    own: Own,
    grad: Tensor,
    x: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    rstd: Tensor,
    mask: Sequence[bool],
    swish_scale: float | None = 1.0,
) -> Any:
    groups = x.detach().float().reshape(x.shape[0], num_groups, -1)
    variance = (groups - groups.mean(-1, keepdim=True)).square().mean(-1, keepdim=True)
    epsilon = _epsilon(rstd, variance)

    def function(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return forward.group_norm_swish(own, x, num_groups, weight, bias, epsilon, swish_scale)[0]

    return vjp(function, [x, weight, bias], [grad])


def rotary_mul(
    own: Own, grad: Tensor, x: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> Any:
    return vjp(lambda *xs: forward.rotary_mul(own, *xs, rotary_mode), [x, r1, r2], [grad])


def linear(own: Own, grad: Tensor, x: Tensor, weight: Tensor) -> Any:
    return vjp(lambda x, w: forward.linear(own, x, w), [x, weight], [grad])


def _bmm(place: int) -> Backward:
    def backward(own: Own, grad: Tensor, x: Tensor, y: Tensor, size: Sequence[int]) -> Tensor:
        return vjp(lambda x, y: torch.matmul(x, y).reshape(grad.shape), [x, y], [grad])[place]

    return backward


def cast(own: Own, grad: Tensor, dtype: torch.dtype, *words: Any) -> Tensor:
    wanted = dtype if isinstance(dtype, torch.dtype) else forward.DTYPES[dtype]
    return grad.to(wanted, copy=True)


def dropout(own: Own, grad: Tensor, mask: Tensor, p: float) -> Tensor:
    """A gradient times what the kernel makes of ones."""
    return grad * own.plain(torch.ones_like(grad, requires_grad=False), mask, p)


def gather_sparse_index(own: Own, grad: Tensor, size: Sequence[int], index: Tensor) -> Tensor:
    rows = grad.reshape(-1, *size[1:])
    return grad.new_zeros(size).index_add(0, index.flatten(), rows)


def permute(
    own: Own,
    grad: Tensor,
    there: Tensor,
    count: int,
    dtype: torch.dtype,
    of_each: int,
    padded_mode: bool = False,
) -> Tensor:
    came = torch.argsort(there)[: grad.shape[0]]
    tokens = torch.div(came, of_each, rounding_mode="floor")
    return grad.new_zeros(count, *grad.shape[1:]).index_add(0, tokens, grad)


def unpermute(
    own: Own,
    grad: Tensor,
    there: Tensor,
    count: int,
    dtype: torch.dtype,
    probs: Tensor | None = None,
    *words: Any,
    **more: Any,
) -> tuple[Tensor, Tensor | None]:
    """Without probabilities: the gradient of each row is that of its token."""
    if probs is not None:
        raise _refusal("npu_moe_token_unpermute with probabilities", "indexing and a sum")
    rows = grad.new_zeros(count, grad.shape[-1])
    return vjp(lambda x: forward.moe_token_unpermute(own, x, there), [rows], [grad])[0], None


def _attention(version: str, more: tuple[str, ...] = ()) -> Backward:
    """The gradients of query, key, value, shift, the inputs `more` and the sink."""
    formula = ATTENTION[version]
    renamed = {"scale_value": "scale"}
    taken = {"softmax_max", "softmax_sum", "softmax_in", "attention_in", "seed", "offset", "numels"}

    def backward(
        own: Own,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        grad: Tensor,
        head_num: int,
        layout: str,
        **words: Any,
    ) -> tuple[Tensor | None, ...]:
        words = {renamed.get(key, key): x for key, x in words.items() if key not in taken}
        optional = ("pse", *more, "sink")
        there = [name for name in optional if words.get(name) is not None]

        def function(q: Tensor, k: Tensor, v: Tensor, *others: Tensor) -> Tensor:
            return formula(
                own,
                q,
                k,
                v,
                head_num,
                layout,
                **{**words, **dict(zip(there, others, strict=False))},
            )[0]

        found = vjp(function, [q, k, v, *(words[name] for name in there)], [grad])
        others = dict(zip(there, found[3:], strict=False))
        return (*found[:3], *(others.get(name, q.new_empty(0)) for name in optional))

    return backward


def _refusal(name: str, instead: str) -> NotImplementedError:
    words = "cannot be differentiated twice in reverse (create_graph=True)"
    return NotImplementedError(f"{name} {words}: take {instead}")


def _refused(name: str, instead: str) -> Backward:
    """The saved tensors do not tell the input: an error in the place of a zero."""

    def backward(own: Own, *args: Any, **kwargs: Any) -> Any:
        raise _refusal(name, instead)

    return backward


BACKWARD: dict[str, Backward] = {
    "aten::native_dropout_backward": dropout,
    "npu::_npu_dtype_cast_backward": cast,
    "npu::npu_add_layer_norm_backward": add_layer_norm,
    "npu::npu_bmm_v2_mat1_backward": _bmm(0),
    "npu::npu_bmm_v2_mat2_backward": _bmm(1),
    "npu::npu_deep_norm_backward": deep_norm,
    "npu::npu_dropout_backward": dropout,
    "npu::npu_dtype_cast_backward": cast,
    "npu::npu_fast_gelu_backward": _elementwise(forward.fast_gelu),
    "npu::npu_fusion_attention_grad": _attention("npu_fusion_attention"),
    "npu::npu_fusion_attention_grad_v2": _attention(
        "npu_fusion_attention_v2", ("query_rope", "key_rope")
    ),
    "npu::npu_fusion_attention_grad_v3": _attention("npu_fusion_attention_v3"),
    "npu::npu_gather_sparse_index_backward": gather_sparse_index,
    "npu::npu_geglu_grad": _elementwise(lambda own, x, *a: forward.geglu(own, x, *a)[0], saved=1),
    "npu::npu_gelu_backward": _elementwise(forward.gelu),
    "npu::npu_group_norm_swish_grad": group_norm_swish,
    "npu::npu_linear_backward": linear,
    "npu::npu_mish_backward": _elementwise(forward.mish),
    "npu::npu_moe_token_permute_grad_v2": permute,
    "npu::npu_rms_norm_backward": rms_norm,
    "npu::npu_rotary_mul_backward": rotary_mul,
    "npu::npu_silu_backward": _elementwise(forward.silu, saved=1),
    "npu::npu_swiglu_backward": _elementwise(forward.swiglu),
}
# Also where no argument records: the input, which is missed, is not among them.
ALWAYS: dict[str, Backward] = {
    "npu::npu_cross_entropy_loss_backward": _refused(
        "npu_cross_entropy_loss", "torch.nn.functional.cross_entropy"
    ),
    "npu::npu_moe_gating_top_k_backward": _refused(
        "npu_moe_gating_top_k", "softmax, topk and gather"
    ),
    "npu::npu_moe_token_unpermute_grad_v2": unpermute,
}
