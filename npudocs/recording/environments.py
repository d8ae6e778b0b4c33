"""An environment with one torch and its torch_npu: made, used and removed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from npudocs.recording import messages

# What a shell may have set for another torch or device.
_FOREIGN = re.compile(r"ASCEND_|SOFTNPU_(SOC|DEVICES|MEMORY)|LD_PRELOAD|LD_LIBRARY_PATH|NPUDOCS_")


class Environment:
    """A virtual environment in a folder, for the project in `root`."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.seconds = 0.0
        self.disk = 0

    def install(self, torch: str, torch_npu: str) -> str:
        """Make it anew; returns why it cannot be made, or nothing."""
        self.remove()
        log = self.home.with_name(f"{self.home.name}-install.log")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        pip = [str(self.home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        steps = [
            [sys.executable, "-m", "venv", str(self.home)],
            [*pip, f"torch=={torch}"],
            # Alone: some releases ask for a local version of torch that PyPI does not have.
            [*pip, "--no-deps", f"torch_npu=={torch_npu}"],
            [*pip, "-r", str(self.root / "docs" / "requirements.txt")],
        ]
        began = time.monotonic()
        with DiskWatch(log.parent) as watch:
            # Up to the first step that has a problem.
            problem = next(filter(None, (self.run(step, log) for step in steps)), "")
        self.seconds, self.disk = time.monotonic() - began, watch.most
        return problem

    def module(self, name: str, *arguments: str, log: Path, **variables: str) -> str:
        """Run a module on the software NPU; returns how it failed, or nothing."""
        python = str(self.home / "bin" / "python")
        command = [python, "-m", "softnpu", "run", "-m", name, *arguments]
        return self.run(command, log, SOFTNPU_FORCE="1", **variables)

    def run(self, command: list[str], log: Path, **variables: str) -> str:
        """Run a command, its output into `log`; returns how it failed, or nothing."""
        with log.open("ab") as output:
            begin = output.tell()
            done = subprocess.run(
                command,
                cwd=self.root,
                env={**_own_environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if not done.returncode:
            return ""
        said = log.read_bytes()[begin:].decode(errors="replace")
        return f"{messages.ending(done.returncode)}\n{messages.last_lines(said)}"

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.home, ignore_errors=True)


def _own_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}


class DiskWatch:
    """How much the used space of a folder's disk grows while it watches, pip's own files included."""

    def __init__(self, folder: Path, every: float = 2.0) -> None:
        self.folder, self.every, self.most = folder, every, 0
        self.before = shutil.disk_usage(folder).used
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> DiskWatch:
        self.thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.ended.set()
        self.thread.join()

    def _watch(self) -> None:
        ended = False
        while not ended:
            ended = self.ended.wait(self.every)
            self.most = max(self.most, shutil.disk_usage(self.folder).used - self.before)
