"""``{claims}`` and ``{contradictions}``: what others say, in their words, and where they disagree."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from npudocs import evidence
from npudocs.evidence import Claim, Contradiction, Mark
from npudocs.site import cells
from npudocs.site.parts import Page
from npudocs.site.signatures import resolve
from npudocs.site.words import say


class Side(NamedTuple):
    """What one side of a contradiction says, and who it is, or whose claim."""

    words: str
    who: str = ""
    claim: Claim | None = None


def sources(page: Page) -> dict[str, Any]:
    """The sources, and everything that they say."""
    found = page.evidence.claims
    listed = {claim.source["title"]: claim.source for claim in found}
    numbers = [claim.source["title"] for claim in found]
    named = [{**source, "number": numbers.count(title)} for title, source in listed.items()]
    return {"sources": named, "quotes": quotes(found)}


def quotes(claims: list[Claim]) -> list[dict[str, Any]]:
    """Claims in the words of their source; the same words of several versions are one group."""
    groups: dict[tuple[str, ...], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.api, claim.says, claim.words), []).append(claim)
    return [{"claims": group, "where": _where(group)} for group in groups.values()]


def contradicting(page: Page) -> dict[str, Any]:
    """Contradictions; the same disagreement in several versions is one group."""
    groups: dict[tuple[str, ...], list[tuple[Claim, list[Side]]]] = {}
    for found in evidence.contradictions(page.evidence, _parameters):
        sides = _sides(found)
        key = (found.claim.api, found.about, *(side.words for side in sides))
        groups.setdefault(key, []).append((found.claim, sides))
    drawn = [
        (
            api,
            about,
            _where([claim for claim, _ in group]),
            zip(*(sides for _, sides in group), strict=True),
        )
        for (api, about, *_), group in groups.items()
    ]
    return {"groups": drawn}


def _where(claims: list[Claim]) -> str:
    return cells.spread((claim.version, claim.product) for claim in claims)


def _parameters(api: str) -> tuple[str, ...] | None:
    try:
        return tuple(inspect.signature(resolve(api)).parameters)
    except (LookupError, TypeError, ValueError):
        return None


def _sides(found: Contradiction) -> list[Side]:
    other = found.other
    if isinstance(other, Claim):
        return [_side(found.claim), _side(other)]
    if isinstance(other, Mark):
        words = f"{found.name or say('any dtype')}: {cells.counts_words(other)}"
        return [
            _side(found.claim),
            Side(words, say("record {name}").format(name=other.record.name)),
        ]
    names = ", ".join(f"`{name}`" for name in other)
    return [
        Side(say("limits `{name}`").format(name=found.name), claim=found.claim),
        Side(
            say("the parameters are {names}").format(names=names),
            say("the signature in the installed torch"),
        ),
    ]


def _side(claim: Claim) -> Side:
    named = f" ({', '.join(claim.dtypes)})" if claim.dtypes else ""
    return Side(f"{cells.SAYS[claim.says]}{named}: {claim.words}", claim=claim)
