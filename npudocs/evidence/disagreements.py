"""Where two sources cannot both be right."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from npudocs.evidence import Claim


def between(claims: Iterable[Claim]) -> Iterator[tuple[str, Claim, Claim]]:
    """Yield what two claims disagree about, ``support`` or ``dtypes``, and both, a page's before a report's."""
    for one, other in itertools.combinations(claims, 2):
        where = (one.api, one.version, one.product)
        if where != (other.api, other.version, other.product) or one.source == other.source:
            continue
        first, second = sorted((one, other), key=lambda claim: claim.source["kind"])
        if one.says != other.says:
            yield "support", first, second
        elif one.dtypes and other.dtypes and {*one.dtypes} != {*other.dtypes}:
            yield "dtypes", first, second
