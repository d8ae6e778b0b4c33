"""Evaluates one job, an operator in one dtype: every sample, in every form, on both devices."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import torch

from npudocs.evidence.sweep_records import NOT_COMPUTED
from npudocs.sweep import compare
from npudocs.sweep.compare import Verdict
from npudocs.sweep.fallback import StandardError, Watch, draws_random_numbers
from npudocs.sweep.forms import CALLS, Call, Outputs
from npudocs.sweep.truth import call_of, check
from npudocs.sweep.variants import Sample, Variant

# The form "dual" runs every sample; the others only add how it is called, and run the first ones.
SAMPLES_OF_OTHER_FORMS = 8
# How many samples of a status are told with their message.
TOLD = 2
QUIET = ("same", "cpu fallback", "both refuse")


@dataclasses.dataclass
class Tally:
    """The count of what became of the samples of one operator in one form and dtype."""

    form: str
    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    told: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    fallback: set[str] = dataclasses.field(default_factory=set)
    random: bool = False

    def add(self, number: int, sample: Sample, verdict: Verdict) -> None:
        """Count a sample, and tell it where it is one of the first that is not equal."""
        self.counts[verdict.status] += 1
        if verdict.status not in QUIET and self.counts[verdict.status] <= TOLD:
            told = {"status": verdict.status, "message": verdict.message, "call": sample.text}
            self.told.append({"sample": number, **told})

    def content(self) -> dict[str, Any]:
        """Return the cell as JSON can hold it."""
        made: dict[str, Any] = {
            "form": self.form,
            "status": compare.worst(list(self.counts)),
            "counts": {name: self.counts[name] for name in compare.STATUSES if self.counts[name]},
        }
        if self.random:
            made["random"] = True
        if self.fallback:
            made["fallback"] = sorted(self.fallback)
        return made | ({"told": self.told} if self.told else {})


@dataclasses.dataclass(frozen=True)
class Pair:
    """One sample, ready to be called on the CPU and on the device."""

    cpu: Call
    npu: Call
    tangents: list[torch.Tensor]
    device: str

    def run(self, form: str) -> Outputs | Exception:
        """Return what the CPU gives."""
        return _run(form, self.cpu, self.tangents)

    def run_there(self, form: str) -> Outputs | Exception:
        """Return what the device gives."""
        return _run(form, self.npu, [_moved(tangent, self.device) for tangent in self.tangents])


def evaluate(
    variant: Variant, dtype: str, forms: tuple[str, ...], errors: StandardError, device: str
) -> dict[str, Any]:
    """Return the cells of one job, and in float64 what is wrong with the CPU itself.

    A form without a sample that has a tangent on the CPU has no cell.
    """
    torch.manual_seed(0)
    cells = {form: Tally(form) for form in forms if form in variant.forms}
    cpu = None
    for number, sample in enumerate(variant.samples(dtype)):
        made = call_of(sample, variant.reference)
        if made is None:
            continue
        if dtype == "float64" and cpu is None and number < SAMPLES_OF_OTHER_FORMS:
            cpu = check(*made, sample)
        for form, cell in cells.items():
            if form == "dual" or number < SAMPLES_OF_OTHER_FORMS:
                pair = _pair(variant, form, sample, made, device)
                if verdict := _verdict(pair, cell, dtype, errors):
                    cell.add(number, sample, verdict)
    found = {"cells": [cell.content() for cell in cells.values() if cell.counts]}
    return found | ({"cpu": cpu} if cpu else {})


def _pair(
    variant: Variant, form: str, sample: Sample, made: tuple[Call, list[torch.Tensor]], device: str
) -> Pair:
    """Each call gets tensors of its own: one in place may not spoil the next."""
    call, tangents = made
    functions = (variant.reference, variant.function)
    if form == "inplace":
        functions = (variant.inplace, variant.inplace)
    calls = []
    for function, to in zip(functions, ("cpu", device), strict=True):
        leaves = [
            _moved(leaf, "cpu" if sample.host and place not in call.places else to)
            for place, leaf in enumerate(call.leaves)
        ]
        calls.append(Call(function, leaves, call.structure, call.places, sample.process))
    return Pair(*calls, tangents, device)


def _verdict(pair: Pair, cell: Tally, dtype: str, errors: StandardError) -> Verdict | None:
    cpu = pair.run(cell.form)
    if not isinstance(cpu, Exception) and not any(t is not None for t in cpu[1]):
        return None  # nothing that could be kept or lost
    seen = _sent_to_the_host(pair, cell, errors)
    npu = pair.run_there(cell.form)
    verdict = compare.judge(cpu, npu, dtype)
    if verdict.status in ("wrong", "tangent lost"):
        if draws_random_numbers(lambda: pair.run(cell.form)):
            cell.random = True
            verdict = compare.judge(cpu, npu, dtype, values_matter=False)
        elif cell.form in ("func.jvp", "batched"):
            truth = _dual_numbers(pair, cell.form)
            if truth and compare.judge(truth, npu, dtype).status == "same":
                verdict = Verdict("cpu wrong", compare.judge(truth, cpu, dtype).message)
    if verdict.status == "same" and seen - NOT_COMPUTED:
        return Verdict("cpu fallback")
    return verdict


def _sent_to_the_host(pair: Pair, cell: Tally, errors: StandardError) -> set[str]:
    """Return the operators that go to the host, found in a call of its own.

    While any dispatch mode is on, torch takes other formulas for some operators, so what is seen
    under one is no result. Samples after the first ones go where those went.
    """
    if sum(cell.counts.values()) < SAMPLES_OF_OTHER_FORMS:
        with Watch(errors) as watch:
            pair.run_there(cell.form)
        cell.fallback |= watch.seen
    return cell.fallback


def _dual_numbers(pair: Pair, form: str) -> Outputs | None:
    """Return what the CPU's dual numbers say that a form of torch.func should give."""
    found = pair.run("dual")
    if isinstance(found, Exception):
        return None
    values, tangents = found
    if form == "batched":
        tangents = [t if t is None else torch.stack((t, 2 * t)) for t in tangents]
    return values, tangents


def _moved(leaf: Any, device: str) -> Any:
    """Return a leaf of the arguments on a device: a tensor's copy with the same values and layout."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout != torch.strided or torch._debug_has_internal_overlap(leaf) == 1:
            return leaf.to(device)
        copy = torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device=device)
        return copy.copy_(leaf)
    if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu"):
        return torch.device(device)
    return leaf


def _run(form: str, call: Call, tangents: list[torch.Tensor]) -> Outputs | Exception:
    try:
        values, found = CALLS[form](call, tangents)
        return [_read(value) for value in values], [_read(tangent) for tangent in found]
    except Exception as error:
        return error


def _read(tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().cpu().resolve_conj().resolve_neg()
