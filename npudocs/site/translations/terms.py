"""The term list, ``locales/LANGUAGE/terms.tsv``: one translation for a term, and where it is from.

A line has the English term (other spellings after ``|``), its translation (others that are allowed after
``|``), ``yes`` where the check insists on it, and the source. Plurals count as the term.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

NAME = "terms.tsv"
COLUMNS = ["english", "chinese", "strict", "source"]


class Term(NamedTuple):
    """One line, without its source."""

    english: list[str]
    chinese: list[str]
    strict: bool


def load(path: Path) -> list[Term]:
    """The terms of a file; raises ValueError, naming the line, where one is malformed."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    if head != COLUMNS:
        raise ValueError(f"{path.name}:1: the columns are {', '.join(COLUMNS)}")
    found: list[Term] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, 2):
        place = f"{path.name}:{number}"
        if len(row) != len(COLUMNS) or not all(row) or row[2] not in ("yes", "no"):
            raise ValueError(f"{place}: needs {len(COLUMNS)} fields; the third is yes or no")
        term = Term(row[0].split("|"), row[1].split("|"), row[2] == "yes")
        spelled = {one.lower() for one in term.english}
        if twice := spelled & seen:
            raise ValueError(f"{place}: {twice.pop()} stands here twice")
        seen |= spelled
        found.append(term)
    return found


def problems(terms: Iterable[Term], original: str, translation: str) -> list[str]:
    """What is wrong with the terms of a translation."""
    return [
        f"the term {term.english[0]!r} is {' or '.join(term.chinese)} in {NAME}"
        for term in terms
        if term.strict
        and any(_has(original, one) for one in term.english)
        and not any(one in translation for one in term.chinese)
    ]


def _has(text: str, term: str) -> bool:
    spelled = re.escape(term).replace(r"\ ", r"\s+")
    return bool(re.search(rf"(?<![\w.-]){spelled}(?:s|es)?(?![\w-])", text, re.IGNORECASE))
