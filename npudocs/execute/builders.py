"""When things run: after pages were read, in a build that executes; and what is said of it.

``html`` runs what changed since it last passed on this device, pages and scripts. The builder ``execute`` runs the
test files, too, and writes nothing but the results; ``doctest`` runs the blocks of all pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.dummy import DummyBuilder
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from npudocs.execute import blocks, problems, results, scripts, session
from npudocs.execute.results import Result, UnitRun

logger = logging.getLogger(__name__)
# What each builder runs.
KINDS = {
    "html": ("page", "script"),
    "execute": ("page", "script", "tests"),
    "doctest": ("page",),
}


# What the summary calls the units of each kind, and their parts.
NAMES = (("page", "pages", "blocks"), ("script", "scripts", ""), ("tests", "test files", "tests"))


class ExecuteBuilder(DummyBuilder):
    """Runs pages, scripts and test files, and writes the results alone."""

    name = "execute"
    epilog = ""

    def init(self) -> None:
        """Refuse to start without a device."""
        if not self.config.execute_device.on:
            problems.stop(
                "The device is switched off (DEVICE=off), so nothing can be executed: "
                f"run make {self.name} without DEVICE=off."
            )

    def get_outdated_docs(self) -> Set[str]:
        """Return no page: none is written."""
        return set()


class DocTestBuilder(ExecuteBuilder):
    """Runs the blocks of all pages; takes the place of Sphinx's own."""

    name = "doctest"


def _units(app: Sphinx) -> Iterator[tuple[UnitRun, blocks.PageBlocks | None, str]]:
    """Yield each page and test file that this builder runs, with its page's name."""
    root = Path(app.confdir).resolve()
    for docname, page in sorted(blocks.of(app.env).items()):
        if scripts.script_of(app, docname) is None:
            path = Path(app.env.doc2path(docname)).resolve()
            file = path.relative_to(root).as_posix()
            marked = list(page.not_executed)
            unit = UnitRun(file, "page", page.source, page.digest, not_executed=marked)
            yield unit, page, docname
    if "tests" in KINDS[app.builder.name]:
        paths = [path for name in app.config.execute_tests for path in root.glob(name)]
        for path in sorted(paths):
            source = results.blob(path)
            yield UnitRun(path.relative_to(root).as_posix(), "tests", source, source), None, ""


def _execute(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Run what has to run, and return the pages that show it."""
    here = session.of(app)
    if not here.executes or app.builder.name not in KINDS:
        return []
    try:
        return _run(app, here)
    finally:
        results.save(here.run, here.path)


def _run(app: Sphinx, here: session.Session) -> list[str]:
    wanted = []
    listed = scripts.scripts(app).items()
    pages = {scripts.name_of(app, path): f"{scripts.FOLDER}/{stem}" for stem, path in listed}
    for unit, page, docname in _units(app):
        pages[unit.file] = docname
        if page and not page.blocks:
            here.run.units[unit.file] = unit
        elif not here.known(unit.file, unit.digest):
            wanted.append((unit, page))
        else:
            here.run.units[unit.file].not_executed = unit.not_executed
    here.run_all(wanted)
    # Results of what is gone are dropped; a builder knows only the kinds that it runs.
    kinds = {*KINDS[app.builder.name], "script"}
    gone = [f for f, unit in here.run.units.items() if f not in pages and unit.kind in kinds]
    for file in gone:
        del here.run.units[file]
    about = session.named(app.config.execute_about) if app.config.execute_about else None
    for file, unit in here.run.units.items():
        if about and pages.get(file):
            unit.about = about(app, pages[file])
    shown = [unit for unit in here.run.units.values() if unit.fresh]
    return [pages[unit.file] for unit in shown if pages.get(unit.file) in app.env.found_docs]


def _finish(app: Sphinx, exception: Exception | None) -> None:
    """Fail the build for what failed, and say what ran."""
    here = session.of(app)
    if exception or app.builder.name not in KINDS or app.config.execute_nothing:
        return
    if not here.device.on:
        logger.info("Nothing was executed: the device is switched off.")
        return
    shown = [u for u in here.run.units.values() if u.kind in KINDS[app.builder.name]]
    for unit in shown:
        for result in unit.results:
            if result.outcome not in ("passed", "skipped"):
                words = result.message if result.outcome == "failed" else _broken(result)
                problems.report(app, f"{words}\n", location=f"{unit.file}:{result.line}")
    for unit in shown:
        # A test file is there for the device; a page or script where it names what it verifies.
        claims = unit.kind == "tests" or unit.about.get("apis")
        if claims and unit.used == 0 and not unit.about.get("host"):
            words = "claims to run on the device, and the device did nothing for it"
            problems.report(app, words, location=f"{unit.file}:1")
    if app.builder.name != "html" and not any(
        result.outcome != "skipped" for unit in shown for result in unit.results
    ):
        problems.report(app, "no block was executed: nothing is proved")
    logger.info("\n".join(_summary(here, shown)))


def _pages(app: Sphinx, name: str, *others: Any) -> None:
    session.of(app).pages.add(Path(app.builder.get_outfilename(name)))


def _remove_others(app: Sphinx, exception: Exception | None) -> None:
    """Remove pages that an earlier build made and this one has not: a removed page still says "Executed"."""
    if exception or app.builder.name != "html":
        return
    mine = session.of(app).pages
    mine |= {Path(app.builder.get_outfilename(name)) for name in app.env.found_docs}
    for path in Path(app.outdir).rglob("*.html"):
        if path not in mine and "_static" not in path.parts:
            path.unlink()


def _broken(result: Result) -> str:
    what = "hangs" if result.outcome == "timeout" else "ends its process"
    return f"{result.part or 'the script'} {what}: {result.message}"


def _summary(here: session.Session, shown: list[UnitRun]) -> Iterator[str]:
    yield f"\nExecuted on {here.device.described(str)}"
    for kind, files, parts in NAMES:
        units = [unit for unit in shown if unit.kind == kind and unit.results]
        fresh = [unit for unit in units if unit.fresh]
        if not units:
            continue
        counts = Counter(unit.outcome for unit in units)
        inner = sum(r.outcome != "skipped" for unit in fresh for r in unit.counted)
        seconds = sum(unit.seconds for unit in fresh)
        ran = f"{len(fresh)} executed in {seconds:.1f} s, {len(units) - len(fresh)} unchanged"
        yield f"  {len(units)} {files}: {_counts(counts)}; {ran}"
        if parts:
            yield f"  {inner} {parts} executed"
    skipped = [
        (unit.file, r.line, r.message)
        for unit in shown
        for r in unit.counted
        if r.outcome == "skipped"
    ]
    marked = [
        (unit.file, one["line"], one["reason"]) for unit in shown for one in unit.not_executed
    ]
    for places, what in ((skipped, "skipped"), (marked, "Python fences marked as not executed")):
        yield f"  {len(places)} {what}"
        yield from (f"    {file}:{line}  {reason}" for file, line, reason in places)
    counts = Counter(result.outcome for unit in shown for result in unit.counted)
    order = ("passed", "failed", "crashed", "timeout", "skipped")
    always = ("passed", "failed", "skipped")
    yield ", ".join(f"{counts[o]} {o}" for o in order if counts[o] or o in always)


def _counts(outcomes: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_builder(ExecuteBuilder)
    app.add_builder(DocTestBuilder, override=True)
    # Early: what others draw of the results has them.
    app.connect("env-updated", _execute, priority=100)
    app.connect("html-page-context", _pages)
    app.connect("build-finished", _finish)
    app.connect("build-finished", _remove_others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
