"""Zeros that take no memory and no transfer.

A dual tensor times an ordinary one asks for ``_efficientzerotensor`` in the place of the tangent that is not there.
torch_npu has no such tensor: it makes all zeros on the host, moves them to the NPU, and multiplies by them.
PyTorch's own is made for the CPU's key with the NPU as its device, and has no memory. What operators do with one
is said at the key ``ZeroTensor``, which comes before any backend: PyTorch answers for views, sums and elementwise
products there, `ABSORBED` adds other products, and all else gets real zeros, one number that is expanded.
PyTorch's fallback would do the last, too, but goes on to the kernel of the key that the tensor was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from npu_forward_ad.registration import Repair, overload

_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
# Zero where the tensor at one of these places is; the shape is asked of the meta device.
ABSORBED: dict[str, tuple[int, ...]] = {
    "aten::bmm": (0, 1),
    "aten::dot": (0, 1),
    "aten::mm": (0, 1),
    "aten::mv": (0, 1),
    "aten::neg": (0,),
    "aten::sum": (0,),
    "aten::sum.dim_IntList": (0,),
}


def efficientzerotensor(size: Sequence[int], **options: Any) -> Tensor:
    """Return zeros without memory on the NPU."""
    operator = torch.ops.aten._efficientzerotensor.default
    return operator.redispatch(_HOST, size, **options)


def copy_(target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """PyTorch lets a backend look whether the source is such a tensor, and torch_npu does not."""
    _refuse(target)
    return target.zero_()


def add_(target: Tensor, other: Tensor, *, alpha: float = 1) -> Tensor:
    """Nothing is added."""
    _refuse(target)
    return target


def _to_copy(x: Tensor, **options: Any) -> Tensor:
    """PyTorch asks the meta device for shapes, which needs no numbers."""
    if str(options.get("device")) == "meta":
        return _on_meta(x).to(options.get("dtype") or x.dtype)
    return torch.ops.aten._to_copy.default(_real(x), **options)


def _refuse(written: Any) -> None:
    if isinstance(written, Tensor) and written._is_zerotensor():
        raise RuntimeError("a tensor of zeros without memory cannot be written to: clone it first")


def _absorbing(name: str, places: tuple[int, ...]) -> Callable[..., Any]:
    made, operator = _materializing(name), overload(name)

    def kernel(*args: Any, **kwargs: Any) -> Tensor:
        if not any(args[place]._is_zerotensor() for place in places):
            return made(*args, **kwargs)
        like = operator(*tree_map(_on_meta, args), **kwargs)
        return torch._efficientzerotensor(like.shape, dtype=like.dtype, device=args[0].device)

    return kernel


def _on_meta(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    return torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device="meta")


def _materializing(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        operator = overload(name)  # looked up here: there are thousands, of which few are called
        for place, argument in enumerate(operator._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                written = args[place] if place < len(args) else kwargs.get(argument.name)
                for leaf in tree_leaves(written):
                    _refuse(leaf)
        args, kwargs = tree_map(_real, (args, kwargs))
        return operator(*args, **kwargs)

    return kernel


def _real(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or not leaf._is_zerotensor():
        return leaf
    return torch.zeros((), dtype=leaf.dtype, device=leaf.device).expand(leaf.shape)


def register(made: Repair) -> None:
    """Put the kernels in place."""
    made.put("aten::_efficientzerotensor", efficientzerotensor, "PrivateUse1", keyset=False)
    kernels = {"aten::copy_": copy_, "aten::add_.Tensor": add_, "aten::_to_copy": _to_copy}
    for name, kernel in kernels.items():
        made.put(name, kernel, "ZeroTensor", keyset=False)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in torch._C._dispatch_get_all_op_names():
        composed = has(name, "CompositeImplicitAutograd")
        if name in kernels or composed or not name.startswith(("aten::", "npu::")):
            continue
        if name in ABSORBED:
            kernel = _absorbing(name, ABSORBED[name])
        elif not has(name, "ZeroTensor"):
            kernel = _materializing(name)
        else:
            continue
        made.put(name, kernel, "ZeroTensor", keyset=False)
