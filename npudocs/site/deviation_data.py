"""The data behind the pages of deviations, ``evidence/deviations.json``: which cells of sweeps each one explains.

A deviation is what the file's schema says, with its family in the place of the family's name.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.evidence import SweepCell

NAME, SCHEMA = "deviations.json", "deviations.schema.json"
# A cell of a sweep with one of these has to be explained.
STATUSES = ("tangent lost", "wrong", "error", "no error")
Deviation = dict[str, Any]
Rule = dict[str, Any]


def load(folder: Path = evidence.FOLDER) -> list[Deviation]:
    """Return all deviations, in the order of the file.

    Raises:
        EvidenceError: the file is not what the schema says, or says something twice.
    """
    path = folder / NAME
    if not path.is_file():
        return []
    content = evidence.load_checked(path, SCHEMA)
    families, rules = content["families"], {}
    names: set[str] = set()
    for one in content["deviations"]:
        name, family = one["name"], one["family"]
        if family not in families:
            message = f"family: {family!r} is no family of this file"
            raise evidence.refusal(path, name, message)
        if name in names:
            raise evidence.refusal(path, name, "stands here twice")
        names.add(name)
        one["family"] = families[family]
        for rule in one["explains"]:
            if other := rules.get(words(rule)):
                raise evidence.refusal(path, name, f"{words(rule)} is explained by {other} too")
            rules[words(rule)] = name
            for pattern in rule["operators"]:
                if not pattern.strip("*?") and "message" not in rule:
                    message = f"explains: {pattern} is every operator, so the rule needs a message"
                    raise evidence.refusal(path, name, message)
    return content["deviations"]


def words(rule: Rule) -> str:
    """A rule in words."""
    fields = [rule.get(name) for name in ("operators", "forms", "dtypes", "statuses")]
    listed = [", ".join(field) for field in fields if field]
    return " / ".join([*listed, repr(rule["message"])] if "message" in rule else listed)


def matches(rule: Rule, cell: SweepCell, message: str) -> bool:
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
