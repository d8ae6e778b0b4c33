"""The gallery: which scripts run, each in a process of its own, and what became of each.

sphinx-gallery runs the scripts and makes their pages. Its key for "unchanged" is the script's text
alone; here the whole output folder belongs to one device (a stamp) and is removed when the device is
another, and a script counts as unchanged only where the result of its run is known.
"""

from __future__ import annotations

import ast
import functools
import logging
import re
import shutil
import time
import traceback
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_gallery import directives, gen_gallery, gen_rst
from sphinx_gallery.py_source_parser import remove_ignore_blocks, split_code_and_text_blocks

from npudocs.execute import isolate, problems, reached, session
from npudocs.execute.results import Result, UnitRun, blob

FOLDER = "gallery"
# Builders that run scripts.
RUNNING = ("html", "execute")


def configuration(examples: str = "../examples", **more: Any) -> dict[str, Any]:
    """Return ``sphinx_gallery_conf`` with `more`; `examples` is relative to the folder of the pages."""
    return {
        "examples_dirs": examples,
        "gallery_dirs": FOLDER,
        "backreferences_dir": f"{FOLDER}/backreferences",
        "filename_pattern": r"\.py$",
        "within_subsection_order": "FileNameSortKey",
        "nested_sections": False,
        "abort_on_example_error": False,
        # All failures are listed, and the build fails for each: in words, where
        # sphinx-gallery's own error comes with Sphinx's traceback and a plea to report a bug.
        "only_warn_on_example_error": True,
        "inspect_global_variables": False,
        "reset_modules": ("matplotlib",),
        # No notebooks: roles and directives of Sphinx would stand in them as they are.
        "notebook_extensions": set(),
        "download_all_examples": False,
        "write_computation_times": False,
        "show_signature": False,
        "default_thumb_file": str(Path(__file__).with_name("thumbnail.svg")),
        "capture_repr": (),
        "image_scrapers": (f"{__name__}.lay_out", "matplotlib"),
        **more,
    }


def lay_out(*of_the_cell: Any) -> str:
    """Lay out the figures of a cell; sphinx-gallery calls it before it takes them.

    To save a figure with a layout, matplotlib draws it twice, the first time for the layout alone.
    """
    from matplotlib import pyplot

    for figure in map(pyplot.figure, pyplot.get_fignums()):
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine(None)
    return ""


def output_folder(app: Sphinx) -> Path:
    """Return the folder of the generated pages."""
    return Path(app.srcdir) / FOLDER


def made_on(app: Sphinx) -> str:
    """Return the stamp of the device that the generated pages are of; empty where there are none."""
    stamp = output_folder(app) / "stamp"
    return stamp.read_text(encoding="utf-8") if stamp.is_file() else ""


def scripts(app: Sphinx) -> dict[str, Path]:
    """Return the scripts by their stem."""
    folder = Path(app.srcdir) / app.config.sphinx_gallery_conf["examples_dirs"]
    return {path.stem: path for path in sorted(folder.glob("*.py"))}


def script_of(app: Sphinx, docname: str) -> Path | None:
    """Return the script that the page `docname` was made from, or None."""
    folder, _, stem = docname.rpartition("/")
    return scripts(app).get(stem) if folder == FOLDER else None


def code_cells(app: Sphinx, docname: str) -> set[str] | None:
    """Return the code cells of a script's page, or None where the page is no script's."""
    path = script_of(app, docname)
    return None if path is None else _cells(path)


@functools.cache
def _cells(path: Path) -> set[str]:
    _, cells = split_code_and_text_blocks(str(path))
    return {remove_ignore_blocks(cell.content).strip() for cell in cells if cell.type == "code"}


def name_of(app: Sphinx, path: Path) -> str:
    """Return a script's name as a reader types it, relative to the project."""
    return Path(path).resolve().relative_to(Path(app.confdir).resolve()).as_posix()


def results(app: Sphinx) -> dict[str, UnitRun]:
    """Return what became of each script by its stem, as far as it is known on this device."""
    units = session.of(app).run.units
    named = {stem: name_of(app, path) for stem, path in scripts(app).items()}
    return {stem: units[name] for stem, name in named.items() if name in units}


# --- running


class _Gallery:
    """Runs all scripts that sphinx-gallery asks for when it asks for the first one."""

    def __init__(self, app: Sphinx, generate: Any) -> None:
        self.app, self.generate = app, generate
        self.session = session.of(app)
        self.made: dict[str, Any] | None = None

    def __call__(self, fname: str, target_dir: Any, src_dir: Any, conf: dict[str, Any]) -> Any:
        """Do what sphinx-gallery's `generate_file_rst` does, whose place this takes."""
        if self.made is None:
            self.made = {}
            self._run(target_dir, src_dir, conf)
        return self.made.pop(fname, None) or self.generate(fname, target_dir, src_dir, conf)

    def _run(self, target_dir: Any, src_dir: Any, conf: dict[str, Any]) -> None:
        if not conf["plot_gallery"]:
            return
        # What figures need is loaded once, and not by each fork.
        import matplotlib.animation
        import matplotlib.backends.backend_agg  # noqa: F401
        from PIL import Image

        Image.preinit()
        paths = scripts(self.app).values()
        changed = {
            name_of(self.app, path): path
            for path in paths
            if not Path(target_dir, f"{path.name}.md5").is_file()
        }
        tasks = [
            isolate.Task(
                name,
                functools.partial(self._work, path, (path.name, target_dir, src_dir, conf)),
            )
            for name, path in changed.items()
        ]
        for task, ended in self.session.isolated(tasks):
            path = changed[task.file]
            page, found = ended.value, [*ended.results]
            if ended.broke:
                found = [ended.broke]
                page = self._unexecuted((path.name, target_dir, src_dir, conf))
                page[-1]["formatted_exception"] = ended.broke.message
            self.made[path.name] = page
            source = blob(path)
            self.session.keep(UnitRun(task.file, "script", source, source, results=found))

    def _unexecuted(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make a script's page of its code alone."""
        *others, conf = arguments
        return self.generate(*others, {**conf, "plot_gallery": False})

    def _work(self, path: Path, arguments: tuple[Any, ...], report: isolate.Report) -> Any:
        state = self.session.watched()
        report.start("", 1)
        state.reset()
        began = time.perf_counter()
        before = state.used() if state.used else 0
        seen = reached.Reached(path.resolve())
        try:
            # The code alone, and not the drawing of its figures, which would be half as fast.
            gen_rst._exec_and_get_memory = seen.around(gen_rst._exec_and_get_memory)
            *page, out = self.generate(*arguments)
        except SystemExit as error:
            *page, out = self._unexecuted(arguments)
            out["formatted_exception"] = "".join(traceback.format_exception(error))
        seconds = round(time.perf_counter() - began, 3)
        used = state.used() - before if state.used else None
        line, message = 1, out.get("formatted_exception", "").strip()
        if message:
            found = re.findall(rf'{re.escape(path.name)}", line (\d+)', message)
            line = int((found or [1])[-1])
        elif wrong := _wrong(path, seen, state.left_behind()):
            line, message = wrong
            # It passed for sphinx-gallery, which must run it again.
            Path(arguments[1], f"{path.name}.md5").unlink(missing_ok=True)
            out.pop("passing", None)
            out["formatted_exception"] = message
        outcome = "failed" if message else "passed"
        report.end(Result("", line, outcome, message, seconds, used))
        return (*page, out)


def _wrong(
    path: Path, seen: reached.Reached, left: list[tuple[str, str]]
) -> tuple[int, str] | None:
    """The line and the words of what is wrong with a script that raised no error."""
    if seen.failed:
        return seen.failed[0], "an assertion failed here, and its error was hidden: let it be seen"
    if missed := seen.missed():
        lines = ", ".join(map(str, missed))
        return missed[0], f"never ran, so that nothing shows that it is right: line {lines}"
    for words, needle in left:
        text = path.read_text(encoding="utf-8").splitlines()
        lines = [number for number, line in enumerate(text, 1) if needle in line]
        return (lines or [1])[-1], f"the script leaves behind {words}"
    return None


# --- before and after the gallery


def _readable(app: Sphinx) -> None:
    """End the build, naming file and line, where sphinx-gallery would end it with a traceback."""
    wrong = []
    for path in scripts(app).values():
        data = path.read_bytes()
        found = problems.of_encoding(data)
        try:
            if not found and not (ast.get_docstring(ast.parse(data)) or "").strip():
                found = [(1, "has no text: begin with a docstring that has a title")]
        except SyntaxError as error:
            found = [(error.lineno or 1, f"SyntaxError: {error.msg}")]
        wrong += [f"{name_of(app, path)}:{line}: {words}" for line, words in found]
    if wrong:
        problems.stop("\n".join(wrong))


def _prepare(app: Sphinx) -> None:
    """Remove everything that another device, or a script that is gone, left behind."""
    _readable(app)
    conf = app.config.sphinx_gallery_conf
    here = session.of(app)
    conf["plot_gallery"] = app.builder.name in RUNNING and here.executes
    gen_rst.generate_file_rst = _Gallery(app, _generate)
    _cells.cache_clear()
    folder = output_folder(app)
    _remove_deleted(app, folder)
    if app.builder.name not in RUNNING:
        return
    if made_on(app) != here.run.stamp:
        shutil.rmtree(folder, ignore_errors=True)
        for copied in ("_images", "_downloads", FOLDER):
            shutil.rmtree(Path(app.outdir) / copied, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "stamp").write_text(here.run.stamp, encoding="utf-8")
    for md5 in folder.glob("*.py.md5"):
        path = scripts(app).get(md5.name.removesuffix(".py.md5"))
        known = path and here.known(name_of(app, path), blob(path))
        if not known or not md5.with_name(path.name).with_suffix(".rst").is_file():
            md5.unlink()


_generate = gen_rst.generate_file_rst


def _remove_deleted(app: Sphinx, folder: Path) -> None:
    """Remove what was made from scripts that are gone, and their pages."""
    alive = set(scripts(app))
    gone = {path.stem for path in folder.glob("*.py")} - alive
    made = ("{}.*", "images/sphx_glr_{}_[0-9]*", "images/thumb/sphx_glr_{}_thumb.*")
    for pattern in (pattern.format(stem) for stem in gone for pattern in made):
        for path in folder.glob(pattern):
            path.unlink()


def _draw_thumbnails(app: Sphinx) -> None:
    """Give a script without a figure its own drawing, ``thumbnails/NAME.svg`` beside the script.

    sphinx-gallery takes such a path from a comment in the script only, and what a script contains
    is recorded by its hash.
    """
    for stem, path in scripts(app).items():
        drawing = path.parent / "thumbnails" / f"{stem}.svg"
        thumbnail = output_folder(app) / "images" / "thumb" / f"sphx_glr_{stem}_thumb.svg"
        # Only the default is an SVG; a figure or the sign of a failure is a PNG.
        if drawing.is_file() and thumbnail.is_file():
            # With its time: pages that show it are not read again.
            shutil.copy2(drawing, thumbnail)


class _MiniGallery(directives.MiniGallery):
    """``minigallery`` on a page that is read again when other scripts use its APIs."""

    def run(self) -> list[nodes.Node]:
        """Return what sphinx-gallery does."""
        env = self.state.document.settings.env
        env.note_dependency(f"{FOLDER}/backreferences/backreferences_all.json")
        return super().run()


def _begin(app: Sphinx) -> None:
    """Make the gallery, or take it as it is where this build shows what another one made."""
    if app.config.execute_nothing:
        for listener in list(app.events.listeners["builder-inited"]):
            if listener.handler is gen_gallery.generate_gallery_rst:
                app.disconnect(listener.id)
        conf = app.config.sphinx_gallery_conf
        conf["plot_gallery"] = app.builder.name in RUNNING and session.of(app).device.on
    else:
        _prepare(app)


class _Places(logging.Filter):
    """Names the script and its line, where Sphinx names the page that was made of it."""

    def __init__(self, app: Sphinx) -> None:
        super().__init__()
        self.app = app

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the place of a record; let all pass."""
        place = re.fullmatch(r"(.*)\.rst:(\d+)", str(getattr(record, "location", "")))
        path = place and scripts(self.app).get(Path(place[1]).name)
        if path and Path(place[1]).parent == output_folder(self.app):
            page = Path(f"{place[1]}.rst").read_text(encoding="utf-8").splitlines()
            text = page[int(place[2]) - 1].strip() if int(place[2]) <= len(page) else ""
            lines = path.read_text(encoding="utf-8").splitlines()
            here = [n for n, line in enumerate(lines, 1) if line.strip("# ") == text.strip("# ")]
            record.location = f"{name_of(self.app, path)}:{(here or [1])[0]}"
        return True


def _restore(app: Sphinx, exception: Exception | None) -> None:
    gen_rst.generate_file_rst = _generate


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx_gallery.gen_gallery")
    app.add_directive("minigallery", _MiniGallery, override=True)
    # After sphinx-gallery read its settings (10), before it makes the pages (500).
    app.connect("builder-inited", _begin, priority=100)
    app.connect("builder-inited", _draw_thumbnails, priority=600)
    app.connect("build-finished", _restore)
    # After the filter of Sphinx that makes the place.
    for handler in logging.getLogger("sphinx").handlers:
        handler.addFilter(_Places(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
