"""The table of operators and the check of a kernel's signature against it."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from softnpu.kernels import kernel, kernels
from softnpu.operators import TYPES, operators, trampolines, unknown


def test_every_parameter_has_a_known_type_and_a_name():
    for operator in operators().values():
        assert operator.parameters, operator.name
        for type_, name in operator.parameters:
            assert type_ in TYPES, operator.name
            assert name.isidentifier(), operator.name


def test_each_operator_has_both_phases():
    source = trampolines()
    for name in operators():
        assert f"EXPORT int {name}GetWorkspaceSize(" in source
        assert f"EXPORT int {name}(void *workspace" in source


def test_a_kernel_with_other_parameters_is_refused():
    def aclnnMul(self: Tensor, out: Tensor):  # noqa: F821
        pass

    with pytest.raises(
        TypeError, match=r"def aclnnMul\(self: Tensor, other: Tensor, out: Tensor\):"
    ):
        kernel(aclnnMul)


def test_a_kernel_for_no_operator_is_refused():
    def aclnnNoSuchThing(self: Tensor):  # noqa: F821
        pass

    with pytest.raises(TypeError, match="aclnnNoSuchThing is not in softnpu/operators.tsv"):
        kernel(aclnnNoSuchThing)


def test_a_second_kernel_for_an_operator_is_refused():
    assert "aclnnMul" in kernels()

    def aclnnMul(self: Tensor, other: Tensor, out: Tensor):  # noqa: F821
        pass

    with pytest.raises(TypeError, match="two kernels for aclnnMul"):
        kernel(aclnnMul)


def test_an_operator_of_which_only_the_name_is_known_says_so():
    assert not set(unknown()) & set(operators())
    with pytest.raises(
        RuntimeError, match="softnpu has no kernel for .* aclnnMoeGatingTopKSoftmax"
    ):
        torch_npu.npu_moe_gating_top_k_softmax(torch.ones(3, 8, device="npu"), None, 2)
