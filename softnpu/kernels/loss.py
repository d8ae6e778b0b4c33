"""Loss functions and their backwards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from . import kernel
from ._precision import in_single
from ._tools import as_index, aten, check_indices, each, known, write, write_all

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    name = known(reduction, _REDUCTIONS)
    return loss if name == "none" else getattr(loss, name)()


def _share(grad: Tensor, self: Tensor, reduction: int) -> Tensor:
    """The part of a loss's gradient that reaches each element."""
    return grad / self.numel() if known(reduction, _REDUCTIONS) == "mean" else grad


def _checked(function):
    """A function of (self, target, ..., reduction, ...) as torch has it, its code checked first."""

    def run(*arguments):
        codes = [a for a in arguments if type(a) is int]
        known(codes[0], _REDUCTIONS)
        return function(*arguments)

    return run


def _l1_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return torch.sgn(self - target) * _share(grad, self, reduction)


_BATCHMEAN = 3  # only of the Kullback-Leibler divergence's backwards


def _kl_share(grad: Tensor, self: Tensor, reduction: int) -> Tensor:
    return grad / self.size(0) if reduction == _BATCHMEAN else _share(grad, self, reduction)


def _kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    known(reduction, _REDUCTIONS)
    return aten.kl_div(self, target, reduction, log_target=log_target)


def _kl_div_backward(grad, self, target, reduction, log_target) -> Tensor:
    weight = target.exp() if log_target else target
    return -weight * _kl_share(grad, self, reduction)


def _kl_div_target_backward(grad, self, target, reduction, log_target) -> Tensor:
    share = _kl_share(grad, self, reduction)
    if log_target:
        return share * target.exp() * (target + 1 - self)
    return share * (torch.log(target) + 1 - self)


each(
    "Tensor, Tensor, int64_t, Tensor",
    aclnnL1Loss=lambda self, target, reduction: _reduced((self - target).abs(), reduction),
    aclnnMseLoss=_checked(aten.mse_loss),
    aclnnSoftMarginLoss=in_single(_checked(aten.soft_margin_loss)),
)
each(
    "Tensor, Tensor, Tensor, int64_t, Tensor",
    aclnnL1LossBackward=_l1_backward,
    aclnnMseLossBackward=_checked(aten.mse_loss_backward),
    aclnnSoftMarginLossBackward=_checked(aten.soft_margin_loss_backward),
)
each(
    "Tensor, Tensor, Tensor, Tensor, int64_t, Tensor",
    aclnnBinaryCrossEntropyBackward=_checked(aten.binary_cross_entropy_backward),
    aclnnBinaryCrossEntropyWithLogits=_checked(aten.binary_cross_entropy_with_logits),
)


@kernel
def aclnnBinaryCrossEntropy(
    self: Tensor, target: Tensor, weight: Tensor, reduction: int64_t, out: Tensor
):
    loss = _checked(aten.binary_cross_entropy)(self, target, weight, reduction)
    # CANN takes one element, too, for the number that is left of all.
    write(out, loss.reshape(out.shape) if loss.dim() == 0 and out.shape == (1,) else loss)


each("Tensor, Tensor, int64_t, float, Tensor", aclnnSmoothL1Loss=_checked(aten.smooth_l1_loss))
each(
    "Tensor, Tensor, Tensor, int64_t, float, Tensor",
    aclnnSmoothL1LossBackward=_checked(aten.smooth_l1_loss_backward),
)
each("Tensor, Tensor, int64_t, bool, Tensor", aclnnKlDiv=_kl_div)
each(
    "Tensor, Tensor, Tensor, int64_t, bool, Tensor",
    aclnnKlDivBackward=_kl_div_backward,
    aclnnKlDivTargetBackward=_kl_div_target_backward,
)


@kernel
def aclnnBinaryCrossEntropyWithLogitsBackward(
    gradOutput: Tensor,
    self: Tensor,
    target: Tensor,
    weightOptional: Tensor,
    posWeightOptional: Tensor,
    reduction: int64_t,
    out: Tensor,
):
    slope = in_single(_slope_of_logits)(self, target, weightOptional, posWeightOptional)
    write(out, slope * in_single(_share)(gradOutput, self, reduction))


def _slope_of_logits(self, target, weight, positive_weight) -> Tensor:
    probability = torch.sigmoid(self)
    if positive_weight is None:
        slope = probability - target
    else:
        positive = positive_weight * target
        slope = (positive + 1 - target) * probability - positive
    return slope if weight is None else slope * weight


@kernel
def aclnnNLLLoss(
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int64_t,
    ignoreIndex: int64_t,
    out: Tensor,
    totalWeightOut: Tensor,
):
    known(reduction, _REDUCTIONS)
    results = aten.nll_loss_forward(self, as_index(target), weight, reduction, ignoreIndex)
    write_all((out, totalWeightOut), results)


def _check_classes(self: Tensor, target: Tensor, weight: Tensor, ignored: int) -> None:
    classes = self.shape[min(1, self.dim() - 1)]
    check_indices(target, classes, ignored)
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"{tuple(weight.shape)} weights for {classes} classes")


@kernel
def aclnnNLLLossBackward(
    gradOutput: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int64_t,
    ignoreIndex: int64_t,
    totalWeight: Tensor,
    out: Tensor,
):
    known(reduction, _REDUCTIONS)
    _check_classes(self, target, weight, ignoreIndex)
    total = totalWeight.reshape(())
    arguments = self, as_index(target), weight, reduction, ignoreIndex, total
    write(out, aten.nll_loss_backward(gradOutput, *arguments))


@kernel
def aclnnNLLLoss2d(
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int64_t,
    ignoreIndex: int64_t,
    out: Tensor,
    totalWeightOut: Tensor,
):
    known(reduction, _REDUCTIONS)
    results = aten.nll_loss2d_forward(self, as_index(target), weight, reduction, ignoreIndex)
    write_all((out, totalWeightOut), results)


@kernel
def aclnnNLLLoss2dBackward(
    gradOutput: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int64_t,
    ignoreIndex: int64_t,
    totalWeight: Tensor,
    out: Tensor,
):
    known(reduction, _REDUCTIONS)
    _check_classes(self, target, weight, ignoreIndex)
    total = totalWeight.reshape(())
    arguments = self, as_index(target), weight, reduction, ignoreIndex, total
    write(out, aten.nll_loss2d_backward(gradOutput, *arguments))


@kernel
def aclnnMultilabelMarginLoss(
    self: Tensor, target: Tensor, reduction: int64_t, out: Tensor, isTarget: Tensor
):
    known(reduction, _REDUCTIONS)
    results = in_single(aten.multilabel_margin_loss_forward)(self, as_index(target), reduction)
    write_all((out, isTarget), results)


@kernel
def aclnnCtcLoss(
    logProbs: Tensor,
    targets: Tensor,
    inputLengths: IntArray,
    targetlengths: IntArray,
    blank: int64_t,
    zeroInfinity: bool,
    negLogLikelihoodOut: Tensor,
    logAlphaOut: Tensor,
):
    targets = targets.long()  # CANN takes floating-point numbers, too
    check_indices(targets, logProbs.shape[-1])
    results = aten._ctc_loss(logProbs, targets, inputLengths, targetlengths, blank, zeroInfinity)
    loss = results[0]
    write(negLogLikelihoodOut, loss.masked_fill(loss.isinf(), 0) if zeroInfinity else loss)
    logAlphaOut.fill_(-math.inf)  # its last dimension is rounded up to a multiple of eight
    write(logAlphaOut[..., : results[1].shape[-1]], results[1])


@kernel
def aclnnCtcLossBackward(
    gradOut: Tensor,
    logProbs: Tensor,
    targets: Tensor,
    inputLengths: IntArray,
    targetLengths: IntArray,
    negLogLikelihood: Tensor,
    logAlpha: Tensor,
    blank: int64_t,
    zeroInfinity: bool,
    out: Tensor,
):
    lengths = inputLengths, targetLengths
    targets = targets.long()
    check_indices(targets, logProbs.shape[-1])
    # Torch checks in the forward only, and its alpha tells what the backward reads.
    true = aten._ctc_loss(logProbs, targets, *lengths, blank, zeroInfinity)
    alpha = logAlpha[..., : 2 * max(targetLengths) + 1].contiguous()
    if alpha.shape != true[1].shape or negLogLikelihood.shape != true[0].shape:
        raise RuntimeError(
            f"the forward's alpha is {tuple(true[1].shape)}, not {tuple(alpha.shape)}"
        )
    # An infinite loss, whose gradient is 0 then, was written as 0.
    infinite = true[0].isinf() if zeroInfinity else torch.zeros_like(true[0], dtype=torch.bool)
    likelihood = negLogLikelihood.masked_fill(infinite, math.inf)
    results = likelihood, alpha, blank, zeroInfinity
    write(out, aten._ctc_loss_backward(gradOut, logProbs, targets, *lengths, *results))


@kernel
def aclnnCrossEntropyLoss(
    input: Tensor,
    target: Tensor,
    weightOptional: Tensor,
    reductionOptional: String,
    ignoreIndex: int64_t,
    labelSmoothing: double,
    lseSquareScaleForZloss: double,
    returnZloss: bool,
    lossOut: Tensor,
    logProbOut: Tensor,
    zlossOut: Tensor,
    lseForZlossOut: Tensor,
):
    # A chip leaves the z-loss out, whatever is asked for; here asking is an error.
    if returnZloss:
        raise NotImplementedError("the z-loss of a cross entropy")
    code = {name: code for code, name in _REDUCTIONS.items()}[reductionOptional]
    scores, labels = input.float(), target.long()
    loss = aten.cross_entropy_loss(
        scores, labels, weightOptional, code, ignoreIndex, labelSmoothing
    )
    write(lossOut, loss.reshape(lossOut.shape).to(lossOut.dtype))
    write(logProbOut, scores.log_softmax(1).to(logProbOut.dtype))


@kernel
def aclnnCrossEntropyLossGrad(
    gradLoss: Tensor,
    logProb: Tensor,
    target: Tensor,
    weightOptional: Tensor,
    gradZlossOptional: Tensor,
    lseForZlossOptional: Tensor,
    reductionOptional: String,
    ignoreIndex: int64_t,
    labelSmoothing: double,
    lseSquareScaleForZloss: double,
    out: Tensor,
):
    classes = logProb.shape[1]
    weight = torch.ones(classes) if weightOptional is None else weightOptional
    counted = target != ignoreIndex
    labels = target.long() * counted
    own = weight[labels] * counted
    # Of a row's loss, with respect to its logarithms; every class has a share of the smoothing.
    to_logs = -labelSmoothing / classes * weight * counted[:, None]
    to_logs[torch.arange(len(labels)), labels] -= (1 - labelSmoothing) * own
    grad = gradLoss.float() / (own.sum() if reductionOptional == "mean" else 1)
    result = to_logs - logProb.float().exp() * to_logs.sum(1, keepdim=True)
    write(out, (result * grad.reshape(-1, 1)).to(out.dtype))
