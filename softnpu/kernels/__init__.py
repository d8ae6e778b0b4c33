"""The operators' kernels: Python functions on CPU tensors over the device's memory.

A kernel bears the operator's name and its C parameters in order; the annotations
say how each parameter arrives:

=============================== ==========================================================
``Tensor``                      a CPU tensor over the device's memory, ``None`` if absent
``TensorList``                  a tuple of them
``Scalar``                      a Python number, ``None`` if absent
``ScalarList, IntArray, ...``   a tuple of numbers
``int64_t, double, bool, ...``  a Python number
=============================== ==========================================================

It writes its results into the output tensors it is given. One whose output shape
depends on data returns ``{"parameter": shape}``.
"""

from __future__ import annotations

import importlib
import inspect
import keyword
import pkgutil
from collections.abc import Callable

from ..operators import operators

_kernels: dict[str, Callable[..., object]] = {}


def kernel(function: Callable[..., object]) -> Callable[..., object]:
    """Registers a kernel under its own name.

    Raises:
        TypeError: no such operator, or other parameters than the operator's.
    """
    name = function.__name__
    operator = operators().get(name)
    if operator is None:
        raise TypeError(f"{name} is not in softnpu/operators.tsv")
    has = tuple(
        (str(parameter.annotation), parameter.name.rstrip("_"))
        for parameter in inspect.signature(function).parameters.values()
    )
    if has != operator.parameters:
        raise TypeError(f"kernel {name} must have the parameters of {definition(name)}")
    if name in _kernels:
        raise TypeError(f"there are two kernels for {name}")
    _kernels[name] = function
    return function


def definition(name: str) -> str:
    """The lines that the kernel of an operator begins with."""
    parameters = ", ".join(
        f"{parameter}{'_' * keyword.iskeyword(parameter)}: {type_}"
        for type_, parameter in operators()[name].parameters
    )
    return f"@kernel\ndef {name}({parameters}):"


def kernels() -> dict[str, Callable[..., object]]:
    """All kernels by operator name. The first call imports their modules, and so torch."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _kernels
