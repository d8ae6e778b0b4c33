"""Batch norm over several processes: the steps that follow the exchange of the sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write, write_all
from .normalization import channels, other_dimensions

if TYPE_CHECKING:
    from ._types import Tensor


@kernel
def aclnnSyncBatchNormGatherStats(
    totalSum: Tensor,
    totalSquareSum: Tensor,
    sampleCount: Tensor,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    eps: float,
    batchMean: Tensor,
    batchInvstd: Tensor,
):
    # The sums have a row for each process, and the running statistics are written in place.
    count = sampleCount.sum().float()
    average = totalSum.float().sum(0) / count
    spread = totalSquareSum.float().sum(0) / count - average.square()
    write_all((batchMean, batchInvstd), (average, torch.rsqrt(spread + eps)))
    write(mean, torch.lerp(mean.float(), average, momentum))
    write(variance, torch.lerp(variance.float(), spread * count / (count - 1), momentum))


@kernel
def aclnnBatchNormReduceBackward(
    gradOut: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor,
    inputG: bool,
    weightG: bool,
    biasG: bool,
    sumDy: Tensor,
    sumDyXmu: Tensor,
    gradWeight: Tensor,
    gradBias: Tensor,
):
    others = other_dimensions(input)
    slope = gradOut.float()
    total = slope.sum(others)
    weighted = (slope * (input.float() - channels(mean.float(), input))).sum(others)
    write_all((sumDy, sumDyXmu), (total, weighted))
    write_all((gradWeight, gradBias), (weighted * invstd.float(), total))


@kernel
def aclnnBatchNormElemtBackward(
    gradOut: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor,
    sumDy: Tensor,
    sumDyXmu: Tensor,
    counter: Tensor,
    gradInput: Tensor,
):
    count = counter.sum()
    average, scale, total, weighted = (
        channels(vector.float(), input) for vector in (mean, invstd, sumDy, sumDyXmu)
    )
    turn = (input.float() - average) * scale.square() * weighted / count
    result = (gradOut.float() - total / count - turn) * scale
    write(gradInput, result if weight is None else result * channels(weight.float(), input))
