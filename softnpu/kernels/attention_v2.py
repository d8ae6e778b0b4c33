"""Attention with a position shift that the operator could make, as npu_fusion_attention_v2 calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from .attention import _attention, aclnnFlashAttentionScoreGrad

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


def _plain_shift(kind: int) -> None:
    if kind != 1:
        raise NotImplementedError("attention that makes its own position shift")


@kernel
def aclnnFlashAttentionScoreV2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    realShiftOptional: Tensor,
    dropMaskOptional: Tensor,
    paddingMaskOptional: Tensor,
    attenMaskOptional: Tensor,
    prefixOptional: IntArray,
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
    pseType: int64_t,
    softmaxMaxOut: Tensor,
    softmaxSumOut: Tensor,
    softmaxOutOut: Tensor,
    attentionOutOut: Tensor,
):
    _plain_shift(pseType)
    _attention(
        *(query, key, value, realShiftOptional, dropMaskOptional, paddingMaskOptional),
        *(attenMaskOptional, prefixOptional, scaleValue, keepProb, preTokens, nextTokens),
        *(headNum, inputLayout, sparseMode, softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionScoreGradV2(
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
    pseType: int64_t,
    dqOut: Tensor,
    dkOut: Tensor,
    dvOut: Tensor,
    dpseOut: Tensor,
):
    _plain_shift(pseType)
    aclnnFlashAttentionScoreGrad(
        *(query, keyIn, value, dy, pseShiftOptional, dropMaskOptional, paddingMaskOptional),
        *(attenMaskOptional, softmaxMaxOptional, softmaxSumOptional, softmaxInOptional),
        *(attentionInOptional, prefixOptional, scaleValue, keepProb, preTokens, nextTokens),
        *(headNum, inputLayout, innerPrecise, sparseMode, dqOut, dkOut, dvOut, dpseOut),
    )
