"""One build's execution: what is run, on which device, and what is remembered.

A project hands in, in its ``conf.py``:

``execute_device``
    What executes: a dataclass with `kind` (a word for CSS classes), `on`, `label`, `described(say)` (a
    phrase, translated) and `stamp()`, which differs where results must not be reused. None: nothing
    is executed.
``execute_state``
    The name of a module with any of: ``prepare(device)`` (once, before the first process is forked: what all
    need is imported here), ``reset()`` (before a page, script or test), ``left_behind()`` (after it: list
    of what may not stay, in words, and a text of the line that made it), ``names()`` (what the condition
    of a skip may use), ``used()`` (a number that grows whenever the device does something).
``execute_about``
    The name of a function (app, docname) that returns what is remembered with the results of a page.
``execute_tests``
    Patterns of test files, relative to ``conf.py``; run by the builder ``execute``.
``execute_say``
    The name of a function that translates the words that pages show.
``execute_limit``, ``execute_jobs``
    Seconds that one block, script or test may take, and how many processes there are at once.
``execute_fresh``, ``execute_nothing``
    Run what did not change, too; run nothing and show what is known.
"""

from __future__ import annotations

import dataclasses
import datetime
import fcntl
import functools
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from npudocs.execute import blocks, isolate, leftovers, pages, problems, results, testfiles
from npudocs.execute.results import UnitRun

logger = logging.getLogger(__name__)
_sessions: weakref.WeakKeyDictionary[Sphinx, Session] = weakref.WeakKeyDictionary()
NO_STATE = {
    "prepare": lambda device: None,
    "reset": lambda: None,
    "left_behind": list,
    "names": dict,
    "used": None,
}


class Session:
    """What one build runs and knows. `run` has the results of this build and of earlier ones."""

    def __init__(self, app: Sphinx) -> None:
        self.config = config = app.config
        self.device = config.execute_device
        self.root = Path(app.confdir)
        self.limit = config.execute_limit
        self.jobs = config.execute_jobs or min(os.cpu_count() or 1, 4)
        self.executes = self.device.on and not config.execute_nothing
        self.fresh = config.execute_fresh or app.builder.name == "doctest"
        self.path = Path(app.outdir).parent / results.FILE
        self.run = results.load(self.path, dataclasses.asdict(self.device), self.device.stamp())
        # Where this build writes: its results, and the pages that are made of scripts.
        made = Path(app.srcdir) / config.sphinx_gallery_conf.get("gallery_dirs", "")
        self.builds = [self.path.parent.resolve(), made.resolve()]
        # The files of the pages that this build has written.
        self.pages: set[Path] = set()
        self._prepared = False

    @functools.cached_property
    def state(self) -> SimpleNamespace:
        """The functions of ``execute_state``, and such that do nothing."""
        module = import_module(self.config.execute_state) if self.config.execute_state else None
        found = {name: getattr(module, name, nothing) for name, nothing in NO_STATE.items()}
        return SimpleNamespace(**found)

    def watched(self) -> SimpleNamespace:
        """The state in a process that runs something: files that it leaves, and what has not ended, count, too."""
        files = leftovers.Files(self.root.resolve(), self.builds)

        def left_behind() -> list[tuple[str, str]]:
            written = [(f"the file {name}", Path(name).name) for name in files.left()]
            return [*self.state.left_behind(), *written, *leftovers.unended()]

        return SimpleNamespace(**{**vars(self.state), "left_behind": left_behind})

    def known(self, file: str, digest: str) -> bool:
        """Whether this need not run: it passed on this device, and nothing of it changed."""
        unit = self.run.current(file, digest)
        return unit is not None and (unit.fresh or not self.fresh)

    def keep(self, unit: UnitRun) -> None:
        """Remember what has run now."""
        now = datetime.datetime.now(datetime.timezone.utc)
        unit.ran, unit.fresh = now.isoformat("T", "seconds"), True
        self.run.units[unit.file] = unit

    def isolated(
        self, tasks: Sequence[isolate.Task]
    ) -> Iterator[tuple[isolate.Task, isolate.Ended]]:
        """Run tasks in forks of this process, once it has all that they need."""
        if tasks and not self._prepared:
            self.state.prepare(self.device)
            self._prepared = True
        yield from isolate.run(tasks, self.limit, self.jobs)

    def run_all(self, wanted: list[tuple[UnitRun, blocks.PageBlocks | None]]) -> None:
        """Run pages and test files, and keep each; a part that breaks its process costs itself only."""
        # With the outcomes of the parts that ran.
        left: dict[str, tuple[UnitRun, blocks.PageBlocks | None, dict[str, str]]] = {
            unit.file: (unit, page, {}) for unit, page in wanted
        }
        while left:
            tasks = [
                isolate.Task(file, functools.partial(self._work, file, page, done))
                for file, (_, page, done) in left.items()
            ]
            for task, ended in self.isolated(tasks):
                unit, _, done = left[task.file]
                # A part that ends twice: the later result holds.
                latest = {result.part: result for result in [*unit.results, *ended.results]}
                if broke := ended.broke:
                    latest.setdefault(broke.part, broke)
                unit.results = list(latest.values())
                done.update({result.part: result.outcome for result in unit.results})
                # Where something fails between two parts, the rest cannot be run.
                if broke and broke.part:
                    done[broke.part] = broke.outcome
                    continue
                del left[task.file]
                self.keep(unit)

    def _work(
        self,
        file: str,
        page: blocks.PageBlocks | None,
        done: dict[str, str],
        report: isolate.Report,
    ) -> None:
        if page is None:
            testfiles.run(self.root, file, self.watched(), done, report)
        else:
            pages.PageRun(self.root, page.blocks, self.watched(), done, report).run()


def of(app: Sphinx) -> Session:
    """The session of a build."""
    if app not in _sessions:
        _sessions[app] = Session(app)
    return _sessions[app]


def named(name: str) -> Any:
    """The function that ``package.module.function`` names."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def translator(app: Sphinx) -> Callable[[str], str]:
    """The function that translates the words of a page."""
    return named(app.config.execute_say) if app.config.execute_say else str


@dataclasses.dataclass(frozen=True)
class NoDevice:
    """Stands for a device that nobody handed in."""

    kind: str = "off"
    on: bool = False
    label: str = "no device"

    def described(self, say: Callable[[str], str]) -> str:
        """Say that there is none."""
        return say("no device (switched off)")

    def stamp(self) -> str:
        """The same for all."""
        return "off"


def _lock(app: Sphinx, config: Config) -> None:
    """Let one build at a time write into a folder of builds."""
    folder = Path(app.outdir).parent
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / ".lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        who = lock.read().strip()
        if who == str(os.getpid()):
            return  # a build in this process that did not come to its end
        logger.info("waiting for the build of process %s, which writes into %s", who, folder)
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    # Closed, and so free again, at the end of the build or of the process.
    app.connect("build-finished", lambda app, exception: lock.close(), priority=999)


def _fill(app: Sphinx, config: Config) -> None:
    if sys.flags.optimize:
        problems.stop("PYTHONOPTIMIZE is set, so that no assertion compares anything: unset it")
    if not config.execute_limit > 0:
        problems.stop(f"execute_limit is {config.execute_limit}: a block needs some seconds")
    if config.execute_device is None:
        config.execute_device = NoDevice()


def setup(app: Sphinx) -> dict[str, Any]:
    # "env": another device reads and writes every page anew.
    app.add_config_value("execute_device", None, "env")
    for name in ("state", "about", "say"):
        app.add_config_value(f"execute_{name}", "", "", types=frozenset({str}))
    app.add_config_value("execute_tests", [], "", types=frozenset({list}))
    app.add_config_value("execute_limit", 120, "", types=frozenset({int}))
    app.add_config_value("execute_jobs", 0, "", types=frozenset({int}))
    app.add_config_value("execute_fresh", False, "", types=frozenset({bool}))
    app.add_config_value("execute_nothing", False, "", types=frozenset({bool}))
    app.connect("config-inited", _lock, priority=100)
    app.connect("config-inited", _fill, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
