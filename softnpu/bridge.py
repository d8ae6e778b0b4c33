"""Where the C library enters Python: it finds kernels here and runs them here.

A kernel may run inside any state of the caller's thread: under a default-device
or dispatch mode, inside a functorch transform, in inference mode. None of it may
reach the torch calls that a kernel makes, so each call is shielded.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import traceback
from collections.abc import Callable

import torch
from torch._C import DispatchKey, DispatchKeySet, DisableTorchFunction, _ForceDispatchKeyGuard
from torch.utils.dlpack import from_dlpack as from_dlpack

from . import soc
from .kernels import kernels

# Nothing is included, and everything that watches or rewrites a call is excluded:
# autograd, autocast, functorch, modes. What is left is the CPU's own kernel.
_INCLUDE = DispatchKeySet(DispatchKey.Undefined)


def _excluded_keys() -> DispatchKeySet:
    keys = DispatchKeySet(DispatchKey.Undefined)
    for name in (
        "AutogradFunctionality",
        "AutogradOther",
        "ADInplaceOrView",
        "AutocastCPU",
        "AutocastCUDA",
        "AutocastPrivateUse1",
        "AutocastXPU",
        "AutocastHPU",
        "FuncTorchBatched",
        "FuncTorchBatchedDecomposition",
        "FuncTorchVmapMode",
        "FuncTorchDynamicLayerFrontMode",
        "FuncTorchDynamicLayerBackMode",
        "FuncTorchGradWrapper",
        "Batched",
        "VmapMode",
        "Functionalize",
        "Python",
        "PythonTLSSnapshot",
        "PythonDispatcher",
        "PreDispatch",
        "Tracer",
    ):
        if key := getattr(DispatchKey, name, None):
            keys = keys | DispatchKeySet(key)
    return keys


_EXCLUDE = _excluded_keys()


def find_kernel(name: str) -> Callable[..., object] | None:
    """The kernel of an operator, or ``None``. Called once for each operator."""
    return kernels().get(name)


def invoke(kernel: Callable[..., object], *arguments: object) -> tuple[int, ...] | None:
    """Runs a kernel, shielded from the caller's state.

    Returns:
        ``None``, or ``(parameter, rank, sizes...)`` repeated for each output
        whose shape the kernel found only now.

    Raises:
        RuntimeError: the kernel raised; the message is its traceback.
    """
    try:
        with DisableTorchFunction(), _ForceDispatchKeyGuard(_INCLUDE, _EXCLUDE):
            shapes = kernel(*arguments)
        return _flat(kernel, shapes) if shapes else None
    except Exception:
        raise RuntimeError("the kernel raised\n" + traceback.format_exc()) from None


def _flat(kernel: Callable[..., object], shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    order = list(inspect.signature(kernel).parameters)
    flat: list[int] = []
    for parameter, shape in shapes.items():
        flat += (order.index(parameter), len(shape), *shape)
    return tuple(flat)


def _configure() -> None:
    """Hands the chosen chip to the C library that is importing this module."""
    library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    library.softnpu_configure(soc.soc_name().encode(), ctypes.c_uint64(soc.memory_bytes()))


_configure()
