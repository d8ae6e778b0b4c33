"""``{operator-changes}`` and ``{operator-cpu}``: what a version changed, and what is wrong on the CPU itself."""

from __future__ import annotations

from typing import Any

from npudocs import evidence
from npudocs.evidence.sweep_records import STATUSES
from npudocs.site.operators import data, places
from npudocs.site.operators.data import Change, Sweep
from npudocs.site.parts import Page
from npudocs.site.words import say


def changes(page: Page) -> dict[str, Any]:
    """From each version to the next one that was recorded; products with the same changes are one."""
    sweeps = data.of(page.app)
    pairs = sweeps.pairs()
    steps: dict[tuple[str, str], dict[Any, list[tuple[Sweep, Sweep]]]] = {}
    for one, two in pairs:
        key = (one.kind, tuple(data.changes(one, two)), *_only(one, two))
        groups = steps.setdefault((one.version, two.version), {})
        groups.setdefault(key, []).append((one, two))
    return {
        "sweeps": sweeps,
        "steps": {
            step: [_group(listed, *key[1:]) for key, listed in groups.items()]
            for step, groups in steps.items()
        },
        "missing": [v for v in evidence.VERSIONS if v not in {one.version for one in sweeps.all}],
        "address": places.addresses(page, sweeps),
    }


def _only(before: Sweep, after: Sweep) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operators that only the later version has, and those that only the earlier one had."""
    then, now = (one.made["operators"] for one in (before, after))
    return tuple(n for n in now if n not in then), tuple(n for n in then if n not in now)


def _group(
    listed: list[tuple[Sweep, Sweep]],
    found: tuple[Change, ...],
    new: tuple[str, ...],
    gone: tuple[str, ...],
) -> dict[str, Any]:
    before, after = listed[0]
    softnpu = [one.made["where"]["softnpu"] for one in (before, after)]
    return {
        "after": after,
        "products": [two.product for _, two in listed],
        "dtypes": [dtype for dtype in after.dtypes if dtype in before.dtypes],
        "number": len(found),
        "compared": len(before.cells.keys() & after.cells.keys()),
        "other_softnpu": softnpu[0] != softnpu[1],
        "rows": _rows(found),
        "new": new,
        "gone": gone,
    }


def _rows(found: tuple[Change, ...]) -> list[tuple[str, str, dict[str, list[str]]]]:
    """The statuses before and after, and the operators with the cells that changed so."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for change in found:
        name, form, dtype = change.key
        operators = groups.setdefault((change.before, change.after), {})
        operators.setdefault(name, []).append(f"{form} {dtype}")
    statuses = [*STATUSES]
    order = sorted(groups, key=lambda one: [statuses.index(status) for status in reversed(one)])
    return [(was, now, groups[was, now]) for was, now in order]


def cpu(page: Page) -> dict[str, Any]:
    """The operators whose tangents are wrong on the CPU, with what was said first and where it was seen."""
    sweeps = data.of(page.app)
    faults: dict[tuple[str, str], dict[str, Any]] = {}

    def seen(name: str, what: str, message: str, dtype: str, version: str) -> None:
        new = {"message": message, "dtypes": {}, "versions": {}}
        fault = faults.setdefault((name, what), new)
        fault["dtypes"][dtype] = fault["versions"][version] = True

    for sweep in sweeps.all:
        for name, entry in sweep.made["operators"].items():
            if told := entry.get("cpu"):
                seen(name, told["status"], told["message"], "float64", sweep.version)
            for cell in sweep.by_operator.get(name, []):
                if cell.status == "cpu wrong":
                    what = say("wrong in {form}").format(form=say(cell.form))
                    message = cell.told[0]["message"] if cell.told else ""
                    seen(name, what, message, cell.dtype, sweep.version)
    listed = sorted(faults.items(), key=lambda one: one[0][0].lower())
    number = len({name for name, _ in faults})
    return {
        "sweeps": sweeps, "faults": listed, "number": number,
        "address": places.addresses(page, sweeps),
    }  # fmt: skip
