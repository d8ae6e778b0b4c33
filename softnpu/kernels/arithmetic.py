"""Arithmetic on elements."""

from __future__ import annotations

import torch

from . import kernel


@kernel
def aclnnAdd(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor):
    torch.add(self, other, alpha=alpha, out=out)


@kernel
def aclnnMul(self: Tensor, other: Tensor, out: Tensor):
    torch.mul(self, other, out=out)


@kernel
def aclnnMuls(self: Tensor, other: Scalar, out: Tensor):
    torch.mul(self, other, out=out)
