"""Compares what a sweep sees now with the record of the same version and product."""

from __future__ import annotations

from typing import Any

from npudocs.sweep import SweepError, records


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


def differences(made: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """Cells that are not as recorded, in words; cells that were not swept now are left out."""
    recorded = {(c.operator, c.form, c.dtype): c for c in records.cells(record)}
    found = []
    for cell in records.cells(made):
        old = recorded.get((cell.operator, cell.form, cell.dtype))
        place = f"{cell.operator} ({cell.form}, {cell.dtype})"
        if old is None:
            found.append(f"{place}: is not recorded; it is {cell.status!r} now")
        elif (old.status, old.counts) != (cell.status, cell.counts):
            said = f" ({cell.told[0]['message']})" if cell.told else ""
            found.append(f"{place}: was {_words(old)}, is {_words(cell)} now{said}")
    return found


def _words(cell: records.Cell) -> str:
    return ", ".join(f"{status}: {number}" for status, number in cell.counts.items())
