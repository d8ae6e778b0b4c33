"""Attention, as scaled_dot_product_attention reaches it.

Computed in float32 step by step, not in a chip's tiles: equal within rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import known, write
from .random import kept

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t

# Where batch, head, sequence and element are; a head of its own makes four of three.
_LAYOUTS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3)}


def _heads_first(tensor: Tensor, layout: str) -> Tensor:
    if layout not in _LAYOUTS:
        raise NotImplementedError(f"attention with the layout {layout}")
    return tensor.permute(_LAYOUTS[layout]).float()


def _shared(tensor: Tensor, heads: int) -> Tensor:
    """Key or value with a head for each of the query's."""
    return tensor.repeat_interleave(heads // tensor.shape[1], 1)


def _scores(query: Tensor, key: Tensor, scale: float, shift: Tensor | None) -> Tensor:
    scores = query @ key.mT * scale
    return scores if shift is None else scores + shift.float()


def _hidden(mask: Tensor | None, scores: Tensor, mode: int, before: int, after: int):
    """Where nothing is seen: by the mask in mode 0, by causality in mode 2."""
    known(mode, {0: "mask", 1: "whole mask", 2: "causal"})
    if mode == 2:
        return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    if mask is not None and mode == 0 and min(before, after) < max(scores.shape[-2:]):
        raise NotImplementedError("attention in a band")
    return None if mask is None else mask.bool()


def _plain(prefix, padding) -> None:
    if prefix or padding is not None:
        raise NotImplementedError("attention with a prefix or a padding mask")


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    shift: Tensor | None,
    drop_mask: Tensor | None,
    padding: Tensor | None,
    mask: Tensor | None,
    prefix: IntArray,
    scale: float,
    keep: float,
    before: int,
    after: int,
    heads: int,
    layout: str,
    mode: int,
    highest_out: Tensor,
    total_out: Tensor,
    out: Tensor,
) -> None:
    """The forward computation, into its three outputs."""
    _plain(prefix, padding)
    q, k, v = (_heads_first(tensor, layout) for tensor in (query, key, value))
    scores = _scores(q, _shared(k, heads), scale, shift)
    hidden = _hidden(mask, scores, mode, before, after)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    # A query that sees nothing gets zeros, as torch's CPU gives: torch_npu's
    # scaled_dot_product_attention hands such rows over, from a mask of padding.
    highest = scores.amax(-1, keepdim=True)
    highest = highest.masked_fill(highest == -torch.inf, 0)
    parts = torch.exp(scores - highest)
    total = parts.sum(-1, keepdim=True)
    total = total.masked_fill(total == 0, 1)
    weights = parts / total
    if drop_mask is not None:
        weights = weights * kept(drop_mask, weights) / keep
    result = (weights @ _shared(v, heads)).permute(_LAYOUTS[layout])
    write(out, result.to(out.dtype))
    write(highest_out, highest.expand(highest_out.shape))
    write(total_out, total.expand(total_out.shape))


@kernel
def aclnnFlashAttentionScore(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    realShiftOptional: Tensor,
    dropMaskOptional: Tensor,
    paddingMaskOptional: Tensor,
    attenMaskOptional: Tensor,
    prefixOptional: IntArray,
    scaleValue: double,
    keepProb: double,
    preTokens: int64_t,
    nextTokens: int64_t,
    headNum: int64_t,
    inputLayout: String,
    innerPrecise: int64_t,
    sparseMode: int64_t,
    softmaxMaxOut: Tensor,
    softmaxSumOut: Tensor,
    softmaxOutOut: Tensor,
    attentionOutOut: Tensor,
):
    _attention(
        *(query, key, value, realShiftOptional, dropMaskOptional, paddingMaskOptional),
        *(attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens, nextTokens),
        *(headNum, inputLayout, sparseMode, softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionScoreV4(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    realShiftOptional: Tensor,
    dropMaskOptional: Tensor,
    paddingMaskOptional: Tensor,
    attenMaskOptional: Tensor,
    queryRopeOptional: Tensor,
    keyRopeOptional: Tensor,
    dScaleQOptional: Tensor,
    dScaleKOptional: Tensor,
    dScaleVOptional: Tensor,
    sinkOptional: Tensor,
    prefixOptional: IntArray,
    actualSeqQLenOptional: IntArray,
    actualSeqKvLenOptional: IntArray,
    qStartIdxOptional: IntArray,
    kvStartIdxOptional: IntArray,
    scaleValue: double,
    keepProb: double,
    preTokens: int64_t,
    nextTokens: int64_t,
    headNum: int64_t,
    inputLayout: String,
    innerPrecise: int64_t,
    sparseMode: int64_t,
    outDtype: int64_t,
    pseType: int64_t,
    softmaxOutLayout: String,
    seed: int64_t,
    offset: int64_t,
    softmaxMaxOut: Tensor,
    softmaxSumOut: Tensor,
    softmaxOutOut: Tensor,
    attentionOutOut: Tensor,
):
    # What torch_npu calls on a 950DT, where the operator itself draws what is dropped.
    extras = (queryRopeOptional, keyRopeOptional, dScaleQOptional, dScaleKOptional)
    if any(extra is not None for extra in (*extras, dScaleVOptional, sinkOptional)):
        raise NotImplementedError("attention with rotary parts, scales or a sink")
    if actualSeqQLenOptional or actualSeqKvLenOptional:
        raise NotImplementedError("attention with sequences of different lengths")
    if keepProb < 1 and dropMaskOptional is None:
        raise NotImplementedError("attention that draws its own dropout")
    _attention(
        *(query, key, value, realShiftOptional, dropMaskOptional, paddingMaskOptional),
        *(attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens, nextTokens),
        *(headNum, inputLayout, sparseMode, softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionScoreGrad(
    query: Tensor,
    keyIn: Tensor,
    value: Tensor,
    dy: Tensor,
    pseShiftOptional: Tensor,
    dropMaskOptional: Tensor,
    paddingMaskOptional: Tensor,
    attenMaskOptional: Tensor,
    softmaxMaxOptional: Tensor,
    softmaxSumOptional: Tensor,
    softmaxInOptional: Tensor,
    attentionInOptional: Tensor,
    prefixOptional: IntArray,
    scaleValue: double,
    keepProb: double,
    preTokens: int64_t,
    nextTokens: int64_t,
    headNum: int64_t,
    inputLayout: String,
    innerPrecise: int64_t,
    sparseMode: int64_t,
    dqOut: Tensor,
    dkOut: Tensor,
    dvOut: Tensor,
    dpseOut: Tensor,
):
    _plain(prefixOptional, paddingMaskOptional)
    q, k, v, grad = (_heads_first(tensor, inputLayout) for tensor in (query, keyIn, value, dy))
    heads = k.shape[1]
    k, v = _shared(k, headNum), _shared(v, headNum)
    scores = _scores(q, k, scaleValue, pseShiftOptional)
    hidden = _hidden(attenMaskOptional, scores, sparseMode, preTokens, nextTokens)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = torch.exp(scores - softmaxMaxOptional[..., :1]) / softmaxSumOptional[..., :1]
    keep = torch.ones(())
    if dropMaskOptional is not None:
        keep = kept(dropMaskOptional, weights) / keepProb
    to_weights = grad @ v.mT * keep
    share = (to_weights * weights).sum(-1, keepdim=True)
    to_scores = weights * (to_weights - share)
    results = (
        (dqOut, to_scores @ k * scaleValue),
        (dkOut, _collected(to_scores.mT @ q * scaleValue, heads)),
        (dvOut, _collected((weights * keep).mT @ grad, heads)),
    )
    for out, result in results:
        write(out, result.permute(_LAYOUTS[inputLayout]).to(out.dtype))
    if pseShiftOptional is not None:
        write(dpseOut, to_scores.sum_to_size(dpseOut.shape).to(dpseOut.dtype))


def _collected(grad: Tensor, heads: int) -> Tensor:
    """The gradient of a head that several of the query's shared."""
    return grad.unflatten(1, (heads, -1)).sum(2)
