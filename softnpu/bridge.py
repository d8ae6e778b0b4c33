"""Where the C library enters Python: it finds kernels here and runs them here.

`csrc/kernel.c` calls the kernels, and `csrc/shield.c` shields each from the caller's state.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import inspect
import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType

import torch
from torch._C import DisableTorchFunction, DispatchKey, DispatchKeySet, _ForceDispatchKeyGuard

# The importer below torch.utils.dlpack.from_dlpack: torch_npu replaces that one by a
# version that first tries to make an NPU tensor, 20 times slower.
from torch._C import _from_dlpack as from_dlpack  # noqa: F401 - csrc/convert.c asks for it

from . import settings, soc
from .kernels import kernels
from .kernels._tools import POINTWISE
from .signals import let_kernels_finish

# Included is what makes new tensors land on the CPU; everything that watches or rewrites
# a call is excluded: autograd, autocast, functorch, modes. What is left is the CPU's kernel.
_INCLUDE = DispatchKeySet(DispatchKey.BackendSelect)


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


# Imported now: a mistake in a kernel's file ends aclInit with its message, and is not
# taken for an operator without a kernel later.
_KERNELS = kernels()


def find_kernel(name: str) -> tuple[Callable[..., object], Callable[..., object] | None, bool]:
    """The kernel of an operator that has one, and what its `Pointwise` says, if it is one.

    Called once for each operator. A kernel that was put in another's place is used as it is.
    """
    kernel, known = _KERNELS[name], POINTWISE.get(name)
    if known is None or known.kernel is not kernel:
        return kernel, None, False
    return known


def make_shield() -> tuple[Callable, Callable, Callable, Callable]:
    """What enters and leaves torch's two guards: against function modes, and the rest."""
    functions, keys = DisableTorchFunction(), _ForceDispatchKeyGuard(_INCLUDE, _EXCLUDE)
    return functions.__enter__, keys.__enter__, keys.__exit__, functions.__exit__


def explain(error: BaseException, trace: TracebackType | None) -> str:
    """The message for a kernel that raised, or was left for what a signal handler raised."""
    if not isinstance(error, Exception):
        return f"a signal handler raised {type(error).__name__} inside the kernel, which was not completed"
    return "the kernel raised\n" + "".join(traceback.format_exception(type(error), error, trace))


def flat_shapes(kernel: Callable[..., object], shapes: object) -> tuple[int, ...]:
    """The shapes that a kernel found only now: parameter, rank, sizes, repeated.

    Raises:
        TypeError: the kernel returned something else.
    """
    order = list(inspect.signature(kernel).parameters)
    if not isinstance(shapes, dict) or not shapes.keys() <= set(order):
        given = shapes if isinstance(shapes, dict) else type(shapes).__name__
        raise TypeError(
            f"the kernel {kernel.__name__} returned {given}. A kernel writes into its outputs and "
            "returns nothing, or the shapes that depend on data as {'parameter': shape}; its "
            f"parameters are {', '.join(order)}."
        )
    flat: list[int] = []
    for parameter, shape in shapes.items():
        flat += (order.index(parameter), len(shape), *shape)
    return tuple(flat)


def default_device(path: str | None) -> int:
    """The device that the file for ``aclInit`` names as the default one, -1 where it names none.

    Raises:
        ValueError: no JSON, or a device that is no number, as in CANN.
        OSError: the file cannot be read.
    """
    if not path:
        return -1
    with open(path, encoding="utf-8") as file:
        text = json.load(file).get("defaultDevice", {}).get("default_device", "-1")
    if text != "-1" and not re.fullmatch(r"0|[1-9]\d*", text):
        raise ValueError(f"default_device in {path} is {text!r}, should be the number of a device")
    return int(text)


def _configure() -> None:
    """Tells the C library that is importing this module of the chip, kernels and signals."""
    settings.check()  # what was set after softnpu.activate() too
    soc.check_device_count()
    if not faulthandler.is_enabled() and sys.__stderr__:
        faulthandler.enable(sys.__stderr__)  # names the line where csrc/guard.c ends a program
    library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    name = soc.soc_name()
    product = list(soc.PRODUCTS).index(soc.product(name))
    library.softnpu_configure(name.encode(), product, ctypes.c_uint64(soc.memory_bytes()))
    library.softnpu_kernel_names("\n".join(["", *_KERNELS, ""]).encode())
    if settings.is_on("SOFTNPU_SIGNALS"):
        let_kernels_finish(library.softnpu_defer_signal)
    else:
        library.softnpu_defer_interrupts()


_PROCESS = os.getpid()  # a forked child has no queue thread to wait for


@atexit.register
def _drain() -> None:
    """Raises what an operator still at work has to say, while somebody hears it.

    Handlers run last in, first out, so this one comes before torch_npu's own, which only logs
    it. Not while other threads are at work: they may fill torch_npu's queue for ever.
    """
    alone = threading.active_count() == 1
    if alone and hasattr(torch, "npu") and torch.npu.is_initialized() and os.getpid() == _PROCESS:
        torch.npu.synchronize()


_configure()
