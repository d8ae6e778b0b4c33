"""What the sweeps say of an operator: pure data, no drawing. `of` reads the records once a build."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import SweepCell
from npudocs.evidence.sweep_records import DTYPES, FORMS, STATUSES
from npudocs.execute import problems
from npudocs.site import cells, deviation_data
from npudocs.site.words import say

Key = tuple[str, str, str]  # operator, form, dtype
DEFAULT_DTYPE = "float32"
_builds: weakref.WeakKeyDictionary[Sphinx, Sweeps] = weakref.WeakKeyDictionary()


class Sweep:
    """One record of a sweep."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made, self.kind, self.product = made, made["kind"], made["where"]["product"]
        self.version = evidence.release(made["where"]["torch_npu"])
        self.dtypes = [dtype for dtype in DTYPES if dtype in made["dtypes"]]

    @property
    def place(self) -> str:
        """Version and product in words; what was software never reads like a chip."""
        on, kind = say(cells.ON[self.kind]), say(cells.KINDS[self.kind])
        return f"torch_npu {self.version} {on} {self.product}, {kind}"

    @functools.cached_property
    def cells(self) -> dict[Key, SweepCell]:
        """The cells by operator, form and dtype. A unit that died has one, in the form ``all``."""
        found = evidence.sweep_cells(self.made)
        return {(cell.operator, cell.form, cell.dtype): cell for cell in found}

    @functools.cached_property
    def by_operator(self) -> dict[str, list[SweepCell]]:
        """The cells of each operator."""
        found: dict[str, list[SweepCell]] = {}
        for cell in self.cells.values():
            found.setdefault(cell.operator, []).append(cell)
        return found

    def cell(self, operator: str, form: str, dtype: str) -> SweepCell | None:
        """One cell; that of the whole unit where its process died."""
        return self.cells.get((operator, form, dtype)) or self.cells.get((operator, "all", dtype))

    def status(self, operator: str, form: str, dtype: str) -> str:
        """A cell's status, or an empty text."""
        found = self.cell(operator, form, dtype)
        return found.status if found else ""

    def worst(self, operator: str, dtype: str) -> str:
        """The worst status of all forms, or an empty text."""
        found = {self.status(operator, form, dtype) for form in FORMS}
        return next((status for status in STATUSES if status in found), "")

    def operators_by_status(self, dtype: str, form: str = "") -> dict[str, int]:
        """How many operators have each status: in one form, or in any."""
        found = Counter(
            status
            for operator in self.made["operators"]
            for status in {self.status(operator, f, dtype) for f in ([form] if form else FORMS)}
        )
        return {status: found[status] for status in STATUSES if found[status]}


class Sweeps:
    """All records of a project that count: the newest of a kind, version and product."""

    def __init__(self, folder: Path) -> None:
        made = sorted(evidence.sweeps(folder), key=lambda one: one["started"])
        newest = {(one.kind, one.version, one.product): one for one in map(Sweep, made)}
        self.all = sorted(newest.values(), key=_order)
        entries = [item for one in self.all for item in one.made["operators"].items()]
        # The operators in the order of the table.
        entries.sort(key=lambda item: (item[0].lower(), item[0]))
        self.families = {name: entry["family"] for name, entry in entries}
        self.deviations = {one["name"]: one for one in deviation_data.load(folder)}
        cells = self.default.cells.values() if self.default else ()
        deviating = [cell for cell in cells if cell.status in deviation_data.STATUSES]
        # How many cells of the newest record a deviation explains, by operator.
        self.explained = {
            name: Counter(c.operator for c in deviating if deviation_data.explains(one, c))
            for name, one in self.deviations.items()
        }

    @property
    def default(self) -> Sweep | None:
        """The record that a reader sees first: of the newest version, the first product."""
        return next((one for one in self.all if one.version == self.all[-1].version), None)

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of all records."""
        return [d for d in DTYPES if any(d in one.dtypes for one in self.all)]

    def dtype(self, sweep: Sweep) -> str:
        """The dtype of a record that a reader sees first."""
        return DEFAULT_DTYPE if DEFAULT_DTYPE in sweep.dtypes else next(iter(sweep.dtypes), "")


def _order(sweep: Sweep) -> tuple[Any, ...]:
    version = tuple(int(part) for part in sweep.version.split("."))
    return (version, evidence.PRODUCTS.index(sweep.product), sweep.kind)


def of(app: Sphinx) -> Sweeps:
    """The sweeps of the project that is built; a file that is not to be trusted ends the build."""
    if app not in _builds:
        try:
            _builds[app] = Sweeps(Path(app.confdir) / app.config.npudocs_evidence)
        except evidence.EvidenceError as error:
            problems.stop(f"the evidence is not to be trusted: {error}")
    return _builds[app]
