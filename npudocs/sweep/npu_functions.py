"""torch_npu's own differentiable functions: how each is called, and what it should give.

``evidence/npu_functions.json`` has each under the name of its operator in the dispatcher, namespace
``npu``. What has an autograd kernel of torch_npu there is either in that file or, with the reason, in
``tests/sweep/unsampled.json``. In the file are

- ``inputs``: arguments that are differentiated, by name, with their shapes; any values between -1 and
  1 will do,
- ``options``: other arguments; ``{"int64": [0, 2]}`` is a tensor, "other dtype" what the first input has not,
- ``outputs``: which of the outputs can carry a tangent, where not all can,
- ``reference``: the function of ``npu_references`` that gives the same outputs for the same inputs,
- ``through``: the function of torch in the reference that calls the operator when it is on the NPU.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from npudocs import evidence
from npudocs.sweep import npu_references
from npudocs.sweep.forms import Sample, Variant

FILE = evidence.FOLDER / "npu_functions.json"


def variants() -> Iterator[Variant]:
    """Yield the functions in the file that the installed torch_npu has."""
    for name, entry in json.loads(FILE.read_text(encoding="utf-8")).items():
        if not hasattr(torch.ops.npu, name.partition(".")[0]):
            continue
        reference = getattr(npu_references, entry["reference"])
        yield Variant(
            name=f"torch_npu.{name}",
            family="torch_npu",
            dtypes=tuple(entry.get("dtypes", ("float32", "float16", "bfloat16"))),
            forms=(
                *("dual", "func.jvp", "forward over reverse"),
                *("reverse over forward", "double backward", "triple backward"),
            ),
            samples=functools.partial(_samples, tuple(map(tuple, entry["inputs"].values()))),
            function=reference if "through" in entry else functools.partial(_call, name, entry),
            reference=reference,
        )


def _samples(shapes: tuple[tuple[int, ...], ...], dtype: str) -> Iterator[Sample]:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.rand(shape, generator=generator).mul(2).sub(1) for shape in shapes]
    inputs = tuple(x.to(getattr(torch, dtype)).requires_grad_() for x in tensors)
    yield Sample(arguments=inputs, keywords={}, text=f"tensors of the shapes {shapes}")


def _call(name: str, entry: dict[str, Any], *tensors: Tensor) -> Any:
    import torch_npu  # noqa: F401 - registers the operator

    # Some write into their inputs, though their schema does not say so.
    inputs = {key: x.clone() for key, x in zip(entry["inputs"], tensors, strict=True)}
    options = {key: _option(value, tensors[0]) for key, value in entry.get("options", {}).items()}
    result = operator.attrgetter(name)(torch.ops.npu)(**inputs, **options)
    return operator.itemgetter(*entry["outputs"])(result) if "outputs" in entry else result


def _option(value: Any, first: Tensor) -> Any:
    if value == "other dtype":
        return npu_references.other_dtype(first)
    if isinstance(value, dict):
        ((dtype, values),) = value.items()
        return torch.tensor(values, dtype=getattr(torch, dtype), device=first.device)
    return value
