"""What the sweeps say of an operator, where it has its section, and which deviation explains it: no drawing.

A deviation of ``evidence/deviations.json`` is what the file's schema says, with its family in the place of the
family's name.
"""

from __future__ import annotations

import functools
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import SweepCell
from npudocs.evidence.sweep_records import DTYPES, FORMS, STATUSES
from npudocs.site import cells
from npudocs.site.words import say

Key = tuple[str, str, str]  # operator, form, dtype
DEFAULT_DTYPE = "float32"
DEVIATIONS = "deviations.json"
# A cell of a sweep with one of these has to be explained.
DEVIATING = ("tangent lost", "wrong", "error", "no error")
Deviation = dict[str, Any]

FOLDER = "operators/families"
# Families with a page for each range of first letters; fixed, so that addresses stay.
LARGE = ("torch", "nn.functional")
RANGES = ("a-b", "c-e", "f-k", "l-m", "n-r", "s", "t-z")


class Sweep:
    """One record of a sweep."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made, self.kind, self.product = made, made["kind"], made["where"]["product"]
        self.repaired = made.get("repaired", False)
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
    """All records of a project that count: the newest of a kind, version and product.

    `built` is the version of torch_npu that executes the build, empty where nothing does.
    """

    def __init__(self, folder: Path, built: str = "") -> None:
        self.built = built
        self.all = _newest(evidence.sweeps(folder))
        # With npu_forward_ad's repair: only the table of operators shows them.
        self.repaired = _newest(evidence.sweeps(folder, repaired=True))
        entries = [item for one in self.all for item in one.made["operators"].items()]
        # The operators in the order of the table.
        entries.sort(key=lambda item: (item[0].lower(), item[0]))
        self.families = {name: entry["family"] for name, entry in entries}
        # The pages, and the operators on each.
        self.pages: dict[str, list[str]] = {}
        for name in self.families:
            self.pages.setdefault(self.page(name), []).append(name)
        self.deviations = {one["name"]: one for one in deviations(folder)}
        found = self.default.cells.values() if self.default else ()
        deviating = [cell for cell in found if cell.status in DEVIATING]
        # How many cells of the record that a reader sees first a deviation explains, by operator.
        self.explained = {
            name: Counter(c.operator for c in deviating if explains(one, c))
            for name, one in self.deviations.items()
        }

    @property
    def default(self) -> Sweep | None:
        """The record that a reader sees first: the first product of the version built with, or of the newest."""
        by_version = {one.version: one for one in reversed(self.all)}
        return by_version.get(self.built) or by_version.get(
            self.all[-1].version if self.all else ""
        )

    @property
    def default_repaired(self) -> Sweep | None:
        """The record with the repair of the same kind, version and product as the one seen first."""
        return next((one for one in self.repaired if _order(one) == _order(self.default)), None)

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of all records."""
        return [d for d in DTYPES if any(d in one.dtypes for one in self.all)]

    def dtype(self, sweep: Sweep) -> str:
        """The dtype of a record that a reader sees first."""
        return DEFAULT_DTYPE if DEFAULT_DTYPE in sweep.dtypes else next(iter(sweep.dtypes), "")

    def page(self, operator: str) -> str:
        """The name of the page that an operator is on."""
        return page(operator, self.families[operator])

    def title(self, page: str) -> str:
        """The title of a page of operators."""
        family = self.families[self.pages[page][0]]
        part = page.removeprefix(f"{FOLDER}/{family.replace('.', '-')}").lstrip("-")
        shown = f"{family}, {part}" if family in LARGE else family
        return say("Operators: {family}").format(family=shown)


def _newest(made: list[dict[str, Any]]) -> list[Sweep]:
    made = sorted(made, key=lambda one: one["started"])
    return sorted({_order(one): one for one in map(Sweep, made)}.values(), key=_order)


def _order(sweep: Sweep) -> tuple[Any, ...]:
    version = tuple(int(part) for part in sweep.version.split("."))
    return (version, evidence.PRODUCTS.index(sweep.product), sweep.kind)


def page(name: str, family: str) -> str:
    """Return the name of the page that an operator is on."""
    slug = family.replace(".", "-").replace("_", "-")
    if family not in LARGE:
        return f"{FOLDER}/{slug}"
    prefix = f"{family}."
    letter = name[len(prefix) * name.startswith(prefix) :].lstrip("_")[:1].lower()
    # What begins with no letter is at the front.
    part = next((r for r in RANGES if r[0] <= letter <= r[-1]), RANGES[0])
    return f"{FOLDER}/{slug}-{part}"


def anchor(deviation: str) -> str:
    """Return the anchor of a deviation's section."""
    return f"deviation-{deviation.replace('_', '-')}"


def deviations(folder: Path = evidence.FOLDER) -> list[Deviation]:
    """All deviations, in the order of the file; raises EvidenceError where the file is not what its schema says."""
    path = folder / DEVIATIONS
    if not path.is_file():
        return []
    content = evidence.load_checked(path, "deviations.schema.json")
    names: set[str] = set()
    for one in content["deviations"]:
        name, family = one["name"], one["family"]
        if family not in content["families"]:
            message = f"family: {family!r} is no family of this file"
            raise evidence.refusal(path, name, message)
        if name in names:
            raise evidence.refusal(path, name, "stands here twice")
        names.add(name)
        one["family"] = content["families"][family]
    return content["deviations"]


def matches(rule: dict[str, Any], cell: SweepCell, message: str) -> bool:
    """Whether a rule explains a sample of the cell that has the cell's status and this message."""
    return (
        cell.status in rule["statuses"]
        and cell.form in rule.get("forms", [cell.form])
        and cell.dtype in rule.get("dtypes", [cell.dtype])
        and rule.get("message", "") in message
        and any(fnmatchcase(cell.operator, pattern) for pattern in rule["operators"])
    )


def explains(deviation: Deviation, cell: SweepCell) -> bool:
    """Whether one of a deviation's rules explains one of the messages of a cell."""
    said = messages(cell)
    return any(matches(rule, cell, one) for rule in deviation["explains"] for one in said)


def messages(cell: SweepCell) -> list[str]:
    """The different messages that are told for a cell's own status; one empty where none is told."""
    told = [one["message"] for one in cell.told if one["status"] == cell.status]
    return list(dict.fromkeys(told)) or [""]


@functools.lru_cache(maxsize=1)
def of(app: Sphinx) -> Sweeps:
    """The sweeps of the project that is built, read once."""
    built = app.config.execute_device.torch_npu
    folder = Path(app.confdir) / app.config.npudocs_evidence
    return cells.trusted(Sweeps, folder, evidence.release(built) if built else "")
