"""One way to fail a build: say it at its place, go on, end with a non-zero exit code.

Sphinx reads and writes only pages that changed, so what it said about the others is not said again: a
red build run twice would turn green. After a build with problems or warnings its cache is removed, and
the next build looks at every page.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def report(app: Sphinx, message: str, location: Any = None) -> None:
    """Print `message` with its `location` (as Sphinx loggers take it) and fail the build."""
    logger.error(message, location=location)
    app.statuscode = 1


def stop(message: str) -> NoReturn:
    """End the build at once with this message alone.

    Sphinx shows an exception of an extension with a traceback and a plea to report a bug.
    """
    raise SystemExit(f"npudocs: {message}")


def _forget_red_build(app: Sphinx, exception: Exception | None) -> None:
    if app.statuscode or app._warncount:
        (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    # Late: other handlers of this event still report problems.
    app.connect("build-finished", _forget_red_build, priority=900)
    # A worker process cannot set the exit code.
    return {"parallel_read_safe": False, "parallel_write_safe": False}
