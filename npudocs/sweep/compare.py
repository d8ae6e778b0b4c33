"""The fate of a tangent: one status for what the CPU gave and what the NPU gave."""

from __future__ import annotations

import dataclasses
import re

import torch

from npudocs import evidence
from npudocs.evidence import messages
from npudocs.evidence.sweep_records import STATUSES
from npudocs.sweep.forms import Outputs

# As torch.testing.assert_close, with room for sums in another order.
TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (5e-2, 1e-2),
}
_NO_KERNEL = re.compile(
    r"softnpu has no kernel for the operator (\w+)|(aclnn\w+) or \w+ not in libopapi.so"
)
# torch_npu's line with clock and process, and the stack of an error in a kernel of softnpu.
_NOISE = re.compile(
    r"^\[(?:ERROR|WARN)\][^\n]*\n?|Traceback \(most recent call last\):\n(?:  [^\n]*\n)+|^operator\(\):\S+ ",
    re.MULTILINE,
)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The status of one sample, and why where it is not equal."""

    status: str
    message: str = ""


_SAME = Verdict("same")
_SCRUB = messages.Scrubber(evidence.ROOT)
# The worst first.
_SEVERITY = list(STATUSES).index


def worst(statuses: list[str]) -> str:
    """Return the status that stands for all."""
    return min(statuses, key=_SEVERITY)


def of_error(error: BaseException) -> str:
    """Return an error's kind and text, on one line, with nothing of this machine or this run."""
    text = _SCRUB(messages.without_frames(_NOISE.sub("", str(error))))
    return messages.shorten(" ".join(f"{type(error).__name__}: {text}".split()), 300)


def judge(
    cpu: Outputs | Exception, npu: Outputs | Exception, dtype: str, values_matter: bool = True
) -> Verdict:
    """Return how what the NPU gave compares with what the CPU gave for the same call.

    `values_matter` is false for an operator that draws random numbers: then only what is there
    and its shape are compared.
    """
    if isinstance(npu, Exception):
        if found := _NO_KERNEL.search(str(npu)):
            return Verdict("no kernel", found.group(1) or found.group(2))
        if isinstance(cpu, Exception):
            return Verdict("both refuse", of_error(cpu))
        return Verdict("error", of_error(npu))
    if isinstance(cpu, Exception):
        return Verdict("no error", f"the CPU says: {of_error(cpu)}")
    if len(cpu[0]) != len(npu[0]):
        return Verdict("wrong", f"{len(npu[0])} differentiable outputs, the CPU has {len(cpu[0])}")
    tangents, values = zip(cpu[1], npu[1], strict=True), zip(cpu[0], npu[0], strict=True)
    found = [
        *(_tangent(*pair, dtype, values_matter) for pair in tangents),
        *(_equal("the value", *pair, dtype, values_matter) for pair in values),
    ]
    return min(found, key=lambda one: _SEVERITY(one.status), default=_SAME)


def _tangent(
    cpu: torch.Tensor | None, npu: torch.Tensor | None, dtype: str, values_matter: bool
) -> Verdict:
    if cpu is None:
        return _SAME
    if npu is None:
        return Verdict("tangent lost", "the tangent is None")
    if values_matter and largest(cpu) and not npu.any():
        return Verdict("tangent lost", "the tangent is zero in every element")
    return _equal("the tangent", cpu, npu, dtype, values_matter)


def largest(tensor: torch.Tensor) -> float:
    """Return the largest finite absolute value, 0 where there is none."""
    wide = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
    return wide.abs().nan_to_num(0, 0, 0).max().item() if tensor.numel() else 0.0


def _equal(
    name: str,
    cpu: torch.Tensor | None,
    npu: torch.Tensor | None,
    dtype: str,
    values_matter: bool,
) -> Verdict:
    if cpu is None or npu is None:
        return _SAME if cpu is npu else Verdict("wrong", f"{name} is there only on one side")
    if cpu.shape != npu.shape:
        words = f"{name} has the shape {tuple(npu.shape)}, the CPU's has {tuple(cpu.shape)}"
        return Verdict("wrong", words)
    if cpu.dtype != npu.dtype:
        return Verdict("wrong", f"{name} is {npu.dtype}, the CPU's is {cpu.dtype}")
    if not values_matter:
        return _SAME
    rtol, atol = TOLERANCES[dtype]
    # Relative to the largest element: what a sum rounds is of the size of its largest term.
    atol += rtol * largest(cpu)
    if cpu.dtype == torch.complex32:  # which torch cannot compare
        cpu, npu = cpu.to(torch.complex64), npu.to(torch.complex64)
    far = ~torch.isclose(npu, cpu, rtol=rtol, atol=atol, equal_nan=True)
    if not far.any():
        return _SAME
    at = tuple(far.nonzero()[0].tolist())
    where = f" at {list(at)}" if at else ""
    words = f"{name} is {npu[at].item():.6g}{where}, the CPU's is {cpu[at].item():.6g}"
    return Verdict("wrong", f"{words}; {int(far.sum())} of {far.numel()} elements differ")
