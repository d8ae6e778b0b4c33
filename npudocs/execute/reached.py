"""Which lines of a script have run: an assertion that was never reached has compared nothing."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any


class Reached:
    """Notes the lines of one file as they run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: set[int] = set()
        # The last lines at which an assertion failed, as long as nobody saw it.
        self.failed: list[int] = []

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function in which lines are noted."""
        tracers: dict[str, Any] = {}

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            self.lines.add(frame.f_lineno)
            if event == "exception" and issubclass(argument[0], AssertionError):
                self.failed.append(frame.f_lineno)
            return line

        def call(frame: FrameType, event: str, argument: Any) -> Any:
            # At every call of any function: whether its file, as its code names it, is this one.
            name = frame.f_code.co_filename
            if name not in tracers:
                tracers[name] = line if Path(name) == self.path else None
            return tracers[name]

        def run(*arguments: Any, **named: Any) -> Any:
            sys.settrace(call)
            threading.settrace(call)
            try:
                return function(*arguments, **named)
            finally:
                sys.settrace(None)
                threading.settrace(None)

        return run

    def missed(self) -> list[int]:
        """The first line of each statement that has not run."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        return [
            first for first, last in _statements(tree) if not self.lines & {*range(first, last + 1)}
        ]


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the lines of each statement, or of the head of a compound one."""
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if (
            isinstance(node, ast.stmt)
            and not text
            and not isinstance(node, ast.Global | ast.Nonlocal)
        ):
            inner = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno
            yield node.lineno, max(inner, node.lineno)
