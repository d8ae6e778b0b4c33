"""What a page, script or test leaves behind: files, which the next one and git would find, threads and errors."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Files:
    """Knows which files of a project this process has opened to write, but for those of a build."""

    def __init__(self, root: Path, builds: Sequence[Path]) -> None:
        self.root, self.builds = root, builds
        self.opened: dict[Path, None] = {}
        # It stays for the rest of the process, which is one page, script or test file.
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & WRITING:
            self.opened[Path(os.path.abspath(arguments[0]))] = None

    def left(self) -> list[str]:
        """The files that are still there, as seen from the project."""
        return [
            path.relative_to(self.root).as_posix()
            for path in self.opened
            if path.is_relative_to(self.root)
            and not any(path.is_relative_to(build) for build in self.builds)
            and path.suffix != ".pyc"
            and path.is_file()
        ]


def unended() -> list[tuple[str, str]]:
    """Threads that run, and errors that a thread or another process wrote to standard error, a file."""
    sys.stderr.flush()
    text = os.pread(2, os.lseek(2, 0, os.SEEK_END), 0).decode(errors="replace")
    errors = re.findall(r"Traceback \(most recent call last\):\n(?:[ \n].*\n)*(.*)", text)
    errors += re.findall(r"coroutine .* was never awaited", text)
    threads = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
    found = [(f"an error that nobody sees: {error}", "\0") for error in errors]
    return found + [(f"the thread {name}", "Thread(") for name in threads]
