"""Runs small programs in processes of their own, on the software NPU.

``run`` takes a fork of a process that has imported torch, in 0.1 seconds: for what a program does
with the device. ``start`` takes a new Python, in seconds: for how a program starts, for its own
processes, and for the memory it takes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # far more than any program needs
# Read at the first use of the device, and so in the fork; all else would come too late.
LATE = (
    "ASCEND_RT_VISIBLE_DEVICES", "SOFTNPU_ASYNC", "SOFTNPU_DEVICES", "SOFTNPU_MEMORY",
    "SOFTNPU_SIGNALS", "SOFTNPU_SOC", "TASK_QUEUE_ENABLE",
)  # fmt: skip


def run(program: str, *, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Run Python code in a fork, after ``softnpu.activate()``; ``check`` wants exit status 0."""
    for name in environment:
        starting = name.startswith(("SOFTNPU_", "ASCEND_", "TASK_QUEUE_", "LD_", "PYTHON"))
        assert name in LATE or not starting, f"{name} is for a new process: use start()"
    code = _program(program)
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("stdout", "stderr")}
        for file in files.values():
            file.touch()
        paths = {name: str(file) for name, file in files.items()}
        request = {"program": code, "environment": environment, "seconds": SECONDS} | paths
        server, answer = _server(), ""
        with contextlib.suppress(BrokenPipeError):
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
        shown = {name: file.read_text() for name, file in files.items()}
    assert answer, f"the process whose forks run the programs has ended:\n{server.stderr.read()}"
    status = json.loads(answer)
    if status is None:
        raise subprocess.TimeoutExpired(code, SECONDS, shown["stdout"], shown["stderr"])
    return _checked(subprocess.CompletedProcess(code, status, **shown), check)


def start(program: str, *, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Run Python code in a new Python, as ``run`` does in a fork."""
    return command([sys.executable, "-c", _program(program)], check=check, **environment)


def command(
    words: list[str], *, check: bool = True, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess:
    """Run a command in a clean environment with this checkout on PYTHONPATH."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=_clean() | environment,
        cwd=cwd,
        timeout=SECONDS,
        check=False,
        preexec_fn=_hear_interrupts,
    )
    return _checked(done, check)


def _program(text: str) -> str:
    return "import softnpu; softnpu.activate()\n" + textwrap.dedent(text)


def _checked(done: subprocess.CompletedProcess, check: bool) -> subprocess.CompletedProcess:
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def _clean() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SOFTNPU_", "ASCEND_", "TASK_QUEUE_"))
        and name not in {"LD_LIBRARY_PATH", "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    }
    return kept | {"PYTHONPATH": str(ROOT)}


def _hear_interrupts() -> None:
    # What a shell starts in the background is deaf to it, and so are its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@functools.cache
def _server() -> subprocess.Popen:
    """The process that is forked, started at the first program and ended with this one."""
    server = subprocess.Popen(
        # The folder of forks.py is the current one while it is imported, and not in sys.path.
        [sys.executable, "-c", f"exec(__import__('forks').serve({str(ROOT)!r}))"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_clean(),
        cwd=Path(__file__).parent,
        start_new_session=True,  # Ctrl-C is for the tests, which end it
        preexec_fn=_hear_interrupts,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen) -> None:
    server.kill()
    server.wait()
