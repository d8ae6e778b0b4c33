"""Choosing, gathering, scattering, filling by an index or a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import as_index, aten, each_inplace, known, write

if TYPE_CHECKING:
    from ._types import IntArray, Scalar, Tensor, TensorList, int64_t


_SCATTER = {0: None, 1: "add", 2: "multiply"}
_SCATTER_REDUCE = {1: "sum", 2: "prod", 3: "amax", 4: "amin", 5: "mean"}


@kernel
def aclnnSWhere(condition: Tensor, self: Tensor, other: Tensor, out: Tensor):
    write(out, torch.where(condition.bool(), self, other), self, other)


@kernel
def aclnnGather(self: Tensor, dim: int64_t, index: Tensor, out: Tensor):
    write(out, torch.gather(self, dim, as_index(index)))


@kernel
def aclnnGatherV3(
    self: Tensor, dim: int64_t, index: Tensor, batchDims: int64_t, mode: int64_t, out: Tensor
):
    if batchDims:
        raise NotImplementedError("aclnnGatherV3 with batchDims")
    chosen = torch.index_select(self, dim, index.reshape(-1))
    write(out, chosen.reshape(out.shape))


@kernel
def aclnnIndexSelect(self: Tensor, dim: int64_t, index: Tensor, out: Tensor):
    write(out, torch.index_select(self, dim, index))


@kernel
def aclnnTake(self: Tensor, index: Tensor, out: Tensor):
    write(out, torch.take(self, as_index(index)))


@kernel
def aclnnIndex(self: Tensor, indices: TensorList, out: Tensor):
    if not out.numel():
        return
    chosen = _present(self, indices)
    if not chosen:
        raise RuntimeError("no index has elements, but the output has")
    write(out, aten.index(self, chosen))


@kernel
def aclnnIndexPutImpl(
    selfRef: Tensor, indices: TensorList, values: Tensor, accumulate: bool, unsafe: bool
):
    if chosen := _present(selfRef, indices):
        aten._index_put_impl_(selfRef, chosen, values, accumulate, unsafe)


def _present(self: Tensor, indices: TensorList) -> list[Tensor | None] | None:
    """The indices, ``None`` if they choose nothing.

    torch_npu writes "no index here" as an empty tensor of self's dtype. Where that is also
    the dtype of an index, one that is empty beside one that has elements means the same.
    """
    if not any(index.numel() for index in indices):
        return None
    return [None if not index.numel() and index.dtype == self.dtype else index for index in indices]


@kernel
def aclnnIndexAdd(
    self: Tensor, dim: int64_t, index: Tensor, source: Tensor, alpha: Scalar, out: Tensor
):
    write(out, torch.index_add(self, dim, index, source, alpha=alpha))


@kernel
def aclnnIndexAddV2(
    self: Tensor,
    dim: int64_t,
    index: Tensor,
    source: Tensor,
    alpha: Scalar,
    mode: int64_t,
    out: Tensor,
):
    # The mode chooses between two algorithms of the same result.
    known(mode, {0: "fast", 1: "deterministic"})
    write(out, torch.index_add(self, dim, index, source, alpha=alpha))


@kernel
def aclnnIndexCopy(selfRef: Tensor, dim: int64_t, index: Tensor, source: Tensor, outRef: Tensor):
    write(outRef, torch.index_copy(selfRef, dim, as_index(index), source))


@kernel
def aclnnInplaceIndexCopy(selfRef: Tensor, dim: int64_t, index: Tensor, source: Tensor):
    write(selfRef, torch.index_copy(selfRef, dim, as_index(index), source))


@kernel
def aclnnIndexFill(self: Tensor, dim: int64_t, index: Tensor, value: Scalar, out: Tensor):
    write(out, torch.index_fill(self, dim, as_index(index), value))


@kernel
def aclnnInplaceIndexFill(selfRef: Tensor, dim: int64_t, index: Tensor, value: Scalar):
    write(selfRef, torch.index_fill(selfRef, dim, as_index(index), value))


@kernel
def aclnnIndexFillTensor(self: Tensor, dim: int64_t, index: IntArray, value: Scalar, out: Tensor):
    write(out, torch.index_fill(self, dim, torch.tensor(index, dtype=torch.int64), value))


@kernel
def aclnnInplaceIndexFillTensor(selfRef: Tensor, dim: int64_t, index: IntArray, value: Scalar):
    at = torch.tensor(index, dtype=torch.int64)
    write(selfRef, torch.index_fill(selfRef, dim, at, value))


def _scatter(self: Tensor, dim: int, index: Tensor, source, code: int) -> Tensor:
    reduce = known(code, _SCATTER)
    if reduce is None:
        return torch.scatter(self, dim, as_index(index), source)
    return torch.scatter(self, dim, as_index(index), source, reduce=reduce)


@kernel
def aclnnScatter(
    self: Tensor, dim: int64_t, index: Tensor, src: Tensor, reduce: int64_t, out: Tensor
):
    write(out, _scatter(self, dim, index, src, reduce))


@kernel
def aclnnScatterValue(
    self: Tensor, dim: int64_t, index: Tensor, value: Scalar, reduce: int64_t, out: Tensor
):
    write(out, _scatter(self, dim, index, value, reduce))


@kernel
def aclnnInplaceScatter(selfRef: Tensor, dim: int64_t, index: Tensor, src: Tensor, reduce: int64_t):
    write(selfRef, _scatter(selfRef, dim, index, src, reduce))


@kernel
def aclnnInplaceScatterValue(
    selfRef: Tensor, dim: int64_t, index: Tensor, value: Scalar, reduce: int64_t
):
    write(selfRef, _scatter(selfRef, dim, index, value, reduce))


@kernel
def aclnnScatterAdd(self: Tensor, dim: int64_t, index: Tensor, src: Tensor, out: Tensor):
    write(out, torch.scatter_add(self, dim, as_index(index), src))


def _scatter_reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, code: int, own: bool):
    if code == 0:
        return torch.scatter(self, dim, as_index(index), src)
    reduce = known(code, _SCATTER_REDUCE)
    return torch.scatter_reduce(self, dim, as_index(index), src, reduce, include_self=own)


@kernel
def aclnnScatterReduce(
    self: Tensor,
    dim: int64_t,
    index: Tensor,
    src: Tensor,
    reduce: int64_t,
    includeSelf: bool,
    out: Tensor,
):
    write(out, _scatter_reduce(self, dim, index, src, reduce, includeSelf))


@kernel
def aclnnInplaceScatterReduce(
    selfRef: Tensor, dim: int64_t, index: Tensor, src: Tensor, reduce: int64_t, includeSelf: bool
):
    write(selfRef, _scatter_reduce(selfRef, dim, index, src, reduce, includeSelf))


@kernel
def aclnnInplacePut(selfRef: Tensor, index: Tensor, source: Tensor, accumulate: bool):
    write(selfRef, torch.put(selfRef, as_index(index), source, accumulate))


each_inplace(
    "Tensor, Tensor, Scalar",
    aclnnInplaceMaskedFillScalar=lambda self, mask, value: torch.masked_fill(
        self, mask.bool(), value
    ),
)
each_inplace(
    "Tensor, Tensor, Tensor",
    aclnnInplaceMaskedFillTensor=lambda self, mask, value: torch.masked_fill(
        self, mask.bool(), value.reshape(())
    ),
    aclnnInplaceMaskedScatter=lambda self, mask, source: torch.masked_scatter(
        self, mask.bool(), source
    ),
)
