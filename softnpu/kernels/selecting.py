"""Operators that find the shape of their output only when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write, write_all

if TYPE_CHECKING:
    from ._types import Tensor, int64_t


def _write_first(out: Tensor, result: Tensor) -> tuple[int, ...]:
    """Writes a result to the start of an output that was made as large as it can get."""
    write(out.as_strided(result.shape, result.contiguous().stride()), result)
    return tuple(result.shape)


@kernel
def aclnnMaskedSelect(self: Tensor, mask: Tensor, out: Tensor):
    return {"out": _write_first(out, torch.masked_select(self, mask.bool()))}


@kernel
def aclnnNonzero(self: Tensor, out: Tensor):
    return {"out": _write_first(out, torch.nonzero(self))}


@kernel
def aclnnNonzeroV2(self: Tensor, out: Tensor):
    return {"out": _write_first(out, torch.nonzero(self).t())}


@kernel
def aclnnUnique(
    self: Tensor, sorted: bool, returnInverse: bool, valueOut: Tensor, inverseOut: Tensor
):
    values, inverse = torch.unique(self, sorted, returnInverse or True)
    write_all((inverseOut,), (inverse,))
    return {"valueOut": _write_first(valueOut, values)}


@kernel
def aclnnUnique2(
    self: Tensor,
    sorted: bool,
    returnInverse: bool,
    returnCounts: bool,
    valueOut: Tensor,
    inverseOut: Tensor,
    countsOut: Tensor,
):
    values, inverse, counts = torch.unique(self, sorted, True, True)
    write_all((inverseOut,), (inverse,))
    shapes = {"valueOut": _write_first(valueOut, values)}
    if returnCounts:
        shapes["countsOut"] = _write_first(countsOut, counts)
    return shapes


@kernel
def aclnnUniqueConsecutive(
    self: Tensor,
    returnInverse: bool,
    returnCounts: bool,
    dim: int64_t,
    valueOut: Tensor,
    inverseOut: Tensor,
    countsOut: Tensor,
):
    along = None if dim == 1000 else dim  # 1000 is how torch_npu writes "no dim"
    values, inverse, counts = torch.unique_consecutive(self, True, True, along)
    if returnInverse:
        write(inverseOut, inverse)
    shapes = {"valueOut": _write_first(valueOut, values)}
    if returnCounts:
        shapes["countsOut"] = _write_first(countsOut, counts)
    return shapes


@kernel
def aclnnUniqueDim(
    self: Tensor,
    sorted: bool,
    returnInverse: bool,
    dim: int64_t,
    valueOut: Tensor,
    inverseOut: Tensor,
    countsOut: Tensor,
):
    values, inverse, counts = torch.unique(self, sorted, True, True, dim)
    write(inverseOut, inverse)
    return {
        "valueOut": _write_first(valueOut, values),
        "countsOut": _write_first(countsOut, counts),
    }
