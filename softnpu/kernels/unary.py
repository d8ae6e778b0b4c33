"""Functions of one element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, each, pointwise, pointwise_inplace, write

if TYPE_CHECKING:
    from ._types import Tensor, double, int64_t


pointwise(
    "Tensor, Tensor",
    aclnnAbs=torch.abs,
    aclnnAcos=torch.acos,
    aclnnAcosh=torch.acosh,
    aclnnAngleV2=torch.angle,
    aclnnAsin=torch.asin,
    aclnnAsinh=torch.asinh,
    aclnnAtan=torch.atan,
    aclnnAtanh=torch.atanh,
    aclnnCeil=torch.ceil,
    aclnnCos=torch.cos,
    aclnnCosh=torch.cosh,
    aclnnErf=torch.erf,
    aclnnErfc=torch.erfc,
    aclnnErfinv=torch.erfinv,
    aclnnExp=torch.exp,
    aclnnExp2=torch.exp2,
    aclnnExpm1=torch.expm1,
    aclnnFloor=torch.floor,
    aclnnFrac=torch.frac,
    aclnnLog=torch.log,
    aclnnLog10=torch.log10,
    aclnnLog1p=torch.log1p,
    aclnnLog2=torch.log2,
    aclnnNeg=torch.neg,
    aclnnReciprocal=torch.reciprocal,
    aclnnRound=torch.round,
    aclnnRsqrt=torch.rsqrt,
    aclnnSigmoid=torch.sigmoid,
    aclnnSign=torch.sgn,  # sign, and torch_npu calls it for sgn too
    aclnnSin=torch.sin,
    aclnnSinc=torch.sinc,
    aclnnSinh=torch.sinh,
    aclnnSqrt=torch.sqrt,
    aclnnTan=torch.tan,
    aclnnTanh=torch.tanh,
    aclnnTrunc=torch.trunc,
)
each("Tensor, Tensor", aclnnSignbit=torch.signbit)  # its output is bool
pointwise_inplace(
    "Tensor",
    aclnnInplaceAcos=torch.acos,
    aclnnInplaceAcosh=torch.acosh,
    aclnnInplaceAsin=torch.asin,
    aclnnInplaceAsinh=torch.asinh,
    aclnnInplaceAtan=torch.atan,
    aclnnInplaceAtanh=torch.atanh,
    aclnnInplaceCos=torch.cos,
    aclnnInplaceCosh=torch.cosh,
    aclnnInplaceErf=torch.erf,
    aclnnInplaceErfc=torch.erfc,
    aclnnInplaceErfinv=torch.erfinv,
    aclnnInplaceExp=torch.exp,
    aclnnInplaceExp2=torch.exp2,
    aclnnInplaceExpm1=torch.expm1,
    aclnnInplaceFloor=torch.floor,
    aclnnInplaceFrac=torch.frac,
    aclnnInplaceLog=torch.log,
    aclnnInplaceLog10=torch.log10,
    aclnnInplaceLog1p=torch.log1p,
    aclnnInplaceLog2=torch.log2,
    aclnnInplaceReciprocal=torch.reciprocal,
    aclnnInplaceRsqrt=torch.rsqrt,
    aclnnInplaceSigmoid=torch.sigmoid,
    aclnnInplaceSin=torch.sin,
    aclnnInplaceSinc=torch.sinc,
    aclnnInplaceSinh=torch.sinh,
    aclnnInplaceSqrt=torch.sqrt,
    aclnnInplaceTan=torch.tan,
    aclnnInplaceTanh=torch.tanh,
)


@kernel
def aclnnRoundDecimals(self: Tensor, decimals: int64_t, out: Tensor):
    write(out, torch.round(self, decimals=decimals), self)


@kernel
def aclnnInplaceRoundDecimals(selfRef: Tensor, decimals: int64_t):
    write(selfRef, torch.round(selfRef, decimals=decimals))


@kernel
def aclnnNanToNum(self: Tensor, nan: float, posinf: float, neginf: float, out: Tensor):
    write(out, torch.nan_to_num(self, nan, posinf, neginf), self)


@kernel
def aclnnInplaceNanToNum(selfRef: Tensor, nan: float, posinf: float, neginf: float):
    write(selfRef, torch.nan_to_num(selfRef, nan, posinf, neginf))


@kernel
def aclnnLogit(input: Tensor, eps: double, out: Tensor):
    # torch_npu passes -1 for "no eps", as torch does.
    write(out, torch.logit(input, None if eps < 0 else eps), input)


@kernel
def aclnnLogitGrad(x: Tensor, dy: Tensor, eps: double, out: Tensor):
    write(out, aten.logit_backward(dy, x, None if eps < 0 else eps))


pointwise_inplace("Tensor", aclnnInplaceCeil=torch.ceil)
