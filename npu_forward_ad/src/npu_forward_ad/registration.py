"""Puts the repair into torch's dispatcher, and takes it out again.

A kernel of the repair stands in front of torch_npu's own at the same dispatch key. It asks whether anything is
differentiated forward at the moment; if not, it hands the call to torch_npu's kernel as it came.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
from torch.utils._pytree import tree_leaves

KEY = "AutogradPrivateUse1"
VERSIONS = ("2.7.1", "2.11.0", "2.12.0", "2.13.0", "2.14.0")
_transform = torch._C._functorch.peek_interpreter_stack
# torch.library.get_kernel is public from 2.9 on.
HAS_KERNELS = hasattr(torch.library, "get_kernel")
_OVERRIDES = "allow_override" in inspect.signature(torch.library.Library.impl).parameters


class RepairError(RuntimeError):
    """The repair cannot be made here; the message says what to do."""


class Repair:
    """What was repaired. `operators` are the names, as the dispatcher has them; empty where there is no NPU."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._names: dict[str, None] = {}
        self._libraries: dict[str, torch.library.Library] = {}

    def __repr__(self) -> str:
        return f"<npu_forward_ad.Repair of {len(self.operators)} operators>"

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(self._names)

    def undo(self) -> None:
        """Give every operator back the kernel of torch_npu. A second call does nothing."""
        global _active
        for library in self._libraries.values():
            library._destroy()
        self._libraries.clear()
        self._names.clear()
        if _active is self:
            _active = None

    def put(
        self, name: str, kernel: Callable[..., Any], key: str = KEY, keyset: bool = True
    ) -> None:
        """Register a Python kernel for an operator, ``aten::matmul`` for example."""
        namespace, _, rest = name.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = torch.library.Library(namespace, "IMPL")
        options = {"allow_override": True} if _OVERRIDES else {}
        self._libraries[namespace].impl(rest, kernel, key, with_keyset=keyset, **options)
        if key == KEY:
            self._names[name] = None


_active: Repair | None = None


def repair() -> Repair:
    """Repair forward-mode AD on the NPU in this process, till `Repair.undo`.

    Where there is no NPU nothing is done, and a warning says so.

    Raises:
        RepairError: torch_npu was not imported or is of a version that is not known, the process is a
            fork of one that was repaired, or the repair was made already.
    """
    global _active
    made = Repair()
    if "torch_npu" not in sys.modules:
        if getattr(torch._C, "_get_privateuse1_backend_name", lambda: "")() == "npu":
            raise RepairError(
                "torch_npu is only half imported: call repair() after import torch_npu"
            )
        if _installed():
            raise RepairError("torch_npu is not imported yet: import torch_npu, then call repair()")
        warnings.warn(
            "npu_forward_ad: there is no torch_npu here, so nothing is repaired", stacklevel=2
        )
        return made
    if not torch.npu.is_available():
        warnings.warn("npu_forward_ad: there is no NPU here, so nothing is repaired", stacklevel=2)
        return made
    _check_version(sys.modules["torch_npu"].__version__)
    if _active is not None:
        if _active._pid != os.getpid():
            raise RepairError(
                "this process is a fork of one that is repaired, and so it is too: do not call repair() here"
            )
        raise RepairError(
            "forward-mode AD is repaired already: call undo() on what repair() returned"
        )
    from npu_forward_ad import decomposed, formulas_aten, formulas_npu, second, softmax, zeros

    try:
        for module in (decomposed, formulas_aten, formulas_npu, second, softmax, zeros):
            module.register(made)
    except BaseException:
        made.undo()
        raise
    _active = made
    return made


@contextlib.contextmanager
def repaired() -> Iterator[Repair]:
    """Repair for a ``with`` block."""
    made = repair()
    try:
        yield made
    finally:
        made.undo()


def _installed() -> bool:
    import importlib.util

    return importlib.util.find_spec("torch_npu") is not None


def _check_version(version: str) -> None:
    release = re.match(r"\d+\.\d+\.\d+", version)
    if not release or release.group() not in VERSIONS:
        raise RepairError(
            f"torch_npu {version} is not known to this npu_forward_ad, which was made for {', '.join(VERSIONS)}: "
            "install a newer npu_forward_ad, or see whether the tangents that you need are lost there at all"
        )


def closed() -> bool:
    """Return whether nothing is differentiated forward or transformed."""
    return fwAD._current_level < 0 and _transform() is None


class Own:
    """torch_npu's kernel of an operator, as a formula gets it."""

    def __init__(self, name: str) -> None:
        self.operator = overload(name)
        if HAS_KERNELS:
            self.kernel = torch.library.get_kernel(name, KEY).call_boxed
        else:
            self.kernel = lambda keyset, *args, **kwargs: self.plain(*args, **kwargs)

    def at(self, keyset: Any) -> Own:
        """Return this for one call, as which it can be called."""
        made = copy.copy(self)
        made.keyset = keyset
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(self.keyset, *args, **kwargs)

    def plain(self, *args: Any, **kwargs: Any) -> Any:
        """Call it for what no derivative goes through: indices and masks."""
        with torch._C._AutoDispatchBelowAutograd():
            return self.operator(*args, **kwargs)


def guarded(name: str, formula: Callable[..., Any], own: bool = False) -> Callable[..., Any]:
    """Return the kernel that takes `formula` where something is differentiated forward, else torch_npu's own.

    A function transform without a level counts too: torch_npu's kernels look for storage, which the
    tensors of a transform do not have. With `own` the formula gets the operator's `Own` as its first argument.
    Before torch 2.9 nothing hands out torch_npu's kernel, and `formula` is taken always.
    """
    theirs = Own(name)
    kept = theirs.kernel

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if fwAD._current_level < 0 and _transform() is None:
            return kept(keyset, *args, **kwargs)
        return formula(*args, **kwargs)

    def owning(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if HAS_KERNELS and fwAD._current_level < 0 and _transform() is None:
            return kept(keyset, *args, **kwargs)
        return formula(theirs.at(keyset), *args, **kwargs)

    if own:
        return owning
    return kernel if HAS_KERNELS else lambda keyset, *args, **kwargs: formula(*args, **kwargs)


def borrowed(name: str, records: int | None = None) -> Callable[..., Any] | None:
    """Return the kernel that takes PyTorch's own autograd kernel where something is differentiated forward.

    Also where the argument at the place `records` needs a gradient, which torch_npu's kernel does not give. It
    is read at the key of a device that nobody has. None before torch 2.9.
    """
    if not HAS_KERNELS:
        return None
    theirs = torch.library.get_kernel(name, "AutogradPrivateUse3").call_boxed
    original = torch.library.get_kernel(name, KEY).call_boxed

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        ours = not closed() or (records is not None and args[records].requires_grad)
        return (theirs if ours else original)(keyset, *args, **kwargs)

    return kernel


def unwritten(what: str, own: Own, *args: Any, **kwargs: Any) -> Any:
    """Take torch_npu's kernel for what has no formula.

    Raises:
        NotImplementedError: an argument has a tangent, which would be lost.
    """
    if any(has_tangent(leaf) for leaf in tree_leaves((args, kwargs))):
        raise NotImplementedError(
            f"npu_forward_ad has no formula for {what}: its tangent would be lost"
        )
    return own.plain(*args, **kwargs)


def has_tangent(leaf: Any) -> bool:
    """Return whether something is a tensor with a tangent."""
    if not isinstance(leaf, torch.Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
        return False
    return fwAD._current_level >= 0 and fwAD.unpack_dual(leaf).tangent is not None


def known(name: str) -> bool:
    """Return whether this torch and torch_npu have the operator."""
    return torch._C._dispatch_has_kernel(name)


def overload(name: str) -> torch._ops.OpOverload:
    """Return the operator of a name of the dispatcher."""
    namespace, _, rest = name.partition("::")
    base, _, kind = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), kind or "default")
