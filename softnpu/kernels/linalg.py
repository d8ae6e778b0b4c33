"""Linear algebra and distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._precision import in_single
from ._tools import aten, known, write, write_all

if TYPE_CHECKING:
    from ._types import Tensor, int64_t


@kernel
def aclnnLinalgCholesky(self: Tensor, upper: bool, out: Tensor):
    write(out, torch.linalg.cholesky(self, upper=upper))


@kernel
def aclnnLinalgQr(self: Tensor, mode: int64_t, Q: Tensor, R: Tensor):
    form = known(mode, {0: "reduced", 1: "complete", 2: "r"})
    write_all((Q, R), torch.linalg.qr(self, form))


@kernel
def aclnnSvd(
    input: Tensor, fullMatrices: bool, computeUV: bool, sigma: Tensor, u: Tensor, v: Tensor
):
    if not computeUV:
        write(sigma, torch.linalg.svdvals(input))
        return
    left, values, right = torch.linalg.svd(input, fullMatrices)
    write_all((sigma, u, v), (values, left, right.mH))


@kernel
def aclnnTriangularSolve(
    self: Tensor,
    A: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    xOut: Tensor,
    mOut: Tensor,
):
    results = torch.triangular_solve(self, A, upper, transpose, unitriangular)
    write_all((xOut, mOut), results)


@kernel
def aclnnInverse(self: Tensor, out: Tensor):
    write(out, torch.linalg.inv(self))


@kernel
def aclnnSlogdet(self: Tensor, signOut: Tensor, logOut: Tensor):
    write_all((signOut, logOut), torch.linalg.slogdet(self))


@kernel
def aclnnCdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int64_t, out: Tensor):
    write(out, in_single(aten._cdist_forward)(x1, x2, p, compute_mode))


@kernel
def aclnnCdistBackward(grad: Tensor, x1: Tensor, x2: Tensor, cdist: Tensor, p: float, out: Tensor):
    write(out, in_single(aten._cdist_backward)(grad, x1.contiguous(), x2.contiguous(), p, cdist))


@kernel
def aclnnPdist(self: Tensor, p: float, out: Tensor):
    write(out, in_single(aten._pdist_forward)(self, p))
