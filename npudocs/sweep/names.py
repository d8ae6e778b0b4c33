"""What may be asked for, and what is near a wrong word: known without torch, which takes seconds to import."""

from __future__ import annotations

import difflib
import importlib.metadata
import json
from collections.abc import Sequence

from npudocs import evidence
from npudocs.sweep import SweepError


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


def check_operators(words: Sequence[str]) -> None:
    """Refuse an operator that torch's database does not have, without the seconds it takes to import it.

    What the installed torch_npu was swept with stands in its record; where there is none, and for
    torch_npu's own functions, `pool.shard_of` looks.

    Raises:
        SweepError: an operator is not known.
    """
    version = importlib.metadata.version("torch_npu")
    paths = sorted((evidence.FOLDER / "sweeps").glob(f"*/torch_npu-{version}-*.json"))
    words = [word for word in words if not word.startswith("torch_npu.")]
    if words and paths:
        known = json.loads(paths[0].read_text(encoding="utf-8"))["operators"]
        chosen(words, [*known], "operator of the sweep")
