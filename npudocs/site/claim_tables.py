"""``{claims}`` and ``{contradictions}``: what others say, in their words, and where they disagree.

Contradictions are found in the data: two sources that say the opposite of one API, version and product; two
that limit it to different dtypes; a limit that names a parameter the API does not have; and a claim
that a run on a chip did not confirm.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.evidence import Claim, disagreements
from npudocs.site import cells, marks, parts, tables
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


def uri(app: Sphinx, docname: str, claim: Claim) -> str:
    """The address of a claim's source, seen from a page; empty where no page lists the sources."""
    page = next(iter(parts.pages(app.env, "claims")), "")
    if not page:
        return ""
    address = "" if page == docname else app.builder.get_relative_uri(docname, page)
    return f"{address}#{anchor(claim)}"


def anchor(claim: Claim) -> str:
    """The anchor of a claim's source in ``{claims}``."""
    return cells.slug("claim", claim.source["title"])


def contradictions(found: Evidence) -> list[Contradiction]:
    """All of them, in the order of the claims."""
    return [*_between_claims(found.claims), *_parameters(found.claims), *_with_chips(found)]


def _between_claims(claims: list[Claim]) -> Iterator[Contradiction]:
    for about, one, other in disagreements.between(claims):
        yield Contradiction(one.api, one.version, one.product, about, _side(one), _side(other))


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


def contradiction_table(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Both sides beside each other; the same disagreement in several versions is one row."""
    groups: dict[tuple[str, ...], list[Contradiction]] = {}
    for found in contradictions(cells.of(app)):
        key = (found.api, found.about, found.one.words, found.other.words)
        groups.setdefault(key, []).append(found)
    if not groups:
        return [nodes.paragraph(text=say("No two sources contradict each other."))]
    body = []
    for (api, about, _, _), group in groups.items():
        where = cells.spread([(found.version, found.product) for found in group])
        sides = [
            _draw(app, docname, [getattr(f, name) for f in group]) for name in ("one", "other")
        ]
        name = nodes.literal(text=cells.short(api))
        body.append(tables.row([name], f"{say(about)}; {where}", *sides))
    head = [tables.row("API", say("about"), say("one source says"), say("another says"))]
    return [tables.table(head, body, [2, 2, 4, 4], "npudocs-contradictions")]


def _draw(app: Sphinx, docname: str, sides: list[Side]) -> list[nodes.Node]:
    said = nodes.block_quote("", tables.text(sides[0].words))
    if sides[0].claim is None:
        return [tables.text(sides[0].words), nodes.paragraph(text=f"({sides[0].who})")]
    return [said, _sources(app, docname, [side.claim for side in sides if side.claim])]


def _sources(app: Sphinx, docname: str, claims: Iterable[Claim]) -> nodes.paragraph:
    line = nodes.paragraph(classes=["npudocs-note"])
    named = {claim.source["title"]: claim for claim in claims}
    for number, (title, claim) in enumerate(named.items()):
        line += nodes.Text(", " if number else "")
        address = uri(app, docname, claim)
        linked = nodes.reference("", title, internal=True, refuri=address)
        line += linked if address else nodes.Text(title)
    return line


def claim_table(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """The sources, and everything that they say."""
    found = cells.of(app).claims
    sources = {claim.source["title"]: claim for claim in found}
    body = []
    for title, claim in sources.items():
        source = claim.source
        number = sum(other.source == source for other in found)
        where = [nodes.Text(source["where"])]
        if commit := source.get("commit"):
            where += [nodes.Text(say(" at ")), nodes.literal(text=commit[:12])]
        kind = tables.cell(say(source["kind"]))
        body.append(
            tables.row(title, kind, where, source["seen"], str(number), anchor=anchor(claim))
        )
    head = [tables.row(*map(say, ("source", "kind", "where", "seen", "claims")))]
    made = [tables.table(head, body, [3, 2, 5, 2, 1], "npudocs-sources")]
    return [*made, quotes(app, docname, found)] if found else []


def quotes(app: Sphinx, docname: str, claims: list[Claim], with_api: bool = True) -> nodes.table:
    """Claims in the words of their source; the same words of several versions are one row."""
    groups: dict[tuple[str, ...], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.api, claim.says, claim.words), []).append(claim)
    body = []
    for (api, says, words), group in groups.items():
        who = "report" if group[0].source["kind"] == "report" else "page"
        where = cells.spread([(claim.version, claim.product) for claim in group])
        said = nodes.block_quote("", tables.text(words))
        name = [[nodes.literal(text=cells.short(api))]] if with_api else []
        mark = [marks.quotation(says, who)]
        row = tables.row(*name, mark, where, [said, _sources(app, docname, group)])
        body.append(row)
    names = ["API"] if with_api else []
    head = [tables.row(*names, say("claim"), say("where"), say("words and source"))]
    widths = [2, 2, 3, 6][not with_api :]
    return tables.table(head, body, widths, "npudocs-quotes")


def setup(app: Sphinx) -> dict[str, Any]:
    parts.add(app, "claims", claim_table)
    parts.add(app, "contradictions", contradiction_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
