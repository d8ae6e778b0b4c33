"""Files that a page, script or test leaves behind in the project: the next one, and git, would find them."""

from __future__ import annotations

import os
import sys
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
