"""Formulas for operators of ``aten`` that PyTorch does not compose of others.

Each is the operator written in operators whose tangents torch_npu keeps. What a formula is right for is every
derivative: its parts have formulas of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu_forward_ad.registration import HAS_KERNELS, Own, Repair, borrowed, guarded

aten = torch.ops.aten


def native_dropout(own: Own, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """What torch_npu's kernel drops of ones is what it drops of `x`: one mask for value and tangent."""
    if train is False:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    scale, mask = own.plain(torch.ones_like(x, requires_grad=False), p, train)
    return x * scale, mask


def renorm(own: Own, x: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice along `dim` scaled to the norm `maxnorm`, where it is longer."""
    others = [place for place in range(x.dim()) if place != dim % x.dim()]
    norm = torch.linalg.vector_norm(_wide(x), p, others, keepdim=True)
    factor = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), torch.ones_like(norm))
    return x * factor.to(x.dtype)


def renorm_(own: Own, x: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """`renorm`, in place."""
    return x.copy_(renorm(own, x, p, dim, maxnorm))


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _windows(
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    device: torch.device,
) -> tuple[list[int], Tensor, Tensor]:
    """Return the size of what comes out, and of each window the flat places in an image and which are inside."""
    counts, places, inside = [], [], []
    for axis in range(2):
        length, reach = size[axis], dilation[axis] * (kernel[axis] - 1)
        room = length + 2 * padding[axis] - reach - 1
        count = (room + (stride[axis] - 1 if ceil_mode else 0)) // stride[axis] + 1
        if ceil_mode and (count - 1) * stride[axis] >= length + padding[axis]:
            count -= 1  # a window that begins behind the image is none
        begins = torch.arange(count) * stride[axis] - padding[axis]
        at = begins[:, None] + torch.arange(kernel[axis]) * dilation[axis]
        counts.append(count)
        places.append(at.clamp(0, length - 1))
        inside.append((at >= 0) & (at < length))
    row, row_in = (one[:, None, :, None] for one in (places[0], inside[0]))
    column, column_in = (one[None, :, None, :] for one in (places[1], inside[1]))
    flat = (row * size[1] + column).flatten(0, 1).flatten(1)
    within = (row_in & column_in).flatten(0, 1).flatten(1)
    return counts, flat.to(device), within.to(device)


def _pair(value: Any) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * 2 if len(value) == 1 else value


def max_pool2d_with_indices(
    own: Own,
    x: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest of each window, gathered: torch_npu's kernel gives bits of a mask, which lead to no tangent."""
    kernel = _pair(kernel_size)
    words = (kernel, _pair(stride or kernel), _pair(padding), _pair(dilation))
    counts, places, inside = _windows(x.shape[-2:], *words, ceil_mode, x.device)
    flat = x.flatten(-2)
    windows = flat[..., places].masked_fill(~inside, float("-inf"))
    best = windows.detach().argmax(-1, keepdim=True)
    # In the order of the windows, so that the first of equal ones is taken, as on the CPU.
    indices = torch.gather(places.expand(windows.shape), -1, best).squeeze(-1)
    values = torch.gather(flat, -1, indices)
    if x.requires_grad:  # so that the gradient, which is constant, has a tangent, as on the CPU
        values = values * _all(values, 1)
    return values.unflatten(-1, counts), indices.unflatten(-1, counts)


def max_pool2d_with_indices_backward(
    own: Own,
    grad: Tensor,
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Each gradient goes where its largest element was."""
    if (
        indices.shape != grad.shape
    ):  # the bits of torch_npu's mask: the forward pass was not differentiated
        words = (kernel_size, stride, padding, dilation, ceil_mode)
        indices = max_pool2d_with_indices(own, x.detach(), *words)[1]
    places = indices.long().flatten(-2)
    return _all(x, 0).flatten(-2).scatter_add(-1, places, grad.flatten(-2)).view_as(x)


def _all(x: Tensor, value: float) -> Tensor:
    """Return constants that depend on `x`: their tangent is zero, which is not the same as none."""
    return x.masked_fill(torch.ones((), dtype=torch.bool, device=x.device), value)


def gelu(own: Own, x: Tensor, *, approximate: str = "none") -> Tensor:
    """As PyTorch has it: torch_npu's kernels take one formula for the value and the other for the derivative."""
    wide = _wide(x)
    if approximate == "tanh":
        inner = torch.tanh((2 / math.pi) ** 0.5 * (wide + 0.044715 * wide**3))
    else:
        inner = torch.erf(wide * 0.5**0.5)
    return (0.5 * wide * (1 + inner)).to(x.dtype)


def cdist(
    own: Own, x: Tensor, y: Tensor, p: float = 2.0, compute_mode: int | None = None
) -> Tensor:
    """The norms of the differences: PyTorch's own parts have no forward formula on any device."""
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def weight_norm(own: Own, v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Each slice of `v` scaled to the norm `g`."""
    return v * (g / torch.norm_except_dim(v, 2, dim))


def layer_norm(
    own: Own,
    x: Tensor,
    shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's formula for the tangent takes mean and deviation for constants: on every device the gradient of
    such a tangent is silently wrong. Where none can be asked for, it is shorter.
    """
    if not _wanted(x):
        return own(x, shape, weight, bias, eps)
    dims = [*range(x.dim() - len(shape), x.dim())]
    wide = _wide(x)
    mean = wide.mean(dims, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(dims, keepdim=True) + eps)
    y = (wide - mean) * rstd
    y = y if weight is None else y * _wide(weight)
    y = y if bias is None else y + _wide(bias)
    return y.to(x.dtype), mean, rstd


def _wanted(x: Tensor) -> bool:
    """Whether PyTorch's formula for the tangent of a norm is not right: in half precision, or recorded."""
    half = x.dtype in (torch.float16, torch.bfloat16)
    return bool(x.numel()) and (half or (torch.is_grad_enabled() and x.requires_grad))


def batch_norm(
    own: Own,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `layer_norm`; torch_npu's kernel takes the running moments along.

    In training PyTorch's formula takes what the kernel saves for the inverse of the deviation; on A2
    and A3 it is the variance.
    """
    words = (running_mean, running_var, training, momentum, eps)
    if not (training and x.numel()) and not _wanted(x):
        return own(x, weight, bias, *words)
    plain = (None if one is None else one.detach() for one in (x, weight, bias))
    _, saved_mean, saved_deviation = own.plain(*plain, *words)
    wide, channels = _wide(x), (1, -1) + (1,) * (x.dim() - 2)
    if training:
        dims = [0, *range(2, x.dim())]
        mean = wide.mean(dims, keepdim=True)
        variance = (wide - mean).square().mean(dims, keepdim=True)
    else:
        mean, variance = (_wide(one).reshape(channels) for one in (running_mean, running_var))
    y = (wide - mean) * torch.rsqrt(variance + eps)
    y = y if weight is None else y * _wide(weight).reshape(channels)
    y = y if bias is None else y + _wide(bias).reshape(channels)
    return y.to(x.dtype), saved_mean, saved_deviation


def pack_padded_sequence(
    own: Own, x: Tensor, lengths: Tensor, batch_first: bool
) -> tuple[Tensor, Tensor]:
    """The steps of all sequences that have one, step by step: rows of `x`. PyTorch has no formula on any device."""
    sizes = (lengths.unsqueeze(0) > torch.arange(int(lengths[0])).unsqueeze(1)).sum(1)
    steps = x.transpose(0, 1) if batch_first else x
    count = steps.shape[1]
    rows = torch.cat([step * count + torch.arange(int(n)) for step, n in enumerate(sizes)])
    return steps.flatten(0, 1).index_select(0, rows.to(x.device)), sizes


def gru_cell(
    own: Own,
    to_input: Tensor,
    to_hidden: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The new state; what the fused kernel keeps for its backward pass is not made."""
    to_input = to_input if input_bias is None else to_input + input_bias
    to_hidden = to_hidden if hidden_bias is None else to_hidden + hidden_bias
    (ir, iz, i_new), (hr, hz, h_new) = to_input.chunk(3, -1), to_hidden.chunk(3, -1)
    new = torch.tanh(i_new + torch.sigmoid(ir + hr) * h_new)
    return new + torch.sigmoid(iz + hz) * (hx - new), hx.new_empty(0)


def bce_with_logits(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """Reduction: 0 is none, 1 the mean, 2 the sum."""
    log_weight = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * x - log_weight * log_sigmoid(None, x)
    loss = loss if weight is None else loss * weight
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def log_sigmoid(own: Own, x: Tensor) -> Tensor:
    """Without the buffer of torch_npu's kernel, which is empty and has no place in a batch."""
    return -torch.nn.functional.softplus(-x)


FORMULAS: dict[str, Callable[..., Any]] = {
    "aten::native_dropout": native_dropout,
    "aten::renorm": renorm,
    "aten::renorm_": renorm_,
    "aten::max_pool2d_with_indices": max_pool2d_with_indices,
    "aten::gelu": gelu,
    "aten::log_sigmoid": log_sigmoid,
    "aten::native_batch_norm": batch_norm,
    "aten::native_layer_norm": layer_norm,
    "aten::cdist": cdist,
    "aten::_pack_padded_sequence": pack_padded_sequence,
    "aten::_thnn_fused_gru_cell": gru_cell,
    "aten::_weight_norm": weight_norm,
}
# Right as they are but for what few ask for, and too dear where formulas are taken always (before torch 2.9).
DEAR = {"aten::gelu", "aten::native_batch_norm", "aten::native_layer_norm"}
BCE = "aten::binary_cross_entropy_with_logits"
# PyTorch's own autograd kernel is right, and torch_npu's stands before it; the place of an argument
# that torch_npu's kernel gives no gradient.
BORROWED = {
    "aten::_fft_c2r": None,
    "aten::_fft_r2c": None,
    BCE: 1,  # its target
    "aten::gather": None,
}
# The kernels want tensors of one shape, which a batch of tangents and a value are not; PyTorch's
# decompositions broadcast.
BATCHED = (
    "hardsigmoid_backward",
    "hardswish_backward",
    "hardtanh_backward",
    "leaky_relu_backward",
    "elu_backward",
)


def register(made: Repair) -> None:
    """Put the formulas, PyTorch's own autograd kernels and the rules for batches in place."""
    for name, formula in FORMULAS.items():
        if HAS_KERNELS or name not in DEAR:
            made.put(name, guarded(name, formula, own=True))
    if not HAS_KERNELS:
        made.put(BCE, guarded(BCE, bce_with_logits))
    for name, records in BORROWED.items():
        if kernel := borrowed(name, records):
            made.put(name, kernel)
    if HAS_KERNELS:
        made.put("aten::cumsum", _counting("aten::cumsum"))
    for name in BATCHED:
        overload = getattr(aten, name).default
        made.put(
            f"aten::{name}",
            torch._decomp.decomposition_table[overload],
            "FuncTorchBatched",
            keyset=False,
        )
    # torch_npu has a kernel of it for the CPU, below autograd: transforms lose the tangent there too.
    if torch._C._dispatch_has_kernel_for_dispatch_key("aten::true_divide.Tensor", "CPU"):
        for name in ("aten::true_divide.Tensor", "aten::true_divide_.Tensor"):
            kind = getattr(aten, name[6:].partition(".")[0]).Tensor
            made.put(name, kind.decompose, "AutogradCPU", keyset=False)


def _counting(name: str) -> Callable[..., Any]:
    """CANN refuses booleans, of which the tangent of `cumprod` has some: they are counted as integers."""
    theirs = Own(name).kernel

    def kernel(keyset: Any, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return theirs(keyset, x.long() if x.dtype == torch.bool else x, *args, **kwargs)

    return kernel
