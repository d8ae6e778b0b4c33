"""``{operator-changes}`` and ``{operator-cpu}``: what a version changed, and what is wrong on the CPU itself."""

from __future__ import annotations

from typing import Any

from npudocs import evidence
from npudocs.evidence.sweep_records import STATUSES
from npudocs.site.operators.data import Sweep
from npudocs.site.parts import Page
from npudocs.site.words import say


def changes(page: Page) -> dict[str, Any]:
    """From each version to the next one that was recorded; products with the same changes are one."""
    sweeps = page.sweeps.all
    steps: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    earlier: dict[tuple[str, str], Sweep] = {}
    for after in sweeps:
        before = earlier.get((after.kind, after.product))
        earlier[after.kind, after.product] = after
        if before:
            found = _step(before, after)
            groups = steps.setdefault((before.version, after.version), {})
            same = repr([after.kind, *(found[name] for name in ("rows", "new", "gone"))])
            groups.setdefault(same, found)["products"].append(after.product)
    return {
        "steps": {step: groups.values() for step, groups in steps.items()},
        "missing": [v for v in evidence.VERSIONS if v not in {one.version for one in sweeps}],
    }


def _step(before: Sweep, after: Sweep) -> dict[str, Any]:
    then, now = (one.made["operators"] for one in (before, after))
    softnpu = {one.made["where"]["softnpu"] for one in (before, after)}
    rows = _rows(before, after)
    return {
        "after": after,
        "products": [],
        "dtypes": [dtype for dtype in after.dtypes if dtype in before.dtypes],
        "compared": len(before.cells.keys() & after.cells.keys()),
        "other_softnpu": len(softnpu) == 2,
        "rows": rows,
        "number": sum(len(cells) for *_, found in rows for cells in found.values()),
        "new": [name for name in now if name not in then],
        "gone": [name for name in then if name not in now],
    }


def _rows(before: Sweep, after: Sweep) -> list[tuple[str, str, dict[str, list[str]]]]:
    """The statuses before and after, and the operators with the cells that changed so."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (name, form, dtype), cell in after.cells.items():
        was = before.status(name, form, dtype)
        if was and was != cell.status:
            operators = groups.setdefault((was, cell.status), {})
            operators.setdefault(name, []).append(f"{form} {dtype}")
    statuses = [*STATUSES]
    order = sorted(groups, key=lambda one: [statuses.index(status) for status in reversed(one)])
    return [(*step, groups[step]) for step in order]


def cpu(page: Page) -> dict[str, Any]:
    """The operators whose tangents are wrong on the CPU, with what was said first and where it was seen."""
    faults: dict[tuple[str, str], dict[str, Any]] = {}
    for sweep in page.sweeps.all:
        for name, entry in sweep.made["operators"].items():
            told = [("float64", entry["cpu"]["status"], entry["cpu"])] if "cpu" in entry else []
            told += [
                (cell.dtype, say("wrong in {form}").format(form=say(cell.form)), *cell.told[:1])
                for cell in sweep.by_operator.get(name, [])
                if cell.status == "cpu wrong"
            ]
            for dtype, what, *said in told:
                message = said[0]["message"] if said else ""
                new = {"message": message, "dtypes": {}, "versions": {}}
                fault = faults.setdefault((name, what), new)
                fault["dtypes"][dtype] = fault["versions"][sweep.version] = True
    return {
        "faults": sorted(faults.items(), key=lambda one: one[0][0].lower()),
        "number": len({name for name, _ in faults}),
    }
