"""The executable blocks of a page: found in its doctree, with true line numbers and skip reasons."""

from __future__ import annotations

import dataclasses
import doctest
import hashlib
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes

# Blocks that are counted; set-up, clean-up and output only serve them.
COUNTED = ("doctest", "testcode")


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


def collect(doctree: nodes.document) -> tuple[list[Block], list[tuple[str, nodes.Element]]]:
    """Return the blocks of a page, and what is wrong with them (message, node)."""
    found: list[tuple[Block, nodes.Element]] = []
    problems: list[tuple[str, nodes.Element]] = []
    latest: dict[str, Block | None] = {}
    for node in nodes_of(doctree):
        block = _block(node, doctree)
        if block.kind == "testoutput":
            code = latest.get(block.groups[0])
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
    return [block for block, _ in found], problems


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
    have = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
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
    skipped = [bool(example.options.get(doctest.SKIP)) for example in examples]
    if any(skipped) and not all(skipped):
        return "+SKIP covers a part of this block: split the block, a skip covers a whole one"
    if any(skipped) and not block.reason:
        return "a skip (+SKIP) needs a reason: add the option :reason:"
    return None
