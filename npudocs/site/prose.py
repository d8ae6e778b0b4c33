"""Support is stated by the tables, never by prose: a page that says it in words fails the build.

A claim names a product, a chip or a version of torch_npu (`PRODUCT`) and says support (`SUPPORT`; in a cell or an
item also yes and no): in one sentence, in one row of a table, or in a sentence and what stands over it (headings,
the term, the box, the head of the table, the line that leads to a list). Raw HTML and the text of a picture are
read as prose, and so is each language, because translated pages are read, too. These may stand:

- code, also in a line: in it a product counts, a word of support does not;
- a condition or a question (`OPEN`): "where the A2 supports it", "whether", "as A2";
- what is put into ``{not-support}`` with the option ``:reason:``; the build lists these reasons.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from npudocs.execute import problems

logger = logging.getLogger(__name__)
NAMED = (
    r"(?<![\w.])(?:A2|A3|A5|950DT|910B\d?|910_9[35]\w*|910C|310P\d?|310B\d?)(?![A-Za-z0-9])"
    r"|(?i:\bAscend[ -]?(?:910|950|310)\w*|(?<![a-z])Atlas(?![a-z]))"
    r"|(?i:\bAscend(?: AI)? (?:chip|NPU|device|hardware|processor|product)s?\b)|昇腾(?! ?主机)"
    r"|(?i:\b(?:torch[_-]npu|CANN)(?: version| 版本)?[ =]*v?\d+\.\d)|(?<![\w.])2\.\d{1,2}\.\d+(?![\w.]\d)"
)
# A chip in general counts in the sentence itself alone.
PRODUCT = re.compile(
    NAMED + r"|(?i:\b(?:a|the|every|any|all|no|real) chips?\b)|(?:真实|该|每种|所有|任何)的?芯片",
    re.A,
)
NAMED = re.compile(NAMED, re.A)
SUPPORT = re.compile(
    r"(?i:\b(?:un)?support(?:s|ed|ing)?\b|\bwork(?:s|ing)?\b|\b(?:in)?compatib(?:le|ility)\b"
    r"|(?<!\ba )\b(?:runs?|running) (?:\w+ly |fine |well )?on\b|\bcan(?:not|'t)? (?:be used|run)\b"
    r"|\b(?:verified|tested|validated|certified|qualified|confirmed|enabled|usable|functional|covered)\b"
    r"|\b(?:availability|(?:un)?available|implement(?:s|ed)|successfully|ready|safe|handles?|not yet)\b"
    r"|\b(?:pass(?:es|ed)|fails|crash(?:es)?|broken|good|right (?:result|tangent)|correct|applies to|rely on)\b)"
    r"|[✔✓✗✘✅❌☑√]|支持|兼容|适配|适用|可用|能用(?!到)|仅限|要求|未实现|[会将]报错|成功|正常|正确|良好"
    r"|(?:已|经)过?[^,。;]{0,16}(?:验证|测试)|(?:验证|测试)(?:已|均|都)?通过|运行[于在]"
    r"|(?:可以?|能够?)[^,。;]{0,8}(?:使用|运行|工作)",
    re.A,
)
SHORT = re.compile(
    r"(?i)(?:^|[:=|(—-]|\s{2,})\s*(?:yes|no|y|n|ok|full|partial|是|否|有|无)\s*(?:[.。,;)]|$)", re.M
)
# What makes the rest of its clause a condition.
OPEN = re.compile(
    r"(?i:(?:\b(?:if|whether|unless|until)\b|^(?:where|when)\b)[^,;:]*$)|(?:是否|如果|若|除非)[^,;:]*$"
)
# A mark around code, of those that Unicode leaves to us. Code of one word may be an answer.
CODE = "\ue000"
IN_CODE = re.compile(rf"{CODE}(?!\w+{CODE})[^{CODE}]*{CODE}")
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。!?])")
TAG = re.compile(r"<(script|style|pre|code)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.S)
END = (".", "!", "?", "。")
ADVICE = (
    "support is stated by the records and claims in evidence/, which {support} draws; say it without "
    "that, or wrap it in {not-support} with a :reason: (the rule: the head of npudocs/site/prose.py)"
)


class NotSupport(SphinxDirective):
    """``{not-support}``: words that look like a statement of support, and why they are none."""

    has_content = True
    option_spec: ClassVar = {"reason": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the content in a container that the rule leaves alone."""
        if not (reason := self.options.get("reason", "").strip()):
            raise self.error("not-support needs the option :reason:")
        box = nodes.container(classes=["npudocs-not-support"], reason=reason)
        self.set_source_info(box)
        box += self.parse_content_to_nodes()
        return [box]


def _is_text(node: nodes.Node) -> bool:
    """Whether a node is a whole text: neither code, nor a part of a line."""
    if isinstance(node, (nodes.FixedTextElement, nodes.Inline, addnodes.desc_signature)):
        return isinstance(node, (nodes.raw, nodes.image))
    return isinstance(node, (nodes.TextElement, nodes.row))


def _is_head(node: nodes.Node) -> bool:
    """Whether a node stands over all that follows: a title, a term, a box's or a table's head."""
    other = isinstance(node, (nodes.paragraph, nodes.raw, nodes.image, nodes.row))
    return isinstance(node, nodes.thead) or (_is_text(node) and not other)


def _plain(node: nodes.Node) -> str:
    """The words of a node, with `CODE` around code."""
    if isinstance(node, nodes.Text):
        return unicodedata.normalize("NFKC", node.astext().replace("\n", " "))
    if isinstance(node, nodes.raw):
        return html.unescape(TAG.sub("\n", node.astext())) if node.get("format") == "html" else ""
    if isinstance(node, nodes.image):
        return node.get("alt", "")
    parts = "\n" if isinstance(node, (nodes.row, nodes.thead)) else ""
    inner = parts.join(map(_plain, node.children))
    return f"{CODE}{inner}{CODE}" if isinstance(node, (nodes.literal, nodes.math)) else inner


def _product(text: str, kinds: re.Pattern[str] = NAMED) -> str:
    found = kinds.search(text.replace(CODE, " "))
    return found.group().strip() if found else ""


def _support(text: str, whole: bool) -> str:
    """The word of support in a text; `whole`: a heading or the like, which states what a sentence may ask."""
    text = IN_CODE.sub(" ", text).replace(CODE, "")
    for found in (*SUPPORT.finditer(text), *SHORT.finditer(text)):
        if whole or not (OPEN.search(text[: found.start()]) or text.rstrip().endswith("?")):
            return found.group().strip()
    return ""


def _over(node: nodes.Node) -> Iterator[str]:
    """What stands over a node: heads, and a text before it that has no end and so leads to it."""
    while parent := node.parent:
        before = parent.children[: parent.index(node)]
        yield from (_plain(one) for one in before if _is_head(one))
        for last in before[-1:]:
            words = _plain(last).rstrip()
            leads = words[-1:] not in END or isinstance(node, nodes.attribution)
            if leads and isinstance(last, (nodes.paragraph, nodes.raw, nodes.container)):
                yield words
        node = parent


def claim(node: nodes.Element) -> tuple[str, str] | None:
    """The product and the word that make a text or a row a statement of support."""
    text, over, row = _plain(node), [*_over(node)], isinstance(node, nodes.row)
    for sentence in [text] if row else SENTENCE.split(text):
        product, says = _product(sentence, PRODUCT), _support(sentence, row or _is_head(node))
        if not says and _product(sentence):
            says = next(filter(None, (_support(words, True) for words in over)), "")
        product = product or next(filter(None, map(_product, over)), "")
        if product and says:
            return product, says
    return None


def claims(doctree: nodes.document) -> Iterator[tuple[nodes.Element, tuple[str, str]]]:
    """The texts and rows of a page that state support, each with its product and word."""
    for node in doctree.findall(_is_text):
        if not any(map(_is_text, _above(node))) and (said := claim(node)):
            yield node, said


def _above(node: nodes.Node) -> Iterator[nodes.Element]:
    while node := node.parent:
        yield node


def _marked(node: nodes.Node) -> bool:
    return "npudocs-not-support" in getattr(node, "attributes", {}).get("classes", ())


def _check(app: Sphinx, doctree: nodes.document) -> None:
    used = []
    for node, said in claims(doctree):
        boxes = [*filter(_marked, _above(node))]
        used += boxes
        if not boxes:
            words = f"this states support in prose ({said[0]!r} with {said[1]!r}): {ADVICE}"
            place = next((n for n in node.findall(nodes.Element) if n.line), node)
            problems.report(app, words, location=place)
    page = app.env.doc2path(app.env.docname, base=False)
    reasons = app.env.metadata[app.env.docname].setdefault("not-support", [])
    for box in doctree.findall(_marked):
        reasons.append(f"{page}:{box.line}  {box['reason']}")
        if box not in used:
            problems.report(app, "{not-support} without such a statement: remove it", location=box)


def _list(app: Sphinx, exception: Exception | None) -> None:
    reasons = [one for data in app.env.metadata.values() for one in data.get("not-support", ())]
    if reasons and not exception:
        logger.info("\n    ".join(["Words that only look like support:", *reasons]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("not-support", NotSupport)
    app.connect("doctree-read", _check)
    app.connect("build-finished", _list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
