"""For each forward formula what to evaluate it at, and the function whose derivative it has to be.

The functions are written from what CANN's and PyTorch's documents say, never from the formulas. A tensor of floating
point is differentiated unless its name stands in `fixed`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One entry: arguments in order (None is a missing tensor), the outputs of `value` by name, in order."""

    entry: str
    arguments: dict[str, Any]
    value: Callable[..., Any]
    outputs: tuple[str, ...] = ("result",)
    fixed: tuple[str, ...] = ()

    @property
    def moved(self) -> list[str]:
        """The arguments that have a tangent."""
        return [
            name
            for name, value in self.arguments.items()
            if isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and name not in self.fixed
        ]


NUMBERS = torch.Generator().manual_seed(7)


def t(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=NUMBERS)


def keep(*shape: int) -> torch.Tensor:
    return (torch.rand(shape, generator=NUMBERS) > 0.4).to(torch.uint8)


def _dropped(x: torch.Tensor, mask: torch.Tensor, p: float) -> torch.Tensor:
    return x * mask / (1 - p)


def _byte_mask(self, p, mask):
    return _dropped(self, mask, p), mask


def _stft(
    self,
    n_fft,
    hop_length,
    win_length,
    window,
    normalized,
    onesided,
    return_complex,
    align_to_window,
):
    return torch.stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        False,
        "reflect",
        normalized,
        onesided,
        return_complex,
    )


def _bce(self, target, weight, pos_weight, reduction):
    kind = ("none", "mean", "sum")[reduction]
    options = {"weight": weight, "pos_weight": pos_weight, "reduction": kind}
    return F.binary_cross_entropy_with_logits(self, target, **options)


def _fast_gelu(self):
    size = self.abs()
    return self / (1 + torch.exp(-1.702 * size)) * torch.exp(0.851 * (self - size))


def _kl(self, target, reduction, log_target):
    kind = ("none", "mean", "sum")[reduction]
    return F.kl_div(self, target, reduction=kind, log_target=log_target)


def _products(grad_out, self, other, mask):
    return grad_out @ other.mT, self.mT @ grad_out


def _add_layer_norm(x1, x2, gamma, beta, epsilon):
    return F.layer_norm(x1 + x2, gamma.shape, gamma, beta, epsilon), x1 + x2


def _deep_norm(x, gx, beta, gamma, alpha, epsilon):
    return F.layer_norm(alpha * x + gx, gamma.shape, gamma, beta, epsilon)


def _rms_norm(self, gamma, epsilon):
    return F.rms_norm(self, gamma.shape, gamma, epsilon)


def _geglu(self, dim, approximate, activate_left):
    left, right = self.chunk(2, dim)
    gate, other = (left, right) if activate_left else (right, left)
    return F.gelu(gate, approximate="tanh" if approximate == 1 else "none") * other


def _swiglu(self, dim):
    left, right = self.chunk(2, dim)
    return F.silu(left) * right


def _max(self, dim, keepdim):
    return self.max(dim, keepdim)


def _rotary(self, r1, r2, rotary_mode, rotate):
    left, right = self.chunk(2, -1)
    return self * r1 + torch.cat((-right, left), -1) * r2


def _masked_softmax(x, mask, scale):
    return (x * scale).masked_fill(mask.bool(), -1e4).softmax(-1)


def _conv1d(input, weight, mask):
    padded = F.pad(input, (0, 0, 0, 0, 2, 0))
    parts = [weight[k] * padded[k : k + len(input)] for k in range(3)]
    return sum(parts) * mask.t()[..., None]


def _group_norm_swish(input, num_groups, weight, bias, eps, swish_scale):
    y = F.group_norm(input, num_groups, weight, bias, eps)
    return y * torch.sigmoid(swish_scale * y)


def _cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing):
    options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    loss = F.cross_entropy(input, target, weight, reduction=reduction, **options)
    return loss.reshape(-1), torch.zeros(1, dtype=input.dtype)


def _compress(input, weight, compress_block_size, compress_stride, actual_seq_len):
    starts = range(0, len(input) - compress_block_size + 1, compress_stride)
    return torch.stack(
        [(input[s : s + compress_block_size] * weight[..., None]).sum(0) for s in starts]
    )


def _permute(tokens, indices, num_out_tokens, padded_mode):
    return tokens[indices.flatten().argsort() // indices.shape[1]]


def _routed(tokens, routing_map, probs, num_out_tokens, drop_and_pad):
    experts, rows = routing_map.t().nonzero(as_tuple=True)
    return tokens[rows], probs[rows, experts]


def _unpermute(permuted_tokens, sorted_indices, probs, padded_mode, restore_shape):
    rows = permuted_tokens[sorted_indices]
    return (
        rows if probs is None else torch.einsum("tkh,tk->th", rows.reshape(*probs.shape, -1), probs)
    )


def _unpermute_routed(
    permuted_tokens, sorted_indices, restore_shape, probs, routing_map, drop_and_pad
):
    return _unpermute(permuted_tokens, sorted_indices, probs, False, None)


def _native_dropout(input, p, train, mask):
    mask = mask.bool() if train else torch.ones_like(mask).bool()
    return (_dropped(input, mask, p) if train else input), mask


def _gating(x, chosen, renorm, norm_type, routed_scaling_factor, eps):
    y = (x.softmax(-1), torch.sigmoid(x))[norm_type].gather(1, chosen)
    if norm_type == 1 or renorm:
        y = y / (y.sum(-1, keepdim=True) + eps)
    return y * routed_scaling_factor, chosen


def _mhc_post(x, h_res, h_out, h_post):
    mapped = x if h_res is None else h_res @ x
    return mapped + torch.einsum("td,tn->tnd", h_out, h_post)


def _conv(input, weight, bias, stride, padding, dilation, groups):
    return F.conv2d(input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(input, weight, bias, padding, output_padding, stride, dilation, groups):
    return F.conv_transpose2d(
        input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def _confusion(self, perm, shape, transpose_first):
    return (
        self.permute(perm).reshape(shape) if transpose_first else self.reshape(shape).permute(perm)
    )


def _each(
    entry: str, value: Callable[..., Any], *choices: dict[str, Any], **common: Any
) -> list[Case]:
    known = {k: common.pop(k) for k in ("outputs", "fixed") if k in common}
    return [Case(entry, {**common, **choice}, value, **known) for choice in choices or ({},)]


PROBABILITIES = t(3, 4).softmax(-1)
MASK = keep(3, 4)
CONVOLUTION = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
TARGET = torch.tensor([1, 3, -100, 0])
# fmt: off
CASES = [
    *_each("npu_gather_sparse_index", lambda input, index: input[index], input=t(4, 3),
           index=torch.tensor([2, 0, 2])),
    *_each("_dropout_with_byte_mask", lambda self, p: _byte_mask(self, p, MASK), self=t(3, 4),
           p=0.3, outputs=("result0", "result1")),
    *_each("_npu_dropout", lambda self, p: _byte_mask(self, p, MASK), self=t(3, 4), p=0.3,
           outputs=("result0", "result1")),
    *_each("npu_dropout_do_mask", lambda self, mask, p: _byte_mask(self, p, mask), self=t(3, 4),
           mask=MASK, p=0.3, outputs=("result0", "result1")),
    *_each("native_dropout", lambda input, p, train: _native_dropout(input, p, train, MASK),
           {"train": True}, {"train": False}, input=t(3, 4), p=0.3, outputs=("result0", "result1")),
    *_each("_npu_format_cast", lambda self: self.clone(), self=t(3)),
    *_each("npu_dtype_cast", lambda self: self.clone(), self=t(3)),
    *_each("_npu_dtype_cast", lambda self, dtype: self.clone(), self=t(3), dtype=torch.float64),
    *_each("binary_cross_entropy_with_logits", _bce, {"weight": None, "pos_weight": None},
           {"weight": t(3, 4).abs(), "pos_weight": t(4).abs()}, self=t(3, 4), target=PROBABILITIES,
           reduction=1, fixed=("target", "weight", "pos_weight")),
    *_each("fast_gelu", _fast_gelu, self=t(5)),
    *_each("npu_fast_gelu", _fast_gelu, self=t(5)),
    *_each("kl_div", _kl, {"target": PROBABILITIES, "log_target": False}, {"target": t(3, 4),
           "log_target": True}, self=t(3, 4), reduction=2),
    *_each("l1_loss", lambda self, target, reduction: F.l1_loss(self, target), self=t(3, 4),
           target=t(3, 4), reduction=1),
    *_each("matmul_backward", _products, grad_out=t(2, 3, 5), self=t(2, 3, 4), other=t(2, 4, 5),
           mask=None, outputs=("result0", "result1")),
    *_each("npu_add_layer_norm", _add_layer_norm, x1=t(2, 3, 4), x2=t(2, 3, 4), gamma=t(3, 4),
           beta=t(3, 4), epsilon=1e-3, outputs=("result0", "result3")),
    *_each("npu_deep_norm", _deep_norm, x=t(3, 4), gx=t(3, 4), beta=t(4), gamma=t(4), alpha=0.3,
           epsilon=1e-3, outputs=("result2",)),
    *_each("npu_rms_norm", lambda **k: (_rms_norm(**k),), self=t(2, 3, 4), gamma=t(3, 4),
           epsilon=1e-3, outputs=("result0",)),
    *_each("npu_gelu", lambda self, approximate: F.gelu(self, approximate=approximate),
           {"approximate": "none"}, {"approximate": "tanh"}, self=t(5)),
    *_each("npu_bmmV2", lambda self, mat2, output_sizes: self @ mat2, self=t(2, 3, 4), mat2=t(2, 4,
           5), output_sizes=[2, 3, 5]),
    *_each("npu_confusion_transpose", _confusion, {"transpose_first": True, "shape": [3, 8]},
           {"transpose_first": False, "shape": [4, 3, 2]}, self=t(2, 3, 4), perm=[1, 0, 2]),
    *_each("npu_convolution", _conv, {"bias": t(4)}, {"bias": None}, input=t(2, 3, 5, 5),
           weight=t(4, 3, 3, 3), **CONVOLUTION),
    *_each("npu_convolution_transpose", _conv_transpose, input=t(2, 3, 5, 5), weight=t(3, 4, 3, 3),
           bias=t(4), output_padding=[1, 0], **{**CONVOLUTION, "stride": [2, 2]}),
    *_each("npu_geglu", _geglu, {"approximate": 1, "activate_left": False}, {"approximate": 0,
           "activate_left": True}, self=t(3, 6), dim=-1, outputs=("result0",)),
    *_each("npu_linear", lambda input, weight, bias: F.linear(input, weight, bias), {"bias": t(4)},
           {"bias": None}, input=t(2, 3), weight=t(4, 3)),
    *_each("npu_max.dim", _max, {"keepdim": False}, {"keepdim": True}, self=t(3, 4), dim=1,
           outputs=("values", "indices")),
    *_each("npu_min.dim", lambda self, dim, keepdim: self.min(dim, keepdim), self=t(3, 4), dim=0,
           keepdim=False, outputs=("values", "indices")),
    *_each("npu_mish", lambda self: F.mish(self), self=t(5)),
    *_each("npu_silu", lambda self: F.silu(self), self=t(5)),
    *_each("npu_ps_roi_pooling", lambda self, rois, spatial_scale, **_: self * rois * spatial_scale,
           self=t(3), rois=t(3), spatial_scale=0.5, group_size=1, output_dim=1, fixed=("rois",)),
    *_each("npu_rotary_mul", _rotary, self=t(2, 3, 4), r1=t(1, 3, 4), r2=t(1, 3, 4),
           rotary_mode="half", rotate=None),
    *_each("npu_scaled_masked_softmax", _masked_softmax, x=t(3, 4), mask=torch.eye(3, 4), scale=0.7,
           fixed=("mask",)),
    *_each("npu_softmax_cross_entropy_with_logits", lambda self, labels: -(labels *
           self.log_softmax(-1)).sum(-1), self=t(3, 4), labels=t(3, 4), fixed=("labels",)),
    *_each("npu_masked_causal_conv1d", _conv1d, input=t(5, 2, 3), weight=t(3, 3), mask=keep(2, 5)),
    *_each("npu_swiglu", _swiglu, self=t(3, 6), dim=-1),
    *_each("npu_group_norm_swish", _group_norm_swish, {"input": t(2, 6, 3)}, {"input": t(3, 6)},
           num_groups=2, weight=t(6), bias=t(6), eps=1e-3, swish_scale=1.3, outputs=("result0",)),
    *_each("npu_cross_entropy_loss", _cross_entropy, {"reduction": "mean"}, {"reduction": "sum",
           "weight": t(5).abs()}, {"reduction": "none", "label_smoothing": 0.1}, {"reduction":
           "mean", "weight": t(5).abs(), "label_smoothing": 0.1}, input=t(4, 5), target=TARGET,
           weight=None, ignore_index=-100, label_smoothing=0.0, outputs=("result0", "result2"),
           fixed=("weight",)),
    *_each("npu_nsa_compress", _compress, input=t(8, 2, 3), weight=t(4, 2), compress_block_size=4,
           compress_stride=2, actual_seq_len=None),
    *_each("stft", _stft, self=t(2, 12), n_fft=4, hop_length=2, win_length=4, window=t(4),
           normalized=False, onesided=True, return_complex=True, align_to_window=None,
           fixed=("window",)),
    *_each("inverse", lambda self: torch.linalg.inv(self), self=t(2, 3, 3) + 3 * torch.eye(3,
           dtype=torch.float64)),
    *_each("npu_moe_token_permute", lambda **k: (_permute(**k),), tokens=t(3, 4),
           indices=torch.tensor([[1, 0], [2, 3], [5, 4]]), num_out_tokens=None, padded_mode=False,
           outputs=("result0",)),
    *_each("npu_moe_token_permute_with_routing_map", _routed, tokens=t(3, 4),
           routing_map=torch.tensor([[1, 0], [1, 1], [0, 1]]).bool(), probs=t(3, 2),
           num_out_tokens=None, drop_and_pad=False, outputs=("result0", "result1")),
    *_each("_npu_moe_token_unpermute", lambda **k: (_unpermute(**k),), {"probs": t(3, 2)}, {"probs":
           None}, permuted_tokens=t(6, 4), sorted_indices=torch.tensor([1, 0, 2, 3, 5, 4]),
           padded_mode=False, restore_shape=None, outputs=("unpermuted_tokens",)),
    *_each("_npu_moe_token_unpermute_with_routing_map", lambda **k: (_unpermute_routed(**k),),
           {"probs": t(3, 2)}, {"probs": None}, permuted_tokens=t(6, 4),
           sorted_indices=torch.tensor([1, 0, 2, 3, 5, 4]), restore_shape=[3, 4], routing_map=None,
           drop_and_pad=False, outputs=("result0",)),
    *_each("cdist", lambda x1, x2, p: torch.cdist(x1, x2, p), *({"p": p} for p in (0.0, 0.5, 1.0,
           1.5, 2.0, 3.0, math.inf)), x1=t(2, 3, 4), x2=t(2, 5, 4)),
    *_each("npu_mhc_post", _mhc_post, {"h_res": t(2, 3, 3)}, {"h_res": None}, x=t(2, 3, 4),
           h_out=t(2, 4), h_post=t(2, 3)),
    *_each("npu_moe_gating_top_k", lambda x, **k: _gating(x, torch.tensor([[2, 0], [1, 3]]), **k),
           {"norm_type": 0, "renorm": 0}, {"norm_type": 0, "renorm": 1}, {"norm_type": 1, "renorm":
           0}, x=t(2, 4), routed_scaling_factor=1.5, eps=0.1, outputs=("result0", "result1")),
    *_each("renorm", lambda self, p, dim, maxnorm: torch.renorm(self, p, dim, maxnorm), *({"p": p}
           for p in (1.0, 1.5, 2.0, 3.0, math.inf)), self=t(3, 4, 2), dim=1, maxnorm=1.9),
]
# fmt: on
