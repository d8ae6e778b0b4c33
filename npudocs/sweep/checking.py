"""Compares what a sweep sees now with the record of the same version and product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any, NamedTuple

from npudocs import evidence
from npudocs.sweep import SweepError


def record_of(made: dict[str, Any], known: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of the same kind, torch_npu and product.

    Raises:
        SweepError: there is none.
    """

    def about(one: dict[str, Any]) -> tuple[str, str, str]:
        return one["kind"], one["where"]["torch_npu"], one["where"]["product"]

    for one in known:
        if about(one) == about(made):
            return one
    raise SweepError(f"there is no record of a sweep to compare with: {' '.join(about(made))}")


class Asked(NamedTuple):
    """What a sweep was to look at."""

    operators: Container[str]
    forms: Container[str]
    dtypes: Container[str]


def differences(made: dict[str, Any], record: dict[str, Any], asked: Asked) -> list[str]:
    """Cells that are not as recorded, in words, and recorded ones that a sweep of these lacks.

    What is compared is how many samples have each status. "cpu fallback" counts as "same": torch_npu
    says once a process that it takes the host, so who is told of it depends on the order of the units.
    Cells of operators, forms and dtypes that were not asked for now are left out.
    """
    recorded = {(c.operator, c.form, c.dtype): c for c in evidence.sweep_cells(record)}
    swept = {(c.operator, c.form, c.dtype) for c in evidence.sweep_cells(made)}
    dead = {(operator, dtype) for operator, form, dtype in swept if form == "all"}
    found = [
        f"{operator} ({form}, {dtype}): was {_words(recorded[operator, form, dtype])}, is gone"
        for operator, form, dtype in recorded.keys() - swept
        if operator in asked.operators
        and form in asked.forms
        and dtype in asked.dtypes
        and (operator, dtype) not in dead
    ]
    for cell in evidence.sweep_cells(made):
        old = recorded.get((cell.operator, cell.form, cell.dtype))
        place = f"{cell.operator} ({cell.form}, {cell.dtype})"
        if old is None:
            found.append(f"{place}: is not recorded; it is {cell.status!r} now")
        elif _outcomes(old) != _outcomes(cell):
            said = f" ({cell.told[0]['message']})" if cell.told else ""
            found.append(f"{place}: was {_words(old)}, is {_words(cell)} now{said}")
    return found


def _outcomes(cell: evidence.SweepCell) -> Counter[str]:
    found: Counter[str] = Counter()
    for status, number in cell.counts.items():
        found["same" if status == "cpu fallback" else status] += number
    return found


def _words(cell: evidence.SweepCell) -> str:
    return ", ".join(f"{status}: {number}" for status, number in cell.counts.items())
