"""Which checks end differently in different versions or products, found in the records.

Software records and silicon records are compared among themselves only, and only runs of the same source: a
check that was changed between two records, or that one of them has not, is no difference but unknown.
Words that explain a difference are data too, ``evidence/explanations.json``: a pattern that is looked for in
the check and its messages.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npudocs.evidence import Entry, Record

Ran = list[tuple[Record, Entry]]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Words for the differences that match a pattern, and where they come from."""

    pattern: str
    words: str
    source: str

    def fits(self, ran: Ran) -> bool:
        """Whether a check or one of its messages contains the pattern."""
        texts = (f"{e.check} {e.part} {e.dtype}\n{e.message}" for _, e in ran)
        return any(re.search(self.pattern, text) for text in texts)


@dataclasses.dataclass
class Group:
    """Checks that end in the same way in the same versions and products, for the same reason."""

    outcomes: dict[str, list[tuple[str, str]]]
    explanation: Explanation | None
    checks: list[Entry]
    messages: dict[str, Ran]


def explanations(folder: Path) -> list[Explanation]:
    """Read the explanations; raises ValueError, naming the file, where it is malformed."""
    path = folder / "explanations.json"
    if not path.is_file():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["explanations"]
        read = [Explanation(**entry) for entry in found]
        for explanation in read:
            re.compile(explanation.pattern)
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise ValueError(f"evidence/{path.name}: {error}") from error
    for number, explanation in enumerate(read):
        for field, value in dataclasses.asdict(explanation).items():
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"evidence/{path.name}: explanations[{number}].{field}: is empty")
    return read


def by_check(records: Iterable[Record]) -> list[Ran]:
    """What became of each check: one list for a file, part, dtype and source."""
    found: dict[tuple[str, ...], Ran] = {}
    for record in records:
        for entry in record.entries:
            key = (entry.check, entry.part, entry.dtype, entry.source)
            found.setdefault(key, []).append((record, entry))
    return list(found.values())


def differing(records: Iterable[Record], explain: list[Explanation]) -> list[Group]:
    """The checks with different outcomes, grouped."""
    groups: dict[Any, Group] = {}
    for ran in by_check(records):
        if len({entry.outcome for _, entry in ran}) == 1:
            continue
        explanation = next((one for one in explain if one.fits(ran)), None)
        outcomes: dict[str, list[tuple[str, str]]] = {}
        for record, entry in ran:
            pairs = outcomes.setdefault(entry.outcome, [])
            pairs.append((record.version, record.where["product"]))
        places = tuple(sorted((outcome, *sorted(p)) for outcome, p in outcomes.items()))
        firsts = tuple(sorted({first_line(e.message) for _, e in ran if e.message}))
        key = (places, explanation or firsts)
        group = groups.setdefault(key, Group(outcomes, explanation, [], {}))
        group.checks.append(ran[0][1])
        for record, entry in ran:
            if entry.message:
                group.messages.setdefault(first_line(entry.message), []).append((record, entry))
    return list(groups.values())


def first_line(message: str) -> str:
    """The line of a message that says the most: the error of a traceback, else the first one."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return ""
    if any(line.startswith("Traceback ") for line in lines):
        named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Warning)\b", line)]
        return named[-1] if named else lines[-1]
    return lines[0]
