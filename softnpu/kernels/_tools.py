"""What kernels share: writing results, and tables of kernels that are alike."""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from ..operators import operators
from . import _kernels, kernel

aten = torch.ops.aten  # what torch.nn.functional and autograd call: not all of it has another name


class Pointwise(NamedTuple):
    """A kernel, the function it is made of, and whether its first parameter is its output."""

    kernel: Callable[..., None]
    function: Callable[..., torch.Tensor]
    in_place: bool


POINTWISE: dict[str, Pointwise] = {}


def write(out: torch.Tensor, result: torch.Tensor, *inputs: object) -> None:
    """Copies a result into an output, which may overlap an input.

    The result has the output's dtype, or one whose numbers the output holds (torch's promotion),
    or is float32 for a half-precision output, and rounded once. With the operator's inputs, whose
    dtypes the caller chose as the output's, a result in the dtype that they promote to is
    converted as torch converts it for ``out=``.

    Never ``out=``: torch resizes an output of another shape, and then writes elsewhere.

    Raises:
        RuntimeError: another shape, or another dtype.
    """
    if out.shape != result.shape:
        raise RuntimeError(
            f"the output's shape is {tuple(out.shape)}, the result's {tuple(result.shape)}"
        )
    if out.dtype is not result.dtype and not _may_write(result.dtype, out.dtype, inputs):
        raise RuntimeError(
            f"the output's dtype is {out.dtype}, the result's {result.dtype}: "
            "the kernel converts it where the operator does"
        )
    out.copy_(result)


def _may_write(given: torch.dtype, wanted: torch.dtype, inputs: tuple[object, ...]) -> bool:
    if torch.promote_types(given, wanted) is wanted:
        return True
    if given is torch.float32 and wanted in (torch.float16, torch.bfloat16):
        return True
    dtypes = [input_.dtype for input_ in inputs if isinstance(input_, torch.Tensor)]
    promoted = {*dtypes, functools.reduce(torch.promote_types, dtypes)} if dtypes else ()
    return given in promoted and torch.can_cast(given, wanted)


def write_all(outs: Iterable[torch.Tensor | None], results: Iterable[torch.Tensor | None]) -> None:
    """Writes several results. An output that is absent or empty is not wanted."""
    for out, result in zip(outs, results, strict=True):
        if out is not None and out.numel():
            write(out, result)


def write_with_places(
    out: torch.Tensor, places: torch.Tensor, results: tuple[torch.Tensor, torch.Tensor]
) -> None:
    """Writes values, and where they were found: in int32 or int64, as the caller chose."""
    values, found = results
    write_all((out, places), (values, found if places is None else found.to(places.dtype)))


def each(types: str, **functions: Callable[..., torch.Tensor]) -> None:
    """Registers kernels that are alike: a function of the inputs, written to the last parameter.

    ``each("Tensor, Tensor", aclnnSqrt=torch.sqrt)`` is::

        @kernel
        def aclnnSqrt(self: Tensor, out: Tensor):
            write(out, torch.sqrt(self), self)
    """
    for name, function in functions.items():
        register(
            name,
            types,
            lambda *arguments, f=function: write(
                arguments[-1], f(*arguments[:-1]), *arguments[:-1]
            ),
        )


def each_inplace(types: str, **functions: Callable[..., torch.Tensor]) -> None:
    """The same for kernels whose first parameter is the first input and the output."""
    for name, function in functions.items():
        register(
            name,
            types,
            lambda *arguments, f=function: write(arguments[0], f(*arguments), *arguments),
        )


def pointwise(types: str, **functions: Callable[..., torch.Tensor]) -> None:
    """As `each`, for functions that take ``out=`` and treat each element by itself.

    Where the output and the inputs agree (``csrc/direct.c``) the function writes into it.
    """
    each(types, **functions)
    _keep(functions, in_place=False)


def pointwise_inplace(types: str, **functions: Callable[..., torch.Tensor]) -> None:
    """As `each_inplace`, for such functions."""
    each_inplace(types, **functions)
    _keep(functions, in_place=True)


def _keep(functions: dict[str, Callable[..., torch.Tensor]], in_place: bool) -> None:
    for name, function in functions.items():
        POINTWISE[name] = Pointwise(_kernels[name], function, in_place)


def register(name: str, types: str, function: Callable[..., None]) -> None:
    operator = operators().get(name)
    if operator is None or ", ".join(type_ for type_, _ in operator.parameters) != types:
        raise TypeError(f"softnpu/operators.tsv has no operator {name} with ({types})")
    parameters = [
        inspect.Parameter(
            parameter + "_" * keyword.iskeyword(parameter),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=type_,
        )
        for type_, parameter in operator.parameters
    ]
    function.__name__ = name
    function.__signature__ = inspect.Signature(parameters)
    kernel(function)


def known(code: int, meanings: dict[int, object]) -> object:
    """What a mode argument means.

    Raises:
        ValueError: no such mode.
    """
    if code not in meanings:
        raise ValueError(f"unknown mode {code}, known are {meanings}")
    return meanings[code]


def dims_or_all(self: torch.Tensor, dims: tuple[int, ...] | None) -> tuple[int, ...]:
    """The dimensions to reduce: an empty list means all."""
    return dims or tuple(range(self.dim()))


def check_indices(index: torch.Tensor, count: int, ignored: int | None = None) -> None:
    """Checks what torch's backwards do not: they read and write wherever an index points.

    Raises:
        IndexError: an index that is neither one of 0 to ``count`` - 1 nor the ignored one.
    """
    wrong = (index < 0) | (index >= count)
    if ignored is not None:
        wrong &= index != ignored
    if wrong.any():
        raise IndexError(f"an index is not one of 0 to {count - 1}")


def as_index(index: torch.Tensor) -> torch.Tensor:
    """An index as torch's CPU functions want it.

    Raises:
        TypeError: a dtype that is no index, such as the mask that stands for the indices of
            torch_npu's max_pool2d.
    """
    if index.dtype not in (torch.int32, torch.int64, torch.uint8):
        raise TypeError(f"an index must be int32, int64 or uint8, not {index.dtype}")
    return index.long()
