"""Kernels that torch_npu 2.13.0 does not call on the emulated A2, or not in this way.

They are called as the Python functions they are, on CPU tensors. Each function gets the
kernel and inputs, and returns pairs of what the kernel wrote and what is true.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from kernel_calls import Inputs, aten
from kernel_calls_attention import direct as attention

from softnpu.kernels import kernels

KERNELS = kernels()


def _made(kernel, true, *inputs):
    """Runs a kernel whose last parameter is its only output."""
    out = torch.full_like(true, 77)
    kernel(*inputs, out)
    return [(out, true)]


def _inplace(kernel, true, first, *rest):
    kernel(first, *rest)
    return [(first, true)]


def _listed(kernel, function, lists, number, given):
    """A kernel on lists of tensors, with one number for all or one for each in a tensor."""
    outs = [torch.full_like(tensor, 77) for tensor in lists[0]]
    kernel(*lists, given, outs)
    numbers = number if isinstance(number, list) else [number] * len(outs)
    true = [function(*tensors, n) for *tensors, n in zip(*lists, numbers, strict=True)]
    return list(zip(outs, true, strict=True))


def _scalar(function):
    """``aclnnForeachXScalar``: its number comes as a tensor of one element."""
    return lambda kernel, x: _listed(
        kernel, function, [(x.positive(3), x.positive(2))], 0.75, torch.tensor([0.75])
    )


def _pair(function, alpha):
    lists = lambda x: [(x(3), x(2)), (x(3), x(2))]  # noqa: E731
    return lambda kernel, x: _listed(kernel, function, lists(x), alpha, torch.tensor([alpha]))


def _triple(function):
    lists = lambda x: [(x(3), x(2)), (x(3), x(2)), (x.positive(3), x.positive(2))]  # noqa: E731
    return lambda kernel, x: _listed(kernel, function, lists(x), 0.75, torch.tensor([0.75]))


def _scatter(kernel, x: Inputs):
    given = x(3, 4), 0, x.of([[0, 2]]), x(1, 2)
    return [
        pair
        for code, reduce in ((1, "add"), (2, "multiply"))
        for pair in _made(kernel, given[0].scatter(*given[1:], reduce=reduce), *given, code)
    ]


def _scatter_reduce(kernel, x: Inputs):
    given = x(3, 4), 1, x.of([[0, 0], [1, 3]]), x(2, 2)
    codes = {1: "sum", 2: "prod", 3: "amax", 4: "amin", 5: "mean"}
    return [
        pair
        for code, reduce in codes.items()
        for own in (True, False)
        for pair in _made(
            kernel, torch.scatter_reduce(*given, reduce, include_self=own), *given, code, own
        )
    ]


def _one_batch_for_all(kernel, function, x: Inputs, *first):
    """A batch of 1 in either operand, which CANN's operators take and torch's do not."""
    batches = [(x(1, 3, 4), x(2, 4, 5)), (x(2, 3, 4), x(1, 4, 5)), (x(1, 3, 4), x(0, 4, 5))]
    rest = (0.5, 2) if first else ()
    return [
        pair
        for a, b in batches
        for pair in _made(
            lambda *given: kernel(*given, 0), function(*first, a @ b), *first, a, b, *rest
        )
    ]


def _first(kernel, x: Inputs, true, out, *inputs):
    """A kernel that finds the shape of its output only when it runs."""
    shape = kernel(*inputs, out)["out"]
    return [(out.flatten()[: true.numel()].reshape(shape), true)]


def _max_pool(kernel, x: Inputs):
    self = x(2, 3, 5, 6)
    true = aten.max_pool2d_with_indices(self, (2, 3), (2, 2), (1, 1), (1, 1), False)
    outs = torch.empty_like(true[0]), torch.empty(true[1].shape, dtype=torch.int32)
    kernel(self, (2, 3), (2, 2), (1, 1), (1, 1), False, *outs)
    return [(outs[0], true[0]), (outs[1].long(), true[1])]


def _max_pool_backward(kernel, x: Inputs):
    self = x(2, 3, 5, 6)
    place = (2, 3), (2, 2), (1, 1), (1, 1), False
    out, indices = aten.max_pool2d_with_indices(self, *place)
    true = aten.max_pool2d_with_indices_backward(out, self, *place, indices)
    return _made(kernel, true, out, self, indices.int(), *place)


def _split(kernel, x: Inputs):
    self, outs = x(2, 4), [torch.empty(2, 3), torch.empty(2, 1)]
    kernel(self, (3, 1), 1, outs)
    return list(zip(outs, self.split((3, 1), 1), strict=True))


def _several(kernel, trues, *inputs):
    outs = [torch.full_like(true, 77) for true in trues]
    kernel(*inputs, *outs)
    return list(zip(outs, trues, strict=True))


def _layer_norm(kernel, x: Inputs):
    given = x(3, 4), (4,), x(4), x(4), 1e-5
    return _several(kernel, aten.native_layer_norm(*given), *given)


def _group_norm_silu(kernel, x: Inputs):
    self, gamma, beta = x(2, 4, 3), x(4), x(4)
    out, mean, rstd = aten.native_group_norm(self, gamma, beta, 2, 4, 3, 2, 1e-5)
    return _several(kernel, (F.silu(out), mean, rstd), self, gamma, beta, 2, 1e-5)


def _add_rms_norm(kernel, x: Inputs):
    x1, x2, gamma = x(3, 4), x(3, 4), x(4)
    total = x1 + x2
    rstd = torch.rsqrt(total.square().mean(1, keepdim=True) + 1e-5)
    return _several(
        kernel, (F.rms_norm(total, (4,), gamma, 1e-5), rstd, total), x1, x2, gamma, 1e-5
    )


def _rms_norm_grad(kernel, x: Inputs):
    self, gamma, grad = x(3, 4).requires_grad_(), x(4).requires_grad_(), x(3, 4)
    true = torch.autograd.grad(F.rms_norm(self, (4,), gamma, 1e-5), (self, gamma), grad)
    self, gamma = self.detach(), gamma.detach()
    rstd = torch.rsqrt(self.square().mean(1, keepdim=True) + 1e-5)
    return _several(kernel, true, grad, self, rstd, gamma)


def _batch_norm_stats(kernel, x: Inputs):
    self = x(4, 3, 2)
    _, mean, invstd = torch.native_batch_norm(self, None, None, None, None, True, 0.1, 1e-5)
    return _several(kernel, (mean, invstd), self, 1e-5)


def _batch_norm_elements(kernel, x: Inputs):
    self, weight, bias, mean, variance = x(4, 3, 2), x(3), x(3), x(3), x.positive(3)
    true = F.batch_norm(self, mean, variance, weight, bias, False, 0.1, 1e-5)
    return _made(kernel, true, self, weight, bias, mean, torch.rsqrt(variance + 1e-5), 1e-5)


def _cdist_backward(kernel, x: Inputs):
    x1, x2 = x(3, 4).requires_grad_(), x(5, 4)
    distance = torch.cdist(x1, x2, 1.5)
    true = torch.autograd.grad(distance.sum(), x1)[0]
    return _made(kernel, true, torch.ones(3, 5), x1.detach(), x2, distance.detach(), 1.5)


def _fast_gelu_backward(kernel, x: Inputs):
    grad, self = x(3, 4), x(3, 4).requires_grad_()
    true = torch.autograd.grad(self * torch.sigmoid(1.702 * self), self, grad)[0]
    return _made(kernel, true, grad, self.detach())


def _swiglu_backward(kernel, x: Inputs):
    grad, self = x(3, 2), x(3, 4).requires_grad_()
    true = torch.autograd.grad(F.silu(self[:, :2]) * self[:, 2:], self, grad)[0]
    return _made(kernel, true, grad, self.detach(), -1)


def _interleave_backward(kernel, x: Inputs):
    self, repeats = x(3, 2).requires_grad_(), x.of([2, 0, 3])
    result = torch.repeat_interleave(self, repeats, 0)
    grad = x(5, 2)
    true = torch.autograd.grad(result, self, grad)[0]
    return _made(kernel, true, grad, repeats, 0)


def _bilinear_backward(kernel, x: Inputs):
    given = x(1, 2, 7, 3), (7, 3), (1, 2, 4, 6), True, None, None
    true = aten.upsample_bilinear2d_backward(*given)
    return _made(kernel, true, *given[:4], 0.0, 0.0)


def _rounded(kernel, x: Inputs):
    codes = {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 7: torch.frac}
    return [
        pair
        for code, function in codes.items()
        for pair in _listed(
            kernel, lambda t, _, f=function: f(t), [(x(3), x(2))], code, torch.tensor([code])
        )
    ]


def _rfft(kernel, x: Inputs):
    self = x(3, 8)
    return [
        pair
        for code, norm in ((1, "backward"), (2, "forward"), (3, "ortho"))
        for pair in _made(
            kernel, torch.view_as_real(torch.fft.rfft(self, 6, 1, norm)), self, 6, 1, code
        )
    ]


def _random(kernel, x: Inputs):
    first, second, other = (torch.zeros(1000, dtype=torch.uint8) for _ in range(3))
    kernel(first, 5, 4)
    kernel(second, 5, 4)
    kernel(other, 5, 8)
    spread = torch.tensor([len(set(first.tolist())) > 200, not torch.equal(first, other)])
    return [(first, second), (spread, torch.tensor([True, True]))]


def _exponential(kernel, x: Inputs):
    first, second = torch.zeros(1_000_000), torch.zeros(1_000_000)
    kernel(first, first.numel(), 2.0, 5, 4)
    kernel(second, first.numel(), 2.0, 5, 4)
    moments = torch.stack([first.mean(), first.std()])
    close = (moments - 0.5).abs() < 0.004
    return [(first, second), (close, torch.tensor([True, True]))]


def _mask(kernel, x: Inputs):
    """The mask's layout is softnpu's own: what counts is that the other kernel reads it."""
    mask = torch.zeros(128, dtype=torch.uint8)
    kernel((1000,), 0.2, 5, 4, mask)
    kept = torch.tensor([byte >> bit & 1 for byte in mask.tolist() for bit in range(8)])[:1000]
    self, out = x.positive(1000), torch.empty(1000)
    KERNELS["aclnnDropoutDoMask"](self, mask, 0.2, out)
    shares = torch.tensor([0.75 < kept.float().mean().item() < 0.85])
    return [(out, self * (kept * torch.tensor(1 / 0.8))), (shares, torch.tensor([True]))]


def _dropout(kernel, x: Inputs):
    """Mask and result in one: the other kernel agrees with it."""
    mask, again = torch.zeros(128, dtype=torch.uint8), torch.zeros(128, dtype=torch.uint8)
    self, out, wanted = x.positive(1000), torch.empty(1000), torch.empty(1000)
    kernel(self, None, 0.2, 5, 4, out, mask)
    KERNELS["aclnnDropoutGenMask"]((1000,), 0.2, 5, 4, again)
    KERNELS["aclnnDropoutDoMask"](self, mask, 0.2, wanted)
    return [(mask, again), (out, wanted)]


def _clamped(name):
    return lambda t, n: getattr(torch, name)(t, n)


DIRECT = {
    "aclnnAddbmm": lambda k, x: _one_batch_for_all(
        k, lambda t, product: 0.5 * t + 2 * product.sum(0), x, x(3, 5)
    ),
    "aclnnBaddbmm": lambda k, x: _one_batch_for_all(
        k, lambda t, product: 0.5 * t + 2 * product, x, x(1, 3, 5)
    ),
    "aclnnBatchMatMul": lambda k, x: _one_batch_for_all(k, lambda product: product, x),
    "aclnnDropoutGenMask": _mask,
    "aclnnDropoutV3": _dropout,
    "aclnnFlashAttentionScoreV4": lambda k, x: attention(
        k, KERNELS["aclnnFlashAttentionScoreGradV4"], x
    ),
    "aclnnFlashAttentionScoreGradV4": lambda k, x: attention(
        KERNELS["aclnnFlashAttentionScoreV4"], k, x
    ),
    "aclnnInplaceRandomWithoutFromTo": _random,
    "aclnnSimThreadExponential": _exponential,
    # torch_npu takes the older operators here, the host, or another variant.
    "aclnnBucketize": lambda k, x: _made(
        k, torch.bucketize(t := x(3, 4), b := x.of([-1.0, 0, 1]), right=True), t, b, False, True
    ),
    "aclnnCast": lambda k, x: _made(k, (t := x(3, 4)).to(torch.int32), t, 3),
    "aclnnCdistBackward": _cdist_backward,
    "aclnnConfusionTranspose": lambda k, x: [
        *_made(k, (t := x(2, 3, 4)).permute(1, 0, 2).reshape(3, 8), t, (1, 0, 2), (3, 8), True),
        *_made(k, t.reshape(6, 4).permute(1, 0), t, (1, 0), (6, 4), False),
    ],
    "aclnnGatherV3": lambda k, x: _made(
        k, F.embedding(i := x.whole(2, 4, high=5), t := x(5, 3)), t, 0, i, 0, 0
    ),
    "aclnnHardswishBackward": lambda k, x: _made(
        k, aten.hardswish_backward(g := x(3, 4), t := x(3, 4)), g, t
    ),
    "aclnnIndexAddV2": lambda k, x: _made(
        k, (t := x(3, 4)).index_add(1, i := x.of([0, 2]), s := x(3, 2), alpha=2), t, 1, i, s, 2, 1
    ),
    "aclnnIndexFillTensor": lambda k, x: _made(
        k, (t := x(3, 4)).index_fill(1, x.of([0, 2]), 2.5), t, 1, (0, 2), 2.5
    ),
    "aclnnInplaceIndexFillTensor": lambda k, x: _inplace(
        k, (t := x(3, 4)).index_fill(1, x.of([0, 2]), 2.5), t, 1, (0, 2), 2.5
    ),
    "aclnnLeftShifts": lambda k, x: _made(k, (t := x.whole(3, 4)) << 2, t, 2),
    "aclnnLogSigmoid": lambda k, x: _made(k, F.logsigmoid(t := x(3, 4)), t),
    "aclnnMaskedScale": lambda k, x: _made(
        k, (t := x(3, 4)) * (m := x.whole(3, 4, high=2, dtype=torch.uint8)) * 2.5, t, m, 2.5
    ),
    "aclnnMaxPool2dWithIndices": _max_pool,
    "aclnnMaxPool2dWithIndicesBackward": _max_pool_backward,
    "aclnnNonzeroV2": lambda k, x: _first(
        k, x, torch.nonzero(t := x.flags(3, 4)).t(), torch.empty(2, 12, dtype=torch.int64), t
    ),
    "aclnnNpuFormatCast": lambda k, x: _made(k, t := x(3, 4), t),
    "aclnnRepeatInterleaveGrad": _interleave_backward,
    "aclnnScatter": _scatter,
    "aclnnScatterValue": lambda k, x: _made(
        k, (t := x(3, 4)).scatter(1, i := x.of([[0, 2]]), 2.5, reduce="add"), t, 1, i, 2.5, 1
    ),
    "aclnnScatterReduce": _scatter_reduce,
    "aclnnSplitWithSize": _split,
    "aclnnUpsampleBilinear2dBackward": _bilinear_backward,
    "aclnnUpsampleNearest1d": lambda k, x: _made(k, F.interpolate(t := x(1, 2, 4), 7), t, (7,)),
    "aclnnUpsampleNearest2d": lambda k, x: _made(
        k, F.interpolate(t := x(1, 2, 4, 5), (7, 3)), t, (7, 3)
    ),
    "aclRfft1D": _rfft,
    # torch has no such function: the truth is composed of others, within rounding.
    "aclnnFastGelu": lambda k, x: _made(k, (t := x(3, 4)) * torch.sigmoid(1.702 * t), t),
    "aclnnFastGeluBackward": _fast_gelu_backward,
    "aclnnSwiGluGrad": _swiglu_backward,
    "aclnnFastLayerNorm": _layer_norm,
    "aclnnGroupNormSilu": _group_norm_silu,
    "aclnnAddRmsNorm": _add_rms_norm,
    "aclnnRmsNormGrad": _rms_norm_grad,
    "aclnnBatchNormStats": _batch_norm_stats,
    "aclnnBatchNormElemt": _batch_norm_elements,
    "aclnnBatchNormReduce": lambda k, x: _several(
        k, ((t := x(4, 3, 2)).sum((0, 2)), t.square().sum((0, 2))), t
    ),
    # Lists whose number is a tensor: torch_npu uses the second versions where they exist.
    "aclnnForeachAddScalar": _scalar(torch.add),
    "aclnnForeachDivScalar": _scalar(torch.div),
    "aclnnForeachMaximumScalar": _scalar(_clamped("clamp_min")),
    "aclnnForeachMinimumScalar": _scalar(_clamped("clamp_max")),
    "aclnnForeachMulScalar": _scalar(torch.mul),
    "aclnnForeachPowScalar": _scalar(torch.pow),
    "aclnnForeachSubScalar": _scalar(torch.sub),
    "aclnnForeachAddList": _pair(lambda a, b, n: torch.add(a, b, alpha=n), 3),
    "aclnnForeachSubList": _pair(lambda a, b, n: torch.sub(a, b, alpha=n), 3),
    "aclnnForeachAddcdivScalar": _triple(lambda a, b, c, n: torch.addcdiv(a, b, c, value=n)),
    "aclnnForeachAddcmulScalar": _triple(lambda a, b, c, n: torch.addcmul(a, b, c, value=n)),
    "aclnnForeachRoundOffNumber": _rounded,
}
