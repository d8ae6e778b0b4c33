"""Activation functions, dropout's mask excepted, and their backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, each, each_inplace, known, write, write_all

if TYPE_CHECKING:
    from ._types import String, Tensor, int64_t


def _gelu(self: Tensor) -> Tensor:
    # The tanh formula is that of its document, tests and golden; torch_npu calls it on A2 and A3
    # whatever `approximate` is.
    return aten.gelu(self, approximate="tanh")


def _gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    # As its golden and the README of gelu_grad have it; its document gives the erf formula.
    return aten.gelu_backward(grad, self, approximate="tanh")


def _fast_gelu(self: Tensor) -> Tensor:
    # The formula of aclnnFastGelu's document; torch has no such function.
    return self / (1 + torch.exp(-1.702 * self))


def _fast_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    decay = torch.exp(-1.702 * self.abs())
    squared = torch.exp(1.702 * (self - self.abs()))
    return grad * (decay + 1.702 * self * decay + squared) / ((1 + decay) * (1 + decay))


def _prelu(self: Tensor, weight: Tensor) -> Tensor:
    # torch_npu shapes a weight for the channels; CANN takes them in a row, too.
    function = torch.prelu if weight.dim() < 2 else aten._prelu_kernel
    return function(self, weight)


each(
    "Tensor, Tensor",
    aclnnFastGelu=_fast_gelu,
    aclnnGelu=_gelu,
    aclnnHardsigmoid=aten.hardsigmoid,
    aclnnHardswish=aten.hardswish,
    aclnnLogSigmoid=aten.log_sigmoid,
    aclnnMish=aten.mish,
    aclnnRelu=torch.relu,
    aclnnSilu=aten.silu,
)
each("Tensor, Scalar, Tensor", aclnnCelu=torch.celu, aclnnHardshrink=aten.hardshrink)
each("Tensor, Scalar, Tensor", aclnnLeakyRelu=aten.leaky_relu, aclnnSoftshrink=aten.softshrink)
each(
    "Tensor, Scalar, Scalar, Tensor",
    aclnnHardtanh=aten.hardtanh,
    aclnnSoftplus=aten.softplus,
    aclnnThreshold=torch.threshold,
)
each("Tensor, Scalar, Scalar, Scalar, Tensor", aclnnElu=aten.elu)
each("Tensor, int64_t, Tensor", aclnnGlu=aten.glu)
each("Tensor, Tensor, Tensor", aclnnPrelu=_prelu)
each_inplace(
    "Tensor",
    aclnnInplaceHardsigmoid=aten.hardsigmoid,
    aclnnInplaceHardswish=aten.hardswish,
    aclnnInplaceMish=aten.mish,
    aclnnInplaceRelu=torch.relu,
)
each_inplace("Tensor, Scalar", aclnnInplaceCelu=torch.celu, aclnnInplaceLeakyRelu=aten.leaky_relu)
each_inplace(
    "Tensor, Scalar, Scalar",
    aclnnInplaceHardtanh=aten.hardtanh,
    aclnnInplaceThreshold=torch.threshold,
)
each_inplace("Tensor, Scalar, Scalar, Scalar", aclnnInplaceElu=aten.elu)

each(
    "Tensor, Tensor, Tensor",
    aclnnFastGeluBackward=_fast_gelu_backward,
    aclnnGeluBackward=_gelu_backward,
    aclnnHardsigmoidBackward=aten.hardsigmoid_backward,
    aclnnHardswishBackward=aten.hardswish_backward,
    aclnnHardswishBackwardV2=aten.hardswish_backward,
    aclnnMishBackward=aten.mish_backward,
    aclnnSigmoidBackward=aten.sigmoid_backward,
    aclnnSiluBackward=aten.silu_backward,
    aclnnTanhBackward=aten.tanh_backward,
)
each(
    "Tensor, Tensor, Scalar, Tensor",
    aclnnHardshrinkBackward=aten.hardshrink_backward,
    aclnnSoftshrinkBackward=aten.softshrink_backward,
    aclnnThresholdBackward=aten.threshold_backward,
)
each(
    "Tensor, Tensor, Scalar, Scalar, Tensor",
    aclnnHardtanhBackward=aten.hardtanh_backward,
    aclnnSoftplusBackward=aten.softplus_backward,
)
each("Tensor, Tensor, Scalar, bool, Tensor", aclnnLeakyReluBackward=aten.leaky_relu_backward)
each("Tensor, Scalar, Scalar, Scalar, bool, Tensor, Tensor", aclnnEluBackward=aten.elu_backward)
each("Tensor, Tensor, int64_t, Tensor", aclnnGluBackward=aten.glu_backward)


@kernel
def aclnnGeluV2(x: Tensor, approximate: int64_t, y: Tensor):
    approximation = known(approximate, {0: "none", 1: "tanh"})
    write(y, aten.gelu(x, approximate=approximation))


@kernel
def aclnnGeluBackwardV2(gradOutput: Tensor, self: Tensor, approximate: String, gradInput: Tensor):
    write(gradInput, aten.gelu_backward(gradOutput, self, approximate=approximate))


@kernel
def aclnnLogSigmoidForward(self: Tensor, out: Tensor, buffer: Tensor):
    write_all((out, buffer), aten.log_sigmoid_forward(self))


@kernel
def aclnnLogSigmoidBackward(gradOutput: Tensor, self: Tensor, buffer: Tensor, gradInput: Tensor):
    # The buffer is an implementation's own, and torch_npu's is empty: it is made anew.
    own = aten.log_sigmoid_forward(self)[1]
    write(gradInput, aten.log_sigmoid_backward(gradOutput, self, own))


@kernel
def aclnnPreluBackward(
    gradOutput: Tensor, self: Tensor, weight: Tensor, gradInput: Tensor, gradWeight: Tensor
):
    # The weight arrives flat, torch's has the input's rank: one for all, or one a channel.
    rank = self.dim()
    places = [i for i in range(rank) if weight.numel() == 1 or i != min(1, rank - 1)]
    shaped = weight.reshape([1 if i in places else -1 for i in range(rank)])
    results = aten._prelu_kernel_backward(gradOutput, self, shaped)
    write(gradInput, results[0])
    write(gradWeight, results[1].sum_to_size(shaped.shape).reshape(gradWeight.shape))


@kernel
def aclnnSoftmax(self: Tensor, dim: int64_t, out: Tensor):
    write(out, aten._softmax(self, dim, False))


@kernel
def aclnnLogSoftmax(self: Tensor, dim: int64_t, out: Tensor):
    write(out, aten._log_softmax(self, dim, False))


@kernel
def aclnnSoftmaxBackward(gradOutput: Tensor, output: Tensor, dim: int64_t, out: Tensor):
    write(out, aten._softmax_backward_data(gradOutput, output, dim, output.dtype))


@kernel
def aclnnLogSoftmaxBackward(gradOutput: Tensor, output: Tensor, dim: int64_t, out: Tensor):
    write(out, aten._log_softmax_backward_data(gradOutput, output, dim, output.dtype))


@kernel
def aclnnSwiGlu(x: Tensor, dim: int64_t, out: Tensor):
    gate, value = x.chunk(2, dim)
    write(out, aten.silu(gate) * value)


@kernel
def aclnnSwiGluGrad(yGrad: Tensor, x: Tensor, dim: int64_t, out: Tensor):
    gate, value = x.chunk(2, dim)
    parts = aten.silu_backward(yGrad * value, gate), yGrad * aten.silu(gate)
    write(out, torch.cat(parts, dim))


_APPROXIMATIONS = {0: "none", 1: "tanh"}


def _geglu_parts(self: Tensor, dim: int, left: bool) -> tuple[Tensor, ...]:
    """What is activated, and what it multiplies."""
    return self.chunk(2, dim)[:: 1 if left else -1]


@kernel
def aclnnGeGluV3(
    self: Tensor,
    dim: int64_t,
    approximate: int64_t,
    activateLeft: bool,
    out: Tensor,
    outGelu: Tensor,
):
    gate, value = _geglu_parts(self, dim, activateLeft)
    gelu = aten.gelu(gate, approximate=known(approximate, _APPROXIMATIONS))
    write_all((out, outGelu), (gelu * value, gelu))


@kernel
def aclnnGeGluV3Backward(
    gradOutput: Tensor,
    self: Tensor,
    gelu: Tensor,
    dim: int64_t,
    approximate: int64_t,
    activateLeft: bool,
    gradInput: Tensor,
):
    gate, value = _geglu_parts(self, dim, activateLeft)
    mode = known(approximate, _APPROXIMATIONS)
    parts = aten.gelu_backward(gradOutput * value, gate, approximate=mode), gradOutput * gelu
    write(gradInput, torch.cat(parts[:: 1 if activateLeft else -1], dim))
