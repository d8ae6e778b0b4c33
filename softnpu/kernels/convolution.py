"""Convolution, unfolding, padding.

``cubeMathType`` lets the chip compute in a narrower format; here it changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._precision import in_single
from ._tools import aten, each, write, write_all

if TYPE_CHECKING:
    from ._types import BoolArray, IntArray, Scalar, Tensor, int8_t, int32_t, int64_t


@kernel
def aclnnConvolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    transposed: bool,
    outputPadding: IntArray,
    groups: int64_t,
    output: Tensor,
    cubeMathType: int8_t,
):
    place = stride, padding, dilation, transposed, outputPadding, groups
    write(output, aten.convolution(input, weight, bias, *place))


@kernel
def aclnnConvDepthwise2d(
    self: Tensor,
    weight: Tensor,
    kernelSize: IntArray,
    bias: Tensor,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    out: Tensor,
    cubeMathType: int8_t,
):
    place = stride, padding, dilation, False, (0, 0), self.shape[-3]
    write(out, aten.convolution(self, weight, bias, *place))


@kernel
def aclnnConvolutionBackward(
    gradOutput: Tensor,
    input: Tensor,
    weight: Tensor,
    biasSizes: IntArray,
    stride: IntArray,
    padding: IntArray,
    dilation: IntArray,
    transposed: bool,
    outputPadding: IntArray,
    groups: int32_t,
    outputMask: BoolArray,
    cubeMathType: int8_t,
    gradInput: Tensor,
    gradWeight: Tensor,
    gradBias: Tensor,
):
    place = stride, padding, dilation, transposed, outputPadding, groups, list(outputMask)
    results = aten.convolution_backward(gradOutput, input, weight, biasSizes, *place)
    for out, result, wanted in zip(
        (gradInput, gradWeight, gradBias), results, outputMask, strict=True
    ):
        if wanted:
            write(out, result)


@kernel
def aclnnConvTbc(
    self: Tensor, weight: Tensor, bias: Tensor, pad: int64_t, output: Tensor, cubeMathType: int8_t
):
    write(output, in_single(aten.conv_tbc)(self, weight, bias, pad))


@kernel
def aclnnConvTbcBackward(
    self: Tensor,
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    pad: int64_t,
    cubeMathType: int8_t,
    gradInput: Tensor,
    gradWeight: Tensor,
    gradBias: Tensor,
):
    results = aten.conv_tbc_backward(self, input, weight, bias, pad)
    write_all((gradInput, gradWeight, gradBias), results)


@kernel
def aclnnIm2col(
    self: Tensor,
    kernelSize: IntArray,
    dilation: IntArray,
    padding: IntArray,
    stride: IntArray,
    out: Tensor,
):
    write(out, aten.im2col(self, kernelSize, dilation, padding, stride))


@kernel
def aclnnIm2colBackward(
    gradOutput: Tensor,
    inputSize: IntArray,
    kernelSize: IntArray,
    dilation: IntArray,
    padding: IntArray,
    stride: IntArray,
    out: Tensor,
):
    write(out, aten.col2im(gradOutput, inputSize, kernelSize, dilation, padding, stride))


@kernel
def aclnnConstantPadNd(self: Tensor, pad: IntArray, value: Scalar, out: Tensor):
    write(out, aten.constant_pad_nd(self, pad, value))


each(
    "Tensor, IntArray, Tensor",
    aclnnReflectionPad1d=aten.reflection_pad1d,
    aclnnReflectionPad2d=aten.reflection_pad2d,
    aclnnReflectionPad3d=aten.reflection_pad3d,
    aclnnReplicationPad1d=aten.replication_pad1d,
    aclnnReplicationPad2d=aten.replication_pad2d,
    aclnnReplicationPad3d=aten.replication_pad3d,
)


def _of_elements(function):
    """A backward that ends the process where the input has a dimension of 0 beside the batch."""

    def run(grad: Tensor, self: Tensor, padding: IntArray) -> Tensor:
        if not self.numel() and self.shape[0]:
            raise ValueError(f"the input's shape is {tuple(self.shape)}")
        return function(grad, self, padding)

    return run


each(
    "Tensor, Tensor, IntArray, Tensor",
    aclnnReflectionPad1dBackward=aten.reflection_pad1d_backward,
    aclnnReflectionPad2dBackward=_of_elements(aten.reflection_pad2d_backward),
    aclnnReflectionPad3dBackward=_of_elements(aten.reflection_pad3d_backward),
    aclnnReplicationPad1dBackward=aten.replication_pad1d_backward,
    aclnnReplicationPad2dBackward=aten.replication_pad2d_backward,
    aclnnReplicationPad3dBackward=aten.replication_pad3d_backward,
)
