"""Watches the worker: a check under which it dies is a result, and the rest is run all the same."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from npudocs.evidence import messages
from npudocs.recording import RecordingError
from npudocs.recording.checks import Unit

TIMEOUT = 120.0
# Loading torch and starting a chip.
START_TIMEOUT = 300.0
# How often a silent worker is looked at.
GLANCE = 1.0
# What is left to do after the last check: torch_npu's and Python's own end.
END_TIMEOUT = 30.0
WORKER = (sys.executable, "-m", "npudocs.recording.worker")


@dataclasses.dataclass
class Result:
    """What became of one check."""

    file: str
    part: str
    outcome: str
    message: str
    seconds: float


class Supervisor:
    """Runs units in worker processes until each check has a result."""

    def __init__(
        self,
        root: Path,
        units: Sequence[Unit],
        timeout: float = TIMEOUT,
        worker: Sequence[str] = WORKER,
        progress: Callable[[Result], None] = lambda result: None,
    ) -> None:
        self.root, self.timeout, self.worker, self.progress = root, timeout, worker, progress
        self.left = list(units)
        self.results: dict[tuple[str, str], Result] = {}
        self.where: dict[str, str] = {}
        # What must not even be run again for the sake of later blocks.
        self.broken: set[tuple[str, str]] = set()

    def run(self) -> None:
        """Run everything.

        Raises:
            RecordingError: the worker finds no device.
        """
        idle = 0
        while self.left:
            before = (len(self.left), len(self.results), len(self.broken))
            problem = self._run_worker()
            moved = before != (len(self.left), len(self.results), len(self.broken))
            idle = 0 if moved else idle + 1
            if problem and not self.where:
                raise RecordingError(f"no record was made, since no check could start: {problem}")
            if idle == 2:
                self._give_up(problem)

    def _give_up(self, problem: str) -> None:
        for unit in self.left:
            self._keep(unit.file, "", "crashed", f"not run, since no process starts: {problem}", 0)
        self.left = []

    def _run_worker(self) -> str:
        """Run one worker to its end; returns what is wrong where it ended under no check."""
        with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
            output = stack.enter_context(open(Path(scratch) / "output", "w+b"))
            job = Path(scratch) / "job.json"
            job.write_text(json.dumps(self._job()), encoding="utf-8")
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            process = subprocess.Popen(
                [*self.worker, str(job), str(writing)],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[writing],
                start_new_session=True,
                env=self._environment(),
            )
            os.close(writing)
            stack.callback(_end, process)
            return _Watch(self, process, reading, output).to_the_end()

    def _job(self) -> dict[str, Any]:
        done = {key: result.outcome for key, result in self.results.items()}
        done |= dict.fromkeys(self.broken, "crashed")
        return {
            "root": str(self.root),
            "units": [unit.job() for unit in self.left],
            "done": [[*key, outcome] for key, outcome in done.items()],
        }

    def _environment(self) -> dict[str, str]:
        parts = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
        # Python's own stack of a crash, in the message.
        extra = {"PYTHONPATH": ":".join(filter(None, parts)), "PYTHONFAULTHANDLER": "1"}
        return {**os.environ, **extra}

    def _keep(self, file: str, part: str, outcome: str, message: str, seconds: float) -> None:
        result = Result(file, part, outcome, message, round(seconds, 3))
        self.results[file, part] = result
        self.progress(result)

    def handle(self, event: dict[str, Any]) -> None:
        """Take what the worker says of results; the rest is the watch's."""
        match event:
            case {"event": "where", **where}:
                if self.where and self.where != where:
                    raise RecordingError("the device changed during the run: run again")
                self.where = where
            case {"event": "no device", "message": message}:
                raise RecordingError(message)
            case {"event": "end", **rest}:
                names = ("file", "part", "outcome", "message", "seconds")
                self._keep(*(rest[name] for name in names))
            case {"event": "unit", "file": file}:
                self.left = [unit for unit in self.left if unit.file != file]

    def died(self, check: dict[str, Any], outcome: str, message: str, seconds: float) -> None:
        """Keep the death of a worker as the result of the check under which it died."""
        key = (check["file"], check["part"])
        if check["again"]:
            self.broken.add(key)
        else:
            self._keep(*key, outcome, message, seconds)


class _Watch:
    """Reads one worker's lines, and knows what it is at."""

    def __init__(
        self, owner: Supervisor, process: subprocess.Popen[bytes], channel: int, output: Any
    ) -> None:
        self.owner, self.process, self.channel, self.output = owner, process, channel, output
        self.check: dict[str, Any] | None = None
        self.over = False
        self.since = time.monotonic()
        self.rest = b""

    def to_the_end(self) -> str:
        while True:
            limit = self._limit()
            left = self.since + limit - time.monotonic()
            ready, _, _ = select.select([self.channel], [], [], max(min(left, GLANCE), 0))
            if not ready:
                # A process that a check forked may hold the channel open after the worker's end.
                if self.process.poll() is not None:
                    return self._ended()
                if left <= GLANCE:
                    return self._timed_out(limit)
                continue
            data = os.read(self.channel, 1 << 16)
            if not data:
                return self._ended()
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _limit(self) -> float:
        if self.over:
            return END_TIMEOUT
        return self.owner.timeout if self.check else START_TIMEOUT

    def _take(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "start":
                self.check, self.since = event, time.monotonic()
            case "end" | "again" | "where" | "unit":
                self.check, self.since = None, time.monotonic()
            case "over":
                self.over, self.since = True, time.monotonic()
        self.owner.handle(event)

    def _timed_out(self, limit: float) -> str:
        _end(self.process)
        if self.over:
            return ""
        message = f"no result after {limit:g} s"
        if self.check is None:
            return f"{message}\n{self._last_words(0)}"
        words = self._last_words(self.check["output"])
        self.owner.died(self.check, "timeout", f"{message}\n{words}", limit)
        return ""

    def _ended(self) -> str:
        try:
            code = self.process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            _end(self.process)
            code = self.process.wait()
        # After the last check a crash is that of the end of the process, and of no check.
        if self.over:
            return ""
        message = messages.ending(code)
        if self.check is None:
            return f"{message}\n{self._last_words(0)}"
        words = self._last_words(self.check["output"])
        seconds = time.monotonic() - self.since
        self.owner.died(self.check, "crashed", f"{message}\n{words}", seconds)
        return ""

    def _last_words(self, start: int) -> str:
        self.output.seek(start)
        file = self.check["file"] if self.check else ""
        return messages.last_lines(self.output.read().decode(errors="replace"), file)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
