"""What a translation has to keep of its original: code, links, roles, formulas and what is filled in.

Only what carries meaning counts: emphasis may go. Markup that would be shown as plain text is found as well;
next to Chinese characters and punctuation that happens easily.
"""

from __future__ import annotations

import re
from collections import Counter

from markdown_it import MarkdownIt

# What is found is taken out before the next is looked for; of Markdown, reStructuredText and words alike.
_KEPT = (
    # :ref:`text <target>`, {term}`text <target>`
    re.compile(r":(?P<role>[\w:+-]+):`(?P<text>.+?)`"),
    re.compile(r"(?<!`)\{(?P<role>[\w:+-]+)\}(?P<ticks>`+)(?P<text>.+?)(?P=ticks)"),
    re.compile(r"`[^`<]*<(?P<link>[^>`]+)>`__?"),
    re.compile(r"(?P<ticks>`+)(?P<text>.+?)(?P=ticks)"),
    re.compile(r"\]\((?P<link>[^)\s]*)[^)]*\)"),
    re.compile(r"<(?P<link>https?://[^>\s]+)>"),
    re.compile(r"(?<!\\)\$+[^$]+\$+"),
    re.compile(r"\{\w+\}"),
)
# A name of Python or of a product with a dot, a digit or an underline in it.
_NAME = re.compile(r"\b\w+(?:\.\w+)+\b|\b\w*(?:_\w|\d)\w*\b")
_MARKDOWN = MarkdownIt()


def _taken(text: str) -> tuple[Counter[str], str]:
    found: Counter[str] = Counter()
    for pattern in _KEPT:
        found.update(map(_name, pattern.finditer(text)))
        text = pattern.sub(" ", text)
    return found, text


def _name(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if role := groups.get("role"):
        # What a term says is translated with its target.
        target = re.sub(r"(?s).*<([^<>]+)>\s*$", r"\1", groups["text"])
        return f"the role {role}" if role == "term" else f"the role {role} to {target}"
    return f"link to {groups['link'] or '#'}" if "link" in groups else match.group()


def plain(text: str) -> str:
    """The text without what is not translated."""
    return _taken(text)[1]


def bare(text: str) -> bool:
    """Whether there is nothing to translate: code, links without words, names of APIs, numbers."""
    return not re.search(r"[A-Za-z]{2}", _NAME.sub("", plain(text)))


def differences(original: str, translation: str, kind: str) -> list[str]:
    """What a translation lost, or has and its original has not; and markup that does not work."""
    here, there = _taken(original)[0], _taken(translation)[0]
    found = [f"lacks {one}" for one in (here - there).elements()]
    found += [f"has {one}, which the original has not" for one in (there - here).elements()]
    if not found and (shown := _shown(translation, kind)) and not _shown(original, kind):
        advice = "put a space, or a backslash and a space, around the markup"
        found.append(f"shows {shown} as text: {advice}")
    return found


def _shown(text: str, kind: str) -> str:
    """Signs of markup that a reader would see."""
    if kind == "md":
        inline = _MARKDOWN.parseInline(text)[0].children or []
        rest = "".join(token.content for token in inline if token.type == "text")
        return next((sign for sign in ("**", "`", "](") if sign in rest), "")
    rest = re.sub(r"\*\*.+?\*\*", "", plain(text)) if kind == "rst" else ""
    return next((sign for sign in ("**", "`") if sign in rest), "")
