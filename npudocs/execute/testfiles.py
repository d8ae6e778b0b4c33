"""Runs the test methods of one file, with the standard library's unittest, and says what became of each."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import time
import traceback
import unittest
import warnings
from collections.abc import Iterator
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
        report.end(Result("", *_failure(error, root / file)))
        return
    if wrong := _unlike(ast.parse((root / file).read_bytes()), [*_flat(suite)]):
        report.end(Result("", *wrong))
        return
    # A test that returns something is a generator or has not awaited: it ran nothing.
    warnings.filterwarnings("error", "It is deprecated to return a value")
    for test in _flat(suite):
        part = test.id().rpartition(".")[2]
        if part in done:
            continue
        line = getattr(getattr(test, part), "__func__", _load).__code__.co_firstlineno
        report.start(part, line)
        began = time.perf_counter()
        state.reset()
        used = state.used() if state.used else 0
        found = _Outcome()
        unittest.TestSuite([test]).run(found)
        outcome, message = "passed", ""
        if found.error:
            line, outcome, message = _failure(found.error, root / file)
        elif found.unexpectedSuccesses:
            outcome, message = "failed", "it was expected to fail, and passed"
        elif found.expectedFailures:
            outcome, message = "failed", "it fails as expected: assert the error that is right"
        elif found.skipped:
            outcome, message = "skipped", found.skipped[0][1] or "no reason was given"
        elif left := state.left_behind():
            words = "; ".join(words for words, _ in left)
            outcome, message = "failed", f"the test leaves behind {words}"
        seconds = round(time.perf_counter() - began, 3)
        used = state.used() - used if state.used else None
        report.end(Result(part, line, outcome, message, seconds, used))


def _unlike(tree: ast.Module, tests: list[unittest.TestCase]) -> tuple[int, str, str] | None:
    """The line of a test that does not run, or is called like another one, ``failed`` and words."""
    ran = [test.id().rpartition(".")[2] for test in tests]
    for scope in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef))]:
        inside = [one for one in scope.body if getattr(one, "name", "").startswith("test")]
        for name, line in ((one.name, one.lineno) for one in inside):
            if not any(test.startswith(name) for test in ran):
                return line, "failed", f"{name} does not run: is it a method of a TestCase?"
            if ran.count(name) > 1 or [one.name for one in inside].count(name) > 1:
                return line, "failed", f"two tests are called {name}: rename one"
    return None if tests else (1, "failed", "this file has no test")


def _failure(error: BaseException, path: Path) -> tuple[int, str, str]:
    """The last line of the file that an error came from, ``failed``, and its kind and text."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    words = "".join(traceback.format_exception_only(error)).strip()
    return (lines or [1])[-1] or 1, "failed", words


class _Outcome(unittest.TestResult):
    """What became of one test method; `error` is the first one that made it fail."""

    error: BaseException | None = None

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self.error = self.error or err[1]

    addFailure = addError

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:
        if err:
            self.addError(test, err)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        yield from _flat(test) if isinstance(test, unittest.TestSuite) else [test]
