"""Autocast and gradient scaling: the dtypes that torch_npu's lists give, and the CPU's numbers."""

from __future__ import annotations

import contextlib
import math

import pytest
import torch
from torch.autograd import forward_ad
from torch.nn import functional

LOW = [torch.float16, torch.bfloat16]


def close(there: torch.Tensor, here: torch.Tensor) -> None:
    """Same dtype, and equal within two roundings of it."""
    step = torch.finfo(here.dtype).eps
    torch.testing.assert_close(there.detach().cpu(), here, rtol=2 * step, atol=2 * step)


def values(*shape: int, scale: float = 1.0) -> torch.Tensor:
    """Numbers that differ and are the same in each run."""
    return torch.linspace(-1, 1, math.prod(shape)).reshape(shape) * scale


# What is computed in the low dtype, in float32, and in the widest dtype of the arguments.
LOW_CALLS = {
    "linear": (functional.linear, (4, 3), (5, 3), (5,)),
    "conv1d": (functional.conv1d, (2, 3, 8), (4, 3, 3), (4,)),
    "conv2d": (functional.conv2d, (2, 3, 8, 8), (4, 3, 3, 3), (4,)),
    "matmul": (torch.matmul, (4, 3), (3, 5)),
    "mm": (torch.mm, (4, 3), (3, 5)),
    "bmm": (torch.bmm, (2, 4, 3), (2, 3, 5)),
    "addmm": (torch.addmm, (4, 5), (4, 3), (3, 5)),
    "baddbmm": (torch.baddbmm, (2, 4, 5), (2, 4, 3), (2, 3, 5)),
    "einsum": (lambda x, y: torch.einsum("ij,jk->ik", x, y), (4, 3), (3, 5)),
}
WIDE_CALLS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "exp": torch.exp,
    "sum": torch.sum,
    "cumsum": lambda x: torch.cumsum(x, 0),
    "norm": lambda x: x.norm(),
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[-1:]),
    "mse_loss": lambda x: functional.mse_loss(x, x * 0),
    "rsqrt": lambda x: (x * x + 1).rsqrt(),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
}


@pytest.mark.parametrize("low", LOW, ids=str)
@pytest.mark.parametrize("name", LOW_CALLS)
def test_products_are_computed_in_the_low_dtype(name, low):
    call, *shapes = LOW_CALLS[name]
    arguments = [values(*shape) for shape in shapes]
    with torch.autocast("npu", dtype=low):
        result = call(*(argument.npu() for argument in arguments))
    close(result, call(*(argument.to(low) for argument in arguments)))


@pytest.mark.parametrize("low", LOW, ids=str)
@pytest.mark.parametrize("name", WIDE_CALLS)
def test_sums_and_functions_are_computed_in_float32(name, low):
    x = values(4, 6).to(low)
    with torch.autocast("npu", dtype=low):
        result = WIDE_CALLS[name](x.npu())
    assert result.dtype == torch.float32
    with torch.autocast("npu", enabled=False):
        assert WIDE_CALLS[name](x.npu()).dtype == low
    torch.testing.assert_close(result.cpu(), WIDE_CALLS[name](x.float()), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("low", LOW, ids=str)
def test_mixed_arguments_are_widened_and_the_rest_is_left_alone(low):
    x, y = values(4, 3).npu(), values(4, 3).to(low).npu()
    with torch.autocast("npu", dtype=low):
        assert torch.cat([x, y]).dtype == torch.float32
        assert torch.atan2(x, y).dtype == torch.float32
        assert torch.relu(x).dtype == torch.float32
        assert torch.relu(y).dtype == low
        assert (x.long() + 1).dtype == torch.int64


def test_regions_nest_and_end():
    x = values(3, 3).npu()

    def dtype():
        return torch.mm(x, x).dtype

    assert dtype() == torch.float32
    assert not torch.is_autocast_enabled("npu")
    with torch.autocast("npu"):
        assert torch.get_autocast_dtype("npu") == torch.float16 == dtype()
        with torch.autocast("npu", dtype=torch.bfloat16):
            assert dtype() == torch.bfloat16
            with torch.autocast("npu", enabled=False):
                assert dtype() == torch.float32
            assert dtype() == torch.bfloat16
        assert dtype() == torch.float16
        with torch.autocast("cpu", enabled=False):
            assert dtype() == torch.float16
        with contextlib.suppress(KeyError), torch.npu.amp.autocast(dtype=torch.bfloat16):
            assert dtype() == torch.bfloat16
            raise KeyError
        assert dtype() == torch.float16
    assert dtype() == torch.float32
    assert torch.autocast("npu", dtype=torch.bfloat16)(dtype)() == torch.bfloat16


def test_a_loss_that_is_unsafe_in_a_low_dtype_is_refused():
    x = torch.sigmoid(values(4)).npu()
    with torch.autocast("npu"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        functional.binary_cross_entropy(x, x)


@pytest.mark.parametrize("low", LOW, ids=str)
def test_a_jvp_inside_autocast_is_the_cpu_s_in_that_dtype(low):
    x, w, dx = values(4, 3), values(5, 3), values(4, 3).cos()
    there = w.npu()

    def f(x):
        with torch.autocast("npu", dtype=low):
            return torch.exp(functional.linear(x, there))  # the product in low, exp in float32

    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(f(forward_ad.make_dual(x.npu(), dx.npu())))
    pairs = [dual, torch.func.jvp(f, (x.npu(),), (dx.npu(),))]
    product, change = (functional.linear(part.to(low), w.to(low)).float() for part in (x, dx))
    for value, tangent in pairs:
        torch.testing.assert_close(value.cpu(), product.exp())
        torch.testing.assert_close(tangent.cpu(), product.exp() * change)


def model_and_data():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    return model, values(6, 3), values(6, 1).square()


def scalers():
    words = {"init_scale": 1024.0, "growth_interval": 2}
    return [
        pytest.param(lambda: torch.npu.amp.GradScaler(**words), id="torch.npu.amp"),
        pytest.param(lambda: torch.amp.GradScaler("npu", **words), id="torch.amp"),
    ]


@pytest.mark.parametrize("make", scalers())
def test_scaled_steps_are_the_steps_without_scaling(make):
    scaler = make()
    here, x, y = model_and_data()
    there = model_and_data()[0].npu()
    slow, fast = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (here, there))
    scales = []
    for _ in range(4):
        slow.zero_grad(), fast.zero_grad()
        functional.mse_loss(here(x), y).backward()
        slow.step()
        loss = functional.mse_loss(there(x.npu()), y.npu())
        torch.testing.assert_close(scaler.scale(loss).cpu(), loss.cpu() * scaler.get_scale())
        scaler.scale(loss).backward()
        scaler.step(fast)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [1024, 2048, 2048, 4096]
    for a, b in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", scalers())
def test_an_overflow_skips_the_step_and_lowers_the_scale(make):
    scaler = make()
    model = model_and_data()[0].npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [p.detach().cpu().clone() for p in model.parameters()]
    with torch.autocast("npu", dtype=torch.float16):
        loss = model(torch.full((2, 3), 6e4, device="npu")).mean() * 1e4
    scaler.scale(loss).backward()
    assert any(not p.grad.isfinite().all() for p in model.parameters())
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 512
    assert all(torch.equal(p.cpu(), old) for p, old in zip(model.parameters(), before, strict=True))
    optimizer.zero_grad()
    scaler.scale(model(torch.ones(2, 3, device="npu")).mean()).backward()
    scaler.unscale_(optimizer)
    assert torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).isfinite()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 512
    assert any(
        not torch.equal(p.cpu(), old) for p, old in zip(model.parameters(), before, strict=True)
    )


@pytest.mark.parametrize("low", LOW, ids=str)
def test_training_in_a_low_dtype_follows_the_cpu_by_hand(low):
    """Autocast of the products, written out: the parameters stay float32."""
    here, x, y = model_and_data()
    there = model_and_data()[0].npu()
    slow, fast = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (here, there))

    def by_hand(x):
        for layer in here:
            if isinstance(layer, torch.nn.Linear):
                x = functional.linear(x.to(low), layer.weight.to(low), layer.bias.to(low))
            else:
                x = layer(x)
        return x

    for _ in range(5):
        slow.zero_grad(), fast.zero_grad()
        expected = functional.mse_loss(by_hand(x).float(), y)
        with torch.autocast("npu", dtype=low):
            loss = functional.mse_loss(there(x.npu()), y.npu())
        assert loss.dtype == torch.float32
        torch.testing.assert_close(loss.detach().cpu(), expected.detach(), rtol=0.02, atol=1e-3)
        expected.backward(), loss.backward()
        slow.step(), fast.step()
    for a, b in zip(here.parameters(), there.parameters(), strict=True):
        assert b.dtype == torch.float32
        torch.testing.assert_close(b.detach().cpu(), a.detach(), rtol=0.02, atol=2e-3)
