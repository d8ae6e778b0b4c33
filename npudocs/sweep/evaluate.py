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
from npudocs.sweep.forms import CALLS, Call, Outputs, Sample, Variant, call_of
from npudocs.sweep.truth import check

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
        counts = {name: self.counts[name] for name in compare.STATUSES if self.counts[name]}
        more = {"random": self.random, "fallback": sorted(self.fallback), "told": self.told}
        return {
            "form": self.form,
            "status": compare.worst(list(counts)),
            "counts": counts,
            **{key: value for key, value in more.items() if value},
        }


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
        call = call_of(sample, variant.reference)
        if call is None:
            continue
        if dtype == "float64" and cpu is None and number < SAMPLES_OF_OTHER_FORMS:
            cpu = check(call, sample)
        for form, cell in cells.items():
            if form == "dual" or number < SAMPLES_OF_OTHER_FORMS:
                inplace = variant.inplace if form == "inplace" else None
                here = call.copy(inplace or variant.reference, "cpu")
                there = call.copy(inplace or variant.function, device, sample.host)
                if verdict := _verdict(here, there, cell, dtype, errors):
                    cell.add(number, sample, verdict)
    found = {"cells": [cell.content() for cell in cells.values() if cell.counts]}
    return found | ({"cpu": cpu} if cpu else {})


def _verdict(
    here: Call, there: Call, cell: Tally, dtype: str, errors: StandardError
) -> Verdict | None:
    cpu = _run(cell.form, here)
    if not isinstance(cpu, Exception) and not any(t is not None for t in cpu[1]):
        return None  # nothing that could be kept or lost
    seen = _sent_to_the_host(there, cell, errors)
    npu = _run(cell.form, there)
    verdict = compare.judge(cpu, npu, dtype)
    if verdict.status in ("wrong", "tangent lost"):
        if draws_random_numbers(lambda: _run(cell.form, here)):
            cell.random = True
            verdict = compare.judge(cpu, npu, dtype, values_matter=False)
        elif cell.form in ("func.jvp", "batched"):
            truth = _dual_numbers(here, cell.form)
            if truth and compare.judge(truth, npu, dtype).status == "same":
                verdict = Verdict("cpu wrong", compare.judge(truth, cpu, dtype).message)
    if verdict.status == "same" and seen - NOT_COMPUTED:
        return Verdict("cpu fallback")
    return verdict


def _sent_to_the_host(call: Call, cell: Tally, errors: StandardError) -> set[str]:
    """Return the operators that go to the host, found in a call of its own.

    While any dispatch mode is on, torch takes other formulas for some operators, so what is seen
    under one is no result. Samples after the first ones go where those went.
    """
    if sum(cell.counts.values()) < SAMPLES_OF_OTHER_FORMS:
        with Watch(errors) as watch:
            _run(cell.form, call)
        cell.fallback |= watch.seen
    return cell.fallback


def _dual_numbers(call: Call, form: str) -> Outputs | None:
    """Return what the CPU's dual numbers say that a form of torch.func should give."""
    found = _run("dual", call)
    if isinstance(found, Exception):
        return None
    values, tangents = found
    if form == "batched":
        tangents = [t if t is None else torch.stack((t, 2 * t)) for t in tangents]
    return values, tangents


def _run(form: str, call: Call) -> Outputs | Exception:
    try:
        values, found = CALLS[form](call)
        return [_read(value) for value in values], [_read(tangent) for tangent in found]
    except Exception as error:
        return error


def _read(tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().cpu().resolve_conj().resolve_neg()
