"""Operators on lists of tensors, and what optimizers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, known, register, write, write_all

if TYPE_CHECKING:
    from ._types import Tensor, TensorList, double, int64_t


def _lists(types: str, **functions) -> None:
    """Registers kernels that do one function for each place in their lists."""
    for name, function in functions.items():
        register(name, types, lambda *arguments, f=function: _run(f, *arguments))


def _run(function, *arguments) -> None:
    *inputs, outs = arguments
    for place, out in enumerate(outs):
        items = [_item(given, place) for given in inputs]
        write(out, function(*items), *items)


def _item(given, place: int):
    """A list's item; of numbers in a tensor the number; what is no list is for all places."""
    if isinstance(given, tuple):
        return given[place]
    if isinstance(given, torch.Tensor):
        return given.reshape(-1)[place if given.numel() > 1 else 0].item()
    return given


def _add(x1, x2, alpha) -> Tensor:
    return torch.add(x1, x2, alpha=alpha)


def _sub(x1, x2, alpha) -> Tensor:
    return torch.sub(x1, x2, alpha=alpha)


def _addcmul(x1, x2, x3, value) -> Tensor:
    return torch.addcmul(x1, x2, x3, value=value)


def _addcdiv(x1, x2, x3, value) -> Tensor:
    return torch.addcdiv(x1, x2, x3, value=value)


def _round(x, mode) -> Tensor:
    # The codes that torch_npu passes.
    codes = {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 7: torch.frac}
    return known(mode, codes)(x)


_lists(
    "TensorList, TensorList",
    aclnnForeachAbs=torch.abs,
    aclnnForeachAcos=torch.acos,
    aclnnForeachAsin=torch.asin,
    aclnnForeachAtan=torch.atan,
    aclnnForeachCopy=torch.clone,
    aclnnForeachCos=torch.cos,
    aclnnForeachCosh=torch.cosh,
    aclnnForeachErf=torch.erf,
    aclnnForeachErfc=torch.erfc,
    aclnnForeachExp=torch.exp,
    aclnnForeachExpm1=torch.expm1,
    aclnnForeachLog=torch.log,
    aclnnForeachLog10=torch.log10,
    aclnnForeachLog1p=torch.log1p,
    aclnnForeachLog2=torch.log2,
    aclnnForeachNeg=torch.neg,
    aclnnForeachReciprocal=torch.reciprocal,
    aclnnForeachSigmoid=torch.sigmoid,
    aclnnForeachSign=torch.sign,
    aclnnForeachSin=torch.sin,
    aclnnForeachSinh=torch.sinh,
    aclnnForeachSqrt=torch.sqrt,
    aclnnForeachTan=torch.tan,
    aclnnForeachTanh=torch.tanh,
)
_lists(
    "TensorList, TensorList, TensorList",
    aclnnForeachDivList=torch.div,
    aclnnForeachMaximumList=torch.maximum,
    aclnnForeachMinimumList=torch.minimum,
    aclnnForeachMulList=torch.mul,
    aclnnForeachPowList=torch.pow,
)
_NUMBERS = {
    "Add": torch.add,
    "Div": torch.div,
    "Maximum": torch.clamp_min,
    "Minimum": torch.clamp_max,
    "Mul": torch.mul,
    "Pow": torch.pow,
    "Sub": torch.sub,
}
for _name, _function in _NUMBERS.items():
    _lists("TensorList, Tensor, TensorList", **{f"aclnnForeach{_name}Scalar": _function})
    _lists("TensorList, Scalar, TensorList", **{f"aclnnForeach{_name}ScalarV2": _function})
    _lists("TensorList, ScalarList, TensorList", **{f"aclnnForeach{_name}ScalarList": _function})
_lists("TensorList, Tensor, TensorList", aclnnForeachRoundOffNumber=_round)
_lists("TensorList, Scalar, TensorList", aclnnForeachRoundOffNumberV2=_round)
_lists("TensorList, Scalar, TensorList", aclnnForeachNorm=torch.linalg.vector_norm)
_lists("Scalar, TensorList, TensorList", aclnnForeachPowScalarAndTensor=torch.pow)
_lists(
    "TensorList, TensorList, Tensor, TensorList",
    aclnnForeachAddList=_add,
    aclnnForeachSubList=_sub,
)
_lists(
    "TensorList, TensorList, Scalar, TensorList",
    aclnnForeachAddListV2=_add,
    aclnnForeachLerpScalar=torch.lerp,
    aclnnForeachSubListV2=_sub,
)
_lists("TensorList, TensorList, TensorList, TensorList", aclnnForeachLerpList=torch.lerp)
_lists(
    "TensorList, TensorList, TensorList, Tensor, TensorList",
    aclnnForeachAddcdivScalar=_addcdiv,
    aclnnForeachAddcdivScalarList=_addcdiv,
    aclnnForeachAddcmulScalar=_addcmul,
    aclnnForeachAddcmulScalarList=_addcmul,
)
_lists(
    "TensorList, TensorList, TensorList, Scalar, TensorList",
    aclnnForeachAddcdivScalarV2=_addcdiv,
    aclnnForeachAddcmulScalarV2=_addcmul,
)


@kernel
def aclnnForeachZeroInplace(x: TensorList):
    for tensor in x:
        tensor.zero_()


@kernel
def aclnnForeachNonFiniteCheckAndUnscale(
    scaledGrads: TensorList, foundInf: Tensor, invScale: Tensor
):
    for grad in scaledGrads:
        if not grad.isfinite().all():
            foundInf.fill_(1)
        write(grad, grad * invScale.to(grad.dtype))


@kernel
def aclnnAmpUpdateScale(
    currentScale: Tensor,
    growthTracker: Tensor,
    foundInf: Tensor,
    growthFactor: double,
    backoffFactor: double,
    growthInterval: int64_t,
    updatedScale: Tensor,
    updatedGrowthTracker: Tensor,
):
    scale, tracker = aten._amp_update_scale(
        currentScale, growthTracker, foundInf, growthFactor, backoffFactor, growthInterval
    )
    write_all((updatedScale, updatedGrowthTracker), (scale, tracker))
