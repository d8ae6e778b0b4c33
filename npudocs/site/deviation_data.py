"""The data behind the pages of deviations: ``evidence/deviations.json``, and which cells of sweeps it explains."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.evidence import SweepCell

NAME, SCHEMA = "deviations.json", "deviations.schema.json"
# A cell of a sweep with one of these has to be explained.
STATUSES = ("tangent lost", "wrong", "error", "no error")


@dataclasses.dataclass(frozen=True)
class Source:
    """A place in the source of torch or torch_npu."""

    repository: str
    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.repository}, `{self.path}`: `{self.name}`"


@dataclasses.dataclass(frozen=True)
class Family:
    """One cause, shared by its deviations."""

    title: str
    cause: str
    sources: tuple[Source, ...]
    fix: str
    repository: str


@dataclasses.dataclass(frozen=True)
class Rule:
    """Cells of sweeps that a deviation explains: an empty field leaves nothing out."""

    operators: tuple[str, ...]
    statuses: tuple[str, ...]
    forms: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        fields = (self.operators, self.forms, self.dtypes, self.statuses)
        words = " / ".join(", ".join(field) for field in fields if field)
        return f"{words} / {self.message!r}" if self.message else words

    def matches(self, cell: SweepCell, message: str) -> bool:
        """Whether this explains a sample of the cell that has the cell's status and this message."""
        return (
            cell.status in self.statuses
            and (not self.forms or cell.form in self.forms)
            and (not self.dtypes or cell.dtype in self.dtypes)
            and self.message in message
            and any(fnmatchcase(cell.operator, pattern) for pattern in self.operators)
        )


@dataclasses.dataclass(frozen=True)
class Deviation:
    """What one operator does otherwise on the NPU."""

    name: str
    operator: str
    status: str
    family: Family
    cause: str
    sources: tuple[Source, ...]
    confirmed: str
    notice: str
    workaround: str
    title: str
    expected: str
    fix: str
    rules: tuple[Rule, ...]

    def explains(self, cell: SweepCell) -> bool:
        """Whether a cell is of this deviation, or one of its messages is."""
        return any(rule.matches(cell, said) for rule in self.rules for said in messages(cell))


def load(folder: Path = evidence.FOLDER) -> list[Deviation]:
    """Return all deviations, in the order of the file.

    Raises:
        EvidenceError: the file is not what the schema says, or says something twice.
    """
    path = folder / NAME
    if not path.is_file():
        return []
    content = evidence.load_checked(path, SCHEMA)
    families = {
        name: Family(**{**family, "sources": _sources(family)})
        for name, family in content["families"].items()
    }
    made: list[Deviation] = []
    names: set[str] = set()
    rules: dict[Rule, str] = {}
    for entry in content["deviations"]:
        name = entry["name"]
        if entry["family"] not in families:
            message = f"family: {entry['family']!r} is no family of this file"
            raise evidence.refusal(path, name, message)
        made.append(one := _deviation(entry, families[entry["family"]]))
        if name in names:
            raise evidence.refusal(path, name, "stands here twice")
        names.add(name)
        for rule in one.rules:
            if rule in rules:
                raise evidence.refusal(path, name, f"{rule} is explained by {rules[rule]} too")
            rules[rule] = name
            for pattern in rule.operators:
                if not pattern.strip("*?") and not rule.message:
                    message = f"explains: {pattern} is every operator, so the rule needs a message"
                    raise evidence.refusal(path, name, message)
    return made


def _deviation(entry: dict[str, Any], family: Family) -> Deviation:
    rules = tuple(
        Rule(**{key: tuple(v) if isinstance(v, list) else v for key, v in one.items()})
        for one in entry["explains"]
    )
    fields = {name: entry[name] for name in entry if name not in ("explains", "report")}
    report = {"fix": family.fix, **entry["report"]}
    return Deviation(
        **{**fields, **report, "family": family, "sources": _sources(entry), "rules": rules}
    )


def _sources(entry: dict[str, Any]) -> tuple[Source, ...]:
    return tuple(Source(**source) for source in entry["sources"])


def messages(cell: SweepCell) -> list[str]:
    """The different messages that are told for a cell's own status; one empty where none is told."""
    told = [one["message"] for one in cell.told if one["status"] == cell.status]
    return list(dict.fromkeys(told)) or [""]
