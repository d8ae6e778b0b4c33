"""The term list, ``locales/LANGUAGE/terms.tsv``: one translation for a term, and where it is from.

A line after the first has the English term (other spellings after ``|``), its translation (others that are allowed
after ``|``), ``yes`` where the check insists on it, and the source. Plurals count as the term.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

NAME = "terms.tsv"


class Term(NamedTuple):
    """One line, without its source."""

    english: list[str]
    chinese: list[str]
    strict: bool


def load(path: Path) -> list[Term]:
    """The terms of a file; raises ValueError, naming the line, where one is malformed."""
    if not path.is_file():
        return []
    found: list[Term] = []
    seen: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], 2):
        place, row = f"{path.name}:{number}", line.split("\t")
        if len(row) != 4 or not all(row) or row[2] not in ("yes", "no"):
            raise ValueError(f"{place}: needs 4 fields; the third is yes or no")
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
