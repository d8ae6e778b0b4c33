"""Runs functions in processes of their own, forked from this one: what breaks one, costs it alone.

A fork of a process that has imported everything costs a tenth of a second and starts with the same
state each time. What runs says which step it is at, so that a process that dies or hangs is a result
of that step: with the place, the way it ended and its last words.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import faulthandler
import functools
import gc
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from npudocs.execute.results import Result

# How often a silent process is looked at.
GLANCE = 1.0
LINES = 8
# The signal on which a process writes its stack, and how that begins.
WHERE = signal.SIGUSR1
STACK = re.compile(r"(?:Fatal Python error: (.*)\n\n)?(?:Current t|T)hread 0x|Stack \(most recent")
_fork = multiprocessing.get_context("fork")


class Report:
    """The end of the pipe that a running function has."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    def start(self, part: str, line: int) -> None:
        """Say which step begins now."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.pipe.send(("start", (part, line, os.lseek(2, 0, os.SEEK_END))))

    def end(self, result: Result) -> None:
        """Say how it ended."""
        self.pipe.send(("end", result))


@dataclasses.dataclass
class Task:
    """A function to run, and the file that is named when it breaks."""

    file: str
    function: Callable[[Report], Any]


@dataclasses.dataclass
class Ended:
    """What came of a task: what it reported and returned, or the step under which it broke."""

    results: list[Result] = dataclasses.field(default_factory=list)
    value: Any = None
    broke: Result | None = None


class _Child:
    """One running task."""

    def __init__(self, task: Task, limit: float) -> None:
        self.task, self.limit, self.ended = task, limit, Ended()
        self.at: tuple[str, int, int] = ("", 1, 0)
        self.over = False
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.pipe, theirs = _fork.Pipe(duplex=False)
        self.process = _fork.Process(target=_work, args=(task, theirs, self.output.fileno()))
        sys.stdout.flush()
        sys.stderr.flush()
        self.process.start()
        theirs.close()
        self.since = time.monotonic()

    def look(self) -> bool:
        """Take what it says; return whether it is at its end."""
        # Asked first: what it said before its end is in the pipe by then.
        code = self.process.exitcode
        with contextlib.suppress(EOFError, ConnectionResetError):
            while not self.over and self.pipe.poll():
                self._take(*self.pipe.recv())
        if self.over:
            return True
        if code is not None:
            self._broke("crashed", _ending(code))
            return True
        if time.monotonic() - self.since > self.limit:
            self._broke("timeout", f"no result after {self.limit:g} s")
            return True
        return False

    def _take(self, event: str, content: Any) -> None:
        self.since = time.monotonic()
        if event == "start":
            self.at = content
        elif event == "end":
            self.ended.results.append(content)
        else:
            self.ended.value, self.over = content, True

    def _broke(self, outcome: str, how: str) -> None:
        part, line, start = self.at
        if outcome == "timeout":
            self._ask_where(start)
        self.output.seek(start)
        words, place = _last_words(self.output.read().decode(errors="replace"), self.task.file)
        message = "\n".join([how, *words])
        seconds = round(time.monotonic() - self.since, 3)
        self.ended.broke = Result(part, place or line, outcome, message, seconds)

    def _ask_where(self, start: int) -> None:
        """Let a process that hangs write its stack, if it still can."""
        os.kill(self.process.pid, WHERE)
        deadline = time.monotonic() + GLANCE
        while time.monotonic() < deadline:
            self.output.seek(start)
            if STACK.search(self.output.read().decode(errors="replace")):
                return
            time.sleep(0.01)

    def close(self) -> None:
        """End it and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.output.close()


def _work(task: Task, pipe: Connection, output: int) -> None:
    os.setsid()
    if sys.platform == "linux":
        # Its parent may be killed, and a loop without an end would stay.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdin = open(os.devnull)  # noqa: SIM115 (for the rest of the process)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    # Not into what a script shows as its output.
    sys.unraisablehook = threading.excepthook = functools.partial(_unheard, sys.stderr)
    faulthandler.enable(2)
    faulthandler.register(WHERE, 2, all_threads=False)
    os._exit, end = _leave, os._exit
    pipe.send(("over", task.function(Report(pipe))))
    pipe.close()
    # Nothing of this process's end is part of a check; a device's own clean-up may hang.
    end(0)


def _unheard(stream: Any, error: Any) -> None:
    """Write an error that nobody catches: of a thread, or of the end of an object."""
    words = (error.exc_type, error.exc_value, error.exc_traceback)
    traceback.print_exception(*words, file=stream)


def _leave(status: int, end: Callable[[int], None] = os._exit) -> None:
    """What `os._exit` is in these processes: it writes where it was called."""
    faulthandler.dump_traceback(2, all_threads=False)
    end(status)


def run(tasks: Sequence[Task], limit: float, jobs: int = 1) -> Iterator[tuple[Task, Ended]]:
    """Run tasks, at most `jobs` at once, each step at most `limit` seconds; yield each as it ends.

    Raises:
        KeyboardInterrupt: with the places that were running.
    """
    waiting, running = list(reversed(tasks)), []
    # What is there already is no garbage: a fork need not look through it, and so copy it.
    gc.freeze()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Child(waiting.pop(), limit))
            # A process that it forked may hold its pipe open, and its pipe may close before its end.
            wait([it for child in running for it in (child.pipe, child.process.sentinel)], GLANCE)
            for child in [child for child in running if child.look()]:
                running.remove(child)
                child.close()
                yield child.task, child.ended
    except KeyboardInterrupt:
        places = ", ".join(f"{child.task.file}:{child.at[1]}" for child in running)
        raise KeyboardInterrupt(f"interrupted while this ran: {places}") from None
    finally:
        gc.unfreeze()
        for child in running:
            child.close()


def call(function: Callable[[], Any], limit: float = 300.0) -> Any:
    """The value that a function returns in a process of its own.

    Raises:
        ChildProcessError: the process died or hung, or the function raised an error, in its words.
    """

    def attempt(report: Report) -> tuple[Any, str]:
        try:
            return function(), ""
        except Exception as error:
            return None, str(error) or repr(error)

    _, ended = next(run([Task("", attempt)], limit))
    value, words = ended.value if not ended.broke else (None, ended.broke.message)
    if words:
        raise ChildProcessError(words)
    return value


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"the process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"number {-code}"
    return f"the process was ended by signal {name}"


def _last_words(text: str, file: str) -> tuple[list[str], int]:
    """The last lines that a process wrote, and the line of `file` that it was at when it ended."""
    stack = STACK.search(text)
    before = text[: stack.start()] if stack else text
    lines = [line for line in before.splitlines() if line.strip()][-LINES:]
    if stack and stack[1]:
        lines.append(f"Fatal Python error: {stack[1]}")
    place = stack and file and re.search(rf'{re.escape(file)}", line (\d+)', text[stack.start() :])
    return lines, int(place[1]) if place else 0
