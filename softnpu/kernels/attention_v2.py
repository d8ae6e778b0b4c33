"""Attention that is told how its position shift is made, as npu_fusion_attention_v2 calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._attention import Extras, How, backward, forward

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


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
    forward(
        *(query, key, value),
        Extras(realShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional,),
            shift_kind=pseType,
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
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
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional,),
            shift_kind=pseType,
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )


@kernel
def aclnnFlashAttentionVarLenScoreV2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    realShiftOptional: Tensor,
    dropMaskOptional: Tensor,
    paddingMaskOptional: Tensor,
    attenMaskOptional: Tensor,
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
    pseType: int64_t,
    softmaxMaxOut: Tensor,
    softmaxSumOut: Tensor,
    softmaxOutOut: Tensor,
    attentionOutOut: Tensor,
):
    forward(
        *(query, key, value),
        Extras(realShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
            shift_kind=pseType,
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionUnpaddingScoreGradV2(
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
    pseType: int64_t,
    dqOut: Tensor,
    dkOut: Tensor,
    dvOut: Tensor,
    dpseOut: Tensor,
):
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
            shift_kind=pseType,
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )
