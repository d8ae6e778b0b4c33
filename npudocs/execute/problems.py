"""One way to fail a build: say it at its place, go on, end with a non-zero exit code.

Sphinx reads and writes only pages that changed, so what it said about the others is not said again: a
red build run twice would turn green. After a build with problems or warnings its cache is removed, and
the next build looks at every page. So it does after a build that was interrupted while it wrote: the cache was
there, but not every page and no index for the search. A file beside the cache says that a build has begun.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.util import logging

logger = logging.getLogger(__name__)
BEGUN = "begun"


def report(app: Sphinx, message: str, location: Any = None) -> None:
    """Print `message` with its `location` (as Sphinx loggers take it) and fail the build."""
    logger.error(message, location=location)
    app.statuscode = 1


def stop(message: str) -> NoReturn:
    """End the build at once with this message alone.

    Sphinx shows an exception of an extension with a traceback and a plea to report a bug.
    """
    raise SystemExit(f"npudocs: {message}")


def of_encoding(data: bytes) -> list[tuple[int, str]]:
    """Return what is wrong with the bytes of a page or a script: the line, and the words."""
    try:
        marked = data.decode().startswith("\ufeff")
    except UnicodeDecodeError as error:
        return [(data[: error.start].count(b"\n") + 1, "is not in UTF-8: save it so")]
    return [(1, "begins with a byte order mark: save it without")] if marked else []


def _forget_unfinished_build(app: Sphinx, config: Config) -> None:
    if (app.doctreedir / BEGUN).exists():
        (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def _begin(app: Sphinx) -> None:
    app.doctreedir.mkdir(parents=True, exist_ok=True)
    (app.doctreedir / BEGUN).touch()


def _forget_red_build(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.statuscode or app._warncount:
        (app.doctreedir / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    (app.doctreedir / BEGUN).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    # After another build in this folder has ended, for which session waits.
    app.connect("config-inited", _forget_unfinished_build, priority=900)
    # Late: a builder that refuses to start has begun nothing.
    app.connect("builder-inited", _begin, priority=900)
    # Late: other handlers of this event still report problems.
    app.connect("build-finished", _forget_red_build, priority=900)
    # A worker process cannot set the exit code.
    return {"parallel_read_safe": False, "parallel_write_safe": False}
