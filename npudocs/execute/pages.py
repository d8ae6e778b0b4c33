"""Runs the executable blocks of one page, group by group, and says what became of each.

Sphinx's doctest builder drops skipped blocks uncounted, doubles the line numbers of ``testcode`` and
ignores the text of expected errors; its directives and its way of groups are kept.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import doctest
import linecache
import os
import re
import sys
import tempfile
import textwrap
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npudocs.execute.blocks import COUNTED, FLAGS, Block
from npudocs.execute.isolate import Report
from npudocs.execute.reached import Reached
from npudocs.execute.results import Result

ORDER = {"testsetup": 0, "testcleanup": 2}
NESTED = re.compile(r"(?m)^(?:\.\.\.)?[ \t]+assert\b|:[ \t]*assert\b")


class _Output(doctest._SpoofOut):
    """What the blocks of a page print, and what they write past Python: other processes, libraries in C."""

    def __init__(self) -> None:
        super().__init__()
        self.past = tempfile.TemporaryFile()  # noqa: SIM115 (for the rest of the process)
        os.dup2(self.past.fileno(), 1)

    def getvalue(self) -> str:
        """All since the last time, what was written past Python at its end."""
        ctypes.CDLL(None).fflush(None)
        self.past.seek(0)
        written = self.past.read().decode(errors="replace")
        self.past.seek(0)
        self.past.truncate()
        return super().getvalue() + written


class _Runner(doctest.DocTestRunner):
    """Runs one block; keeps what failed as (line in the page, words)."""

    def __init__(self, mode: str, name: str, output: _Output) -> None:
        self.checker = doctest.OutputChecker()
        super().__init__(checker=self.checker, verbose=False, optionflags=FLAGS)
        self.mode, self.name = mode, name
        # One for all blocks: what a block keeps of it, as a logger does, prints in the next one.
        self._fakeout = output
        self.failed: list[tuple[int, str]] = []
        self.asserts: list[range] = []

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        self.path, self.line = test.filename, test.lineno + example.lineno + 1

    def report_failure(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        difference = self.checker.output_difference(example, got, FLAGS).rstrip()
        self.failed.append((self.line, f"{self._source(example)}{difference}"))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        _, error, tb = exc_info
        frames = tb
        while frames and frames.tb_frame.f_code.co_filename != self.path:
            frames = frames.tb_next
        text = "".join(traceback.format_exception(type(error), error, frames)).rstrip()
        line = frames.tb_lineno if frames else self.line
        words = f"Unexpected error:\n{text}".replace(self.path, self.name)
        self.failed.append((line, f"{self._source(example)}{words}"))

    @staticmethod
    def _source(example: doctest.Example) -> str:
        return "Code:\n" + textwrap.indent(example.source, "    ")

    def compile(self, code: str, _name: str, _mode: str, flags: int, dont_inherit: bool) -> Any:
        """Compile `code` as lines of its page, so that tracebacks name the page and the line."""
        flags_ast = flags | ast.PyCF_ONLY_AST
        padded = "\n" * (self.line - 1) + code
        tree = compile(padded, self.path, self.mode, flags_ast, dont_inherit)
        found = (node for node in ast.walk(tree) if isinstance(node, ast.Assert))
        self.asserts += [range(node.lineno, node.end_lineno + 1) for node in found]
        return compile(tree, self.path, self.mode, flags, dont_inherit)

    def run_block(self, test: doctest.DocTest, namespace: dict[str, Any]) -> None:
        """Run `test` in `namespace`, which keeps what it defines."""
        test.globs = namespace
        # DocTestRunner compiles every example as one interactive statement and offers no other
        # way to change that; Sphinx's own builder does the same.
        doctest.compile = self.compile  # type: ignore[attr-defined]
        try:
            self.run(test, out=lambda text: None, clear_globs=False)
        finally:
            del doctest.compile  # type: ignore[attr-defined]


class PageRun:
    """Runs the blocks of one page in this process.

    `done` has the outcomes of parts that ran in a process that died later: these are run once more,
    since others need what they define, and not reported; a part that broke a process is left out.
    """

    def __init__(
        self, root: Path, blocks: Sequence[Block], state: Any, done: dict[str, str], report: Report
    ) -> None:
        self.root, self.blocks, self.state = root, blocks, state
        self.done, self.report = done, report
        self.output = _Output()
        self.seen = Reached(blocks[0].path)
        self.asserts: list[tuple[Block, range]] = []
        # Lines are noted at a cost, and an assertion that stands in nothing else cannot be missed.
        self.traced = any(NESTED.search(block.code) for block in blocks)
        self.used: int | None = None
        self.parts: dict[int, str] = {}
        numbers: Counter[str] = Counter()
        for block in blocks:
            kind = "block" if block.kind in COUNTED else block.kind
            numbers[kind] += 1
            self.parts[id(block)] = f"{kind} {numbers[kind]}"

    def run(self) -> None:
        """Run all groups."""
        named = [group for block in self.blocks for group in block.groups if group != "*"]
        _show_sources(self.blocks)
        self.groups = list(dict.fromkeys(named)) or ["default"]
        for group in self.groups:
            members = [block for block in self.blocks if {group, "*"} & set(block.groups)]
            self._run_group(group, sorted(members, key=lambda block: ORDER.get(block.kind, 1)))

    def _run_group(self, group: str, members: list[Block]) -> None:
        self.state.reset()
        namespace: dict[str, Any] = {"__name__": "__main__"}
        opened: Block | None = None
        for block in members:
            self._run_block(block, group, namespace)
            if not self.state.left_behind():
                opened = None
            elif opened is None:
                opened = block
        if opened:
            left = "; ".join(words for words, _ in self.state.left_behind())
            message = f"This block leaves behind what no later one ends: {left}."
            self._end(opened, group, "failed", opened.line, message, 0.0)
        for block, lines in self.asserts:
            if not self.seen.lines & {*lines}:
                message = "This assertion never ran, so that it compares nothing."
                self._end(block, group, "failed", lines[0], message, 0.0)

    def _part(self, block: Block, group: str) -> str:
        part = self.parts[id(block)]
        return part if len(self.groups) == 1 else f"{part} of {group}"

    def _run_block(self, block: Block, group: str, namespace: dict[str, Any]) -> None:
        part = self._part(block, group)
        if self.done.get(part) in ("crashed", "timeout"):
            return
        self.report.start(part, block.line)
        began = time.perf_counter()
        try:
            test = block.test(group)
            skipped = self._skipped(block, test)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            self._end(block, group, "failed", block.line, words, 0.0)
            return
        if skipped:
            self._end(block, group, "skipped", block.line, block.reason, 0.0)
            return
        name = os.path.relpath(block.path, self.root)
        runner = _Runner("single" if block.kind == "doctest" else "exec", name, self.output)
        before = self.state.used() if self.state.used else 0
        run = self.seen.around(runner.run_block) if self.traced else runner.run_block
        run(test, namespace)
        if self.traced and block.path == self.seen.path:
            self.asserts += [(block, lines) for lines in runner.asserts]
        self.used = self.state.used() - before if self.state.used else None
        outcome = "failed" if runner.failed else "passed"
        line = runner.failed[0][0] if runner.failed else block.line
        message = "\n".join(text for _, text in runner.failed)
        self._end(block, group, outcome, line, message, time.perf_counter() - began)

    def _skipped(self, block: Block, test: doctest.DocTest) -> bool:
        if block.skipif and eval(block.skipif, {"sys": sys, **self.state.names()}):
            return True
        return all(example.options.get(doctest.SKIP) for example in test.examples)

    def _end(
        self, block: Block, group: str, outcome: str, line: int, message: str, seconds: float
    ) -> None:
        part = self._part(block, group)
        # Where a part ends a second time, with what it left behind, the later result holds.
        if part not in self.done:
            result = Result(part, line, outcome, message.strip(), round(seconds, 3), self.used)
            self.report.end(result)
        self.used = None


def _show_sources(blocks: Sequence[Block]) -> None:
    """Let `inspect` and tracebacks find the code of the blocks, without prompts, at its lines in the page."""
    for path in {block.path for block in blocks}:
        lines: dict[int, str] = {}
        for block in blocks:
            # What is malformed is red when its turn comes.
            with contextlib.suppress(ValueError):
                lines |= _lines(block) if block.path == path else {}
        shown = [lines.get(number, "") + "\n" for number in range(1, max(lines, default=0) + 1)]
        # Without a time of change, linecache does not look at the file again.
        linecache.cache[str(path)] = (sum(map(len, shown)), None, shown, str(path))


def _lines(block: Block) -> dict[int, str]:
    """The lines of code of a block, by their number in the page."""
    if block.kind != "doctest":
        return dict(enumerate(block.code.splitlines(), block.line))
    found = {}
    for example in block.test("").examples:
        found |= dict(enumerate(example.source.splitlines(), block.line + example.lineno))
    return found
