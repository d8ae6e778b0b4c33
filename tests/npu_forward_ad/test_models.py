"""The repair in programs: modules, autocast, compilation, checkpointing."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.usefixtures("repair")


def tangent(module, x, v):
    with fwAD.dual_level():
        return fwAD.unpack_dual(module(fwAD.make_dual(x, v))).tangent


def inputs(*shape):
    return torch.randn(2, *shape, generator=torch.Generator().manual_seed(0))


class Recurrent(torch.nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layers = kind(3, 4, **options)

    def forward(self, x):
        with torch.backends.mkldnn.flags(enabled=False):
            return self.layers(x)[0]


class Packed(Recurrent):
    """Sequences of 5 and of 3 steps; on the CPU, which refuses to pack dual numbers, as if both had 5."""

    def forward(self, x):
        if x.device.type == "cpu":
            return super().forward(x).flatten(0, 1)[[0, 1, 2, 3, 4, 5, 6, 8]]
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
        with torch.backends.mkldnn.flags(enabled=False):
            return self.layers(packed)[0].data


MODULES = {
    "encoder": lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
    "lstm": lambda: Recurrent(torch.nn.LSTM),
    "layers of lstm": lambda: Recurrent(torch.nn.LSTM, num_layers=2, bidirectional=True),
    "packed lstm": lambda: Packed(torch.nn.LSTM),
    "gru": lambda: Recurrent(torch.nn.GRU),
    "layers of gru": lambda: Recurrent(torch.nn.GRU, num_layers=2, bidirectional=True),
    "packed gru": lambda: Packed(torch.nn.GRU),
    "attention": lambda: torch.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_the_tangent_of_the_cpu(name, training):
    torch.manual_seed(0)
    module = MODULES[name]().train(training)
    x, v = inputs(5, 2, 3) if "lstm" in name or "gru" in name else inputs(2, 5, 8)
    there = copy.deepcopy(module).to("npu")
    call = (lambda m: lambda x: m(x, x)) if name == "attention" else (lambda m: m)
    with sdpa_kernel(SDPBackend.MATH):
        right = tangent(call(module.double()), x.double(), v.double())
    found = tangent(call(there), x.to("npu"), v.to("npu"))
    torch.testing.assert_close(found.cpu().double(), right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_under_autocast(dtype):
    x, v = inputs(1, 2, 4, 8)

    def attend(x):
        return F.scaled_dot_product_attention(x, x, x) @ x.mT

    with sdpa_kernel(SDPBackend.MATH):
        right = tangent(attend, x.double(), v.double())
    with torch.autocast("npu", dtype=dtype):
        found = tangent(attend, x.to("npu"), v.to("npu"))
    torch.testing.assert_close(found.cpu().double(), right, rtol=0.1, atol=0.1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_is_repaired(backend):
    torch._dynamo.reset()
    x, v = (one.to("npu") for one in inputs(3, 3))
    function = lambda x: F.l1_loss(x @ x, 0 * x)  # noqa: E731
    compiled = torch.compile(function, backend=backend)
    torch.testing.assert_close(tangent(compiled, x, v), tangent(function, x, v))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_training_is_as_it_was(reentrant):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to("npu")
    x = inputs(2, 5, 8)[0].to("npu").requires_grad_()
    grads = []
    for call in (layer, lambda x: checkpoint(layer, x, use_reentrant=reentrant)):
        torch.npu.manual_seed(0)
        x.grad = None
        call(x).square().sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_a_checkpoint_inside_a_level():
    x, v = (one.to("npu") for one in inputs(3, 3))
    function = lambda x: (x @ x).softmax(-1)  # noqa: E731
    wrapped = lambda x: checkpoint(function, x, use_reentrant=False)  # noqa: E731
    torch.testing.assert_close(tangent(wrapped, x, v), tangent(function, x, v))
