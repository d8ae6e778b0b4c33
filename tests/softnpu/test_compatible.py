"""``TORCH_NPU_USE_COMPATIBLE_IMPL=1``, with which torch_npu computes products as torch does elsewhere."""

from __future__ import annotations

from programs import start


def test_derivatives_of_products_in_a_batch():
    # Of one matrix and many: torch_npu leaves it to aclnnBatchMatMul to repeat the one.
    start(
        """
        import torch
        from torch.func import hessian, jacfwd, jacrev, vmap

        def function(weight, x):
            return torch.nn.functional.linear(x, weight).tanh().square().sum(-1)

        def total(weight, x):
            return function(weight, x).sum()

        torch.manual_seed(1)
        weight, x = torch.randn(3, 4), torch.randn(5, 4)
        each = lambda a: vmap(function, (None, 0))(weight.to(a.device), a)
        for derivative in (jacrev(function), jacfwd(function), hessian(total), jacrev(function, 1)):
            result = derivative(weight.npu(), x.npu()).cpu()
            torch.testing.assert_close(result, derivative(weight, x))
        torch.testing.assert_close(each(x.npu()).cpu(), each(x))
        """,
        TORCH_NPU_USE_COMPATIBLE_IMPL="1",
    )
