"""What a translation has to keep of its original: code, links, roles, formulas and what is filled in.

Only what carries meaning counts: emphasis may go. Markup that would be shown as plain text is found as well;
next to Chinese characters and punctuation that happens easily.
"""

from __future__ import annotations

import re
from collections import Counter

from markdown_it import MarkdownIt

# {term}`text <target>` and :ref:`text <target>`.
_ROLE = {
    "md": re.compile(r"(?<!`)\{(?P<role>[\w:+-]+)\}(?P<ticks>`+)(?P<text>.+?)(?P=ticks)"),
    "rst": re.compile(r":(?P<role>[\w:+-]+):(?P<ticks>`)(?P<text>.+?)`"),
}
_CODE = {"md": re.compile(r"(?P<ticks>`+)(?P<text>.+?)(?P=ticks)"), "rst": re.compile(r"``.+?``")}
_LINK = {
    "md": re.compile(r"\]\((?P<target>[^)\s]*)[^)]*\)|<(?P<plain>https?://[^>\s]+)>"),
    "rst": re.compile(r"`[^`<]*<(?P<target>[^>]+)>`__?|(?<!\w)`(?P<plain>[^`]+)`__?"),
}
_MATH = {"md": re.compile(r"(?<!\\)\$+[^$]+\$+"), "rst": re.compile(r"(?!)")}
# A name of Python or of a product with a dot, a digit or an underline in it.
_NAME = re.compile(r"\b\w+(?:\.\w+)+\b|\b\w*(?:_\w|\d)\w*\b")
_FILLED = re.compile(r"\{\w+\}")
_TARGET = re.compile(r".*<(?P<target>[^<>]+)>\s*$", re.DOTALL)
# What these say is translated with their target, or is no target.
_FREE = {"term"}
_MARKDOWN = MarkdownIt()


def kept(text: str, kind: str) -> Counter[str]:
    """What a translation has to have as often as its original; `kind` is md, rst or words."""
    return _taken(text, kind)[0]


def plain(text: str, kind: str) -> str:
    """The text without what is not translated."""
    return _taken(text, kind)[1]


def _taken(text: str, kind: str) -> tuple[Counter[str], str]:
    found: Counter[str] = Counter()

    def take(pattern: re.Pattern[str], name: str, rest: str) -> None:
        nonlocal text
        for match in pattern.finditer(text):
            groups = match.groupdict()
            if name == "role":
                found[_role(groups)] += 1
            elif name == "link":
                found[f"link to {groups.get('target') or groups.get('plain') or '#'}"] += 1
            else:
                found[match.group()] += 1
        text = pattern.sub(rest, text)

    if kind == "words":
        take(_CODE["md"], "code", " ")
        take(_FILLED, "filled", " ")
        return found, text
    take(_ROLE[kind], "role", " ")
    take(_CODE[kind], "code", " ")
    take(_LINK[kind], "link", "]" if kind == "md" else " ")
    take(_MATH[kind], "formula", " ")
    return found, text


def _role(groups: dict[str, str]) -> str:
    role, text = groups["role"], groups["text"]
    if role in _FREE:
        return f"the role {role}"
    target = _TARGET.match(text)
    return f"the role {role} to {target['target'] if target else text}"


def bare(text: str, kind: str) -> bool:
    """Whether there is nothing to translate: code, links without words, names of APIs, numbers."""
    return not re.search(r"[A-Za-z]{2}", _NAME.sub("", plain(text, kind)))


def differences(original: str, translation: str, kind: str) -> list[str]:
    """What a translation lost, or has and its original has not; and markup that does not work."""
    here, there = kept(original, kind), kept(translation, kind)
    found = [f"lacks {one}" for one in (here - there).elements()]
    found += [f"has {one}, which the original has not" for one in (there - here).elements()]
    if not found and (shown := _shown(translation, kind)) and not _shown(original, kind):
        found.append(
            f"shows {shown} as text: put a space, or a backslash and a space, around the markup"
        )
    return found


def _shown(text: str, kind: str) -> str:
    """Signs of markup that a reader would see."""
    if kind == "words":
        return ""
    if kind == "md":
        signs = ("**", "`", "](")
        inline = _MARKDOWN.parseInline(text)[0].children or []
        rest = "".join(token.content for token in inline if token.type == "text")
    else:
        signs = ("**", "`")
        rest = re.sub(r"\*\*.+?\*\*", "", plain(text, kind))
    return next((sign for sign in signs if sign in rest), "")
