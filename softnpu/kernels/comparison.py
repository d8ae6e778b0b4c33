"""Comparisons, logic and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import each, each_inplace, write

if TYPE_CHECKING:
    from ._types import Scalar, Tensor, double


each(
    "Tensor, Tensor, Tensor",
    aclnnEqTensor=torch.eq,
    aclnnNeTensor=torch.ne,
    aclnnGtTensor=torch.gt,
    aclnnGeTensor=torch.ge,
    aclnnLtTensor=torch.lt,
    aclnnLeTensor=torch.le,
    aclnnLogicalAnd=torch.logical_and,
    aclnnLogicalOr=torch.logical_or,
    aclnnLogicalXor=torch.logical_xor,
    aclnnBitwiseAndTensor=torch.bitwise_and,
    aclnnBitwiseOrTensor=torch.bitwise_or,
    aclnnBitwiseXorTensor=torch.bitwise_xor,
    aclnnLeftShift=torch.bitwise_left_shift,
    aclnnRightShift=torch.bitwise_right_shift,
)
each(
    "Tensor, Scalar, Tensor",
    aclnnEqScalar=torch.eq,
    aclnnNeScalar=torch.ne,
    aclnnGtScalar=torch.gt,
    aclnnGeScalar=torch.ge,
    aclnnLtScalar=torch.lt,
    aclnnLeScalar=torch.le,
    aclnnBitwiseAndScalar=torch.bitwise_and,
    aclnnBitwiseOrScalar=torch.bitwise_or,
    aclnnBitwiseXorScalar=torch.bitwise_xor,
    aclnnLeftShifts=torch.bitwise_left_shift,
)
each(
    "Tensor, Tensor",
    aclnnLogicalNot=torch.logical_not,
    aclnnBitwiseNot=torch.bitwise_not,
    aclnnIsFinite=torch.isfinite,
    aclnnIsPosInf=torch.isposinf,
    aclnnIsNegInf=torch.isneginf,
)
each_inplace(
    "Tensor, Tensor",
    aclnnInplaceEqTensor=torch.eq,
    aclnnInplaceNeTensor=torch.ne,
    aclnnInplaceGtTensor=torch.gt,
    aclnnInplaceGeTensor=torch.ge,
    aclnnInplaceLtTensor=torch.lt,
    aclnnInplaceLeTensor=torch.le,
    aclnnInplaceLogicalAnd=torch.logical_and,
    aclnnInplaceLogicalOr=torch.logical_or,
    aclnnInplaceBitwiseAndTensor=torch.bitwise_and,
    aclnnInplaceBitwiseXorTensor=torch.bitwise_xor,
)
each_inplace(
    "Tensor, Scalar",
    aclnnInplaceEqScalar=torch.eq,
    aclnnInplaceNeScalar=torch.ne,
    aclnnInplaceGtScalar=torch.gt,
    aclnnInplaceGeScalar=torch.ge,
    aclnnInplaceLtScalar=torch.lt,
    aclnnInplaceLeScalar=torch.le,
    aclnnInplaceBitwiseAndScalar=torch.bitwise_and,
    aclnnInplaceBitwiseXorScalar=torch.bitwise_xor,
)
each_inplace("Tensor", aclnnInplaceLogicalNot=torch.logical_not)


@kernel
def aclnnEqual(self: Tensor, other: Tensor, out: Tensor):
    out.fill_(torch.equal(self, other))


@kernel
def aclnnIsClose(
    self: Tensor, other: Tensor, rtol: double, atol: double, equal_nan: bool, out: Tensor
):
    write(out, torch.isclose(self, other, rtol, atol, equal_nan))


@kernel
def aclnnIsInScalarTensor(
    element: Scalar, testElements: Tensor, assumeUnique: bool, invert: bool, out: Tensor
):
    write(out, torch.isin(element, testElements, assume_unique=assumeUnique, invert=invert))


@kernel
def aclnnIsInTensorScalar(
    element: Tensor, testElement: Scalar, assumeUnique: bool, invert: bool, out: Tensor
):
    write(out, torch.isin(element, testElement, assume_unique=assumeUnique, invert=invert))


@kernel
def aclnnBucketize(self: Tensor, boundaries: Tensor, outInt32: bool, right: bool, out: Tensor):
    write(out, torch.bucketize(self, boundaries, out_int32=outInt32, right=right))


@kernel
def aclnnSearchSorted(
    sortedSequence: Tensor, self: Tensor, outInt32: bool, right: bool, sorter: Tensor, out: Tensor
):
    found = torch.searchsorted(sortedSequence, self, out_int32=outInt32, right=right, sorter=sorter)
    write(out, found)


@kernel
def aclnnSearchSorteds(
    sortedSequence: Tensor, self: Scalar, outInt32: bool, right: bool, sorter: Tensor, out: Tensor
):
    found = torch.searchsorted(sortedSequence, self, out_int32=outInt32, right=right, sorter=sorter)
    write(out, found)
