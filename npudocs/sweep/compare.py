"""What became of a tangent: one status for what the CPU gave and what the NPU gave."""

from __future__ import annotations

import dataclasses
import functools
import re

import torch

from npudocs import evidence
from npudocs.evidence import messages
from npudocs.evidence.sweep_records import STATUSES
from npudocs.sweep.forms import Outcome

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


def worst(statuses: list[str]) -> str:
    """The status that stands for all."""
    return min(statuses, key=list(STATUSES).index)


@functools.cache
def _scrubber() -> messages.Scrubber:
    return messages.Scrubber(evidence.ROOT)


def of_error(error: BaseException) -> str:
    """An error's kind and text, on one line, with nothing of this machine or this run."""
    text = _scrubber()(messages.without_frames(_NOISE.sub("", str(error))))
    return messages.shorten(" ".join(f"{type(error).__name__}: {text}".split()), 300)


def judge(
    cpu: Outcome | Exception, npu: Outcome | Exception, dtype: str, values_matter: bool = True
) -> Verdict:
    """Compare what the CPU and the NPU gave for the same call.

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
    found = [
        *(_tangent(*pair, dtype, values_matter) for pair in zip(cpu[1], npu[1], strict=True)),
        *(
            _equal("the value", *pair, dtype, values_matter)
            for pair in zip(cpu[0], npu[0], strict=True)
        ),
    ]
    bad = [verdict for verdict in found if verdict.status != "same"]
    return min(bad, key=lambda one: list(STATUSES).index(one.status), default=Verdict("same"))


def _tangent(
    cpu: torch.Tensor | None, npu: torch.Tensor | None, dtype: str, values_matter: bool
) -> Verdict:
    if cpu is None:
        return Verdict("same")
    if npu is None:
        return Verdict("tangent lost", "the tangent is None")
    if values_matter and _largest(cpu) and not npu.any():
        return Verdict("tangent lost", "the tangent is zero in every element")
    return _equal("the tangent", cpu, npu, dtype, values_matter)


def _largest(tensor: torch.Tensor) -> float:
    """The largest finite absolute value, 0 where there is none."""
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
        return (
            Verdict("same") if cpu is npu else Verdict("wrong", f"{name} is there only on one side")
        )
    if cpu.shape != npu.shape:
        words = f"{name} has the shape {tuple(npu.shape)}, the CPU's has {tuple(cpu.shape)}"
        return Verdict("wrong", words)
    if cpu.dtype != npu.dtype:
        return Verdict("wrong", f"{name} is {npu.dtype}, the CPU's is {cpu.dtype}")
    if not values_matter:
        return Verdict("same")
    rtol, atol = TOLERANCES[dtype]
    # Relative to the largest element: what a sum rounds is of the size of its largest term.
    atol += rtol * _largest(cpu)
    if cpu.dtype == torch.complex32:  # which torch cannot compare
        cpu, npu = cpu.to(torch.complex64), npu.to(torch.complex64)
    far = ~torch.isclose(npu, cpu, rtol=rtol, atol=atol, equal_nan=True)
    if not far.any():
        return Verdict("same")
    at = tuple(far.nonzero()[0].tolist())
    where = f" at {list(at)}" if at else ""
    words = f"{name} is {npu[at].item():.6g}{where}, the CPU's is {cpu[at].item():.6g}"
    return Verdict("wrong", f"{words}; {int(far.sum())} of {far.numel()} elements differ")
