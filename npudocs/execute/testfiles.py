"""Runs the test methods of one file, with the standard library's unittest, and says what became of each."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import traceback
import unittest
from pathlib import Path
from typing import Any

from npudocs.execute.isolate import Report
from npudocs.execute.results import Result


def run(root: Path, file: str, state: Any, done: dict[str, str], report: Report) -> None:
    """Run what of the file is not done yet."""
    # Test utilities read the command line; where CI is set, those of torch want a reporter.
    sys.argv = [file]
    os.environ.pop("CI", None)
    report.start("", 1)
    try:
        suite = unittest.defaultTestLoader.loadTestsFromModule(_load(root / file))
    except (Exception, SystemExit) as error:
        report.end(failure(error, root, file, "", 0.0))
        return
    for test in _flat(suite):
        part = test.id().rpartition(".")[2]
        if part in done:
            continue
        line = getattr(getattr(test, part), "__func__", _load).__code__.co_firstlineno
        report.start(part, line)
        began = time.perf_counter()
        state.reset()
        used = state.used() if state.used else 0
        outcome = _Outcome(root, file, Result(part, line, "passed"))
        unittest.TestSuite([test]).run(outcome)
        result = outcome.result
        if (left := state.left_behind()) and result.outcome == "passed":
            words = "; ".join(words for words, _ in left)
            result.outcome, result.message = "failed", f"the test leaves behind {words}"
        result.seconds = round(time.perf_counter() - began, 3)
        result.used = state.used() - used if state.used else None
        report.end(result)


def failure(error: BaseException, root: Path, file: str, part: str, seconds: float) -> Result:
    """A failed result: kind and text of an error, at the last line of the file that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == root / file]
    words = "".join(traceback.format_exception_only(error)).strip()
    return Result(part, (lines or [1])[-1] or 1, "failed", words, seconds)


class _Outcome(unittest.TestResult):
    """What became of one test method."""

    def __init__(self, root: Path, file: str, result: Result) -> None:
        super().__init__()
        self.root, self.file, self.result = root, file, result

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
        self.result.outcome, self.result.message = "skipped", reason or "no reason was given"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.result.outcome = "failed"
        self.result.message = "it was expected to fail, and passed"

    def _failed(self, err: Any) -> None:
        if self.result.outcome != "failed":
            self.result = failure(err[1], self.root, self.file, self.result.part, 0.0)


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
