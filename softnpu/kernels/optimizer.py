"""Steps of optimizers that are one operator (``fused=True``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write

if TYPE_CHECKING:
    from ._types import Tensor, TensorList


@kernel
def aclnnApplyAdamWV2(
    varRef: Tensor,
    mRef: Tensor,
    vRef: Tensor,
    maxGradNormOptionalRef: Tensor,
    grad: Tensor,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    weightDecay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
):
    count = step.item() + 1  # torch_npu passes the number of steps before this one
    grad = (-grad if maximize else grad).to(mRef.dtype)
    mean = torch.lerp(mRef, grad, 1 - beta1)
    square = vRef * beta2 + (1 - beta2) * grad * grad
    largest = square
    if amsgrad:
        largest = torch.maximum(maxGradNormOptionalRef.to(square.dtype), square)
        write(maxGradNormOptionalRef, largest.to(maxGradNormOptionalRef.dtype))
    scale = largest.sqrt() / (1 - beta2**count) ** 0.5 + eps
    change = mean / scale * (lr / (1 - beta1**count))
    write(varRef, varRef * (1 - lr * weightDecay) - change)
    write(mRef, mean)
    write(vRef, square)


@kernel
def aclnnFusedSgd(
    paramsRef: TensorList,
    gradsRef: TensorList,
    momentumBufferListOptionalRef: TensorList,
    gradScaleOptional: Tensor,
    weightDecay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    isFirstStep: bool,
):
    for place, (param, scaled) in enumerate(zip(paramsRef, gradsRef, strict=True)):
        grad = scaled
        if gradScaleOptional is not None:
            grad = scaled / gradScaleOptional.reshape(())
            write(scaled, grad)
        grad = (-grad if maximize else grad) + weightDecay * param
        if momentum:
            buffer = momentumBufferListOptionalRef[place]
            moved = grad if isFirstStep else momentum * buffer + (1 - dampening) * grad
            write(buffer, moved)
            grad = grad + momentum * moved if nesterov else moved
        write(param, param - lr * grad)
