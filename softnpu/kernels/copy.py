"""Filling, copying, casting."""

from __future__ import annotations

from . import kernel


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
def aclnnInplaceOne(selfRef: Tensor):
    selfRef.fill_(1)


@kernel
def aclnnInplaceZero(selfRef: Tensor):
    selfRef.zero_()
