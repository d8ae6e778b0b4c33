"""What a test of upstream's ``TestFwdGradients`` checks, for one operator, dtype and device.

Nothing of upstream's test code is used, only its table of operators (``op_db``), which has no device:

* ``test_forward_mode_AD``: the tangent agrees with finite differences
* ``test_inplace_forward_mode_AD``: so does that of the in-place variant
* ``test_fn_fwgrad_bwgrad``: forward mode over reverse mode agrees with finite differences

An operator that the table lists as one without forward AD has to refuse it in words.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import unittest
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad, gradcheck
from torch.autograd.gradcheck import GradcheckError, gradgradcheck
from torch.testing._internal.common_methods_invocations import op_db

CLASS = "TestFwdGradients"
FWD_OVER_REV = "test_fn_fwgrad_bwgrad"
INPLACE = "test_inplace_forward_mode_AD"
REFUSAL = r"Trying to use forward AD with .* that does not support it"
# Of the first samples that have a tensor to differentiate, so many, from the first to the last.
FIRST, SAMPLES = 12, 4
SEED = 0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one case ended.

    `marked` is what upstream's table itself says of the test, `made_on_cpu` why its samples could not be
    made on the device.
    """

    outcome: str
    message: str = ""
    samples: int = 0
    marked: str = ""
    made_on_cpu: str = ""


@functools.cache
def operators() -> dict[str, Any]:
    """The operators by the name that stands in the name of a test."""
    return {op.formatted_name: op for op in op_db}


def check(method: str, name: str, dtype_name: str, device: str) -> Outcome:
    """Check one case; whatever it raises is its outcome."""
    op = operators().get(name)
    if op is None:
        return Outcome("not in op_db")
    dtype = getattr(torch, dtype_name)
    said = marked(op, method, dtype)
    if why := skipped(op, method, dtype):
        return Outcome("skipped", why, marked=said)
    torch.manual_seed(SEED)
    try:
        made, note = samples(op, method, dtype, device), ""
    except Exception as error:
        # An operator that only makes the samples is not the one that is checked.
        note = words(error)
        made = moved(samples(op, method, dtype, "cpu"), device)
    checked = 0
    try:
        for sample in made:
            _check_sample(op, method, sample)
            checked += 1
    except GradcheckError as error:
        return Outcome("failed", difference(str(error)), checked, said, note)
    except Exception as error:
        return Outcome("error", words(error), checked, said, note)
    finally:
        while forward_ad._current_level >= 0:
            forward_ad.exit_dual_level()
    return Outcome("passed", "", checked, said, note)


def words(error: Exception) -> str:
    """The kind and the text of an error."""
    return f"{type(error).__name__}: {error}"


def marked(op: Any, method: str, dtype: torch.dtype) -> str:
    """What the table says of the test on every device: an expected failure, skipped, or nothing."""
    for info in (*op.decorators, *op.skips):
        if hasattr(info, "is_active") and info.is_active(CLASS, method, "privateuse1", dtype, {}):
            if unittest.expectedFailure in info.decorators:
                return "expected failure"
            if any("skip" in getattr(d, "__qualname__", "") for d in info.decorators):
                return "skipped"
    return ""


def skipped(op: Any, method: str, dtype: torch.dtype) -> str:
    """Why upstream's test does nothing for this case; empty where it does something."""
    if dtype not in op.supported_backward_dtypes("cpu"):
        return "the table lists no gradient in this dtype"
    if not op.supports_autograd and not op.supports_forward_ad:
        return "the table lists no gradient"
    if method == INPLACE and not (op.inplace_variant and op.supports_inplace_autograd):
        return "the table lists no in-place variant with a gradient"
    return ""


def samples(op: Any, method: str, dtype: torch.dtype, device: str) -> list[Any]:
    """The samples of the operator that are checked, made on the device."""
    conjugated = op.test_conjugated_samples and dtype.is_complex
    made = op.sample_inputs(device, dtype, requires_grad=True, include_conjugated_inputs=conjugated)
    usable = (s for s in made if leaves(s) and not (method == INPLACE and s.broadcasts_input))
    first = list(itertools.islice(usable, FIRST))
    places = {round(i * (len(first) - 1) / (SAMPLES - 1)) for i in range(SAMPLES)}
    return [first[place] for place in sorted(places) if first]


def moved(made: list[Any], device: str) -> list[Any]:
    """Samples that were made elsewhere, on the device."""

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().to(device).requires_grad_(value.requires_grad)

    return [sample.transform(move) for sample in made]


def leaves(sample: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of a sample that are differentiated."""
    values = (sample.input, *sample.args, *sample.kwargs.values())
    flat = itertools.chain.from_iterable(v if _is_list(v) else (v,) for v in values)
    return tuple(v for v in flat if isinstance(v, torch.Tensor) and v.requires_grad)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(v, torch.Tensor) for v in value)


def function_of(op: Any, method: str, sample: Any) -> Callable[..., Any]:
    """The operator as a function of the differentiated tensors of the sample alone."""
    variant = op.get_inplace() if method == INPLACE else op.get_op()

    def call(*tensors: torch.Tensor) -> Any:
        given = iter(tensors)

        def put(value: Any) -> Any:
            if _is_list(value):
                return [put(one) for one in value]
            differentiated = isinstance(value, torch.Tensor) and value.requires_grad
            return next(given) if differentiated else value

        first = put(sample.input)
        arguments = [put(value) for value in sample.args]
        named = {key: put(value) for key, value in sample.kwargs.items()}
        if method == INPLACE:
            # A leaf cannot be changed in place.
            first = first.clone()
        result = op.gradcheck_wrapper(variant, first, *arguments, **named)
        process = sample.output_process_fn_grad
        return process(result) if process else result

    return call


def difference(text: str) -> str:
    """What gradcheck says without its tables: which Jacobian differs, and by how much."""
    head, _, rest = text.partition(",\nnumerical:")
    analytical = re.search(r"analytical:\s*tensor\(\[([^\]]*)\]", rest)
    if analytical and not re.search(r"[1-9n]", re.sub(r"e[+-]\d+", "", analytical[1])):
        head += "; forward mode gives zero"
    if largest := re.search(r"max per-element difference \(slow mode\) is: (\S+)\.(?:\s|$)", rest):
        head += f"; the largest difference is {float(largest[1]):.3g}"
    return head


def _check_sample(op: Any, method: str, sample: Any) -> None:
    function, tensors = function_of(op, method, sample), leaves(sample)
    fast = op.gradcheck_fast_mode is not False
    shared = {"check_grad_dtypes": True, "nondet_tol": op.gradcheck_nondet_tol, "fast_mode": fast}
    if method == FWD_OVER_REV:
        run = functools.partial(
            *(gradgradcheck, function, tensors),
            check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False,
            **shared,
        )  # fmt: skip
        runs = [functools.partial(run, gen_non_contig_grad_outputs=gaps) for gaps in (False, True)]
        listed = op.supports_fwgrad_bwgrad
    else:
        inplace = method == INPLACE
        batched = (
            op.check_inplace_batched_forward_grad if inplace else op.check_batched_forward_grad
        )
        run = functools.partial(
            *(gradcheck, function, tensors),
            check_forward_ad=True, check_backward_ad=False, check_undefined_grad=True,
            check_batched_grad=False, check_batched_forward_grad=batched, **shared,
        )  # fmt: skip
        runs = [run]
        listed = op.supports_forward_ad
    if listed:
        for run in runs:
            run()
        return
    try:
        runs[0]()
    except NotImplementedError as error:
        if re.search(REFUSAL, str(error)):
            return
        raise
    raise GradcheckError("the table lists no forward AD, and the operator did not refuse it")
