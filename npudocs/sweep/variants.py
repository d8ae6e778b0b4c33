"""The operators that are swept: the variants of torch's operator database, and torch_npu's own functions."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy
import torch

from npudocs.evidence.sweep_records import DTYPES
from npudocs.sweep import npu_functions
from npudocs.sweep.forms import Sample, Variant

# Operators that want a tensor of indices on the host, whatever the device.
INDICES_ON_HOST = {"tensor_split"}


@functools.cache
def variants() -> dict[str, Variant]:
    """Return all variants by name, torch's first, in the order of its database."""
    return {variant.name: variant for variant in (*_of_torch(), *npu_functions.variants())}


def _of_torch() -> Iterator[Variant]:
    # It takes seconds.
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        supported = op.supported_dtypes("cpu")
        dtypes = tuple(name for name in DTYPES if getattr(torch, name) in supported)
        if not op.supports_forward_ad or not dtypes:
            continue
        call = functools.partial(op.gradcheck_wrapper, op.get_op())
        yield Variant(
            name=op.full_name,
            family=_family(op.name),
            dtypes=dtypes,
            forms=tuple(_forms(op)),
            samples=functools.partial(_samples, op),
            function=call,
            reference=call,
            inplace=op.get_inplace(),
        )


def _family(name: str) -> str:
    prefixes = ("nn.functional", "linalg", "fft", "special", "masked", "sparse", "signal")
    return next((prefix for prefix in prefixes if name.startswith(f"{prefix}.")), "torch")


def _forms(op: Any) -> Iterator[str]:
    yield "dual"
    if op.get_inplace() is not None and op.supports_inplace_autograd:
        yield "inplace"
    if op.supports_out:
        yield "out"
    yield "func.jvp"
    if op.supports_fwgrad_bwgrad:
        yield "forward over reverse"
    if op.check_batched_forward_grad:
        yield "batched"
    if op.supports_fwgrad_bwgrad:
        yield "reverse over forward"
    if op.supports_gradgrad:
        yield "double backward"
        yield "triple backward"


def _samples(op: Any, dtype: str) -> Iterator[Sample]:
    # The same ones in every process.
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    # What op.sample_inputs does too, which looks at the stack on the way, for a tenth of a second.
    for one in list(op.sample_inputs_func(op, "cpu", getattr(torch, dtype), requires_grad=True)):
        yield Sample(
            arguments=(one.input, *one.args),
            keywords=one.kwargs,
            text=" ".join(str(one.summary()).split()),
            process=one.output_process_fn_grad,
            host=op.name in INDICES_ON_HOST,
        )
