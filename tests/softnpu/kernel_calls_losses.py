"""The calls that test_kernels.py makes, continued: activations, losses and their backwards."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
import torch_npu
from kernel_calls import aten, call, gradients, instead

# Activations' backwards, and activations that only torch_npu has.


for _name, _backward in {
    "Gelu": partial(aten.gelu_backward, approximate="tanh"), "Hardsigmoid": aten.hardsigmoid_backward,
    "Mish": aten.mish_backward, "Sigmoid": aten.sigmoid_backward, "Silu": aten.silu_backward,
    "Tanh": aten.tanh_backward, "HardswishBackwardV2": aten.hardswish_backward,
}.items():  # fmt: skip
    call(
        f"aclnn{_name.removesuffix('BackwardV2')}Backward{'V2' * _name.endswith('V2')}",
        lambda x, f=_backward: [f(a, b) for a, b in zip(x.layouts(), x.layouts(), strict=True)],
    )
call("aclnnGeluBackward", lambda x: aten.gelu_backward(x(3, 4), x(3, 4), approximate="tanh"))
call(
    "aclnnGeluBackward",
    instead(
        lambda x: aten.gelu_backward(x(3, 4), x(3, 4)),
        lambda x: aten.gelu_backward(x(3, 4), x(3, 4), approximate="tanh"),
    ),
)
call("aclnnHardshrinkBackward", lambda x: aten.hardshrink_backward(x(3, 4), x(3, 4), 0.5))
call("aclnnSoftshrinkBackward", lambda x: aten.softshrink_backward(x(3, 4), x(3, 4), 0.5))
call("aclnnThresholdBackward", lambda x: aten.threshold_backward(x(3, 4), x(3, 4), 0.5))
call("aclnnHardtanhBackward", lambda x: aten.hardtanh_backward(x(3, 4), x(3, 4), -1, 1))
call("aclnnSoftplusBackward", lambda x: aten.softplus_backward(x(3, 4), x(3, 4), 2, 20))
call("aclnnLeakyReluBackward", lambda x: aten.leaky_relu_backward(x(3, 4), x(3, 4), 0.1, False))
call("aclnnEluBackward", lambda x: aten.elu_backward(x(3, 4), 1.5, 1, 1, False, x(3, 4)))
call("aclnnGlu", lambda x: F.glu(x(3, 4), 1))
call("aclnnGluBackward", lambda x: aten.glu_backward(x(3, 2), x(3, 4), 1))
call("aclnnPrelu", lambda x: [F.prelu(x(2, 3, 4), x(3)), F.prelu(x(3), x(1))])
call("aclnnPreluBackward", lambda x: _prelu_grads(x(2, 3, 4), x(3)) + _prelu_grads(x(3), x(1)))
call(
    "aclnnLogSigmoidBackward",
    lambda x: aten.log_sigmoid_backward(x(3, 4), t := x(3, 4), aten.log_sigmoid_forward(t)[1]),
)
call("aclnnSoftmax", lambda x: [F.softmax(x(3, 4), 0), F.softmax(x(3, 4).t(), 1)])
call("aclnnLogSoftmax", lambda x: F.log_softmax(x(3, 4), 1))
call(
    "aclnnSoftmaxBackward",
    lambda x: aten._softmax_backward_data(x(3, 4), F.softmax(x(3, 4), 1), 1, torch.float32),
)
call(
    "aclnnLogSoftmaxBackward",
    lambda x: aten._log_softmax_backward_data(x(3, 4), F.log_softmax(x(3, 4), 1), 1, torch.float32),
)
call(
    "aclnnGeluV2",
    instead(
        lambda x: torch_npu.npu_gelu(x(3, 4), approximate="tanh"),
        lambda x: F.gelu(x(3, 4), approximate="tanh"),
    ),
)
call(
    "aclnnGeluBackwardV2",
    instead(
        lambda x: torch_npu.npu_gelu_backward(x(3, 4), x(3, 4), approximate="tanh"),
        lambda x: aten.gelu_backward(x(3, 4), x(3, 4), approximate="tanh"),
    ),
)
call(
    "aclnnSwiGlu",
    instead(
        lambda x: torch_npu.npu_swiglu(x(3, 4)), lambda x: F.silu((t := x(3, 4))[:, :2]) * t[:, 2:]
    ),
)
call("aclnnLogitGrad", lambda x: aten.logit_backward(x(3, 4), x.share(3, 4), 0.2))


def _prelu_grads(self, weight):
    self.requires_grad_(), weight.requires_grad_()
    return list(torch.autograd.grad(F.prelu(self, weight).sum(), (self, weight)))


# Losses, with every reduction.
_REDUCTIONS = ("none", "mean", "sum")


def _losses(name: str, function) -> None:
    call(name, lambda x: [function(x, reduction) for reduction in _REDUCTIONS])


def _loss_backwards(name: str, function) -> None:
    call(
        name,
        lambda x: [function(x, x(3, 4) if code == 0 else x(), code) for code in range(3)],
    )


_losses("aclnnL1Loss", lambda x, r: F.l1_loss(x(3, 4), x(3, 4), reduction=r))
_losses("aclnnMseLoss", lambda x, r: F.mse_loss(x(3, 4), x(3, 4), reduction=r))
_losses("aclnnSmoothL1Loss", lambda x, r: F.smooth_l1_loss(x(3, 4), x(3, 4), reduction=r, beta=0.5))
_losses("aclnnSoftMarginLoss", lambda x, r: F.soft_margin_loss(x(3, 4), x(3, 4), reduction=r))
_losses("aclnnKlDiv", lambda x, r: F.kl_div(x(3, 4), x.share(3, 4), reduction=r))
_losses("aclnnKlDiv", lambda x, r: F.kl_div(x(3, 4), x(3, 4), reduction=r, log_target=True))
_losses("aclnnNLLLoss", lambda x, r: F.nll_loss(x(3, 6), x.whole(3), x.positive(6), reduction=r))
_losses("aclnnNLLLoss2d", lambda x, r: F.nll_loss(x(2, 6, 3, 4), x.whole(2, 3, 4), reduction=r))
_losses(
    "aclnnBinaryCrossEntropy",
    lambda x, r: F.binary_cross_entropy(x.share(3, 4), x.share(3, 4), reduction=r),
)
_losses(
    "aclnnBinaryCrossEntropyWithLogits",
    lambda x, r: F.binary_cross_entropy_with_logits(
        x(3, 4), x.share(3, 4), x.positive(4), reduction=r, pos_weight=x.positive(4)
    ),
)
_losses(
    "aclnnMultilabelMarginLoss",
    lambda x, r: F.multilabel_margin_loss(x(3, 6), x.whole(3, 6, low=-1), reduction=r),
)
_loss_backwards(
    "aclnnMseLossBackward", lambda x, g, c: aten.mse_loss_backward(g, x(3, 4), x(3, 4), c)
)
_loss_backwards(
    "aclnnSmoothL1LossBackward",
    lambda x, g, c: aten.smooth_l1_loss_backward(g, x(3, 4), x(3, 4), c, 0.5),
)
_loss_backwards(
    "aclnnSoftMarginLossBackward",
    lambda x, g, c: aten.soft_margin_loss_backward(g, x(3, 4), x(3, 4), c),
)
_loss_backwards(
    "aclnnBinaryCrossEntropyBackward",
    lambda x, g, c: aten.binary_cross_entropy_backward(
        g, x.share(3, 4), x.share(3, 4), x.positive(4), c
    ),
)
_loss_backwards(
    "aclnnNLLLossBackward",
    lambda x, g, c: _nll_backward(
        aten.nll_loss_backward, aten.nll_loss_forward, x, g, c, (3, 6), (3,)
    ),
)
_loss_backwards(
    "aclnnNLLLoss2dBackward",
    lambda x, g, c: _nll_backward(
        aten.nll_loss2d_backward, aten.nll_loss2d_forward, x, g, c, (3, 6, 4, 2), (3, 4, 2)
    ),
)


def _nll_backward(backward, forward, x, grad, code, shape, target_shape):
    self, target, weight = x(*shape), x.whole(*target_shape), x.positive(6)
    total = forward(self, target, weight, code, -100)[1]
    grad = x(*target_shape) if code == 0 else grad
    return backward(grad, self, target, weight, code, -100, total)


# Within rounding: torch's own backward on the CPU is composed of other operations.
call("aclnnL1LossBackward", lambda x: gradients(F.l1_loss, x(3, 4)[:, :], x(3, 4)))
call("aclnnKlDivBackward", lambda x: gradients(lambda a: F.kl_div(a, x.share(3, 4)), x(3, 4)))
call("aclnnKlDivTargetBackward", lambda x: gradients(lambda b: F.kl_div(x(3, 4), b), x.share(3, 4)))
call(
    "aclnnKlDivTargetBackward",
    lambda x: gradients(lambda b: F.kl_div(x(3, 4), b, reduction="sum", log_target=True), x(3, 4)),
)
call(
    "aclnnBinaryCrossEntropyWithLogitsBackward",
    lambda x: gradients(
        lambda a: F.binary_cross_entropy_with_logits(
            a, x.share(3, 4), x.positive(4), pos_weight=x.positive(4)
        ),
        x(3, 4),
    ),
)
call(
    "aclnnCtcLoss",
    lambda x: F.ctc_loss(
        F.log_softmax(x(9, 2, 6), 2), x.whole(2, 3, low=1), (9, 8), (3, 2), reduction="none"
    ),
)
call(
    "aclnnCtcLossBackward",
    lambda x: gradients(
        lambda a: F.ctc_loss(a, x.whole(2, 3, low=1), (9, 8), (3, 2)), F.log_softmax(x(9, 2, 6), 2)
    ),
)
call("aclnnCdist", lambda x: torch.cdist(x(3, 4), x(5, 4), p=1.5))
call("aclnnPdist", lambda x: torch.pdist(x(4, 3), 1.5))

# Attention: torch's CPU kernel works in tiles.
for _options in ({}, {"is_causal": True}, {"scale": 0.3}):
    call(
        "aclnnFlashAttentionScore",
        lambda x, o=_options: F.scaled_dot_product_attention(
            x(2, 4, 5, 8), x(2, 4, 5, 8), x(2, 4, 5, 8), **o
        ),
    )
    call(
        "aclnnFlashAttentionScoreGrad",
        lambda x, o=_options: gradients(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **o),
            x(2, 4, 5, 8),
            x(2, 4, 5, 8),
            x(2, 4, 5, 8),
        ),
    )
call(
    "aclnnFlashAttentionScore",
    lambda x: F.scaled_dot_product_attention(
        x(2, 4, 5, 8),
        x(2, 4, 7, 8),
        x(2, 4, 7, 8),
        x.flags(5, 7) | torch.eye(5, 7, device=x.device).bool(),
    ),
    lambda x: F.scaled_dot_product_attention(
        x(2, 4, 5, 8), x(2, 2, 7, 8), x(2, 2, 7, 8), enable_gqa=True
    ),
)
