"""``make doctest``: runs every executable block of the pages and says what it did.

Page writers use Sphinx's own fences, which render highlighted and with a copy button: ``{doctest}`` for
sessions (``>>>``), ``{testcode}`` with ``{testoutput}`` for scripts. A skip takes a whole block and a
reason::

    ```{doctest}
    :skipif: torch.npu.device_count() < 2
    :reason: needs two devices

    >>> ...
    ```

Sphinx's builder finds the pages; this subclass runs them, because Sphinx's own run drops skipped
blocks uncounted, doubles the line numbers of ``testcode`` and ignores the text of expected errors.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import json
import os
import sys
import textwrap
import traceback
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext import doctest as upstream
from sphinx.util import logging

from npudocs.execute import blocks, problems
from npudocs.execute.blocks import Block

logger = logging.getLogger(__name__)

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
    return {**spec, "reason": str}


class Doctest(_Reason, upstream.DoctestDirective):
    """``{doctest}`` with ``:reason:``."""

    option_spec = _options(upstream.DoctestDirective)


class Testcode(_Reason, upstream.TestcodeDirective):
    """``{testcode}`` with ``:reason:``."""

    option_spec = _options(upstream.TestcodeDirective)


@dataclasses.dataclass
class Record:
    """What became of one block in one group."""

    page: str
    line: int
    group: str
    kind: str
    outcome: str  # "passed", "failed" or "skipped"
    message: str = ""


class _Runner(doctest.DocTestRunner):
    """Runs one block; keeps what failed as (line in the page, words)."""

    def __init__(self, mode: str, name: str) -> None:
        self.checker = doctest.OutputChecker()
        super().__init__(checker=self.checker, verbose=False, optionflags=FLAGS)
        self.mode, self.name = mode, name
        self.failed: list[tuple[int, str]] = []

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


class DocTestBuilder(upstream.DocTestBuilder):
    """Sphinx's doctest builder with counted skips, true lines and machine-readable results."""

    epilog = ""

    def init(self) -> None:
        """Refuse to start without a device."""
        self.device = self.config.npudocs_device
        if not self.device.on:
            problems.stop(
                "The device is switched off (DEVICE=off), so no block can be executed: "
                "run make doctest without DEVICE=off."
            )
        self.records: list[Record] = []
        self.digests: dict[str, str] = {}
        self.unexecuted: list[str] = []

    def write_documents(self, docnames: Set[str]) -> None:
        """Run the blocks of each page."""
        for docname in sorted(docnames):
            self.test_doc(docname, self.env.get_doctree(docname))

    def test_doc(self, docname: str, doctree: nodes.document) -> None:
        """Run the blocks of one page, group by group."""
        for node in doctree.findall(
            lambda node: bool(getattr(node, "attributes", {}).get("npudocs_reason"))
        ):
            where = f"{self._name(Path(node.source or doctree['source']))}:{node.line}"
            self.unexecuted.append(f"{where}  {node['npudocs_reason']}")
        found, _ = blocks.collect(doctree)
        if not found:
            return
        self.digests[docname] = blocks.digest(found)
        groups = dict.fromkeys(g for b in found for g in b.groups if g != "*") or {"default": None}
        before = len(self.records)
        for group in groups:
            self._run_group(group, [b for b in found if {group, "*"} & set(b.groups)])
        outcomes = Counter(record.outcome for record in self.records[before:])
        logger.info("%s: %s", docname, _counts(outcomes))

    def _run_group(self, group: str, members: list[Block]) -> None:
        from npudocs.site import torch_state

        torch_state.reset()
        namespace: dict[str, Any] = {"__name__": "__main__"}
        opened: Block | None = None
        order = {"testsetup": 0, "testcleanup": 2}
        for block in sorted(members, key=lambda block: order.get(block.kind, 1)):
            self._run_block(block, group, namespace)
            if torch_state.open_level() is None:
                opened = None
            elif opened is None:
                opened = block
        if opened:
            level = torch_state.open_level()
            torch_state.close_levels()
            self._record(
                opened,
                group,
                "failed",
                [
                    (
                        opened.line,
                        f"This block opens forward-AD level {level}, and no block closes it.",
                    )
                ],
            )

    def _run_block(self, block: Block, group: str, namespace: dict[str, Any]) -> None:
        try:
            test = block.test(group)
        except ValueError as error:
            return self._record(block, group, "failed", [(block.line, str(error))])
        if self._skipped(block, test):
            return self._record(block, group, "skipped", [(block.line, block.reason)])
        runner = _Runner("single" if block.kind == "doctest" else "exec", self._name(block.path))
        runner.run_block(test, namespace)
        self._record(block, group, "failed" if runner.failed else "passed", runner.failed)

    def _skipped(self, block: Block, test: doctest.DocTest) -> bool:
        import torch

        if block.skipif and eval(block.skipif, {"torch": torch, "sys": sys}):
            return True
        return all(example.options.get(doctest.SKIP) for example in test.examples)

    def _record(
        self, block: Block, group: str, outcome: str, messages: list[tuple[int, str]]
    ) -> None:
        name = self._name(block.path)
        for line, message in messages if outcome == "failed" else ():
            problems.report(self.app, f"{message}\n", location=f"{name}:{line}")
        # A set-up block is no result of its own, but a failing one is.
        if block.kind in blocks.COUNTED or outcome == "failed":
            line = messages[0][0] if messages else block.line
            text = "\n".join(message for _, message in messages)
            self.records.append(Record(name, line, group, block.kind, outcome, text))

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.app.confdir)

    def finish(self) -> None:
        """Write results.json and print the summary; fail where nothing was executed."""
        counts = Counter(record.outcome for record in self.records)
        results = {
            "device": dataclasses.asdict(self.device),
            "stamp": self.device.stamp(),
            "counts": {key: counts[key] for key in ("passed", "failed", "skipped")},
            "digests": self.digests,
            "blocks": [dataclasses.asdict(record) for record in self.records],
            "not_executed": self.unexecuted,
        }
        text = json.dumps(results, indent=1) + "\n"
        (self.outdir / "results.json").write_text(text, encoding="utf-8")
        if not counts["passed"] + counts["failed"]:
            problems.report(self.app, "no block was executed: nothing is proved")
        self._print_summary(counts)

    def _print_summary(self, counts: Counter[str]) -> None:
        pages: dict[str, set[str]] = {}
        for record in self.records:
            pages.setdefault(record.page, set()).add(record.outcome)
        verdicts = Counter(
            "failed" if "failed" in seen else "passed" if "passed" in seen else "only skipped"
            for seen in pages.values()
        )
        skipped = [
            f"{r.page}:{r.line}  {r.message}" for r in self.records if r.outcome == "skipped"
        ]
        lines = [
            "",
            f"Doctests on {self.device.words}",
            f"  {len(pages)} pages with blocks: {_counts(verdicts)}",
            f"  {counts['passed'] + counts['failed']} blocks executed",
            f"  {len(skipped)} blocks skipped",
            *(f"    {line}" for line in skipped),
            f"  {len(self.unexecuted)} Python fences marked as not executed",
            *(f"    {line}" for line in self.unexecuted),
            f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped",
        ]
        logger.info("\n".join(lines))


def _counts(outcomes: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.doctest")
    app.add_directive("doctest", Doctest, override=True)
    app.add_directive("testcode", Testcode, override=True)
    app.add_builder(DocTestBuilder, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
