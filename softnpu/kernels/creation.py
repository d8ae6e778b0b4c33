"""Filling, copying, casting, ranges, triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import each, each_inplace, write

if TYPE_CHECKING:
    from ._types import DataType, Scalar, Tensor, double, int32_t, int64_t


each("Tensor, int64_t, Tensor", aclnnTril=torch.tril, aclnnTriu=torch.triu)
each_inplace("Tensor, int64_t", aclnnInplaceTril=torch.tril, aclnnInplaceTriu=torch.triu)


@kernel
def aclnnInplaceCopy(selfRef: Tensor, src: Tensor):
    selfRef.copy_(src)


@kernel
def aclnnCast(self: Tensor, dtype: DataType, out: Tensor):
    out.copy_(self)


@kernel
def aclnnInplaceFillScalar(selfRef: Tensor, value: Scalar):
    selfRef.fill_(value)


@kernel
def aclnnInplaceFillTensor(selfRef: Tensor, value: Tensor):
    selfRef.fill_(value.reshape(()))


@kernel
def aclnnInplaceFillDiagonal(selfRef: Tensor, fillValue: Scalar, wrap: bool):
    selfRef.fill_diagonal_(fillValue, wrap)


@kernel
def aclnnInplaceOne(selfRef: Tensor):
    selfRef.fill_(1)


@kernel
def aclnnInplaceZero(selfRef: Tensor):
    selfRef.zero_()


@kernel
def aclnnArange(start: Scalar, end: Scalar, step: Scalar, out: Tensor):
    write(out, torch.arange(start, end, step, dtype=out.dtype))


@kernel
def aclnnRange(start: Scalar, end: Scalar, step: Scalar, out: Tensor):
    # Not torch.range, which warns that it is deprecated. Its count of elements is out's.
    count = torch.arange(out.numel(), dtype=torch.int64)
    write(out, (start + step * count.to(_accumulate(out.dtype))).to(out.dtype))


def _accumulate(dtype):
    return torch.float64 if dtype.is_floating_point else torch.int64


@kernel
def aclnnLinspace(start: Scalar, end: Scalar, steps: int64_t, out: Tensor):
    write(out, torch.linspace(start, end, steps, dtype=out.dtype))


@kernel
def aclnnLogSpace(start: Scalar, end: Scalar, steps: int64_t, base: double, result: Tensor):
    write(result, torch.logspace(start, end, steps, base, dtype=result.dtype))


@kernel
def aclnnEye(n: int64_t, m: int64_t, out: Tensor):
    write(out, torch.eye(n, m, dtype=out.dtype))


@kernel
def aclnnOneHot(
    self: Tensor, numClasses: int32_t, onValue: Tensor, offValue: Tensor, axis: int64_t, out: Tensor
):
    on, off = onValue.flatten()[0], offValue.flatten()[0]  # of more elements, CANN uses the first
    write(out, torch.where(_one_hot(self, numClasses, axis), on, off))


def _one_hot(self: Tensor, classes: int, axis: int) -> Tensor:
    axis = self.dim() if axis < 0 else axis
    numbers = torch.arange(classes, dtype=self.dtype)
    return self.unsqueeze(axis) == numbers.reshape(-1, *[1] * (self.dim() - axis))


@kernel
def aclnnNpuFormatCast(srcTensor: Tensor, dstTensor: Tensor):
    # A private layout is a matter of the chip: here every tensor keeps torch's own.
    dstTensor.copy_(srcTensor)
