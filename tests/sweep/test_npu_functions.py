"""torch_npu's own functions in the sweep: none forgotten, and each gives what its reference gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.autograd.forward_ad as fwAD
from torch.utils._pytree import tree_leaves

from npudocs.sweep.forms import Variant
from npudocs.sweep.npu_functions import FILE, variants

FUNCTIONS = list(variants())
LISTED = Path(__file__).with_name("npu_differentiable.txt").read_text().splitlines()
NAMES = [line for line in LISTED if not line.startswith("#")]
CASES = [(one, dtype) for one in FUNCTIONS for dtype in one.dtypes]


def _inputs(one: Variant, dtype: str) -> list[torch.Tensor]:
    return [tensor.detach() for sample in one.samples(dtype) for tensor in sample.arguments]


def test_every_differentiable_function_is_sampled_or_has_a_reason():
    sampled = [*json.loads(FILE.read_text(encoding="utf-8"))]
    reasons = json.loads(Path(__file__).with_name("unsampled.json").read_text())
    unsampled = [name for names in reasons.values() for name in names]
    assert sorted([*sampled, *unsampled]) == sorted(NAMES)
    # A reason that names an operator has one for each function.
    assert all(
        bool(operator) == ("{}" in reason)
        for reason, names in reasons.items()
        for operator in names.values()
    )


def test_the_list_is_what_torch_npu_registers():
    torch_npu = pytest.importorskip("torch_npu")
    if torch_npu.__version__.split("+")[0] != "2.13.0":
        pytest.skip("the list is of torch_npu 2.13.0")
    registered = [
        name.removeprefix("npu::")
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("npu::")
        and torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutogradPrivateUse1")
    ]
    assert sorted(registered) == sorted(NAMES)


@pytest.mark.parametrize(("one", "dtype"), CASES, ids=lambda v: getattr(v, "name", v))
def test_a_function_gives_what_its_reference_gives(one, dtype):
    inputs = _inputs(one, dtype)
    results = tree_leaves(one.function(*(tensor.npu() for tensor in inputs)))
    wanted = tree_leaves(one.reference(*inputs))
    # Between the two is at most a few roundings, of sums that stay below 16.
    close = {"float32": (1e-5, 1e-5), "float16": (1e-2, 1e-2), "bfloat16": (2e-2, 6e-2)}[dtype]
    for mine, true in zip(results, wanted, strict=True):
        torch.testing.assert_close(mine.cpu(), true, rtol=close[0], atol=close[1])


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.name)
def test_a_reference_has_a_tangent_on_the_cpu(one):
    inputs = _inputs(one, one.dtypes[0])
    with fwAD.dual_level():
        result = one.reference(*(fwAD.make_dual(x, torch.ones_like(x)) for x in inputs))
        assert all(fwAD.unpack_dual(t).tangent is not None for t in tree_leaves(result))
