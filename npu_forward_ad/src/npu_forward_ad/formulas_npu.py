"""The functions of torch_npu that models are trained with, composed of functions with a forward formula.

A function here takes what the operator of the same name takes, behind torch_npu's kernel, and returns all of
its outputs. Sums and moments are taken in float32, as the kernels take them. What is not written here raises
NotImplementedError where a tangent would be lost. Source of the formulas: CANN's documents of the ``aclnn``
functions. Attention is in ``attention.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from npu_forward_ad.attention import ATTENTION
from npu_forward_ad.formulas_aten import gelu
from npu_forward_ad.registration import Own, Repair, guarded, known, unwritten

# The codes of c10::ScalarType; what torch_npu counts from 256 on has no tangents.
DTYPES = {
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    8: torch.complex32,
    9: torch.complex64,
    10: torch.complex128,
    15: torch.bfloat16,
}


def fast_gelu(own: Own, x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def silu(own: Own, x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def silu_(own: Own, x: Tensor) -> Tensor:
    return x.copy_(silu(own, x))


def mish(own: Own, x: Tensor) -> Tensor:
    return x * torch.tanh(F.softplus(x))


def swiglu(own: Own, x: Tensor, dim: int = -1) -> Tensor:
    gate, value = x.float().chunk(2, dim)
    return (silu(own, gate) * value).to(x.dtype)


def geglu(
    own: Own, x: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[Tensor, Tensor]:
    left, right = x.chunk(2, dim)
    gate, value = (left, right) if activate_left else (right, left)
    active = gelu(own, gate, approximate="tanh" if approximate else "none")
    return active * value, active


def linear(own: Own, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result = torch.matmul(x, weight.mT)
    return result if bias is None else result + bias


def bmm(own: Own, x: Tensor, y: Tensor, output_sizes: list[int]) -> Tensor:
    result = torch.matmul(x, y)
    return result.reshape(output_sizes) if output_sizes else result


def rms_norm(own: Own, x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The result and, in float32, the reciprocal of the root of the mean of the squares."""
    wide = x.float()
    dims = [*range(x.dim() - gamma.dim(), x.dim())]
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(x.dtype), rstd


def add_rms_norm(
    own: Own, x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    total = x1 + x2
    return (*rms_norm(own, total, gamma, epsilon), total)


def layer_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the mean and the reciprocal deviation, all in float32."""
    dims = [*range(x.dim() - gamma.dim(), x.dim())]
    mean = x.mean(dims, keepdim=True)
    rstd = torch.rsqrt((x - mean).square().mean(dims, keepdim=True) + epsilon)
    return (x - mean) * rstd * gamma.float() + beta.float(), mean, rstd


def add_layer_norm(
    own: Own,
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    total = x1.float() + x2.float()
    y, mean, rstd = layer_norm(total, gamma, beta, epsilon)
    return y.to(x1.dtype), mean, rstd, total.to(x1.dtype)


def deep_norm(
    own: Own,
    x: Tensor,
    gx: Tensor,
    beta: Tensor,
    gamma: Tensor,
    alpha: float = 0.3,
    epsilon: float = 1e-6,
) -> tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = layer_norm(alpha * x.float() + gx.float(), gamma, beta, epsilon)
    return mean, rstd, y.to(x.dtype)


def group_norm_swish(
    own: Own,
    x: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    groups = x.float().reshape(x.shape[0], num_groups, -1)
    mean = groups.mean(-1, keepdim=True)
    rstd = torch.rsqrt(
        (groups - mean).square().mean(-1, keepdim=True) + (1e-5 if eps is None else eps)
    )
    channels = (1, -1) + (1,) * (x.dim() - 2)
    y = ((groups - mean) * rstd).reshape(x.shape)
    y = y * weight.float().reshape(channels) + bias.float().reshape(channels)
    y = y * torch.sigmoid((1.0 if swish_scale is None else swish_scale) * y)
    return y.to(x.dtype), mean[..., 0].to(x.dtype), rstd[..., 0].to(x.dtype)


def _halves(x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _neighbors(x: Tensor) -> Tensor:
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


_TURNS = {"half": _halves, "interleave": _neighbors}


def rotary_mul(
    own: Own,
    x: Tensor,
    r1: Tensor,
    r2: Tensor,
    rotary_mode: str = "half",
    rotate: Tensor | None = None,
) -> Tensor:
    if rotate is not None:
        return x * r1 + torch.matmul(x, rotate) * r2
    if rotary_mode not in _TURNS:
        return unwritten(f"npu_rotary_mul in the mode {rotary_mode}", own, x, r1, r2, rotary_mode)
    return x * r1 + _TURNS[rotary_mode](x) * r2


def apply_rotary_pos_emb(
    own: Own,
    query: Tensor,
    key: Tensor,
    cos: Tensor,
    sin: Tensor,
    layout: str = "BSND",
    rotary_mode: str = "half",
) -> tuple[Tensor, Tensor]:
    if rotary_mode not in _TURNS:
        what = f"npu_apply_rotary_pos_emb in the mode {rotary_mode}"
        return unwritten(what, own, query, key, cos, sin, layout, rotary_mode)
    turn = _TURNS[rotary_mode]
    return query * cos + turn(query) * sin, key * cos + turn(key) * sin


def interleave_rope(own: Own, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    split = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    return split * cos + _halves(split) * sin


def dtype_cast(own: Own, x: Tensor, dtype: Any, input_dtype: int | None = None) -> Tensor:
    wanted = dtype if isinstance(dtype, torch.dtype) else DTYPES.get(dtype)
    if wanted is None or input_dtype is not None:
        return own.plain(x, dtype, *([] if input_dtype is None else [input_dtype]))
    return x.to(wanted, copy=True)


def format_cast(own: Own, x: Tensor, *words: Any) -> Tensor:
    """The same numbers in another order in memory, which the next kernel may change at will."""
    return x.clone()


def gather_sparse_index(own: Own, x: Tensor, index: Tensor) -> Tensor:
    return x.index_select(0, index.flatten()).reshape(*index.shape, *x.shape[1:])


def dropout(own: Own, x: Tensor, *words: Any) -> tuple[Tensor, Tensor]:
    """What is dropped of ones: one mask for value and tangent."""
    scale, mask = own.plain(torch.ones_like(x, requires_grad=False), *words)
    return x * scale, mask


def cross_entropy_loss(
    own: Own,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if lse_square_scale_for_zloss or return_zloss:
        words = (x, target, weight, reduction, ignore_index, label_smoothing)
        z = (lse_square_scale_for_zloss, return_zloss)
        return unwritten("the z-loss of npu_cross_entropy_loss", own, *words, *z)
    wide = x.float()
    options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    loss = F.cross_entropy(wide, target.long(), weight, reduction=reduction, **options)
    logs = wide.log_softmax(1).to(x.dtype)
    loss = loss if reduction == "none" else loss.reshape(1)
    return loss.to(x.dtype), logs, x.new_empty(0), x.new_empty(0)


def moe_token_permute(
    own: Own,
    tokens: Tensor,
    indices: Tensor,
    num_out_tokens: int | None = None,
    padded_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The tokens in the order of their experts, and where each went, from torch_npu's kernel."""
    plain = torch.zeros_like(tokens, requires_grad=False)
    if padded_mode:
        return unwritten(
            "npu_moe_token_permute, padded", own, tokens, indices, num_out_tokens, True
        )
    rows, there = own.plain(plain, indices, num_out_tokens, padded_mode)
    of_each = 1 if indices.dim() == 1 else indices.shape[-1]
    came = torch.argsort(there)[: rows.shape[0]]
    return tokens.index_select(0, torch.div(came, of_each, rounding_mode="floor")), there


def moe_token_unpermute(
    own: Own,
    rows: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:
    """The way back: of each token the sum of its rows, each times its probability."""
    if padded_mode:
        words = (rows, sorted_indices, probs, padded_mode, restore_shape)
        return unwritten("npu_moe_token_unpermute, padded", own, *words)
    of_each = 1 if probs is None else probs.shape[1]
    places = sorted_indices.long()
    own_rows = rows.float().index_select(0, places.clamp(max=rows.shape[0] - 1))
    kept = (places < rows.shape[0]).unsqueeze(-1)  # a row that was cut off counts as zeros
    own_rows = (own_rows * kept).unflatten(0, (-1, of_each))
    if probs is not None:
        own_rows = own_rows * probs.float().unsqueeze(-1)
    return own_rows.sum(1).to(rows.dtype)


def _moe_token_unpermute(own: Own, rows: Tensor, *words: Any, **more: Any) -> tuple[Tensor, Tensor]:
    if more.get("padded_mode") or (len(words) > 2 and words[2]):
        return unwritten("npu_moe_token_unpermute, padded", own, rows, *words, **more)
    return moe_token_unpermute(own, rows, *words, **more), rows.detach()


def moe_gating_top_k(own: Own, x: Tensor, k: int, **words: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of the experts that torch_npu's kernel chooses."""
    if words.get("renorm") or words.get("norm_type", 0) not in (0, 1):
        return unwritten("npu_moe_gating_top_k with renorm", own, x, k, **words)
    _, experts, out = own.plain(x.detach(), k, **words)
    softmax = words.get("norm_type", 0) == 0
    norm = x.float().softmax(-1) if softmax else torch.sigmoid(x.float())
    y = norm.gather(-1, experts.long())
    if not softmax:
        y = y / (y.sum(-1, keepdim=True) + words.get("eps", 1e-20))
    y = y * words.get("routed_scaling_factor", 1.0)
    return y.to(x.dtype), experts, norm if words.get("out_flag") else out


def nsa_compress(
    own: Own,
    x: Tensor,
    weight: Tensor,
    compress_block_size: int,
    compress_stride: int,
    *,
    actual_seq_len: list[int] | None = None,
) -> Tensor:
    """Of each window of a sequence the weighted sum of its tokens."""
    ends = [x.shape[0]] if actual_seq_len is None else actual_seq_len
    firsts = [
        first
        for begin, end in zip([0, *ends], ends, strict=False)
        for first in range(begin, end - compress_block_size + 1, compress_stride)
    ]
    places = torch.tensor(firsts).reshape(-1, 1) + torch.arange(compress_block_size)
    tokens = x.float().index_select(0, places.flatten().to(x.device)).unflatten(0, places.shape)
    return (tokens * weight.float().unsqueeze(-1)).sum(1).to(x.dtype)


FORMULAS: dict[str, Callable[..., Any]] = {
    "_dropout_with_byte_mask": dropout,
    "_npu_dropout": dropout,
    "_npu_dtype_cast": dtype_cast,
    "_npu_format_cast": format_cast,
    "_npu_format_cast.aclnn": format_cast,
    "_npu_format_cast.input_dtype": format_cast,
    "_npu_moe_token_unpermute": _moe_token_unpermute,
    "fast_gelu": fast_gelu,
    "npu_add_layer_norm": add_layer_norm,
    "npu_add_rms_norm": add_rms_norm,
    "npu_apply_rotary_pos_emb": apply_rotary_pos_emb,
    "npu_bmmV2": bmm,
    "npu_cross_entropy_loss": cross_entropy_loss,
    "npu_deep_norm": deep_norm,
    "npu_dropout_do_mask": dropout,
    "npu_dtype_cast": dtype_cast,
    "npu_fast_gelu": fast_gelu,
    "npu_gather_sparse_index": gather_sparse_index,
    "npu_geglu": geglu,
    "npu_gelu": gelu,
    "npu_group_norm_swish": group_norm_swish,
    "npu_interleave_rope": interleave_rope,
    "npu_linear": linear,
    "npu_mish": mish,
    "npu_moe_gating_top_k": moe_gating_top_k,
    "npu_moe_token_permute": moe_token_permute,
    "npu_moe_token_unpermute": moe_token_unpermute,
    "npu_nsa_compress": nsa_compress,
    "npu_rms_norm": rms_norm,
    "npu_rotary_mul": rotary_mul,
    "npu_silu": silu,
    "npu_silu_": silu_,
    "npu_swiglu": swiglu,
    **ATTENTION,
}


def register(made: Repair) -> None:
    """Put the formulas in place, of the operators that this torch_npu has."""
    for name, formula in FORMULAS.items():
        if known(f"npu::{name}"):
            made.put(f"npu::{name}", guarded(f"npu::{name}", formula, own=True))
