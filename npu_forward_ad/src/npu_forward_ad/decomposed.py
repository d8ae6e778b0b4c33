"""Operators that PyTorch composes of others, and torch_npu computes at once without a forward formula.

PyTorch's own composition has a formula for each of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from npu_forward_ad import softmax
from npu_forward_ad.formulas_aten import FORMULAS
from npu_forward_ad.registration import KEY, Repair, guarded, has_tangent, overload

# Nothing is lost in these, in a transform neither, and the first is called often.
KEPT = {"aten::contiguous", "aten::isclose", "aten::isfinite"}

# Composed always: torch_npu's kernel loses the second derivative in reverse, and is no shorter.
ALWAYS = {"aten::slogdet"}

# Their formulas ask how a matrix lies in memory, which the factors from the host do not tell.
FACTORED = ("aten::linalg_det", "aten::linalg_slogdet", "aten::logdet")


def names() -> list[str]:
    """Return the operators with both a kernel of torch_npu's and a composition of PyTorch's."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    found = (
        {*registered(KEY), *registered("PrivateUse1")} - KEPT - {*FORMULAS} - {*softmax.FORMULAS}
    )
    aten = [name for name in found if name.startswith("aten::")]
    return sorted(name for name in aten if has(name, "CompositeImplicitAutograd"))


def register(made: Repair) -> None:
    """Take PyTorch's composition for each; what writes into ``out=`` refuses tangents, as on other devices."""
    for name in names():
        operator = overload(name)
        writes = any(argument.is_out for argument in operator._schema.arguments)
        if name in ALWAYS:
            made.put(name, operator.decompose, keyset=False)
        else:
            made.put(name, guarded(name, _refusing(operator) if writes else operator.decompose))

    for name in FACTORED:
        made.put(name, _of_contiguous(overload(name)), keyset=False)


def _of_contiguous(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    return lambda matrix: operator.decompose(matrix.contiguous())


def _refusing(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def formula(*args: Any, **kwargs: Any) -> Any:
        if any(has_tangent(leaf) for leaf in tree_leaves((args, kwargs))):
            raise NotImplementedError(
                f"Trying to use forward AD with {operator} that does not support it because it is an out= function"
            )
        return operator.decompose(*args, **kwargs)

    return formula
