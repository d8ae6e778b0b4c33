"""Where the evidence disagrees: claims with each other and with chips, records with records."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from npudocs.evidence import files
from npudocs.evidence.model import Claim, Entry, Mark, Record
from npudocs.evidence.questions import Evidence

Ran = list[tuple[Record, Entry]]
# What two sources can disagree about.
ABOUT = ("support", "dtypes", "parameter name", "a run on a chip")


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """A claim, and what it cannot be right beside: another claim, a signature or a chip's record.

    `about` is one of `ABOUT`; `name` is the parameter or the dtype.
    """

    about: str
    claim: Claim
    other: Claim | Mark | tuple[str, ...]
    name: str = ""


def contradictions(
    found: Evidence, parameters: Callable[[str], tuple[str, ...] | None]
) -> list[Contradiction]:
    """All of them; `parameters` tells the names of an API's, or None where it has no signature."""
    return [
        *between_claims(found.claims),
        *_parameters(found.claims, parameters),
        *_with_chips(found),
    ]


def between_claims(claims: list[Claim]) -> Iterator[Contradiction]:
    for one, other in itertools.combinations(claims, 2):
        where = (one.api, one.version, one.product)
        if where != (other.api, other.version, other.product) or one.source == other.source:
            continue
        if one.says != other.says:
            about = "support"
        elif one.dtypes and other.dtypes and set(one.dtypes) != set(other.dtypes):
            about = "dtypes"
        else:
            continue
        yield Contradiction(about, *sorted((one, other), key=lambda claim: claim.source["kind"]))


def _parameters(
    claims: list[Claim], parameters: Callable[[str], tuple[str, ...] | None]
) -> Iterator[Contradiction]:
    for claim in claims:
        for names in re.findall(r"`(\w+)`仅支持|`(\w+)` supports only", claim.words):
            wrong, real = next(filter(None, names)), parameters(claim.api)
            if real is not None and wrong not in real:
                yield Contradiction("parameter name", claim, real, wrong)


def _with_chips(found: Evidence) -> Iterator[Contradiction]:
    denied = {"supported": ("failed", "partial"), "not supported": ("passed",)}
    for claim in found.claims:
        for dtype in claim.dtypes or ("",):
            marks, _ = found.api_cell(claim.api, claim.version, claim.product, dtype)
            for mark in marks:
                if mark.record.kind == "silicon" and mark.verdict in denied[claim.says]:
                    yield Contradiction("a run on a chip", claim, mark, dtype)


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
class Difference:
    """Checks that end in the same way in the same versions and products, for the same reason."""

    outcomes: dict[str, list[tuple[str, str]]]
    explanation: Explanation | None
    checks: list[Entry]
    messages: dict[str, Ran]


def explanations(folder: Path) -> list[Explanation]:
    """The words that explain differences; raises EvidenceError where their file is malformed."""
    path = folder / "explanations.json"
    if not path.is_file():
        return []
    content = files.load_checked(path, "explanations.schema.json")
    return [Explanation(**entry) for entry in content["explanations"]]


def by_check(records: Iterable[Record]) -> list[Ran]:
    """What became of each check: one list for a file, part, dtype and source."""
    found: dict[tuple[str, ...], Ran] = {}
    for record in records:
        for entry in record.entries:
            found.setdefault((*entry.key, entry.source), []).append((record, entry))
    return list(found.values())


def changed_between(records: Iterable[Record]) -> list[str]:
    """The files of which the records ran different texts; these are not compared."""
    sources: dict[str, set[str]] = {}
    for record in records:
        for entry in record.entries:
            sources.setdefault(entry.check, set()).add(entry.source)
    return sorted(check for check, found in sources.items() if len(found) > 1)


def differences(records: Iterable[Record], explain: list[Explanation]) -> list[Difference]:
    """The checks with different outcomes, grouped; only runs of the same source are compared."""
    groups: dict[Any, Difference] = {}
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
        group = groups.setdefault(key, Difference(outcomes, explanation, [], {}))
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
