"""Embeddings and their backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._tools import as_index, aten, check_indices, write

if TYPE_CHECKING:
    from ._types import Tensor, double, int64_t, uint64_t


@kernel
def aclnnEmbedding(weight: Tensor, indices: Tensor, out: Tensor):
    write(out, aten.embedding(weight, indices))


@kernel
def aclnnEmbeddingDenseBackward(
    grad: Tensor,
    indices: Tensor,
    numWeights: uint64_t,
    paddingIdx: uint64_t,
    scaleGradByFreq: bool,
    out: Tensor,
):
    # torch_npu passes -1 for "no padding" through the unsigned parameter.
    padding = paddingIdx - 2**64 if paddingIdx >= 2**63 else paddingIdx
    check_indices(indices, numWeights)
    if grad.shape[:-1].numel() != indices.numel():
        raise RuntimeError(f"a {tuple(grad.shape)} gradient of {indices.numel()} indices")
    arguments = as_index(indices), numWeights, padding, scaleGradByFreq
    write(out, aten.embedding_dense_backward(grad, *arguments))


@kernel
def aclnnEmbeddingRenorm(selfRef: Tensor, indices: Tensor, maxNorm: double, normType: double):
    aten.embedding_renorm_(selfRef, as_index(indices), maxNorm, normType)


@kernel
def aclnnEmbeddingBag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scaleGradByFreq: bool,
    mode: int64_t,
    sparse: bool,
    perSampleWeights: Tensor,
    includeLastOffset: bool,
    paddingIdx: int64_t,
    output: Tensor,
    offset2bag: Tensor,
    bagSize: Tensor,
    maxIndices: Tensor,
):
    results = aten._embedding_bag(
        weight,
        indices,
        offsets,
        scaleGradByFreq,
        mode,
        sparse,
        perSampleWeights,
        includeLastOffset,
        paddingIdx,
    )
    write(output, results[0])
    for out, result in zip((offset2bag, bagSize, maxIndices), results[1:], strict=True):
        if out.shape == result.shape:  # what this mode does not use has another shape
            write(out, result)
        else:
            out.zero_()
