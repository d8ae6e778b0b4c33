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

import dataclasses
import functools
import json
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from npudocs import evidence
from npudocs.sweep import npu_references

FILE = evidence.FOLDER / "npu_functions.json"


@dataclasses.dataclass(frozen=True)
class NpuFunction:
    """A function of torch_npu: `call`, on the NPU, and `reference`, on the CPU, take the same inputs."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    call: Callable[..., Any]
    reference: Callable[..., Any]


def functions() -> list[NpuFunction]:
    """Return the functions in the file."""
    found = []
    for name, entry in json.loads(FILE.read_text(encoding="utf-8")).items():
        reference = getattr(npu_references, entry["reference"])
        call = reference if "through" in entry else functools.partial(_call, name, entry)
        shapes = tuple(map(tuple, entry["inputs"].values()))
        dtypes = tuple(entry.get("dtypes", ("float32", "float16", "bfloat16")))
        found.append(NpuFunction(name, shapes, dtypes, call, reference))
    return found


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
