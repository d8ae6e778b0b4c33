"""Products of matrices and vectors.

``cubeMathType`` lets the chip compute in a narrower format; here every product is
computed in the operands' own, so the argument changes nothing.

Complex operands are refused where torch's dispatcher leaves a lazy conjugation to the
operator: torch_npu drops it, so the product would be a wrong number without an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write

if TYPE_CHECKING:
    from ._types import Scalar, Tensor, int8_t, int64_t


def _real(*operands: Tensor) -> None:
    if any(operand.is_complex() for operand in operands):
        raise NotImplementedError("a product of complex operands: see softnpu/kernels/matmul.py")


def _batches(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Both in as many batches as the other has: CANN's operators take 1 for all of them."""
    (count,) = torch.broadcast_shapes(first.shape[:1], second.shape[:1])
    return first.expand(count, -1, -1), second.expand(count, -1, -1)


@kernel
def aclnnMatmul(self: Tensor, mat2: Tensor, out: Tensor, cubeMathType: int8_t):
    write(out, torch.matmul(self, mat2))


@kernel
def aclnnMm(self: Tensor, mat2: Tensor, out: Tensor, cubeMathType: int8_t):
    _real(self, mat2)
    write(out, torch.mm(self, mat2))


@kernel
def aclnnBatchMatMul(self: Tensor, mat2: Tensor, out: Tensor, cubeMathType: int8_t):
    _real(self, mat2)
    write(out, torch.bmm(*_batches(self, mat2)))


@kernel
def aclnnMv(self: Tensor, vec: Tensor, out: Tensor, cubeMathType: int8_t):
    _real(self, vec)
    write(out, torch.mv(self, vec))


@kernel
def aclnnDot(self: Tensor, tensor: Tensor, out: Tensor):
    _real(self, tensor)
    write(out, torch.dot(self, tensor))


@kernel
def aclnnAddmm(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
    cubeMathType: int8_t,
):
    _real(mat1, mat2)
    write(out, torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha))


@kernel
def aclnnInplaceAddmm(
    selfRef: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, cubeMathType: int8_t
):
    _real(mat1, mat2)
    write(selfRef, torch.addmm(selfRef, mat1, mat2, beta=beta, alpha=alpha))


@kernel
def aclnnAddbmm(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
    cubeMathType: int8_t,
):
    _real(batch1, batch2)
    write(out, torch.addbmm(self, *_batches(batch1, batch2), beta=beta, alpha=alpha))


@kernel
def aclnnBaddbmm(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
    cubeMathType: int8_t,
):
    _real(batch1, batch2)
    write(out, torch.baddbmm(self, *_batches(batch1, batch2), beta=beta, alpha=alpha))


@kernel
def aclnnAddmv(
    self: Tensor,
    mat: Tensor,
    vec: Tensor,
    alpha: Scalar,
    beta: Scalar,
    out: Tensor,
    cubeMathType: int8_t,
):
    _real(mat, vec)
    write(out, torch.addmv(self, mat, vec, beta=beta, alpha=alpha))


@kernel
def aclnnAddr(
    self: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    betaOptional: Scalar,
    alphaOptional: Scalar,
    out: Tensor,
):
    write(
        out,
        torch.addr(self, vec1, vec2, beta=_one(betaOptional), alpha=_one(alphaOptional)),
        self,
        vec1,
        vec2,
    )


@kernel
def aclnnInplaceAddr(
    selfRef: Tensor, vec1: Tensor, vec2: Tensor, betaOptional: Scalar, alphaOptional: Scalar
):
    result = torch.addr(selfRef, vec1, vec2, beta=_one(betaOptional), alpha=_one(alphaOptional))
    write(selfRef, result, selfRef, vec1, vec2)


def _one(factor: Scalar | None) -> Scalar:
    return 1 if factor is None else factor


@kernel
def aclnnLinalgCross(self: Tensor, other: Tensor, dim: int64_t, out: Tensor):
    write(out, torch.linalg.cross(self, other, dim=dim))
