"""Second and third derivatives that were silently wrong, each with its number."""

from __future__ import annotations

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

from npudocs.sweep import npu_functions

pytestmark = pytest.mark.usefixtures("repair")
DEVICE = "npu"


def tensor(values):
    return torch.tensor(values, device=DEVICE)


def test_third_derivatives_in_reverse():
    weight, x = tensor([[2.0]]).requires_grad_(), tensor([[1.0]]).requires_grad_()
    (first,) = torch.autograd.grad((x @ weight) ** 3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, weight)
    assert third.item() == 72  # 6 * 3 * w^2


def test_a_gradient_of_functional_jvp():
    weight, x = tensor([[2.0]]).requires_grad_(), tensor([[1.0]])
    cube = lambda x: (x @ weight) ** 3  # noqa: E731
    _, tangent = torch.autograd.functional.jvp(cube, x, torch.ones_like(x), create_graph=True)
    (gradient,) = torch.autograd.grad(tangent, weight)
    assert gradient.item() == 36  # 9 * w^2


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_hessian_vector_products(name):
    weight, x = tensor([[2.0]]), tensor([[1.0]])
    product = getattr(torch.autograd.functional, name)
    _, found = product(lambda x: ((x @ weight) ** 2).sum(), x, torch.ones_like(x))
    assert found.item() == 8


def test_a_hessian_through_linear():
    weight, bias, x = tensor([[1.0, 2.0]]), tensor([0.5]), tensor([0.1, 0.2])
    found = torch.func.hessian(lambda x: F.linear(x, weight, bias).tanh().sum())(x)
    right = [[-0.6397, -1.2794], [-1.2794, -2.5588]]
    torch.testing.assert_close(found.cpu(), torch.tensor(right), rtol=1e-3, atol=1e-3)


def test_a_jacobian_of_a_gradient():
    matrix, x = tensor([[1.0, 2.0], [0.0, 1.0]]), tensor([0.1, 0.2])
    gradient = torch.func.grad(lambda x: (matrix @ x).square().sum() + 0.5 * x.square().sum())
    assert torch.func.jacfwd(gradient)(x).tolist() == [[3, 4], [4, 11]]


def test_softmax_under_autocast():
    with torch.autocast("npu", dtype=torch.bfloat16), fwAD.dual_level():
        x = fwAD.make_dual(tensor([0.0, 1.0]).bfloat16(), tensor([1.0, 0.0]).bfloat16())
        found = fwAD.unpack_dual(x.softmax(0)).tangent
    torch.testing.assert_close(
        found.float().cpu(), torch.tensor([0.1966, -0.1966]), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_a_recurrent_layer_in_reverse_twice(name):
    def run(device, dtype):
        torch.manual_seed(0)
        layer = getattr(torch.nn, name)(3, 4).to(device, dtype)
        x = torch.linspace(-1, 1, 30, dtype=dtype).reshape(5, 2, 3).to(device).requires_grad_()
        with torch.backends.mkldnn.flags(enabled=False):
            (first,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), [x, *layer.parameters()])

    for found, right in zip(run(DEVICE, torch.float32), run("cpu", torch.float64), strict=True):
        torch.testing.assert_close(found.cpu().double(), right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["elu", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "relu6"]
)
def test_a_batch_of_hessians(name):
    function = torch.func.vmap(torch.func.hessian(lambda x: getattr(F, name)(x).square().sum()))
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(function(x.to(DEVICE)).cpu(), function(x))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_the_gradient_of_a_tangent_of_softmax(name):
    """On the CPU PyTorch refuses it on dual numbers; its transforms do not."""
    function = lambda x: getattr(torch, name)(x, -1)  # noqa: E731
    x, v = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def loss(x):
        return torch.func.jvp(function, (x,), (v,))[1].square().sum()

    right = torch.func.grad(loss)(x)
    leaf = x.float().to(DEVICE).requires_grad_()
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(function(fwAD.make_dual(leaf, v.float().to(DEVICE)))).tangent
        (found,) = torch.autograd.grad(tangent.square().sum(), leaf)
    torch.testing.assert_close(found.cpu().double(), right, rtol=1e-4, atol=1e-5)


REFUSED = ("npu_cross_entropy_loss", "npu_moe_gating_top_k", "npu_moe_token_unpermute")
# No gradient in torch_npu at all, half precision alone, or tested above.
LEFT = ("npu_add_rms_norm", "npu_apply_rotary_pos_emb", "npu_interleave_rope", "npu_nsa_compress",
        "_lstm_npu", "_gru_npu")  # fmt: skip


@pytest.mark.parametrize(
    "one",
    [one for one in npu_functions.variants() if one.name.partition(".")[2] not in LEFT],
    ids=lambda one: one.name,
)
def test_a_function_of_torch_npu_in_reverse_twice(one):
    def run(function, device, dtype):
        generator = torch.Generator().manual_seed(0)
        shapes = [x.shape for x in next(one.samples("float32")).arguments]
        inputs = [torch.rand(shape, generator=generator).mul(2).sub(1) for shape in shapes]
        inputs = [x.to(device, dtype).requires_grad_() for x in inputs]
        outputs = function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        value = sum((y.to(dtype) ** 3).sum() for y in outputs)
        first = torch.autograd.grad(value, inputs, create_graph=True)
        return torch.autograd.grad(sum(x.square().sum() for x in first), inputs)

    if any(name in one.name for name in REFUSED):
        with pytest.raises(NotImplementedError, match="cannot be differentiated twice"):
            run(one.function, DEVICE, torch.float32)
        return
    found, right = (
        run(one.function, DEVICE, torch.float32),
        run(one.reference, "cpu", torch.float64),
    )
    for left, other in zip(found, right, strict=True):
        torch.testing.assert_close(left.cpu().double(), other, rtol=2e-3, atol=2e-3)
