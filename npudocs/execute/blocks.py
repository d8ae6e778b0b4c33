"""The executable blocks of a page: found in its doctree, with true line numbers and skip reasons.

Page writers use Sphinx's own fences, which render highlighted and with a copy button: ``{doctest}`` for
sessions (``>>>``), ``{testcode}`` with ``{testoutput}`` for scripts. A skip takes a whole block and a
reason::

    ```{doctest}
    :skipif: torch.cuda.device_count() < 2
    :reason: needs two devices

    >>> ...
    ```
"""

from __future__ import annotations

import dataclasses
import doctest
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext import doctest as upstream

from npudocs.execute.results import blob

# Blocks that are counted; set-up, clean-up and output only serve them.
COUNTED = ("doctest", "testcode")
# Not IGNORE_EXCEPTION_DETAIL, Sphinx's default: the text of an error is part of what a page says.
FLAGS = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1


class _Reason:
    """Adds ``:reason:`` to a directive that can skip."""

    def run(self) -> list[nodes.Node]:
        found = super().run()
        found[0]["reason"] = self.options.get("reason", "")
        return found


def _options(directive: type[upstream.TestDirective]) -> dict[str, Any]:
    # pyversion is Sphinx's second, reasonless way to skip.
    spec = {name: check for name, check in directive.option_spec.items() if name != "pyversion"}
    return {**spec, "reason": _words}


def _words(text: str | None) -> str:
    """The option ``:reason:``: what Sphinx would take empty for None."""
    if not re.search(r"[^\W\d_]{2}", text or ""):
        raise ValueError("a reason is words for the reader")
    return text.strip()


class Doctest(_Reason, upstream.DoctestDirective):
    """``{doctest}`` with ``:reason:``."""

    option_spec = _options(upstream.DoctestDirective)


class Testcode(_Reason, upstream.TestcodeDirective):
    """``{testcode}`` with ``:reason:``."""

    option_spec = _options(upstream.TestcodeDirective)


@dataclasses.dataclass
class Block:
    """One executable block. `line` is the 1-based line of its first line of code in `path`."""

    path: Path
    line: int
    kind: str
    groups: tuple[str, ...]
    code: str
    options: dict[int, bool]
    skipif: str = ""
    reason: str = ""
    expected: str = ""

    def test(self, group: str) -> doctest.DocTest:
        """Return the block as a doctest; raises ValueError where its prompts are malformed."""
        if self.kind == "doctest":
            test = doctest.DocTestParser().get_doctest(
                self.code, {}, group, str(self.path), self.line - 1
            )
        else:
            example = doctest.Example(self.code, self.expected)
            test = doctest.DocTest([example], {}, group, str(self.path), self.line - 1, None)
        for example in test.examples:
            example.options = {**self.options, **example.options}
        return test


def nodes_of(doctree: nodes.document) -> Iterator[nodes.Element]:
    """Yield the nodes that Sphinx's doctest directives left behind."""
    for node in doctree.findall(nodes.Element):
        if "testnodetype" in node or isinstance(node, nodes.doctest_block):
            yield node


def collect(
    doctree: nodes.document,
) -> tuple[list[tuple[Block, nodes.Element]], list[tuple[str, nodes.Element]]]:
    """Return the blocks of a page with their nodes, and what is wrong with them (message, node)."""
    found: list[tuple[Block, nodes.Element]] = []
    problems: list[tuple[str, nodes.Element]] = []
    latest: dict[str, Block | None] = {}
    for node in nodes_of(doctree):
        block = _block(node, doctree)
        if block.kind == "testoutput":
            code = latest.get(block.groups[0])
            if block.code.startswith("Traceback (most recent call last)"):
                problems.append(("a traceback is compared in a {doctest}, not in an output", node))
            if code is None:
                problems.append(("this testoutput follows no testcode", node))
            else:
                code.expected, code.options = block.code + "\n", block.options
            latest[block.groups[0]] = None
            continue
        found.append((block, node))
        for group in block.groups:
            latest[group] = block if block.kind == "testcode" else None
    # Only now: the options of an output belong to its code.
    problems += [(problem, node) for block, node in found if (problem := _problem(block))]
    return found, problems


def digest(blocks: list[Block]) -> str:
    """Return a hash of everything that decides the blocks' results."""
    parts = [(b.kind, b.groups, b.code, b.expected, b.options, b.skipif) for b in blocks]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _block(node: nodes.Element, doctree: nodes.document) -> Block:
    code = node["test"] if "test" in node else node.astext()
    path = Path(node.source or doctree["source"])
    return Block(
        path=path,
        line=_locate(path, code, node.line or 1),
        kind=node.get("testnodetype", "doctest"),
        groups=tuple(node.get("groups", ["default"])),
        code=code,
        options=dict(node.get("options", {})),
        skipif=node.get("skipif", ""),
        reason=node.get("reason") or "",
    )


def _locate(path: Path, code: str, hint: int) -> int:
    """Return the line where `code` stands in the file, nearest to `hint`.

    Parsers differ in what a directive's line is (the fence, the first option, the content), and
    included files shift it; the text itself does not lie.
    """
    wanted = [line.strip() for line in code.splitlines()]
    if not wanted or not path.is_file():
        return hint
    have = [line.strip() for line in path.read_text("utf-8", errors="replace").splitlines()]
    starts = [
        start + 1
        for start in range(len(have) - len(wanted) + 1)
        if have[start] == wanted[0] and have[start : start + len(wanted)] == wanted
    ]
    return min(starts, key=lambda line: abs(line - hint), default=hint)


def _problem(block: Block) -> str | None:
    if not block.code.strip():
        return "this block is empty"
    if block.skipif and not block.reason:
        return "a skip needs a reason: add the option :reason:"
    try:
        examples = block.test("").examples
    except ValueError as error:
        return f"this doctest is malformed: {error}"
    if not examples:
        return "this doctest has no line that begins with '>>>', so it executes nothing"
    if any(example.options.get(doctest.IGNORE_EXCEPTION_DETAIL) for example in examples):
        return "IGNORE_EXCEPTION_DETAIL hides the text of an error: write what may differ as ..."
    if any(map(_like_any, examples)):
        return "an output of ... alone is like any: show a part of it"
    if text := _outside(block):
        return f"{text!r} stands in this session and is neither code nor output: end the fence"
    skipped = [bool(example.options.get(doctest.SKIP)) for example in examples]
    if any(skipped) and not all(skipped):
        return "+SKIP covers a part of this block: split the block, a skip covers a whole one"
    if any(skipped) and not block.reason:
        return "a skip (+SKIP) needs a reason: add the option :reason:"
    return None


def _like_any(example: doctest.Example) -> bool:
    """Whether dots are all of an output, or all of the text of an error."""
    text = example.exc_msg.partition(": ")[2] if example.exc_msg else example.want
    return "..." in text and not text.replace("...", "").strip()


def _outside(block: Block) -> str:
    """The first line of a session that is neither code nor output: prose after a missing fence."""
    if block.kind != "doctest":
        return ""
    parts = doctest.DocTestParser().parse(block.code)
    texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    return texts[0].splitlines()[0] if texts else ""


@dataclasses.dataclass
class PageBlocks:
    """What a page has to execute, as it was when it was read."""

    digest: str
    source: str
    blocks: list[Block]
    not_executed: list[dict[str, Any]]


def of(env: BuildEnvironment) -> dict[str, PageBlocks]:
    """The blocks by page; pages without any are not in it."""
    if not hasattr(env, "execute_blocks"):
        env.execute_blocks = {}
    return env.execute_blocks


def _keep(app: Sphinx, doctree: nodes.document) -> None:
    marked = [
        {"line": node.line or 1, "reason": node["execute_reason"]}
        for node in doctree.findall(nodes.literal_block)
        if "execute_reason" in node
    ]
    found = [block for block, _ in collect(doctree)[0]]
    if found or marked:
        path = Path(app.env.doc2path(app.env.docname))
        of(app.env)[app.env.docname] = PageBlocks(digest(found), blob(path), found, marked)


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    of(env).pop(docname, None)


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.doctest")
    app.add_directive("doctest", Doctest, override=True)
    app.add_directive("testcode", Testcode, override=True)
    app.connect("doctree-read", _keep)
    app.connect("env-purge-doc", _purge)
    return {"parallel_read_safe": False, "parallel_write_safe": True, "env_version": 1}
