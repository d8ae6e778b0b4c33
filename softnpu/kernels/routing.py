"""Routing tokens to experts on one device, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import known, write

if TYPE_CHECKING:
    from ._types import IntArray, Tensor, double, int64_t


def _unpadded(padded: bool) -> None:
    if padded:
        raise NotImplementedError("routing of tokens with padding")


@kernel
def aclnnMoeTokenPermute(
    tokens: Tensor,
    indices: Tensor,
    numOutTokens: int64_t,
    paddedMode: bool,
    permuteTokensOut: Tensor,
    sortedIndicesOut: Tensor,
):
    _unpadded(paddedMode)
    order = torch.argsort(indices.flatten(), stable=True)
    of_each = indices.numel() // len(tokens)
    write(permuteTokensOut, tokens[order[: len(permuteTokensOut)] // of_each])
    write(sortedIndicesOut, torch.argsort(order).int())


def _back(tokens: Tensor, places: Tensor, of_each: int) -> Tensor:
    """The rows that came of each token, zero where one was left out: (tokens, of_each, width)."""
    rows = torch.zeros(len(places), tokens.shape[1], dtype=tokens.dtype)
    there = places < len(tokens)
    rows[there] = tokens[places[there].long()]
    return rows.unflatten(0, (-1, of_each))


@kernel
def aclnnMoeTokenPermuteGrad(
    permutedOutputGrad: Tensor,
    sortedIndices: Tensor,
    numTopk: int64_t,
    paddedMode: bool,
    out: Tensor,
):
    _unpadded(paddedMode)
    rows = _back(permutedOutputGrad.float(), sortedIndices, numTopk)
    write(out, rows.sum(1).to(out.dtype))


@kernel
def aclnnMoeTokenUnpermute(
    permutedTokens: Tensor,
    sortedIndices: Tensor,
    probsOptional: Tensor,
    paddedMode: bool,
    restoreShapeOptional: IntArray,
    out: Tensor,
):
    _unpadded(paddedMode)
    of_each = 1 if probsOptional is None else probsOptional.shape[1]
    rows = _back(permutedTokens.float(), sortedIndices, of_each)
    weighted = rows if probsOptional is None else rows * probsOptional.float()[..., None]
    write(out, weighted.sum(1).to(out.dtype))


@kernel
def aclnnMoeTokenUnpermuteGrad(
    permuteTokens: Tensor,
    unpermutedTokensGrad: Tensor,
    sortedIndices: Tensor,
    probsOptional: Tensor,
    paddedMode: bool,
    restoreShapeOptional: IntArray,
    permutedTokensGradOut: Tensor,
    probsGradOut: Tensor,
):
    _unpadded(paddedMode)
    grad = unpermutedTokensGrad.float()[:, None]
    if probsOptional is not None:
        rows = _back(permuteTokens.float(), sortedIndices, probsOptional.shape[1])
        write(probsGradOut, (rows * grad).sum(-1).to(probsGradOut.dtype))
        grad = grad * probsOptional.float()[..., None]
    there = sortedIndices < len(permutedTokensGradOut)
    result = torch.zeros(permutedTokensGradOut.shape)
    result[sortedIndices[there].long()] = grad.flatten(0, 1)[there]
    write(permutedTokensGradOut, result.to(permutedTokensGradOut.dtype))


@kernel
def aclnnMoeGatingTopK(
    x: Tensor,
    biasOptional: Tensor,
    k: int64_t,
    kGroup: int64_t,
    groupCount: int64_t,
    groupSelectMode: int64_t,
    renorm: int64_t,
    normType: int64_t,
    outFlag: bool,
    routedScalingFactor: double,
    eps: double,
    yOut: Tensor,
    expertIdxOut: Tensor,
    outOut: Tensor,
):
    if groupCount != 1 or renorm:
        raise NotImplementedError("experts in groups, or a second normalization of a softmax")
    norm = known(normType, {0: lambda t: t.softmax(-1), 1: torch.sigmoid})(x.float())
    chosen = norm if biasOptional is None else norm + biasOptional.float()
    experts = chosen.argsort(dim=-1, descending=True, stable=True)[:, :k]
    y = norm.gather(1, experts)
    if normType == 1:
        y = y / (y.sum(-1, keepdim=True) + eps)
    write(yOut, (y * routedScalingFactor).to(yOut.dtype))
    write(expertIdxOut, experts.int())
    if outFlag:
        write(outOut, norm)
