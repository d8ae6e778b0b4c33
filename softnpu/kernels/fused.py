"""Normalizations fused with an addition or an activation, and the compression of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, write, write_all

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


def _normalized(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, ...]:
    return torch.native_layer_norm(x.float(), gamma.shape, gamma.float(), beta.float(), epsilon)


def _write_fitting(outs: tuple[Tensor, ...], results: tuple[Tensor, ...]) -> None:
    """Moments come with another number of ones, and everything in float32."""
    pairs = zip(outs, results, strict=True)
    write_all(outs, [result.reshape(out.shape).to(out.dtype) for out, result in pairs])


def _gradients(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, gamma: Tensor):
    """Those of the normalized tensor, of gamma and of beta."""
    lead = x.dim() - gamma.dim()
    moments = (m.reshape(x.shape[:lead] + (1,) * gamma.dim()) for m in (mean, rstd))
    scale = gamma.float()
    return aten.native_layer_norm_backward(
        dy.float(), x.float(), gamma.shape, *moments, scale, scale, [True] * 3
    )


@kernel
def aclnnAddLayerNorm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    biasOptional: Tensor,
    epsilon: double,
    additionalOutput: bool,
    yOut: Tensor,
    meanOut: Tensor,
    rstdOut: Tensor,
    xOut: Tensor,
):
    x = x1.float() + x2.float() + (0 if biasOptional is None else biasOptional.float())
    _write_fitting((yOut, meanOut, rstdOut), _normalized(x, gamma, beta, epsilon))
    if additionalOutput:
        write(xOut, x.to(xOut.dtype))


@kernel
def aclnnAddLayerNormGrad(
    dy: Tensor,
    x1: Tensor,
    x2: Tensor,
    rstd: Tensor,
    mean: Tensor,
    gamma: Tensor,
    dsumOptional: Tensor,
    dxOut: Tensor,
    dgammaOut: Tensor,
    dbetaOut: Tensor,
):
    dx, dgamma, dbeta = _gradients(dy, x1.float() + x2.float(), mean, rstd, gamma)
    dx = dx if dsumOptional is None else dx + dsumOptional.float()
    _write_fitting((dxOut, dgammaOut, dbetaOut), (dx, dgamma, dbeta))


@kernel
def aclnnDeepNorm(
    x: Tensor,
    gx: Tensor,
    beta: Tensor,
    gamma: Tensor,
    alpha: double,
    epsilon: double,
    meanOut: Tensor,
    rstdOut: Tensor,
    yOut: Tensor,
):
    results = _normalized(alpha * x.float() + gx.float(), gamma, beta, epsilon)
    _write_fitting((yOut, meanOut, rstdOut), results)


@kernel
def aclnnDeepNormGrad(
    dy: Tensor,
    x: Tensor,
    gx: Tensor,
    gamma: Tensor,
    mean: Tensor,
    rstd: Tensor,
    alpha: double,
    dxOut: Tensor,
    dgxOut: Tensor,
    dbetaOut: Tensor,
    dgammaOut: Tensor,
):
    total = alpha * x.float() + gx.float()
    dgx, dgamma, dbeta = _gradients(dy, total, mean, rstd, gamma)
    _write_fitting((dxOut, dgxOut, dbetaOut, dgammaOut), (alpha * dgx, dgx, dbeta, dgamma))


@kernel
def aclnnGroupNormSwish(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    numGroups: int64_t,
    dataFormatOptional: String,
    eps: double,
    activateSwish: bool,
    swishScale: double,
    yOut: Tensor,
    meanOut: Tensor,
    rstdOut: Tensor,
):
    sizes = *x.shape[:2], x[0, 0].numel(), numGroups
    parameters = gamma.float(), beta.float()
    y, mean, rstd = torch.native_group_norm(x.float().contiguous(), *parameters, *sizes, eps)
    if activateSwish:
        y = y * torch.sigmoid(swishScale * y)
    _write_fitting((yOut, meanOut, rstdOut), (y, mean, rstd))


@kernel
def aclnnGroupNormSwishGrad(
    dy: Tensor,
    mean: Tensor,
    rstd: Tensor,
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    numGroups: int64_t,
    dataFormatOptional: String,
    swishScale: double,
    dgammaIsRequire: bool,
    dbetaIsRequire: bool,
    dxOut: Tensor,
    dgammaOut: Tensor,
    dbetaOut: Tensor,
):
    # The normalized tensor is not kept, so it is made again.
    grouped = x.float().reshape(x.shape[0], numGroups, -1)
    scaled = (grouped - mean.float()[..., None]) * rstd.float()[..., None]
    channels = (1, -1) + (1,) * (x.dim() - 2)
    y = scaled.reshape(x.shape) * gamma.float().reshape(channels) + beta.float().reshape(channels)
    gate = torch.sigmoid(swishScale * y)
    to_y = dy.float() * gate * (1 + swishScale * y * (1 - gate))
    sizes = *x.shape[:2], x[0, 0].numel(), numGroups, [True, dgammaIsRequire, dbetaIsRequire]
    moments = mean.float(), rstd.float(), gamma.float()
    results = aten.native_group_norm_backward(to_y, x.float().contiguous(), *moments, *sizes)
    wanted = [
        (o, r) for o, r in zip((dxOut, dgammaOut, dbetaOut), results, strict=True) if r.numel()
    ]
    _write_fitting(*zip(*wanted, strict=True))


def _windows(input: Tensor, ends: IntArray, size: int, stride: int) -> Tensor:
    """The tokens of every window, as indices: a window lies within one sequence."""
    starts = [0, *ends][:-1]
    firsts = [first for start, end in zip(starts, ends, strict=True)
              for first in range(start, end - size + 1, stride)]  # fmt: skip
    return torch.tensor(firsts).reshape(-1, 1) + torch.arange(size)


@kernel
def aclnnNsaCompress(
    input: Tensor,
    weight: Tensor,
    actSeqLenOptional: IntArray,
    layoutOptional: String,
    compressBlockSize: int64_t,
    compressStride: int64_t,
    actSeqLenType: int64_t,
    output: Tensor,
):
    windows = _windows(input, actSeqLenOptional, compressBlockSize, compressStride)
    result = (input.float()[windows] * weight.float()[..., None]).sum(1)
    write(output, result.to(output.dtype))


@kernel
def aclnnNsaCompressGrad(
    outputGrad: Tensor,
    input: Tensor,
    weight: Tensor,
    actSeqLenOptionalOptional: IntArray,
    compressBlockSize: int64_t,
    compressStride: int64_t,
    actSeqLenType: int64_t,
    layoutOptionalOptional: String,
    inputGradOut: Tensor,
    weightGradOut: Tensor,
):
    windows = _windows(input, actSeqLenOptionalOptional, compressBlockSize, compressStride)
    grad = outputGrad.float()[:, None]
    to_input = torch.zeros(input.shape).index_put(
        (windows,), grad * weight.float()[..., None], accumulate=True
    )
    write(inputGradOut, to_input.to(inputGradOut.dtype))
    write(weightGradOut, (grad * input.float()[windows]).sum((0, 3)).to(weightGradOut.dtype))
