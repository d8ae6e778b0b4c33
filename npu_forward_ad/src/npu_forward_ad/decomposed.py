"""Operators that PyTorch composes of others, and torch_npu computes at once without a forward formula.

PyTorch's own composition has a formula for each of its parts.
"""

from __future__ import annotations

import torch

from npu_forward_ad.registration import KEY, Repair, guarded

# torch_npu's kernels of these are composed too, and keep every tangent; or nothing in them is differentiated.
KEPT = {
    "aten::__ior__.Scalar",
    "aten::__ior__.Tensor",
    "aten::argsort",
    "aten::argsort.stable",
    "aten::contiguous",
    "aten::flatten_dense_tensors",
    "aten::one_hot",
    "aten::where",
}


def names() -> list[str]:
    """Return the operators with both a kernel of torch_npu's and a composition of PyTorch's."""
    found = torch._C._dispatch_get_registrations_for_dispatch_key(KEY)
    composed = "CompositeImplicitAutograd"
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    aten = [name for name in found if name.startswith("aten::") and name not in KEPT]
    return sorted(name for name in aten if has(name, composed))


def overload(name: str) -> torch._ops.OpOverload:
    """Return the operator of a name of the dispatcher."""
    namespace, _, rest = name.partition("::")
    base, _, kind = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), kind or "default")


def register(made: Repair) -> None:
    """Take PyTorch's composition for each."""
    for name in names():
        made.put(name, guarded(name, overload(name).decompose))
