"""The functions of torch_npu: tangents against composed ones in float64, and against finite differences."""

from __future__ import annotations

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

import npu_forward_ad
from npu_forward_ad import attention, formulas_npu
from npudocs.sweep import npu_functions

FUNCTIONS = list(npu_functions.variants())
# Jumps between dtypes are steps, which differences do not see, and half precision has few.
CASTS = ("torch_npu.npu_dtype_cast", "torch_npu._npu_dtype_cast")


def pushed(function, inputs, tangents):
    with fwAD.dual_level():
        outputs = function(*map(fwAD.make_dual, inputs, tangents))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [fwAD.unpack_dual(y).tangent for y in outputs]


def problem(one):
    generator = torch.Generator().manual_seed(0)
    shapes = [x.shape for x in next(one.samples("float32")).arguments]
    made = [torch.rand(2, *shape, generator=generator).mul(2).sub(1) for shape in shapes]
    return [x[0] for x in made], [x[1] for x in made]


def moved(tensors, device, dtype):
    return [x.to(device, dtype) for x in tensors]


@pytest.mark.usefixtures("repair")
@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.name)
def test_the_tangent_is_that_of_the_composed_function(one):
    dtype = getattr(torch, one.dtypes[0])
    x, v = problem(one)
    right = pushed(one.reference, moved(x, "cpu", torch.float64), moved(v, "cpu", torch.float64))
    found = pushed(one.function, moved(x, "npu", dtype), moved(v, "npu", dtype))
    room = 2e-2 if dtype == torch.float16 or one.name in CASTS else 1e-4
    for left, other in zip(found, right, strict=True):
        torch.testing.assert_close(left.cpu().double(), other.double(), rtol=room, atol=room)


@pytest.mark.usefixtures("repair")
@pytest.mark.parametrize(
    "one",
    [one for one in FUNCTIONS if one.dtypes[0] == "float32" and one.name not in CASTS],
    ids=lambda one: one.name,
)
def test_the_tangent_is_the_limit_of_differences(one):
    """Of torch_npu's own kernels, which run outside of a level."""
    x, v = (moved(tensors, "npu", torch.float32) for tensors in problem(one))
    found = pushed(one.function, x, v)
    step = 2e-3
    ends = []
    for sign in (1, -1):
        outputs = one.function(*(a + sign * step * b for a, b in zip(x, v, strict=True)))
        ends.append(outputs if isinstance(outputs, tuple) else (outputs,))
    for left, after, before in zip(found, *ends, strict=True):
        torch.testing.assert_close(left, (after - before) / (2 * step), rtol=1e-2, atol=1e-2)


def plain_attention(q, k, v, hidden, scale=0.5):
    """Heads first."""
    scores = (q @ k.mT * scale).masked_fill(hidden, float("-inf"))
    weights = torch.where(hidden.all(-1, keepdim=True), 0, scores.softmax(-1).nan_to_num(0))
    return weights @ v


LAYOUTS = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
}
ROWS, COLUMNS = torch.arange(4)[:, None], torch.arange(6)
MASKS = {
    "none": ({}, torch.zeros(4, 6, dtype=torch.bool)),
    "mask": ({"atten_mask": (ROWS + COLUMNS) % 3 == 0}, (ROWS + COLUMNS) % 3 == 0),
    "causal from the left": ({"sparse_mode": 2}, COLUMNS > ROWS),
    "causal from the right": ({"sparse_mode": 3}, COLUMNS > ROWS + 2),
    "band": (
        {"sparse_mode": 4, "pre_tockens": 1, "next_tockens": 0},
        (COLUMNS > ROWS + 2) | (COLUMNS < ROWS + 1),
    ),
    "prefix": ({"sparse_mode": 5, "prefix": [5, 5]}, (COLUMNS > ROWS + 2) & (COLUMNS >= 5)),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_in_each_layout_and_sparse_mode(layout, mask):
    """On the CPU: the software NPU has no kernel for some of these."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 2, n, 8, generator=generator) for n in (4, 6, 6))
    options, hidden = MASKS[mask]
    function = attention.ATTENTION["npu_fusion_attention"]

    def found(*tensors):
        inputs = [LAYOUTS[layout](x) for x in tensors]
        return function(None, *inputs, 2, layout, scale=0.5, **options)[0]

    def right(*tensors):
        return LAYOUTS[layout](plain_attention(*tensors, hidden))

    tangents = (q.sin(), k.cos(), v * v)
    for left, other in zip(
        torch.func.jvp(found, (q, k, v), tangents),
        torch.func.jvp(right, (q, k, v), tangents),
        strict=True,
    ):
        torch.testing.assert_close(left, other, rtol=1e-4, atol=1e-5)


def test_attention_of_sequences_of_several_lengths():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(n, 2, 8, generator=generator) for n in (5, 7, 7))
    function = attention.ATTENTION["npu_fusion_attention_v2"]
    ends = {"actual_seq_qlen": [2, 5], "actual_seq_kvlen": [3, 7]}
    out, largest, total, _, _, _, count = function(None, q, k, v, 2, "TND", scale=0.5, **ends)
    right = []
    for a, b, c, d in ((0, 2, 0, 3), (2, 5, 3, 7)):
        parts = (x.transpose(0, 1) for x in (q[a:b], k[c:d], v[c:d]))
        right.append(plain_attention(*parts, torch.zeros(b - a, d - c, dtype=bool)).transpose(0, 1))
    torch.testing.assert_close(out, torch.cat(right))
    assert count == 2 * (2 * 3 + 3 * 4) and largest.shape == total.shape == (5, 2, 8)


def test_the_outputs_of_the_softmax_tell_its_logarithm():
    q, k = torch.randn(2, 1, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    function = attention.ATTENTION["npu_fusion_attention"]

    def logsumexp(q):
        _, largest, total, *_ = function(None, q, k, k, 2, "BNSD", scale=0.5)
        return (largest + total.log())[..., 0]

    found = torch.func.jvp(logsumexp, (q,), (k,))[1]
    right = torch.func.jvp(lambda q: (q @ k.mT * 0.5).logsumexp(-1), (q,), (k,))[1]
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-5)


OLDER = {
    "silu": (formulas_npu.silu, F.silu),
    "mish": (formulas_npu.mish, F.mish),
    "bmm": (lambda own, x: formulas_npu.bmm(own, x, x.mT, []), lambda x: x @ x.mT),
}


@pytest.mark.parametrize("name", OLDER)
def test_a_function_that_the_software_npu_lacks(name):
    found, right = OLDER[name]
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    pair = [
        torch.func.jvp(function, (x,), (x.sin(),)) for function in (lambda x: found(None, x), right)
    ]
    torch.testing.assert_close(*pair)


def test_what_has_no_formula_is_an_error_on_a_tangent_alone():
    q = torch.ones(1, 2, 4, 16, device="npu")
    call = torch.ops.npu.npu_fusion_attention
    with npu_forward_ad.repaired(), fwAD.dual_level():
        dual = fwAD.make_dual(q, q)
        assert call(q, q, q, 2, "BNSD", keep_prob=0.5)[0].shape == q.shape
        with pytest.raises(
            NotImplementedError, match="no formula for npu_fusion_attention with dropout"
        ):
            call(dual, q, q, 2, "BNSD", keep_prob=0.5)
