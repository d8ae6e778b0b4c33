"""Zeros in the place of a tangent that is not there: without memory, and right wherever they go."""

from __future__ import annotations

import pytest
import torch
import torch.autograd.forward_ad as fwAD
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.usefixtures("repair")
X = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
USES = {
    "added": lambda z, x: z + x,
    "subtracted": lambda z, x: x - z,
    "times": lambda z, x: z * x,
    "divided": lambda z, x: z / x,
    "matrix product": lambda z, x: torch.mm(x, z),
    "batched product": lambda z, x: torch.bmm(z[None], x[None]),
    "addmm": lambda z, x: torch.addmm(z, z, x),
    "negative": lambda z, x: -z,
    "cosine": lambda z, x: z.cos(),
    "concatenated": lambda z, x: torch.cat([z, z]),
    "where": lambda z, x: torch.where(x > 0, z, z),
    "indexed": lambda z, x: z[torch.tensor([0, 1], device=z.device)],
    "summed": lambda z, x: z.sum(0),
    "cast": lambda z, x: z.half().float(),
    "copied": lambda z, x: x.clone().copy_(z),
    "added in place": lambda z, x: x.clone().add_(z),
    "multiplied in place": lambda z, x: x.clone().mul_(z),
    "viewed": lambda z, x: z.T.reshape(4),
    "cloned": lambda z, x: z.clone().add_(1),
    "norm": lambda z, x: torch.nn.functional.layer_norm(z, (2,)),
    "filled like it": lambda z, x: torch.ones_like(z),
    "item": lambda z, x: torch.tensor(z[0, 0].item()),
}


@pytest.mark.parametrize("name", USES)
def test_it_is_a_tensor_of_zeros(name):
    x = X.to("npu")
    zeros = torch._efficientzerotensor(x.shape, device=x.device)
    assert zeros._is_zerotensor() and zeros.device.type == "npu"
    found = USES[name](zeros, x)
    right = USES[name](torch.zeros_like(X), X)
    assert found.dtype == right.dtype
    torch.testing.assert_close(found.cpu(), right)


@pytest.mark.parametrize(
    "name", ["times", "matrix product", "batched product", "negative", "summed"]
)
def test_a_product_with_it_is_not_computed(name):
    x = X.to("npu")
    assert USES[name](torch._efficientzerotensor(x.shape, device=x.device), x)._is_zerotensor()


@pytest.mark.parametrize("write", [lambda z: z.add_(1), lambda z: z.mul_(z), lambda z: z.copy_(z)])
def test_it_cannot_be_written_to(write):
    with pytest.raises(RuntimeError, match="cannot be written to"):
        write(torch._efficientzerotensor((2, 2), device="npu"))


def test_nothing_goes_to_the_device_for_a_frozen_linear():
    layer = torch.nn.Linear(64, 64).to("npu").requires_grad_(False)
    x = torch.ones(8, 64, device="npu")
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, x)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
            tangent = fwAD.unpack_dual(layer(dual)).tangent
    names = {event.name for event in seen.events()}
    assert "aten::_efficientzerotensor" in names and "aten::zeros" not in names
    torch.testing.assert_close(tangent.cpu(), x.cpu() @ layer.weight.cpu().mT)


def test_zeros_of_the_cpu_are_as_they_were():
    zeros = torch._efficientzerotensor(2, 2)
    assert torch.equal(zeros.cos(), torch.ones(2, 2)) and torch.equal(torch.mm(X, zeros), 0 * X)
