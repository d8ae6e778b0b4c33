"""Sums, extrema and other reductions; scans and sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import dims_or_all, each, write, write_all, write_with_places

if TYPE_CHECKING:
    from ._types import DataType, IntArray, Scalar, Tensor, int64_t


@kernel
def aclnnReduceSum(self: Tensor, dims: IntArray, keepDims: bool, dtype: DataType, out: Tensor):
    write(out, torch.sum(self, dims, keepDims, dtype=out.dtype))


@kernel
def aclnnReduceNansum(self: Tensor, dim: IntArray, keepDim: bool, dtype: DataType, out: Tensor):
    write(out, torch.nansum(self, dim, keepDim, dtype=out.dtype))


@kernel
def aclnnMean(self: Tensor, dim: IntArray, keepDim: bool, dtype: DataType, out: Tensor):
    write(out, torch.mean(self, dim, keepDim, dtype=out.dtype))


@kernel
def aclnnProd(self: Tensor, dtype: DataType, out: Tensor):
    write(out, torch.prod(self, dtype=out.dtype))


@kernel
def aclnnProdDim(self: Tensor, dim: int64_t, keepDim: bool, dtype: DataType, out: Tensor):
    write(out, torch.prod(self, dim, keepDim, dtype=out.dtype))


@kernel
def aclnnAmax(self: Tensor, dim: IntArray, keepDim: bool, out: Tensor):
    write(out, torch.amax(self, dim, keepDim), self)


@kernel
def aclnnAmin(self: Tensor, dim: IntArray, keepDim: bool, out: Tensor):
    write(out, torch.amin(self, dim, keepDim), self)


@kernel
def aclnnAminmax(self: Tensor, dim: IntArray, keepDim: bool, minOut: Tensor, maxOut: Tensor):
    write(minOut, torch.amin(self, dim, keepDim))
    write(maxOut, torch.amax(self, dim, keepDim))


@kernel
def aclnnAminmaxAll(self: Tensor, minOut: Tensor, maxOut: Tensor):
    write_all((minOut, maxOut), torch.aminmax(self))


@kernel
def aclnnAminmaxDim(self: Tensor, dim: int64_t, keepDim: bool, minOut: Tensor, maxOut: Tensor):
    write_all((minOut, maxOut), torch.aminmax(self, dim=dim, keepdim=keepDim))


@kernel
def aclnnAll(self: Tensor, dim: IntArray, keepdim: bool, out: Tensor):
    write(out, torch.all(self, dims_or_all(self, dim), keepdim))


@kernel
def aclnnAny(self: Tensor, dim: IntArray, keepdim: bool, out: Tensor):
    write(out, torch.any(self, dims_or_all(self, dim), keepdim))


@kernel
def aclnnArgMax(self: Tensor, dim: int64_t, keepdim: bool, out: Tensor):
    write(out, torch.argmax(self, dim, keepdim).to(out.dtype))


@kernel
def aclnnArgMin(self: Tensor, dim: int64_t, keepdim: bool, out: Tensor):
    write(out, torch.argmin(self, dim, keepdim).to(out.dtype))


@kernel
def aclnnStd(self: Tensor, dim: IntArray, correction: int64_t, keepdim: bool, out: Tensor):
    write(out, torch.std(self, dim or None, correction=correction, keepdim=keepdim), self)


@kernel
def aclnnVarCorrection(
    self: Tensor, dim: IntArray, correction: int64_t, keepdim: bool, out: Tensor
):
    write(out, torch.var(self, dim or None, correction=correction, keepdim=keepdim), self)


@kernel
def aclnnVarMean(
    self: Tensor, dim: IntArray, correction: int64_t, keepdim: bool, varOut: Tensor, meanOut: Tensor
):
    results = torch.var_mean(self, dim or None, correction=correction, keepdim=keepdim)
    write_all((varOut, meanOut), results)


@kernel
def aclnnStdMeanCorrection(
    self: Tensor, dim: IntArray, correction: int64_t, keepdim: bool, stdOut: Tensor, meanOut: Tensor
):
    results = torch.std_mean(self, dim or None, correction=correction, keepdim=keepdim)
    write_all((stdOut, meanOut), results)


@kernel
def aclnnLinalgVectorNorm(
    self: Tensor, ord: Scalar, dims: IntArray, keepDims: bool, dtype: DataType, out: Tensor
):
    # A complex input has a real norm, so the dtype is given only where it differs in kind.
    wanted = None if self.is_complex() else out.dtype
    write(out, torch.linalg.vector_norm(self, ord, dims or None, keepDims, dtype=wanted), self)


@kernel
def aclnnNorm(self: Tensor, pScalar: Scalar, dim: IntArray, keepdim: bool, out: Tensor):
    write(out, torch.linalg.vector_norm(self, pScalar, dim or None, keepdim), self)


@kernel
def aclnnLogSumExp(self: Tensor, dim: IntArray, keepDim: bool, out: Tensor):
    write(out, torch.logsumexp(self, dim, keepDim), self)


@kernel
def aclnnTrace(self: Tensor, out: Tensor):
    write(out, torch.trace(self))


@kernel
def aclnnCumsum(self: Tensor, dim: int64_t, dtype: DataType, out: Tensor):
    write(out, torch.cumsum(self, dim, dtype=out.dtype))


@kernel
def aclnnCumprod(input: Tensor, dim: Scalar, dtype: DataType, out: Tensor):
    write(out, torch.cumprod(input, dim, dtype=out.dtype))


@kernel
def aclnnHistc(self: Tensor, bins: int64_t, min: Scalar, max: Scalar, out: Tensor):
    # torch's CPU counts floating-point numbers only, and half-precision ones with rounded bounds.
    numbers = self.double() if self.dtype is not torch.float32 else self
    write(out, torch.histc(numbers, bins, min, max).to(out.dtype))


@kernel
def aclnnBincount(self: Tensor, weights: Tensor, minlength: int64_t, out: Tensor):
    write(out, torch.bincount(self, weights, minlength))


each(
    "Tensor, Tensor",
    aclnnMax=torch.max,
    aclnnMin=torch.min,
    aclnnMedian=torch.median,
    aclnnNanMedian=torch.nanmedian,
)


@kernel
def aclnnMaxDim(self: Tensor, dim: int64_t, keepdim: bool, out: Tensor, indices: Tensor):
    write_with_places(out, indices, torch.max(self, dim, keepdim))


@kernel
def aclnnMinDim(self: Tensor, dim: int64_t, keepdim: bool, out: Tensor, indices: Tensor):
    write_with_places(out, indices, torch.min(self, dim, keepdim))


@kernel
def aclnnMedianDim(
    self: Tensor, dim: int64_t, keepDim: bool, valuesOut: Tensor, indicesOut: Tensor
):
    write_all((valuesOut, indicesOut), torch.median(self, dim, keepDim))


@kernel
def aclnnNanMedianDim(
    self: Tensor, dim: int64_t, keepDim: bool, valuesOut: Tensor, indicesOut: Tensor
):
    write_all((valuesOut, indicesOut), torch.nanmedian(self, dim, keepDim))


@kernel
def aclnnKthvalue(
    self: Tensor, k: int64_t, dim: int64_t, keepdim: bool, valuesOut: Tensor, indicesOut: Tensor
):
    write_all((valuesOut, indicesOut), torch.kthvalue(self, k, dim, keepdim))


@kernel
def aclnnCummax(self: Tensor, dim: int64_t, valuesOut: Tensor, indicesOut: Tensor):
    write_with_places(valuesOut, indicesOut, torch.cummax(self, dim))


@kernel
def aclnnCummin(self: Tensor, dim: int64_t, valuesOut: Tensor, indicesOut: Tensor):
    write_with_places(valuesOut, indicesOut, torch.cummin(self, dim))


@kernel
def aclnnSort(
    self: Tensor,
    stable: bool,
    dim: int64_t,
    descending: bool,
    valuesOut: Tensor,
    indicesOut: Tensor,
):
    results = torch.sort(self, stable=stable, dim=dim, descending=descending)
    write_all((valuesOut, indicesOut), results)


@kernel
def aclnnTopk(
    self: Tensor,
    k: int64_t,
    dim: int64_t,
    largest: bool,
    sorted: bool,
    valuesOut: Tensor,
    indicesOut: Tensor,
):
    write_all((valuesOut, indicesOut), torch.topk(self, k, dim, largest, sorted))
