"""What the sweeps say of an operator: pure data, no drawing. `of` reads the records once a build."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import weakref
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import SweepCell
from npudocs.evidence.sweep_records import DTYPES, FORMS, STATUSES
from npudocs.execute import problems
from npudocs.site import deviation_data, marks
from npudocs.site.words import say

Key = tuple[str, str, str]  # operator, form, dtype
DEFAULT_DTYPE = "float32"
_builds: weakref.WeakKeyDictionary[Sphinx, Sweeps] = weakref.WeakKeyDictionary()


class Change(NamedTuple):
    """A status that is another one in a later version."""

    before: str
    after: str
    key: Key


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One record of a sweep."""

    made: dict[str, Any]

    @property
    def kind(self) -> str:
        return self.made["kind"]

    @property
    def version(self) -> str:
        return evidence.release(self.made["where"]["torch_npu"])

    @property
    def product(self) -> str:
        return self.made["where"]["product"]

    @property
    def place(self) -> str:
        """Version and product in words; what was software never reads like a chip."""
        on, kind = say(marks.ON[self.kind]), say(marks.KINDS[self.kind])
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

    @property
    def dtypes(self) -> list[str]:
        """The dtypes that were swept."""
        return [dtype for dtype in DTYPES if dtype in self.made["dtypes"]]

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
        newest: dict[tuple[str, str, str], Sweep] = {}
        for sweep in sorted(
            map(Sweep, evidence.sweeps(folder)), key=lambda one: one.made["started"]
        ):
            newest[sweep.kind, sweep.version, sweep.product] = sweep
        self.all = sorted(newest.values(), key=_order)
        self.families = {
            name: entry["family"]
            for sweep in self.all
            for name, entry in sweep.made["operators"].items()
        }
        self.operators = sorted(self.families, key=lambda name: (name.lower(), name))
        self.deviations: dict[str, list[str]] = {}
        newest = [cell for sweep in self.all[-1:] for cell in sweep.cells.values()]
        deviating = [cell for cell in newest if cell.status in deviation_data.STATUSES]
        self.listed = deviation_data.load(folder)
        for one in self.listed:
            explained = {
                cell.operator
                for cell in deviating
                if deviation_data.explains(one["explains"], cell)
            }
            for name in sorted(explained | {one["operator"]}):
                self.deviations.setdefault(name, []).append(one["name"])

    @property
    def default(self) -> Sweep | None:
        """The record that a reader sees first: of the newest version, the first product."""
        if not self.all:
            return None
        newest = self.all[-1].version
        return min(
            (sweep for sweep in self.all if sweep.version == newest),
            key=lambda one: (evidence.PRODUCTS.index(one.product), one.kind),
        )

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of all records."""
        return [d for d in DTYPES if any(d in one.dtypes for one in self.all)]

    def dtype(self, sweep: Sweep) -> str:
        """The dtype of a record that a reader sees first."""
        return DEFAULT_DTYPE if DEFAULT_DTYPE in sweep.dtypes else next(iter(sweep.dtypes), "")

    def pairs(self) -> list[tuple[Sweep, Sweep]]:
        """A version and the next one that was recorded, of the same kind and product."""
        found = []
        for kind, product in dict.fromkeys((one.kind, one.product) for one in self.all):
            row = [one for one in self.all if (one.kind, one.product) == (kind, product)]
            found += list(itertools.pairwise(row))
        return sorted(found, key=lambda pair: _order(pair[1]))


def changes(before: Sweep, after: Sweep) -> list[Change]:
    """The cells that both records have, and that have another status; in the order of operators."""
    found = []
    for cell in after.cells.values():
        key = (cell.operator, cell.form, cell.dtype)
        then = before.status(*key)
        if then and then != cell.status:
            found.append(Change(then, cell.status, key))
    return found


def _order(sweep: Sweep) -> tuple[Any, ...]:
    version = tuple(int(part) for part in sweep.version.split("."))
    return (version, evidence.PRODUCTS.index(sweep.product), sweep.kind)


def not_computed() -> frozenset[str]:
    """Operators that fall back without anything to compute."""
    from npudocs.sweep.fallback import NOT_COMPUTED

    return frozenset(NOT_COMPUTED)


def of(app: Sphinx) -> Sweeps:
    """The sweeps of the project that is built; a file that is not to be trusted ends the build."""
    if app not in _builds:
        try:
            _builds[app] = Sweeps(Path(app.confdir) / app.config.npudocs_evidence)
        except evidence.EvidenceError as error:
            problems.stop(f"the evidence is not to be trusted: {error}")
    return _builds[app]
