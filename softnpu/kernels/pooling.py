"""Pooling and its backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._precision import in_single
from ._tools import as_index, aten, check_indices, each, write, write_with_places

if TYPE_CHECKING:
    from ._types import IntArray, Tensor, int8_t, int64_t


def _chosen(grad: Tensor, self: Tensor, indices: Tensor, dimensions: int) -> Tensor:
    """The indices of a max pooling for its backward, which writes wherever they point, unchecked."""
    places = self.shape[-dimensions:].numel()
    if indices.shape != grad.shape:
        raise RuntimeError(f"{tuple(indices.shape)} indices for a {tuple(grad.shape)} gradient")
    check_indices(indices, places)
    return as_index(indices)


def _pooled(grad: Tensor, self: Tensor, dimensions: int) -> Tensor:
    """The gradient of an average pooling, which torch divides by its sizes, unchecked."""
    sizes = (*grad.shape[-dimensions:], *self.shape[-dimensions:])
    if grad.shape[:-dimensions] != self.shape[:-dimensions] or 0 in sizes:
        raise RuntimeError(f"a {tuple(grad.shape)} gradient for a {tuple(self.shape)} input")
    return grad


each("Tensor, IntArray, Tensor", aclnnAdaptiveAvgPool2d=aten._adaptive_avg_pool2d)
each("Tensor, IntArray, Tensor", aclnnAdaptiveAvgPool3d=aten._adaptive_avg_pool3d)
each(
    "Tensor, Tensor, Tensor",
    aclnnAdaptiveAvgPool2dBackward=lambda grad, self: aten._adaptive_avg_pool2d_backward(
        _pooled(grad, self, 2), self
    ),
    aclnnAdaptiveAvgPool3dBackward=lambda grad, self: aten._adaptive_avg_pool3d_backward(
        _pooled(grad, self, 3), self
    ),
)
each(
    "Tensor, Tensor, Tensor, Tensor",
    aclnnAdaptiveMaxPool2dBackward=lambda grad, self, indices: aten.adaptive_max_pool2d_backward(
        grad, self, _chosen(grad, self, indices, 2)
    ),
    aclnnAdaptiveMaxPool3dBackward=lambda grad, self, indices: aten.adaptive_max_pool3d_backward(
        grad, self, _chosen(grad, self, indices, 3)
    ),
)


@kernel
def aclnnAdaptiveMaxPool2d(
    self: Tensor, outputSize: IntArray, outputOut: Tensor, indicesOut: Tensor
):
    write_with_places(outputOut, indicesOut, aten.adaptive_max_pool2d(self, outputSize))


@kernel
def aclnnAdaptiveMaxPool3d(
    self: Tensor, outputSize: IntArray, outputOut: Tensor, indicesOut: Tensor
):
    write_with_places(outputOut, indicesOut, aten.adaptive_max_pool3d(self, outputSize))


def _window(ceil: bool, count_padding: bool, divisor: int) -> tuple:
    return ceil, count_padding, divisor or None  # torch_npu passes 0 for "no divisor"


@kernel
def aclnnAvgPool2d(
    self: Tensor,
    kernelSize: IntArray,
    strides: IntArray,
    paddings: IntArray,
    ceilMode: bool,
    countIncludePad: bool,
    divisorOverride: int64_t,
    cubeMathType: int8_t,
    out: Tensor,
):
    window = _window(ceilMode, countIncludePad, divisorOverride)
    write(out, aten.avg_pool2d(self, kernelSize, strides, paddings, *window))


@kernel
def aclnnAvgPool2dBackward(
    gradOutput: Tensor,
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    ceilMode: bool,
    countIncludePad: bool,
    divisorOverride: int64_t,
    cubeMathType: int8_t,
    gradInput: Tensor,
):
    window = _window(ceilMode, countIncludePad, divisorOverride)
    place = kernelSize, stride, padding
    write(gradInput, aten.avg_pool2d_backward(gradOutput, self, *place, *window))


@kernel
def aclnnAvgPool3d(
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    ceilMode: bool,
    countIncludePad: bool,
    divisorOverride: int64_t,
    out: Tensor,
):
    window = _window(ceilMode, countIncludePad, divisorOverride)
    write(out, in_single(aten.avg_pool3d)(self, kernelSize, stride, padding, *window))


@kernel
def aclnnAvgPool3dBackward(
    gradOutput: Tensor,
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    ceilMode: bool,
    countIncludePad: bool,
    divisorOverride: int64_t,
    output: Tensor,
):
    window = _window(ceilMode, countIncludePad, divisorOverride)
    place = kernelSize, stride, padding
    write(output, in_single(aten.avg_pool3d_backward)(gradOutput, self, *place, *window))


@kernel
def aclnnMaxPool2dWithIndices(
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    out: Tensor,
    indices: Tensor,
):
    place = kernelSize, stride, padding, dilation, ceilMode
    write_with_places(out, indices, aten.max_pool2d_with_indices(self, *place))


@kernel
def aclnnMaxPool2dWithIndicesBackward(
    gradOutput: Tensor,
    self: Tensor,
    indices: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    gradInput: Tensor,
):
    chosen = _chosen(gradOutput, self, indices, 2)
    place = kernelSize, stride, padding, dilation, ceilMode, chosen
    write(gradInput, aten.max_pool2d_with_indices_backward(gradOutput, self, *place))


@kernel
def aclnnMaxPool2dWithMask(
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    out: Tensor,
    indices: Tensor,
):
    # The mask's memory holds the indices as int32, one after the other: so CANN's own test of the
    # backward makes it. For torch_npu it is opaque.
    result, chosen = aten.max_pool2d_with_indices(
        self, kernelSize, stride, padding, dilation, ceilMode
    )
    write(out, result)
    if indices.dtype != torch.int8:
        raise NotImplementedError("aclnnMaxPool2dWithMask with an output for the indices")
    content = torch.zeros(indices.numel(), dtype=torch.int8)
    content[: 4 * chosen.numel()] = chosen.int().flatten().view(torch.int8)
    indices.copy_(content.reshape(indices.shape))


@kernel
def aclnnMaxPool2dWithMaskBackward(
    gradOutput: Tensor,
    self: Tensor,
    indices: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    gradInput: Tensor,
):
    place = kernelSize, stride or kernelSize, padding, dilation, ceilMode
    content = indices.contiguous().flatten()[: 4 * gradOutput.numel()]
    chosen = content.view(torch.int32).reshape(gradOutput.shape).long()
    check_indices(chosen, self.shape[-2] * self.shape[-1])
    write(gradInput, aten.max_pool2d_with_indices_backward(gradOutput, self, *place, chosen))


@kernel
def aclnnMaxPool3dWithArgmax(
    self: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    out: Tensor,
    indices: Tensor,
):
    place = kernelSize, stride, padding, dilation, ceilMode
    write_with_places(out, indices, aten.max_pool3d_with_indices(self, *place))


@kernel
def aclnnMaxPool3dWithArgmaxBackward(
    gradOutput: Tensor,
    self: Tensor,
    indices: Tensor,
    kernelSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    ceilMode: bool,
    gradInput: Tensor,
):
    chosen = _chosen(gradOutput, self, indices, 3)
    place = kernelSize, stride, padding, dilation, ceilMode, chosen
    write(gradInput, aten.max_pool3d_with_indices_backward(gradOutput, self, *place))


@kernel
def aclnnMaxUnpool2d(self: Tensor, indices: Tensor, outputSize: IntArray, out: Tensor):
    write(out, _unpooled(aten.max_unpool2d, self, indices, outputSize))


def _unpooled(function, self: Tensor, indices: Tensor, size: tuple, *place: object) -> Tensor:
    if self.is_floating_point():
        return function(self, as_index(indices), size, *place)
    shape = (*self.shape[: -len(size)], *size)  # integers, which torch's CPU refuses
    flat = torch.zeros(shape, dtype=self.dtype).flatten(-len(size))
    found = as_index(indices).flatten(-len(size))
    return flat.scatter(-1, found, self.flatten(-len(size))).reshape(shape)


@kernel
def aclnnMaxUnpool3d(
    self: Tensor,
    indices: Tensor,
    outputSize: IntArray,
    stride: IntArray,
    padding: IntArray,
    outRef: Tensor,
):
    write(outRef, _unpooled(aten.max_unpool3d, self, indices, outputSize, stride, padding))
