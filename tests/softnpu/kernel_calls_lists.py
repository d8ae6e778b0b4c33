"""The calls that test_kernels.py makes, continued: indexing, and lists of tensors."""

from __future__ import annotations

import torch
from kernel_calls import aten, call

# Joining, selecting, scattering.
call("aclnnCat", lambda x: [torch.cat([x(2, 3), x(4, 3).half(), x(0)]), torch.cat([x(2), x(3)])])
call("aclnnStack", lambda x: torch.stack([x(2, 3), x(2, 3), x(3, 2).t()], 1))
call("aclnnSWhere", lambda x: torch.where(x.flags(3, 4), x(3, 4), x(4)))
call("aclnnGather", lambda x: torch.gather(x(3, 4), 1, x.whole(3, 2, high=4)))
call("aclnnIndexSelect", lambda x: torch.index_select(x(3, 4), 1, x.whole(6, high=4)))
call("aclnnTake", lambda x: torch.take(x(3, 4), x.whole(2, 3, high=12)))
call("aclnnIndex", lambda x: x(3, 4, 5)[x.whole(2, high=3), :, x.whole(2, high=5)])
call("aclnnIndex", lambda x: [x(3, 4)[x.of([], torch.int64)], x(3, 4)[:, x.of([], torch.int64)]])
call("aclnnIndex", lambda x: [x.whole(3, 4)[:, x.whole(2, high=3)], x(3, 4)[x.flags(3, 4)]])
call("aclnnIndexPutImpl", lambda x: x(3, 4).index_put_((x.of([0, 2]),), x(2, 4)))
call("aclnnIndexPutImpl", lambda x: x(3, 4).index_put_((x.of([0, 0]),), x(2, 4), accumulate=True))
call("aclnnIndexPutImpl", lambda x: aten.index_put_(x(3, 4), [None, x.of([1, 3])], x(3, 2)))
call("aclnnIndex", lambda x: [x.whole(3, 4)[[]], x.whole(3, 4)[:, []], x.whole(3, 4)[:, [1]]])
call("aclnnIndexPutImpl", lambda x: _put_nothing(x.whole(3, 4)) + _put_nothing(x(3, 4)))
call("aclnnIndexAdd", lambda x: x(3, 4).index_add(1, x.of([0, 0, 2]), x(3, 3), alpha=2))
call("aclnnIndexCopy", lambda x: x(3, 4).index_copy(1, x.of([0, 2]), x(3, 2)))
call("aclnnInplaceIndexCopy", lambda x: x(3, 4).index_copy_(1, x.of([0, 2]), x(3, 2)))
call("aclnnIndexFill", lambda x: x(3, 4).index_fill(1, x.of([0, 2]), 2.5))
call("aclnnInplaceIndexFill", lambda x: x(3, 4).index_fill_(1, x.of([0, 2]), 2.5))
call("aclnnScatter", lambda x: x(3, 4).scatter(1, x.of([[0, 2], [1, 3]]), x(2, 2)))
call("aclnnScatterValue", lambda x: x(3, 4).scatter(1, x.of([[0, 2]]), 2.5))
call("aclnnInplaceScatter", lambda x: x(3, 4).scatter_(1, x.of([[0, 2], [1, 3]]), x(2, 2)))
call("aclnnInplaceScatterValue", lambda x: x(3, 4).scatter_(1, x.of([[0, 2]]), 2.5))
call("aclnnScatterAdd", lambda x: x(3, 4).scatter_add(1, x.of([[0, 0], [1, 3]]), x(2, 2)))
call(
    "aclnnScatterReduce",
    lambda x: x(3, 4).scatter_reduce(1, x.of([[0, 0], [1, 3]]), x(2, 2), "sum"),
)
call(
    "aclnnInplaceScatterReduce",
    lambda x: x(3, 4).scatter_reduce_(1, x.of([[0, 0], [1, 3]]), x(2, 2), "sum"),
)
call("aclnnInplacePut", lambda x: x(3, 4).put_(x.of([1, 1, 5]), x(3), accumulate=True))
call("aclnnInplaceMaskedFillScalar", lambda x: x(3, 4).masked_fill_(x.flags(3, 4), 2.5))
call("aclnnInplaceMaskedFillTensor", lambda x: x(3, 4).masked_fill_(x.flags(3, 4), x()))
call("aclnnInplaceMaskedScatter", lambda x: x(3, 4).masked_scatter_(x.flags(3, 4), x(12)))
call("aclnnMaskedSelect", lambda x: torch.masked_select(x(3, 4), x.flags(4)))
call("aclnnNonzero", lambda x: [torch.nonzero(x.flags(3, 4)), torch.nonzero(x.flags(0, 4))])
call("aclnnUnique", lambda x: aten._unique(x.whole(3, 4), True, True))
call("aclnnUnique2", lambda x: torch.unique(x.whole(3, 4), return_inverse=True, return_counts=True))
call("aclnnUniqueConsecutive", lambda x: torch.unique_consecutive(x.whole(9), True, True))
call("aclnnUniqueConsecutive", lambda x: torch.unique_consecutive(x.whole(9, 2, high=2), dim=0))
call("aclnnUniqueDim", lambda x: aten.unique_dim(x.whole(9, 2, high=2), 0, True, True, True))
call("aclnnFlip", lambda x: x(3, 4, 2).flip(0, 2))
call("aclnnRoll", lambda x: [x(3, 4).roll(2), x(3, 4).roll((1, -1), (0, 1))])
call("aclnnRepeat", lambda x: x(3, 4).repeat(2, 1, 3))
call("aclnnRepeatInterleave", lambda x: torch.repeat_interleave(x(4), x.whole(4)))
call("aclnnRepeatInterleaveInt", lambda x: torch.repeat_interleave(x(2, 3), 2))
call("aclnnRepeatInterleaveIntWithDim", lambda x: torch.repeat_interleave(x(2, 3), 2, 1))
call("aclnnRepeatInterleaveWithDim", lambda x: torch.repeat_interleave(x(2, 3), x.whole(2), 0))
call("aclnnRepeatInterleaveTensor", lambda x: torch.repeat_interleave(x.whole(4)))
call("aclnnChannelShuffle", lambda x: torch.channel_shuffle(x(2, 6, 2, 2), 3))
call("aclnnUnfoldGrad", lambda x: aten.unfold_backward(x(2, 3, 2), (2, 4), 1, 2, 1))
call("aclnnChunkCat", lambda x: aten._chunk_cat([x(3, 4), x(2, 4)], 0, 2))


def _put_nothing(tensor):
    index = torch.tensor([], dtype=torch.int64, device=tensor.device)
    tensor[index] = 7
    tensor[:, index] = 7
    tensor[:, index + 1] = 7
    tensor[:, torch.tensor([1, 2], device=tensor.device)] = tensor[:, :2]
    return [tensor]


# Lists.
_FOREACH = [
    "abs",
    "acos",
    "asin",
    "atan",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
for _name in _FOREACH:
    call(
        f"aclnnForeach{_name.capitalize()}",
        lambda x, n=_name: getattr(torch, f"_foreach_{n}")([x.share(3), x.share(2, 4)]),
    )
for _name, _code in {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Pow": "pow",
    "Maximum": "maximum",
    "Minimum": "minimum",
}.items():
    _f = getattr(torch, f"_foreach_{_code}")
    call(
        f"aclnnForeach{_name}List" + ("V2" if _code in ("add", "sub") else ""),
        lambda x, f=_f: f([x.positive(3), x.positive(2, 4)], [x(3), x(2, 4)]),
    )
    call(f"aclnnForeach{_name}ScalarV2", lambda x, f=_f: f([x.positive(3), x.positive(2, 4)], 0.7))
    call(
        f"aclnnForeach{_name}ScalarList",
        lambda x, f=_f: f([x.positive(3), x.positive(2, 4)], [0.7, 1.3]),
    )
call(
    "aclnnForeachRoundOffNumberV2",
    lambda x: [
        t
        for n in ("round", "floor", "ceil", "trunc", "frac")
        for t in getattr(torch, f"_foreach_{n}")([x(3), x(2, 4)])
    ],
)
call(
    "aclnnForeachNorm",
    lambda x: [*torch._foreach_norm([x(3), x(2, 4)]), *torch._foreach_norm([x(3)], 1)],
)
call("aclnnForeachPowScalarAndTensor", lambda x: torch._foreach_pow(2.5, [x(3), x(2, 4)]))
call("aclnnForeachLerpScalar", lambda x: torch._foreach_lerp([x(3), x(2, 4)], [x(3), x(2, 4)], 0.3))
call("aclnnForeachLerpList", lambda x: torch._foreach_lerp([x(3)], [x(3)], [x(3)]))
for _code in ("addcmul", "addcdiv"):
    _f = getattr(torch, f"_foreach_{_code}")
    call(
        f"aclnnForeach{_code.capitalize()}ScalarV2",
        lambda x, f=_f: f([x(3)], [x(3)], [x.positive(3)], 0.7),
    )
    call(
        f"aclnnForeach{_code.capitalize()}ScalarList",
        lambda x, f=_f: f(
            [x(3), x(2)], [x(3), x(2)], [x.positive(3), x.positive(2)], torch.tensor([0.7, 1.3])
        ),
    )
call("aclnnForeachZeroInplace", lambda x: (a := [x(3), x(2, 4)], torch._foreach_zero_(a))[0])
call(
    "aclnnForeachCopy",
    lambda x: (a := [x(3), x(2, 4)], torch._foreach_copy_(a, [x(3), x(2, 4)]))[0],
)
call("aclnnForeachNonFiniteCheckAndUnscale", lambda x: _unscale(x))
call("aclnnAmpUpdateScale", lambda x: _update_scale(x, 0.0) + _update_scale(x, 1.0))


def _unscale(x):
    grads, found = [x(3), x(2) / x.of([0.0, 1.0])], x.of([0.0])
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, x.of([0.5]))
    return [*grads, found]


def _update_scale(x, found):
    scale, tracker = x.of([8.0]), x.of([4], torch.int32)
    torch._amp_update_scale_(scale, tracker, x.of([found]), 2.0, 0.5, 5)
    return [scale, tracker]


# Three steps of an optimizer; the CPU's fused kernels round otherwise.
def _steps(make, x):
    weight = torch.nn.Parameter(x(3, 4))
    optimizer = make([weight])
    for _ in range(3):
        weight.grad = x(3, 4)
        optimizer.step()
    return [weight.detach(), *(s for s in optimizer.state[weight].values() if s.dim())]


for _options in ({}, {"amsgrad": True, "maximize": True}):
    call(
        "aclnnApplyAdamWV2",
        lambda x, o=_options: _steps(
            lambda w: torch.optim.AdamW(w, 0.1, weight_decay=0.2, fused=True, **o), x
        ),
    )
for _options in ({}, {"nesterov": True, "maximize": True, "weight_decay": 0.2}):
    call(
        "aclnnFusedSgd",
        lambda x, o=_options: _steps(
            lambda w: torch.optim.SGD(w, 0.1, momentum=0.9, fused=True, **o), x
        ),
    )
