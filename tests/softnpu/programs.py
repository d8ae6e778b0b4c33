"""Runs small programs in processes of their own, on the software NPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(program: str, *, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Runs Python code after ``softnpu.activate()``; ``check`` wants exit status 0."""
    code = "import softnpu; softnpu.activate()\n" + textwrap.dedent(program)
    return command([sys.executable, "-c", code], check=check, **environment)


def command(
    words: list[str], *, check: bool = True, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess:
    """Runs a command in a clean environment with this checkout on PYTHONPATH."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SOFTNPU_", "ASCEND_", "TASK_QUEUE_"))
        and name not in {"LD_LIBRARY_PATH", "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    }
    clean |= {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=clean,
        cwd=cwd,
        timeout=300,
        check=False,
        # What a shell starts in the background is deaf to it, and so are its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
