"""Every kernel against torch's own result on the CPU, reached through torch_npu."""

from __future__ import annotations

import functools
import math
import threading

import kernel_calls_attention  # noqa: F401 - adds its calls
import kernel_calls_found  # noqa: F401
import kernel_calls_fused  # noqa: F401
import kernel_calls_layers  # noqa: F401
import kernel_calls_lists  # noqa: F401
import kernel_calls_losses  # noqa: F401
import kernel_calls_recurrent  # noqa: F401
import pytest
import torch
import torch.nn.functional as F
from kernel_calls import CALLS, Inputs
from kernel_calls_direct import DIRECT
from watched import watched

import softnpu.kernels
from softnpu.kernels._tools import POINTWISE

CALLED: set[str] = set()
HERE = (
    threading.Event()
)  # a test of this file runs: others in this process get the kernels as they are


@pytest.fixture(autouse=True)
def _watch():
    HERE.set()
    yield
    HERE.clear()


def _record() -> dict:
    """Makes every kernel note its name, watched. The C library asks for a kernel at its first use."""

    def noted(name, function):
        under_watch = watched(name, function)

        @functools.wraps(function)
        def run(*arguments, **keywords):
            CALLED.add(name)
            return (under_watch if HERE.is_set() else function)(*arguments, **keywords)

        return run

    found = softnpu.kernels.kernels()
    for name, function in list(found.items()):
        found[name] = noted(name, function)
    for name, made in list(POINTWISE.items()):
        POINTWISE[name] = made._replace(kernel=found[name], function=noted(name, made.function))
    return found


KERNELS = _record()
CASES = [(name, number) for name, calls in CALLS.items() for number in range(len(calls))]

# Bit-equal, but for these: torch's CPU result is made of other operations, in another order.
ROUNDED = {
    "aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad", "aclnnFlashAttentionScoreV4",
    "aclnnFlashAttentionScoreGradV4",
    "aclnnFlashAttentionVarLenScore", "aclnnFlashAttentionUnpaddingScoreGrad",
    "aclnnFlashAttentionVarLenScoreV2", "aclnnFlashAttentionUnpaddingScoreGradV2",
    "aclnnFlashAttentionVarLenScoreV4", "aclnnFlashAttentionUnpaddingScoreGradV4",
    "aclnnApplyAdamWV2", "aclnnAddbmm", "aclnnBaddbmm",
    "aclnnFusedSgd",
    "aclnnL1LossBackward", "aclnnKlDivBackward", "aclnnKlDivTargetBackward", "aclnnCtcLossBackward",
    "aclnnBinaryCrossEntropyWithLogitsBackward", "aclnnSwiGlu", "aclnnRmsNorm", "aclnnFastGelu",
    "aclnnFastGeluBackward", "aclnnSwiGluGrad", "aclnnRmsNormGrad", "aclnnAddRmsNorm",
    "aclnnBatchNormBackward", "aclnnBatchNormStats", "aclnnBatchNormElemt", "aclnnBatchNormReduce",
    "aclnnSyncBatchNormGatherStats", "aclnnBatchNormReduceBackward", "aclnnBatchNormElemtBackward",
    "aclnnGeGluV3Backward", "aclnnAddLayerNormGrad", "aclnnDeepNorm", "aclnnDeepNormGrad",
    "aclnnGroupNormSwish", "aclnnGroupNormSwishGrad", "aclnnCrossEntropyLossGrad",
    "aclnnRotaryPositionEmbeddingGrad",
    "aclnnMoeTokenUnpermuteGrad", "aclnnMoeGatingTopK",
    "aclnnFlashAttentionScoreV2", "aclnnFlashAttentionScoreGradV2",
    "aclnnLSTM", "aclnnLstmBackward", "aclnnGRU", "aclnnGRUBackward",
    "aclnnThnnFusedLstmCell", "aclnnThnnFusedLstmCellBackward",
    "DynamicRNN", "DynamicRNNGrad", "DynamicRNNV2", "DynamicRNNV2Grad",
}  # fmt: skip


def compare(name: str, mine: torch.Tensor, true: torch.Tensor) -> None:
    close = {"rtol": 1e-5, "atol": 1e-6} if name in ROUNDED else {"rtol": 0, "atol": 0}
    torch.testing.assert_close(mine, true, equal_nan=True, **close)


def run(function, device: str) -> list[torch.Tensor]:
    result = function(Inputs(device))
    result = [result] if isinstance(result, torch.Tensor) else list(result)
    return [tensor.cpu() for tensor in result]


@pytest.mark.parametrize(("name", "number"), CASES, ids=str)
def test_a_kernel_gives_what_torch_gives_on_the_cpu(name, number):
    function = CALLS[name][number]
    wanted = run(function, "cpu")
    CALLED.clear()
    result = run(function, "npu")
    assert name in CALLED, f"the call reached {sorted(CALLED)}"
    assert len(result) == len(wanted)
    for mine, true in zip(result, wanted, strict=True):
        compare(name, mine, true)


@pytest.mark.parametrize("name", DIRECT)
def test_a_kernel_called_directly_gives_what_torch_gives(name):
    pairs = DIRECT[name](KERNELS[name], Inputs("cpu"))
    assert pairs
    for mine, true in pairs:
        compare(name, mine, true)


COUNT = 1_000_000


def _npu(value: float, count: int = COUNT) -> torch.Tensor:
    return torch.full((count,), float(value), device="npu")


def _weights() -> torch.Tensor:
    return torch.tensor([0.2, 0.3, 0.5], device="npu")


# What draws numbers, the mean and the standard deviation that they must have.
RANDOM = {
    "aclnnInplaceNormal": (lambda: _npu(0).normal_(1, 2), 1, 2),
    "aclnnInplaceUniform": (lambda: _npu(0).uniform_(1, 3), 2, 2 / math.sqrt(12)),
    "aclnnInplaceRandom": (
        lambda: torch.randint(3, 13, (COUNT,), device="npu"),
        7.5,
        math.sqrt(99 / 12),
    ),
    "aclnnInplaceBernoulli": (lambda: _npu(0).bernoulli_(0.3), 0.3, math.sqrt(0.21)),
    "aclnnInplaceBernoulliTensor": (lambda: torch.bernoulli(_npu(0.3)), 0.3, math.sqrt(0.21)),
    "aclnnNormalFloatFloat": (lambda: torch.normal(1.0, 2.0, (COUNT,), device="npu"), 1, 2),
    "aclnnNormalFloatTensor": (lambda: torch.normal(1.0, _npu(2)), 1, 2),
    "aclnnNormalTensorFloat": (lambda: torch.normal(_npu(1), 2.0), 1, 2),
    "aclnnNormalTensorTensor": (lambda: torch.normal(_npu(1), _npu(2)), 1, 2),
    "aclnnRandperm": (
        lambda: torch.randperm(COUNT, device="npu"),
        (COUNT - 1) / 2,
        COUNT / math.sqrt(12),
    ),
    "aclnnMultinomial": (
        lambda: torch.multinomial(_weights(), COUNT, replacement=True),
        1.3,
        math.sqrt(0.61),
    ),
    "aclnnDropoutGenMaskV2": (lambda: F.dropout(_npu(1), 0.2), 1, 0.5),
    "aclnnDropoutDoMask": (lambda: F.dropout(_npu(3), 0.2), 3, 1.5),
    "aclnnRReluWithNoise": (
        lambda: F.rrelu(_npu(-1), 0.1, 0.3, training=True),
        -0.2,
        0.2 / math.sqrt(12),
    ),
    "aclnnInplaceRReluWithNoise": (
        lambda: F.rrelu_(_npu(-1), 0.1, 0.3, training=True),
        -0.2,
        0.2 / math.sqrt(12),
    ),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_follow_the_seed_and_their_distribution(name):
    draw, mean, deviation = RANDOM[name]
    CALLED.clear()
    torch.manual_seed(3)
    first, second = draw().cpu(), draw().cpu()
    torch.manual_seed(3)
    again = draw().cpu()
    assert name in CALLED, f"the call reached {sorted(CALLED)}"
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    # Ten standard errors, well below one percent.
    assert abs(first.double().mean().item() - mean) < 10 * deviation / math.sqrt(COUNT)
    assert first.double().std().item() == pytest.approx(deviation, rel=0.008)


def test_what_batch_norm_saves_is_the_variance():
    x = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(1))
    saved = torch.native_batch_norm(x.npu(), None, None, None, None, True, 0.1, 1e-5)[2]
    torch.testing.assert_close(saved.cpu(), x.var((0, 2), correction=0))


def test_aclnnRandperm_gives_every_number():
    assert torch.equal(torch.randperm(50, device="npu").cpu().sort()[0], torch.arange(50))


def test_every_kernel_is_called_by_a_test():
    assert set(KERNELS) <= {*CALLS, *DIRECT, *RANDOM}


# A call that writes into its own input, and what that input must be afterwards.
OVERLAPS = [
    (lambda t: torch.abs(t, out=t), lambda t: torch.abs(t)),
    (lambda t: torch.add(t, t.t(), out=t), lambda t: t + t.t()),
    (lambda t: torch.cumsum(t, 0, out=t), lambda t: torch.cumsum(t, 0)),
    (lambda t: torch.mm(t, t, out=t), lambda t: torch.mm(t, t)),
    (lambda t: torch.tril(t, out=t), lambda t: torch.tril(t)),
    (lambda t: t.mul_(t.t()), lambda t: t * t.t()),
]


@pytest.mark.parametrize(("function", "true"), OVERLAPS)
def test_an_output_may_overlap_the_inputs(function, true):
    mine = Inputs("npu")(4, 4)
    function(mine)
    assert torch.equal(mine.cpu(), true(Inputs("cpu")(4, 4)))


DTYPES = {
    torch.float16: (torch.exp, torch.add, torch.div, torch.maximum, torch.eq, F.silu),
    torch.bfloat16: (torch.exp, torch.add, torch.div, torch.maximum, torch.eq, F.silu),
    torch.float64: (torch.sin, torch.add, torch.div, torch.maximum, torch.eq, torch.erf),
    torch.complex64: (torch.exp, torch.add, torch.div, torch.eq, torch.abs, torch.sin),
    torch.int32: (torch.abs, torch.add, torch.div, torch.maximum, torch.eq, torch.sqrt),
    torch.bool: (torch.logical_not, torch.add, torch.mul, torch.eq, torch.sqrt),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_every_dtype(dtype):
    values = (torch.rand(3, 8, generator=torch.Generator().manual_seed(1)) * 9 - 4).to(dtype)
    mine = torch.empty(3, 8, dtype=dtype, device="npu").copy_(values)
    for function in DTYPES[dtype]:
        pair = function in (torch.add, torch.div, torch.maximum, torch.eq, torch.mul)
        true = function(values, values.flip(1)) if pair else function(values)
        result = function(mine, mine.flip(1)) if pair else function(mine)
        torch.testing.assert_close(result.cpu(), true, rtol=0, atol=0, equal_nan=True)


def test_a_result_of_another_shape_is_an_error_and_not_a_write_elsewhere():
    out = torch.zeros(4)
    with pytest.raises(RuntimeError, match=r"the output's shape is \(4,\), the result's \(3,\)"):
        KERNELS["aclnnAbs"](torch.ones(3), out)
    assert not out.any()


def test_a_result_that_does_not_fit_the_dtype_is_an_error():
    with pytest.raises(RuntimeError, match="the output's dtype is torch.int32"):
        KERNELS["aclnnExp"](torch.ones(3), torch.zeros(3, dtype=torch.int32))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("aclnnDivMod", (torch.ones(3), torch.ones(3), 3, torch.ones(3))),
        ("aclnnL1Loss", (torch.ones(3), torch.ones(3), 3, torch.ones(()))),
        ("aclnnMseLoss", (torch.ones(3), torch.ones(3), 3, torch.ones(()))),
        ("aclnnGeluV2", (torch.ones(3), 2, torch.ones(3))),
        ("aclnnLinalgQr", (torch.eye(3), 3, torch.eye(3), torch.eye(3))),
        ("aclnnScatterValue", (torch.ones(3), 0, torch.tensor([1]), 2, 3, torch.ones(3))),
    ],
)
def test_an_unknown_mode_is_an_error(name, arguments):
    with pytest.raises(ValueError, match="unknown mode"):
        KERNELS[name](*arguments)


def test_the_mask_of_max_pool2d_is_no_index():
    # torch_npu returns it where torch returns indices.
    pooled, mask = F.max_pool2d(Inputs("npu")(1, 1, 4, 4), 2, return_indices=True)
    with pytest.raises(RuntimeError, match=r"indices not implemented for DT_INT8"):
        F.max_unpool2d(pooled, mask, 2).cpu()
    with pytest.raises(TypeError, match=r"an index must be .*, not torch\.int8"):
        KERNELS["aclnnMaxUnpool2d"](pooled.cpu(), mask.cpu(), (4, 4), torch.zeros(1, 1, 4, 4))


def test_a_lazy_conjugation_is_not_lost():
    given = Inputs("npu")(3, 3, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="not implemented for DT_COMPLEX64"):
        torch.mm(given, given.conj()).cpu()
