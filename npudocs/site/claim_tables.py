"""Where claims disagree: pure data.

Contradictions are found in the data: two sources that say the opposite of one API, version and product; two
that limit it to different dtypes; a limit that names a parameter the API does not have; and a claim
that a run on a chip did not confirm.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
from collections.abc import Iterator

from npudocs.evidence import Claim
from npudocs.site import marks
from npudocs.site.cells import Evidence
from npudocs.site.verifies import resolve
from npudocs.site.words import say

# What two sources can disagree about.
ABOUT = ("support", "dtypes", "parameter name", "a run on a chip")


@dataclasses.dataclass(frozen=True)
class Side:
    """What one side of a contradiction says, and who it is."""

    words: str
    who: str
    claim: Claim | None = None


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """Two sides that cannot both be right."""

    api: str
    version: str
    product: str
    about: str
    one: Side
    other: Side


def contradictions(found: Evidence) -> list[Contradiction]:
    """All of them, in the order of the claims."""
    return [*_between_claims(found.claims), *_parameters(found.claims), *_with_chips(found)]


def _between_claims(claims: list[Claim]) -> Iterator[Contradiction]:
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
        sides = (_side(claim) for claim in sorted((one, other), key=lambda c: c.source["kind"]))
        yield Contradiction(*where, about, *sides)


def _parameters(claims: list[Claim]) -> Iterator[Contradiction]:
    for claim in claims:
        for name in re.findall(r"`(\w+)`仅支持|`(\w+)` supports only", claim.words):
            try:
                signature = inspect.signature(resolve(claim.api))
            except (LookupError, TypeError, ValueError):
                continue
            wrong = next(filter(None, name))
            if wrong not in signature.parameters:
                real = ", ".join(f"`{parameter}`" for parameter in signature.parameters)
                other = Side(
                    say("the parameters are {names}").format(names=real),
                    say("the signature in the installed torch"),
                )
                yield Contradiction(
                    claim.api, claim.version, claim.product, "parameter name",
                    Side(say("limits `{name}`").format(name=wrong), claim.source["title"], claim), other,
                )  # fmt: skip


def _with_chips(found: Evidence) -> Iterator[Contradiction]:
    for claim in found.claims:
        for dtype in claim.dtypes or ("",):
            drawn, _ = found.api_cell(claim.api, claim.version, claim.product, dtype)
            for mark in drawn:
                denied = {"supported": ("failed", "partial"), "not supported": ("passed",)}
                if mark.record.kind == "silicon" and mark.verdict in denied[claim.says]:
                    ran = Side(
                        f"{dtype or say('any dtype')}: {mark.words}",
                        say("record {name}").format(name=mark.record.name),
                    )
                    yield Contradiction(
                        claim.api,
                        claim.version,
                        claim.product,
                        "a run on a chip",
                        _side(claim),
                        ran,
                    )


def _side(claim: Claim) -> Side:
    sign = marks.SAYS[claim.says]
    named = f" ({', '.join(claim.dtypes)})" if claim.dtypes else ""
    return Side(f"{sign}{named}: {claim.words}", claim.source["title"], claim)
