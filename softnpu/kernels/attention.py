"""Attention, as scaled_dot_product_attention and npu_fusion_attention reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._attention import Extras, How, backward, forward

if TYPE_CHECKING:
    from ._types import IntArray, String, Tensor, double, int64_t


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
    forward(
        *(query, key, value),
        Extras(realShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional,),
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
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
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional,),
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )


def _plain(*extras: Tensor | None) -> None:
    if any(extra is not None for extra in extras):
        raise NotImplementedError("attention with rotary parts, scales or a sink")


# What torch_npu calls on a 950DT, where the operator itself draws what is dropped.
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
    _plain(queryRopeOptional, keyRopeOptional, dScaleQOptional, dScaleKOptional, dScaleVOptional)
    _plain(sinkOptional)
    forward(
        *(query, key, value),
        Extras(realShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
            shift_kind=pseType,
            as_input=softmaxOutLayout == "same_as_input",
            drawn=(seed, offset),
        ),
        *(softmaxMaxOut, softmaxSumOut, attentionOutOut),
    )


@kernel
def aclnnFlashAttentionScoreGradV4(
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
    sinkInOptional: Tensor,
    queryRopeOptional: Tensor,
    keyRopeOptional: Tensor,
    dScaleQOptional: Tensor,
    dScaleKOptional: Tensor,
    dScaleVOptional: Tensor,
    dScaleDyOptional: Tensor,
    dScaleOOptional: Tensor,
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
    softmaxInLayout: String,
    innerPrecise: int64_t,
    sparseMode: int64_t,
    pseType: int64_t,
    seed: int64_t,
    offset: int64_t,
    outDtype: int64_t,
    dqOut: Tensor,
    dkOut: Tensor,
    dvOut: Tensor,
    dqRopeOut: Tensor,
    dkRopeOut: Tensor,
    dpseOut: Tensor,
    dsinkOut: Tensor,
):
    _plain(queryRopeOptional, keyRopeOptional, dScaleQOptional, dScaleKOptional, dScaleVOptional)
    _plain(dScaleDyOptional, dScaleOOptional, sinkInOptional)
    backward(
        *(query, keyIn, value, dy),
        Extras(pseShiftOptional, dropMaskOptional, paddingMaskOptional, attenMaskOptional),
        How(
            *(inputLayout, headNum, scaleValue, keepProb, sparseMode, preTokens, nextTokens),
            *(prefixOptional, actualSeqQLenOptional, actualSeqKvLenOptional),
            shift_kind=pseType,
            as_input=softmaxInLayout == "same_as_input",
            drawn=(seed, offset),
        ),
        *(softmaxMaxOptional, softmaxSumOptional, (dqOut, dkOut, dvOut), dpseOut),
    )
