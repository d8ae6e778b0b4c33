"""Attention of sequences of different lengths, one after the other: npu_fusion_attention with TND."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._attention import Extras, How, backward, forward

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


@kernel
def aclnnFlashAttentionVarLenScore(
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
    forward(
        *(query, key, value),
        Extras(realShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionUnpaddingScoreGrad(
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
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )


@kernel
def aclnnFlashAttentionVarLenScoreV4(
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
    scaleValue: double,
    keepProb: double,
    preTokens: int64_t,
    nextTokens: int64_t,
    headNum: int64_t,
    inputLayout: String,
    innerPrecise: int64_t,
    sparseMode: int64_t,
    softmaxOutLayout: String,
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
            as_input=softmaxOutLayout == "same_as_input",
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionUnpaddingScoreGradV4(
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
    softmaxInLayout: String,
):
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
            as_input=softmaxInLayout == "same_as_input",
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )
