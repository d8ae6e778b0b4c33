"""The process that runs the checks: ``python -m npudocs.recording.worker JOB FD``.

It says on the descriptor FD what it is about to do and what came of it, one JSON object a line, so
that whoever watches knows under which check it died. JOB is a file with what to run, and what of
it was run already by a process that died.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import runpy
import sys
import time
import traceback
import unittest
from pathlib import Path
from typing import Any

from npudocs.execute.blocks import COUNTED, Block
from npudocs.execute.doctests import DocTestBuilder
from npudocs.site import device


class Report:
    """Speaks to the supervisor, and knows what is done."""

    def __init__(self, channel: int, done: list[list[str]]) -> None:
        self.channel = channel
        self.done = {tuple(key): outcome for *key, outcome in done}
        self.started = 0.0

    def say(self, event: str, **content: Any) -> None:
        """Send one line, whole."""
        os.write(self.channel, json.dumps({"event": event, **content}).encode() + b"\n")

    def start(self, file: str, part: str, again: bool = False) -> None:
        """Say what begins now; `again` where it only brings back what later checks need."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.say("start", file=file, part=part, again=again, output=os.lseek(2, 0, os.SEEK_END))
        self.started = time.perf_counter()

    def end(self, file: str, part: str, outcome: str, message: str = "") -> None:
        """Say how it ended. Said twice, the later one holds."""
        seconds = round(time.perf_counter() - self.started, 3)
        self.say(
            "end", file=file, part=part, outcome=outcome, message=message[:8000], seconds=seconds
        )


def essential(text: str) -> str:
    """Of a doctest's words what its source, which a record keeps, does not say.

    Left out are the repeated code and the stack between an error's head and its text.
    """
    text = re.sub(r"(?m)^Code:\n(?:    .*\n|[ ]*\n)*", "", text)
    head = r"(?m)^( *)Traceback \(most recent call last\):\n"
    return re.sub(head + r"(?:\1  .*\n|\n)+(?=\1\S)", "", text)


def main(job_file: str, channel: str) -> None:
    """Run a job."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    # torch's test utilities read the command line.
    sys.argv = [sys.argv[0]]
    os.environ.setdefault("MPLBACKEND", "Agg")
    report = Report(int(channel), job["done"])
    try:
        found = device.describe()
    except device.DeviceError as error:
        report.say("no device", message=str(error))
        return
    if not found.on:
        report.say("no device", message="the device is switched off")
        return
    report.say("where", **dataclasses.asdict(found))
    root = Path(job["root"])
    for unit in job["units"]:
        _KINDS[unit["kind"]](root, unit, report)
        report.say("unit", file=unit["file"])
    report.say("over")


def _failure(error: BaseException, root: Path, file: str) -> str:
    """Kind, text and place of an error; the place is the last one in the check itself."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == root / file]
    words = "".join(traceback.format_exception_only(error)).strip()
    return f"{words}\nat {file}:{lines[-1] if lines else 1}"


def _script(root: Path, unit: dict[str, Any], report: Report) -> None:
    from npudocs.site import torch_state

    file = unit["file"]
    if (file, "") in report.done:
        return
    report.start(file, "")
    torch_state.reset()
    outcome, message = "passed", ""
    try:
        runpy.run_path(str(root / file), run_name="__main__")
    except (Exception, SystemExit) as error:
        outcome, message = "failed", _failure(error, root, file)
    if opened := _open_level():
        outcome, message = "failed", message or opened
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    report.end(file, "", outcome, message)


def _open_level() -> str:
    """What is wrong where a check leaves a forward-AD level open; closes it."""
    from npudocs.site import torch_state

    level = torch_state.open_level()
    torch_state.close_levels()
    return "" if level is None else f"forward-AD level {level} is left open at the end"


class _Page(DocTestBuilder):
    """Runs a page as ``make doctest`` does; only where its results go differs."""

    def __init__(self, root: Path, unit: dict[str, Any], report: Report) -> None:
        self.root, self.file, self.report = root, unit["file"], report
        self.members = [_block(content) for content in unit["blocks"]]
        numbers = dict.fromkeys(("block", "testsetup", "testcleanup"), 0)
        self.parts: dict[int, str] = {}
        for block in self.members:
            kind = "block" if block.kind in COUNTED else block.kind
            numbers[kind] += 1
            self.parts[id(block)] = f"{kind} {numbers[kind]}"
        self.muted = False

    def run(self) -> None:
        """Run the blocks, group by group."""
        named = [group for block in self.members for group in block.groups if group != "*"]
        self.groups = list(dict.fromkeys(named)) or ["default"]
        for group in self.groups:
            self._run_group(group, [b for b in self.members if {group, "*"} & set(b.groups)])

    def _part(self, block: Block, group: str) -> str:
        part = self.parts[id(block)]
        return part if len(self.groups) == 1 else f"{part} of {group}"

    def _run_block(self, block: Block, group: str, namespace: dict[str, Any]) -> None:
        part = self._part(block, group)
        outcome = self.report.done.get((self.file, part))
        if outcome in ("crashed", "timeout"):
            return
        self.muted = outcome is not None
        self.report.start(self.file, part, again=self.muted)
        super()._run_block(block, group, namespace)
        self.muted = False

    def _record(
        self, block: Block, group: str, outcome: str, messages: list[tuple[int, str]]
    ) -> None:
        if self.muted:
            self.report.say("again")
            return
        where = "" if outcome == "skipped" else "\nat {}:{}"
        words = [f"{essential(text)}{where.format(self.file, line)}" for line, text in messages]
        self.report.end(self.file, self._part(block, group), outcome, "\n".join(words))

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.root)


def _block(content: dict[str, Any]) -> Block:
    options = {int(flag): value for flag, value in content["options"].items()}
    ready = {"path": Path(content["path"]), "groups": tuple(content["groups"]), "options": options}
    return Block(**{**content, **ready})


def _page(root: Path, unit: dict[str, Any], report: Report) -> None:
    _Page(root, unit, report).run()


class _Outcome(unittest.TestResult):
    """What became of one test method."""

    def __init__(self, root: Path, file: str) -> None:
        super().__init__()
        self.root, self.file = root, file
        self.outcome, self.message = "passed", ""

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._failed(err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._failed(err)

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err:
            self._failed(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.outcome, self.message = "skipped", reason or "no reason was given"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.outcome, self.message = "failed", "it was expected to fail, and passed"

    def _failed(self, err: Any) -> None:
        if self.outcome != "failed":
            self.outcome, self.message = "failed", _failure(err[1], self.root, self.file)


def _tests(root: Path, unit: dict[str, Any], report: Report) -> None:
    file = unit["file"]
    if report.done.get((file, "")) is not None:
        return
    report.start(file, "")
    try:
        suite = unittest.defaultTestLoader.loadTestsFromModule(_load(root / file))
    except (Exception, SystemExit) as error:
        report.end(file, "", "failed", _failure(error, root, file))
        return
    report.say("again")
    for test in _flat(suite):
        part = test.id().rpartition(".")[2]
        if (file, part) in report.done:
            continue
        report.start(file, part)
        result = _Outcome(root, file)
        unittest.TestSuite([test]).run(result)
        if opened := _open_level():
            result.outcome, result.message = "failed", result.message or opened
        report.end(file, part, result.outcome, result.message)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _flat(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    tests: list[unittest.TestCase] = []
    for test in suite:
        tests += _flat(test) if isinstance(test, unittest.TestSuite) else [test]
    return tests


_KINDS = {"script": _script, "page": _page, "tests": _tests}

if __name__ == "__main__":
    # A reader that is gone is no failure of a check.
    with contextlib.suppress(BrokenPipeError):
        main(*sys.argv[1:])
