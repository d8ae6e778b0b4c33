"""The term list, ``locales/LANGUAGE/terms.tsv``: one translation for a term, and where it is from.

A line has the English term (other spellings after ``|``), its translation (others that are allowed after
``|``), ``yes`` where the check insists on it, and the source. Plurals count as the term.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import re
from collections.abc import Iterable
from pathlib import Path

NAME = "terms.tsv"
COLUMNS = ["english", "chinese", "strict", "source"]


@dataclasses.dataclass(frozen=True)
class Term:
    """One line."""

    english: tuple[str, ...]
    chinese: tuple[str, ...]
    strict: bool
    source: str

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the term as a word."""
        spelled = "|".join(re.escape(one).replace(r"\ ", r"\s+") for one in self.english)
        return re.compile(rf"(?<![\w.-])(?:{spelled})(?:s|es)?(?![\w-])", re.IGNORECASE)


def load(path: Path) -> list[Term]:
    """The terms of a file; raises ValueError, naming the line, where one is malformed."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if rows[0] != COLUMNS:
        raise ValueError(f"{path.name}:1: the columns are {', '.join(COLUMNS)}")
    found, seen = [], set()
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(COLUMNS) or not all(row) or row[2] not in ("yes", "no"):
            raise ValueError(
                f"{path.name}:{number}: needs {len(COLUMNS)} fields; the third is yes or no"
            )
        english, chinese = (tuple(field.split("|")) for field in row[:2])
        if twice := {one.lower() for one in english} & seen:
            raise ValueError(f"{path.name}:{number}: {twice.pop()} stands here twice")
        seen |= {one.lower() for one in english}
        found.append(Term(english, chinese, row[2] == "yes", row[3]))
    return found


def problems(terms: Iterable[Term], original: str, translation: str) -> list[str]:
    """What is wrong with the terms of a translation."""
    return [
        f"the term {term.english[0]!r} is {' or '.join(term.chinese)} in {NAME}"
        for term in terms
        if term.strict
        and term.pattern.search(original)
        and not any(one in translation for one in term.chinese)
    ]
