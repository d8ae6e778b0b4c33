"""Kernels that none of CANN's cases reaches, against the formulas of CANN's documents."""

from __future__ import annotations

import numpy
import pytest
import torch

from softnpu.conformance import record
from softnpu.conformance.acl import Call
from softnpu.conformance.formulas import AFTER, FORMULAS


def _tensors(values: list) -> list:
    return [torch.from_numpy(v.copy()) if isinstance(v, numpy.ndarray) else v for v in values]


def _results(operator: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """What the kernel wrote through the C interface, and what the formula says."""
    given, wanted = FORMULAS[operator]()
    arguments, wanted = _tensors(given), _tensors(wanted)
    outputs = [
        torch.zeros(w.shape, dtype=torch.float32 if w.is_floating_point() else w.dtype)
        for w in wanted
    ]
    if operator.startswith("aclnnInplace"):
        outputs, values = arguments[:1], arguments
    else:
        values = [*arguments, *outputs, *AFTER.get(operator, [])]
    with Call(operator, values) as call:
        assert call.prepare() == 0, call.message()
        assert call.run() == 0, call.message()
    return list(zip(outputs, wanted, strict=True))


@pytest.mark.parametrize("operator", FORMULAS)
def test_a_kernel_computes_the_formula_of_its_document(operator):
    for mine, true in _results(operator):
        torch.testing.assert_close(mine.double(), true.double(), rtol=1e-5, atol=1e-5)


def test_what_is_compared_with_a_formula_has_no_cases():
    rows = record.table()[1]
    assert not [name for name in FORMULAS if rows[name].verified]
