"""``{claims}`` and ``{contradictions}``: what others say, in their words, and where they disagree."""

from __future__ import annotations

from typing import Any

from npudocs.evidence import Claim
from npudocs.site import cells
from npudocs.site.claim_tables import Contradiction, contradictions
from npudocs.site.parts import Page


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
    groups: dict[tuple[str, ...], list[Contradiction]] = {}
    for one in contradictions(page.evidence):
        groups.setdefault((one.api, one.about, one.one.words, one.other.words), []).append(one)
    return {"groups": [{"found": group, "where": _where(group)} for group in groups.values()]}


def _where(found: list[Any]) -> str:
    return cells.spread([(one.version, one.product) for one in found])
