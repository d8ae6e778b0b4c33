"""Normalization layers and their backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..soc import product, soc_name
from . import kernel
from ._precision import in_single
from ._tools import aten, write, write_all

if TYPE_CHECKING:
    from ._types import BoolArray, IntArray, Scalar, Tensor, double, int64_t


@kernel
def aclnnLayerNorm(
    input: Tensor,
    normalizedShape: IntArray,
    weightOptional: Tensor,
    biasOptional: Tensor,
    eps: double,
    out: Tensor,
    meanOutOptional: Tensor,
    rstdOutOptional: Tensor,
):
    results = torch.native_layer_norm(input, normalizedShape, weightOptional, biasOptional, eps)
    write_all((out, meanOutOptional, rstdOutOptional), results)


@kernel
def aclnnFastLayerNorm(
    input: Tensor,
    normalizedShape: IntArray,
    weightOptional: Tensor,
    biasOptional: Tensor,
    eps: double,
    out: Tensor,
    meanOutOptional: Tensor,
    rstdOutOptional: Tensor,
):
    results = torch.native_layer_norm(input, normalizedShape, weightOptional, biasOptional, eps)
    write_all((out, meanOutOptional, rstdOutOptional), results)


@kernel
def aclnnLayerNormBackward(
    gradOut: Tensor,
    input: Tensor,
    normalizedShape: IntArray,
    mean: Tensor,
    rstd: Tensor,
    weightOptional: Tensor,
    biasOptional: Tensor,
    outputMask: BoolArray,
    gradInputOut: Tensor,
    gradWeightOut: Tensor,
    gradBiasOut: Tensor,
):
    parameters = weightOptional, biasOptional, list(outputMask)
    shape = input.shape[: input.dim() - len(normalizedShape)] + (1,) * len(normalizedShape)
    results = in_single(aten.native_layer_norm_backward)(
        gradOut, input, normalizedShape, mean.reshape(shape), rstd.reshape(shape), *parameters
    )
    _write_parts((gradInputOut, gradWeightOut, gradBiasOut), results)


def _write_parts(outs, results) -> None:
    """Writes those gradients that were asked for."""
    for out, result in zip(outs, results, strict=True):
        if out is not None and result is not None:
            write(out, result.reshape(out.shape))


@kernel
def aclnnGroupNorm(
    self: Tensor,
    gammaOptional: Tensor,
    betaOptional: Tensor,
    n: int64_t,
    c: int64_t,
    hxw: int64_t,
    group: int64_t,
    eps: double,
    out: Tensor,
    meanOut: Tensor,
    rstdOut: Tensor,
):
    parameters = gammaOptional, betaOptional, n, c, hxw, group, eps
    results = torch.native_group_norm(self.contiguous(), *parameters)
    _write_parts((out, meanOut, rstdOut), results)


@kernel
def aclnnGroupNormBackward(
    gradOut: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: Tensor,
    N: int64_t,
    C: int64_t,
    HxW: int64_t,
    group: int64_t,
    outputMask: BoolArray,
    gradInput: Tensor,
    gradGammaOut: Tensor,
    gradBetaOut: Tensor,
):
    if group < 1 or C % group:  # torch would divide by 0, and end the process
        raise ValueError(f"{C} channels are not divided by {group} groups")
    sizes = N, C, HxW, group, list(outputMask)
    moments = mean.reshape(N, group), rstd.reshape(N, group), gamma
    grads = gradOut.contiguous(), input.contiguous()
    results = aten.native_group_norm_backward(*grads, *moments, *sizes)
    _write_parts((gradInput, gradGammaOut, gradBetaOut), results)


@kernel
def aclnnGroupNormSilu(
    self: Tensor,
    gamma: Tensor,
    beta: Tensor,
    group: int64_t,
    eps: double,
    out: Tensor,
    meanOut: Tensor,
    rstdOut: Tensor,
):
    n, c = self.shape[:2]
    count = self[0, 0].numel()
    results = torch.native_group_norm(self.contiguous(), gamma, beta, n, c, count, group, eps)
    _write_parts((out, meanOut, rstdOut), (aten.silu(results[0]), *results[1:]))


# What aclnnBatchNorm saves under the name saveInvstd is the variance on A2 and A3, and what its
# name says on 950DT: so say the document and the host code of both, and the kernels
# (norm/batch_norm_v3 in ops-nn).
def _saves_variance() -> bool:
    return product(soc_name()) != "950DT"


def _from_saved(saved: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(saved + eps) if _saves_variance() else saved


@kernel
def aclnnBatchNorm(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    runningMean: Tensor,
    runningVar: Tensor,
    training: bool,
    momentum: double,
    eps: double,
    output: Tensor,
    saveMean: Tensor,
    saveInvstd: Tensor,
):
    state = runningMean, runningVar, training, momentum, eps
    result, mean, invstd = torch.native_batch_norm(input, weight, bias, *state)
    write(output, result)
    if training and _saves_variance():
        invstd = torch.var(input.float(), other_dimensions(input), correction=0)
    if training:
        write_all((saveMean, saveInvstd), (mean, invstd))
    else:
        # torch's are empty here; torch_npu's have an element for each channel, and its
        # backward reads none of them.
        saveMean.zero_(), saveInvstd.zero_()


@kernel
def aclnnBatchNormBackward(
    gradOut: Tensor,
    input: Tensor,
    weight: Tensor,
    runningMean: Tensor,
    runningVar: Tensor,
    saveMean: Tensor,
    saveInvstd: Tensor,
    training: bool,
    eps: double,
    outputMask: BoolArray,
    gradInput: Tensor,
    gradWeight: Tensor,
    gradBias: Tensor,
):
    if training and saveInvstd is not None:
        saveInvstd = _from_saved(saveInvstd, eps)
    used = (saveMean, saveInvstd) if training else (runningMean, runningVar)
    if any(one is None or one.shape != (input.shape[1],) for one in used):
        raise RuntimeError(f"no mean and variance of {input.shape[1]} channels")
    saved = runningMean, runningVar, saveMean, saveInvstd, training, eps, list(outputMask)
    results = in_single(aten.native_batch_norm_backward)(gradOut, input, weight, *saved)
    _write_parts((gradInput, gradWeight, gradBias), results)


def channels(vector: Tensor, like: Tensor) -> Tensor:
    """A value for each channel, so shaped that it meets dimension 1 of a tensor."""
    return vector.reshape(1, -1, *[1] * (like.dim() - 2))


def other_dimensions(x: Tensor) -> list[int]:
    """All dimensions but the channels'."""
    return [0, *range(2, x.dim())]


@kernel
def aclnnBatchNormStats(input: Tensor, eps: double, mean: Tensor, invstd: Tensor):
    variance, average = torch.var_mean(input.float(), other_dimensions(input), correction=0)
    write_all((mean, invstd), (average, torch.rsqrt(variance + eps)))


@kernel
def aclnnBatchNormElemt(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    invstd: Tensor,
    eps: double,
    output: Tensor,
):
    result = (input - channels(mean, input)) * channels(invstd, input)
    if weight is not None:
        result = result * channels(weight, input)
    if bias is not None:
        result = result + channels(bias, input)
    write(output, result.to(output.dtype))


@kernel
def aclnnBatchNormReduce(x: Tensor, sum: Tensor, squareSum: Tensor):
    write_all((sum, squareSum), (x.sum(other_dimensions(x)), (x * x).sum(other_dimensions(x))))


@kernel
def aclnnRmsNorm(x: Tensor, gamma: Tensor, epsilon: double, yOut: Tensor, rstdOut: Tensor):
    rstd = _rstd(x, gamma, epsilon)
    write(yOut, (x.float() * rstd * gamma.float()).to(yOut.dtype))
    write(rstdOut, rstd)


def _rstd(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    return torch.rsqrt(x.float().square().mean(dims, keepdim=True) + epsilon)


@kernel
def aclnnAddRmsNorm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    epsilon: double,
    yOut: Tensor,
    rstdOut: Tensor,
    xOut: Tensor,
):
    x = x1 + x2
    rstd = _rstd(x, gamma, epsilon)
    write(xOut, x)
    write(yOut, (x.float() * rstd * gamma.float()).to(yOut.dtype))
    write(rstdOut, rstd)


@kernel
def aclnnRmsNormGrad(
    dy: Tensor, x: Tensor, rstd: Tensor, gamma: Tensor, dxOut: Tensor, dgammaOut: Tensor
):
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    normal = x.float() * rstd
    scaled = dy.float() * gamma.float()
    share = (scaled * normal).mean(dims, keepdim=True)
    write(dxOut, (rstd * (scaled - normal * share)).to(dxOut.dtype))
    write(dgammaOut, (dy.float() * normal).sum_to_size(gamma.shape).to(dgammaOut.dtype))


@kernel
def aclnnRenorm(self: Tensor, p: Scalar, dim: int64_t, maxNorm: Scalar, out: Tensor):
    write(out, torch.renorm(self, p, dim, maxNorm))


@kernel
def aclnnInplaceRenorm(selfRef: Tensor, p: Scalar, dim: int64_t, maxNorm: Scalar):
    write(selfRef, torch.renorm(selfRef, p, dim, maxNorm))
