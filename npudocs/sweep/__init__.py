"""The sweep: every operator with a forward formula, on the CPU and on the NPU, with random tangents.

``python -m npudocs.sweep`` (``make sweep``) runs it and writes one record into ``evidence/sweeps``.
This file does without torch, which takes seconds to import: a wrong word is refused before.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class SweepError(Exception):
    """The sweep cannot run or be merged, in words that say what to do."""


def chosen(words: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the words that were asked for, all known ones where none was.

    Raises:
        SweepError: a word is not known.
    """
    for word in words:
        if word not in known:
            raise SweepError(f"{word!r} is no {what}; {_near(word, known)}")
    return tuple(word for word in known if not words or word in words)


def _near(word: str, known: Sequence[str]) -> str:
    if len(known) < 12:
        return f"known are: {', '.join(known)}"
    inside = [name for name in known if word.lower() in name.lower()]
    near = [*difflib.get_close_matches(word, known, n=5), *sorted(inside, key=len)]
    named = ", ".join([*dict.fromkeys(near)][:8])
    return f"near it: {named}" if named else "see docs/operators"
