"""HTML of the operator pages, written as text: nodes for so many cells would take a minute to build."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.site import marks
from npudocs.site.operators.data import Sweep, Sweeps
from npudocs.site.words import say

FOLDER = "operators/families"
# Families with a page for each range of first letters; fixed, so that addresses stay.
LARGE = ("torch", "nn.functional")
RANGES = ("a-b", "c-e", "f-k", "l-m", "n-r", "s", "t-z")


def raw(html: str) -> nodes.raw:
    """HTML as a node."""
    return nodes.raw("", html, format="html")


def page(name: str, family: str) -> str:
    """The name of the page that an operator is on."""
    slug = family.replace(".", "-").replace("_", "-")
    if family not in LARGE:
        return f"{FOLDER}/{slug}"
    prefix = f"{family}."
    letter = name[len(prefix) * name.startswith(prefix) :].lstrip("_")[:1].lower()
    # What begins with no letter is at the front.
    part = next((r for r in RANGES if r[0] <= letter <= r[-1]), RANGES[0])
    return f"{FOLDER}/{slug}-{part}"


def address(app: Sphinx, docname: str, name: str, family: str) -> str:
    """The address of an operator's section, seen from a page."""
    home = page(name, family)
    uri = "" if home == docname else app.builder.get_relative_uri(docname, home)
    return f"{uri}#{quote(name)}"


def link(app: Sphinx, docname: str, sweeps: Sweeps, name: str) -> str:
    """An operator's name, linked to its section."""
    uri = address(app, docname, name, sweeps.families[name])
    return f'<a class="reference internal" href="{escape(uri)}">{escape(name)}</a>'


def status(name: str, text: str = "", tag: str = "td") -> str:
    """A status in words; the attribute is for the style, which adds nothing that words do not say."""
    if not name:
        return f"<{tag}></{tag}>"
    return f'<{tag} data-s="{name}">{text or say(name)}</{tag}>'


def table(
    head: Iterable[str], rows: Iterable[str], label: str, kind: str, classes: str = ""
) -> str:
    """A table in an area of its own that scrolls, also by keyboard."""
    cells = "".join(map(_head, head))
    body = "\n".join(rows)
    return (
        f'<div class="npudocs-scroll npudocs-{kind}" role="region" tabindex="0" '
        f'aria-label="{escape(label)}">'
        f'<table class="table npudocs-evidence npudocs-sweep {classes}">'
        f"<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _head(text: str) -> str:
    """The head of a column. Scripts know it by its English name."""
    shown = say(text)
    known = f' data-sort="{escape(text)}"' if shown != text else ""
    return f'<th scope="col"{known}>{escape(shown)}</th>'


def banner(sweep: Sweep) -> nodes.container:
    """Where a record was made; the same box as that of an executed page."""
    where = sweep.made["where"]
    line = nodes.paragraph("", "", nodes.strong(text=say(marks.KINDS[sweep.kind])))
    as_ = say("as" if sweep.kind == "software" else "on")
    words = f" torch_npu {where['torch_npu']}, torch {where['torch']}, {as_} {where['product']}"
    words += f" ({where['soc']})"
    if where["cann"]:
        words += f", CANN {where['cann']}"
    if where["softnpu"]:
        words += f", softnpu {where['softnpu']}"
    swept = say("Swept {when}.").format(when=sweep.made["started"])
    line += nodes.Text(f"{words}. {swept}")
    return nodes.container("", line, classes=["npudocs-banner", f"npudocs-{sweep.kind}"])


def nothing() -> list[nodes.Node]:
    """What stands in place of every part where there is no record."""
    words = say("There is no record of a sweep yet: make sweep makes one.")
    return [nodes.paragraph(text=words)]
