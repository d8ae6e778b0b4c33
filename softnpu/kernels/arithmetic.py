"""Arithmetic on elements, with tensors and with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import each, known, pointwise, pointwise_inplace, write

if TYPE_CHECKING:
    from ._types import Scalar, Tensor, int32_t


def _div(mode: int):
    return known(mode, {0: None, 1: "trunc", 2: "floor"})


def _rsub(self: Tensor, other: Tensor, alpha: Scalar) -> Tensor:
    return torch.rsub(self, other, alpha=alpha)


def _add(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor | None = None) -> Tensor:
    return torch.add(self, other, alpha=alpha, out=out)


def _sub(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor | None = None) -> Tensor:
    if isinstance(other, torch.Tensor) and self.dtype is other.dtype is torch.bool:  # torch refuses
        return torch.logical_xor(self, torch.logical_and(other, torch.tensor(bool(alpha))), out=out)
    return torch.sub(self, other, alpha=alpha, out=out)


def _of_floats(function):
    """The function with integers as float32, which torch's CPU refuses and CANN takes."""

    def run(self: Tensor, other: Tensor) -> Tensor:
        made = (t if t.is_floating_point() else t.float() for t in (self, other))
        return function(*made)

    return run


each(
    "Tensor, Tensor, Tensor",
    aclnnLogAddExp=_of_floats(torch.logaddexp),
    aclnnLogAddExp2=_of_floats(torch.logaddexp2),
)
pointwise(
    "Tensor, Tensor, Tensor",
    aclnnMul=torch.mul,
    aclnnDiv=torch.div,
    aclnnFloorDivide=torch.floor_divide,
    aclnnRemainderTensorTensor=torch.remainder,
    aclnnFmodTensor=torch.fmod,
    aclnnPowTensorTensor=torch.pow,
    aclnnMaximum=torch.maximum,
    aclnnMinimum=torch.minimum,
    aclnnAtan2=torch.atan2,
    aclnnXLogYTensor=torch.xlogy,
    aclnnGcd=torch.gcd,
    aclnnClampMinTensor=torch.clamp_min,
    aclnnClampMaxTensor=torch.clamp_max,
)
pointwise(
    "Tensor, Scalar, Tensor",
    aclnnMuls=torch.mul,
    aclnnDivs=torch.div,
    aclnnFloorDivides=torch.floor_divide,
    aclnnRemainderTensorScalar=torch.remainder,
    aclnnFmodScalar=torch.fmod,
    aclnnPowTensorScalar=torch.pow,
    aclnnXLogYScalarOther=torch.xlogy,
    aclnnClampMin=torch.clamp_min,
    aclnnClampMax=torch.clamp_max,
)
pointwise(
    "Scalar, Tensor, Tensor",
    aclnnPowScalarTensor=torch.pow,
    aclnnXLogYScalarSelf=torch.xlogy,
)
pointwise(
    "Tensor, Tensor, Scalar, Tensor",
    aclnnAdd=_add,
    aclnnSub=_sub,
)
pointwise(
    "Tensor, Scalar, Scalar, Tensor",
    aclnnAdds=_add,
    aclnnSubs=_sub,
    aclnnClamp=torch.clamp,
)
pointwise("Tensor, Tensor, Tensor, Tensor", aclnnLerp=torch.lerp, aclnnClampTensor=torch.clamp)
pointwise("Tensor, Tensor, Scalar, Tensor", aclnnLerps=torch.lerp)

each("Tensor, Tensor, Tensor", aclnnComplex=torch.complex, aclnnPolar=torch.polar)
each("Scalar, Tensor, Tensor", aclnnRemainderScalarTensor=torch.remainder)
each("Tensor, Tensor, Scalar, Tensor", aclnnRsub=_rsub)
each("Tensor, Scalar, Scalar, Tensor", aclnnRsubs=_rsub)

pointwise_inplace(
    "Tensor, Tensor",
    aclnnInplaceMul=torch.mul,
    aclnnInplaceDiv=torch.div,
    aclnnInplaceFloorDivide=torch.floor_divide,
    aclnnInplaceRemainderTensorTensor=torch.remainder,
    aclnnInplaceFmodTensor=torch.fmod,
    aclnnInplacePowTensorTensor=torch.pow,
    aclnnInplaceAtan2=torch.atan2,
    aclnnInplaceClampMinTensor=torch.clamp_min,
    aclnnInplaceClampMaxTensor=torch.clamp_max,
)
pointwise_inplace(
    "Tensor, Scalar",
    aclnnInplaceMuls=torch.mul,
    aclnnInplaceDivs=torch.div,
    aclnnInplaceFloorDivides=torch.floor_divide,
    aclnnInplaceRemainderTensorScalar=torch.remainder,
    aclnnInplaceFmodScalar=torch.fmod,
    aclnnInplacePowTensorScalar=torch.pow,
    aclnnInplaceXLogYScalarOther=torch.xlogy,
    aclnnInplaceClampMax=torch.clamp_max,
)
pointwise_inplace("Tensor, Tensor, Scalar", aclnnInplaceAdd=_add, aclnnInplaceSub=_sub)
pointwise_inplace("Tensor, Scalar, Scalar", aclnnInplaceAdds=_add, aclnnInplaceSubs=_sub)
pointwise_inplace("Tensor, Tensor, Tensor", aclnnInplaceLerp=torch.lerp)
pointwise_inplace("Tensor, Tensor, Scalar", aclnnInplaceLerps=torch.lerp)


@kernel
def aclnnAddV3(self: Scalar, other: Tensor, alpha: Scalar, out: Tensor):
    write(
        out, torch.rsub(other, self, alpha=-alpha) if alpha != 1 else torch.add(other, self), other
    )


@kernel
def aclnnDivMod(self: Tensor, other: Tensor, mode: int32_t, out: Tensor):
    write(out, torch.div(self, other, rounding_mode=_div(mode)), self, other)


@kernel
def aclnnDivMods(self: Tensor, other: Scalar, mode: int32_t, out: Tensor):
    write(out, torch.div(self, other, rounding_mode=_div(mode)), self)


@kernel
def aclnnInplaceDivMod(selfRef: Tensor, other: Tensor, mode: int32_t):
    write(selfRef, torch.div(selfRef, other, rounding_mode=_div(mode)), selfRef, other)


@kernel
def aclnnInplaceDivMods(selfRef: Tensor, other: Scalar, mode: int32_t):
    write(selfRef, torch.div(selfRef, other, rounding_mode=_div(mode)), selfRef)


@kernel
def aclnnAddcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor):
    write(out, torch.addcmul(self, tensor1, tensor2, value=value), self, tensor1, tensor2)


@kernel
def aclnnAddcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor):
    write(out, torch.addcdiv(self, tensor1, tensor2, value=value), self, tensor1, tensor2)


@kernel
def aclnnInplaceAddcmul(selfRef: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar):
    write(selfRef, torch.addcmul(selfRef, tensor1, tensor2, value=value), selfRef, tensor1, tensor2)


@kernel
def aclnnInplaceAddcdiv(selfRef: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar):
    write(selfRef, torch.addcdiv(selfRef, tensor1, tensor2, value=value), selfRef, tensor1, tensor2)


@kernel
def aclnnAddRelu(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor):
    write(out, torch.relu(torch.add(self, other, alpha=alpha)), self, other)


@kernel
def aclnnInplaceAddRelu(selfRef: Tensor, other: Tensor, alpha: Scalar):
    write(selfRef, torch.relu(torch.add(selfRef, other, alpha=alpha)), selfRef, other)
