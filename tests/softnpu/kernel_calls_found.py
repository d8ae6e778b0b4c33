"""The calls that test_kernels.py makes, continued: what code from elsewhere found missing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from kernel_calls import aten, call, instead

HALVES = (torch.float16, torch.bfloat16)

# Batch norm over two processes whose sums were exchanged: three samples and five.


def _two_processes(x):
    first, second = x(3, 4, 2), x(5, 4, 2)
    sums = torch.stack([first.sum((0, 2)), second.sum((0, 2))])
    squares = torch.stack([first.square().sum((0, 2)), second.square().sum((0, 2))])
    return first, torch.cat([first, second]), sums, squares


def _gathered(x):
    first, _, sums, squares = _two_processes(x)
    running = x(4), x.positive(4)
    counts = x.of([6, 10], torch.int32)
    got = torch_npu.batch_norm_gather_stats_update(
        first, sums, squares, *running, 0.1, 1e-5, counts
    )
    return [*got, *running]


def _normalized_together(x):
    _, both, _, _ = _two_processes(x)
    running = x(4), x.positive(4)
    _, mean, invstd = torch.native_batch_norm(both, None, None, *running, True, 0.1, 1e-5)
    return [mean, invstd, *running]


call("aclnnSyncBatchNormGatherStats", instead(_gathered, _normalized_together))


def _reduced(x):
    slope, given, mean, invstd = x(3, 4, 2), x(3, 4, 2), x(4), x.positive(4)
    return torch.batch_norm_backward_reduce(slope, given, mean, invstd, x(4), True, True, True)


def _reduced_by_hand(x):
    slope, given, mean, invstd = x(3, 4, 2), x(3, 4, 2), x(4), x.positive(4)
    weighted = torch.einsum("ncl,ncl->c", slope, given - mean.reshape(1, 4, 1))
    return [slope.sum((0, 2)), weighted, weighted * invstd, slope.sum((0, 2))]


call("aclnnBatchNormReduceBackward", instead(_reduced, _reduced_by_hand))


def _parts_of_a_batch_norm(x):
    slope, given, weight = x(3, 4, 2), x(3, 4, 2), x(4)
    variance, mean = torch.var_mean(given, (0, 2), correction=0)
    invstd = torch.rsqrt(variance + 1e-5)
    return slope, given, mean, invstd, weight


def _backward_from_sums(x):
    slope, given, mean, invstd, weight = _parts_of_a_batch_norm(x)
    weighted = (slope * (given - mean.reshape(1, 4, 1))).sum((0, 2))
    sums = slope.sum((0, 2)), weighted, x.of([2, 4], torch.int32)
    return torch.batch_norm_backward_elemt(slope, given, mean, invstd, weight, *sums)


def _backward_at_once(x):
    slope, given, mean, invstd, weight = _parts_of_a_batch_norm(x)
    wanted = [True, False, False]  # computed on the CPU, where invstd is what its name says
    saved = weight, None, None, mean, invstd, True, 1e-5, wanted
    return aten.native_batch_norm_backward(slope, given, *saved)[0]


call("aclnnBatchNormElemtBackward", instead(_backward_from_sums, _backward_at_once))


# Half precision where torch's CPU has none: there the truth is float32's, rounded once.


def _rounded(function, *shapes, halves=HALVES):
    """Calls in half precision, of tensors made from the shapes."""

    def mine(x):
        return [function(*[x(*shape, dtype=half) for shape in shapes]) for half in halves]

    def true(x):
        return [
            function(*[x(*shape, dtype=half).float() for shape in shapes]).to(half)
            for half in halves
        ]

    return instead(mine, true)


_PLACE = (2, 2, 2), (2, 2, 2), (0, 0, 0)
call("aclnnAvgPool3d", _rounded(lambda a: F.avg_pool3d(a, 2), (2, 3, 4, 4, 4)))
call(
    "aclnnAvgPool3dBackward",
    _rounded(
        lambda grad, a: aten.avg_pool3d_backward(grad, a, *_PLACE, False, True, None),
        (2, 3, 2, 2, 2),
        (2, 3, 4, 4, 4),
    ),
)
for _name, _function in {
    "Bilinear": (aten._upsample_bilinear2d_aa, aten._upsample_bilinear2d_aa_backward),
    "Bicubic": (aten._upsample_bicubic2d_aa, aten._upsample_bicubic2d_aa_backward),
}.items():
    call(
        f"aclnnUpsample{_name}2dAA",
        _rounded(lambda a, f=_function[0]: f(a, (3, 5), False), (2, 3, 6, 6)),
    )
    call(
        f"aclnnUpsample{_name}2dAA{'Grad' if _name == 'Bicubic' else 'Backward'}",
        _rounded(lambda a, f=_function[1]: f(a, (3, 5), (2, 3, 6, 6), False), (2, 3, 3, 5)),
    )
call("aclnnCdist", _rounded(lambda a, b: torch.cdist(a, b, 1.0), (3, 4), (5, 4)))
call("aclnnPdist", _rounded(torch.pdist, (3, 4), halves=HALVES[:1]))  # CANN has no bfloat16 here
call(
    "aclnnMultilabelMarginLoss",
    _rounded(
        lambda a: F.multilabel_margin_loss(a, torch.tensor([[2, 0, -1, 1]] * 3, device=a.device)),
        (3, 4),
    ),
)


# What torch's CPU does not count, transformers' mixtures of experts do: whole numbers.


def _counted(x, dtype):
    return torch.histc(x.whole(20, dtype=dtype), 6, 0, 5)


call(
    "aclnnHistc",
    instead(lambda x: _counted(x, torch.int32), lambda x: _counted(x, torch.float32).int()),
)


# A product of several half-precision numbers is rounded once.


def _logits_gradient(x, dtype):
    given, target, weight, positive = (x.share(3, 4).half().to(dtype) for _ in range(4))
    given.requires_grad_()
    loss = F.binary_cross_entropy_with_logits(
        given, target, weight, pos_weight=positive, reduction="sum"
    )
    return torch.autograd.grad(loss, given)[0].half()


call(
    "aclnnBinaryCrossEntropyWithLogitsBackward",
    instead(
        lambda x: _logits_gradient(x, torch.float16), lambda x: _logits_gradient(x, torch.float32)
    ),
)


# A norm's statistics are float32 though its input is not.


def _norm_backwards(x, dtype):
    slope, given, weight = (x(*shape).half().to(dtype) for shape in ((4, 3), (4, 3), (3,)))
    invstd = x.positive(3)
    # On A2 torch_npu's batch norm saves the variance in the place of 1 / the standard deviation.
    saved = invstd if x.device == "cpu" else invstd**-2 - 1e-5
    batch = weight, None, None, x(3), saved, True, 1e-5, [True, True, True]
    layer = x(4, 1), x.positive(4, 1), weight, weight, [True, True, True]
    return [
        *aten.native_batch_norm_backward(slope, given, *batch),
        *aten.native_layer_norm_backward(slope, given, (3,), *layer),
    ]


for _name in ("aclnnBatchNormBackward", "aclnnLayerNormBackward"):
    call(
        _name,
        instead(
            lambda x: [grad.half() for grad in _norm_backwards(x, torch.float16)],
            lambda x: [grad.half() for grad in _norm_backwards(x, torch.float32)],
        ),
    )


# A mask of padding hides everything from some queries: torch gives them zeros.


def _attention_of_padding(x):
    seen = torch.ones(5, 5, dtype=torch.bool).tril().repeat(2, 1, 1, 1)
    seen[0, :, :, :2] = False
    query, key, value = (x(2, 3, 5, 8).requires_grad_() for _ in range(3))
    result = F.scaled_dot_product_attention(query, key, value, attn_mask=seen.to(x.device))
    slope = x(2, 3, 5, 8)
    return [result.detach(), *torch.autograd.grad(result, (query, key, value), slope)]


for _name in ("aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"):
    call(_name, _attention_of_padding)
