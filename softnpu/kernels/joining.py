"""Joining, splitting, repeating, rearranging."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, write, write_all

if TYPE_CHECKING:
    from ._types import IntArray, Tensor, TensorList, int64_t


@kernel
def aclnnCat(tensors: TensorList, dim: int64_t, out: Tensor):
    write(out, torch.cat(tensors, dim), *tensors)


@kernel
def aclnnStack(tensors: TensorList, dim: int64_t, out: Tensor):
    write(out, torch.stack(tensors, dim), *tensors)


@kernel
def aclnnSplitWithSize(self: Tensor, splitSize: IntArray, dim: int64_t, out: TensorList):
    write_all(out, torch.split(self, splitSize, dim))


@kernel
def aclnnChunkCat(tensors: TensorList, dim: int64_t, numChunks: int64_t, out: Tensor):
    write(out, aten._chunk_cat(tensors, dim, numChunks))


@kernel
def aclnnFlip(self: Tensor, dims: IntArray, out: Tensor):
    write(out, torch.flip(self, dims))


@kernel
def aclnnRoll(x: Tensor, shifts: IntArray, dims: IntArray, out: Tensor):
    write(out, torch.roll(x, shifts, dims))


@kernel
def aclnnRepeat(self: Tensor, repeats: IntArray, out: Tensor):
    write(out, self.repeat(repeats))


def _interleave(self: Tensor, repeats, dim: int | None) -> Tensor:
    return torch.repeat_interleave(self, repeats, dim)


@kernel
def aclnnRepeatInterleave(self: Tensor, repeats: Tensor, outputSize: int64_t, out: Tensor):
    write(out, _interleave(self, repeats, None))


@kernel
def aclnnRepeatInterleaveInt(self: Tensor, repeats: int64_t, outputSize: int64_t, out: Tensor):
    write(out, _interleave(self, repeats, None))


@kernel
def aclnnRepeatInterleaveWithDim(
    self: Tensor, repeats: Tensor, dim: int64_t, outputSize: int64_t, out: Tensor
):
    write(out, _interleave(self, repeats, dim))


@kernel
def aclnnRepeatInterleaveIntWithDim(
    self: Tensor, repeats: int64_t, dim: int64_t, outputSize: int64_t, out: Tensor
):
    write(out, _interleave(self, repeats, dim))


@kernel
def aclnnRepeatInterleaveTensor(repeats: Tensor, outputSize: int64_t, out: Tensor):
    write(out, torch.repeat_interleave(repeats))


@kernel
def aclnnRepeatInterleaveGrad(yGrad: Tensor, repeats: Tensor, axis: int64_t, out: Tensor):
    shape = list(yGrad.shape)
    shape[axis] = out.shape[axis]
    owner = torch.repeat_interleave(repeats.expand(out.shape[axis]).long())
    write(out, torch.zeros(shape, dtype=yGrad.dtype).index_add(axis, owner, yGrad))


@kernel
def aclnnChannelShuffle(self: Tensor, groups: int64_t, out: Tensor):
    write(out, torch.channel_shuffle(self, groups))


@kernel
def aclnnUnfoldGrad(
    gradOut: Tensor,
    inputSizes: IntArray,
    dim: int64_t,
    size: int64_t,
    step: int64_t,
    gradIn: Tensor,
):
    write(gradIn, aten.unfold_backward(gradOut, inputSizes, dim, size, step))


@kernel
def aclnnConfusionTranspose(
    x: Tensor, perm: IntArray, shape: IntArray, transpose_first: bool, out: Tensor
):
    if transpose_first:
        write(out, x.permute(perm).reshape(shape))
    else:
        write(out, x.reshape(shape).permute(perm))
