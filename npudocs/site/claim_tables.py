"""``{claims}`` and ``{contradictions}``: what others say, in their words, and where they disagree.

Contradictions are found in the data: two sources that say the opposite of one API, version and product; two
that limit it to different dtypes; a limit that names a parameter the API does not have; and a claim
that a run on a chip did not confirm.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from npudocs import evidence
from npudocs.evidence import Claim, Contradiction, Mark
from npudocs.site import cells, marks, parts, tables
from npudocs.site.verifies import resolve
from npudocs.site.words import say


class Side(NamedTuple):
    """What one side of a contradiction says, and who it is."""

    words: str
    who: str
    claim: Claim | None = None


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


def _parameters(api: str) -> tuple[str, ...] | None:
    try:
        return tuple(inspect.signature(resolve(api)).parameters)
    except (LookupError, TypeError, ValueError):
        return None


def _sides(found: Contradiction) -> tuple[Side, Side]:
    other = found.other
    if isinstance(other, Claim):
        return _side(found.claim), _side(other)
    if isinstance(other, Mark):
        words = f"{found.name or say('any dtype')}: {cells.counts_words(other)}"
        ran = Side(words, say("record {name}").format(name=other.record.name))
        return _side(found.claim), ran
    limits = say("limits `{name}`").format(name=found.name)
    names = ", ".join(f"`{name}`" for name in other)
    real = say("the parameters are {names}").format(names=names)
    return (
        Side(limits, found.claim.source["title"], found.claim),
        Side(real, say("the signature in the installed torch")),
    )


def _side(claim: Claim) -> Side:
    sign = marks.SAYS[claim.says]
    named = f" ({', '.join(claim.dtypes)})" if claim.dtypes else ""
    return Side(f"{sign}{named}: {claim.words}", claim.source["title"], claim)


def contradiction_table(app: Sphinx, docname: str, arguments: list[str]) -> list[nodes.Node]:
    """Both sides beside each other; the same disagreement in several versions is one row."""
    groups: dict[tuple[str, ...], list[tuple[Claim, Side, Side]]] = {}
    for found in evidence.contradictions(cells.of(app), _parameters):
        one, other = _sides(found)
        key = (found.claim.api, found.about, one.words, other.words)
        groups.setdefault(key, []).append((found.claim, one, other))
    if not groups:
        return [nodes.paragraph(text=say("No two sources contradict each other."))]
    body = []
    for (api, about, _, _), group in groups.items():
        where = cells.spread((claim.version, claim.product) for claim, _, _ in group)
        sides = [_draw(app, docname, [row[number] for row in group]) for number in (1, 2)]
        name = nodes.literal(text=evidence.short(api))
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
        name = [[nodes.literal(text=evidence.short(api))]] if with_api else []
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
