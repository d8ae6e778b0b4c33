"""The gallery: which scripts run, what keeps them apart, and what became of each.

sphinx-gallery runs the scripts; this module adds what it lacks for evidence. Its key for "unchanged" is
the script's text alone, so the whole output folder belongs to one device (a stamp) and is removed when
the device is another. Results of unchanged scripts are carried over from the run that made them.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_gallery.py_source_parser import remove_ignore_blocks, split_code_and_text_blocks

from npudocs.execute import problems

logger = logging.getLogger(__name__)

FOLDER = "gallery"
RESULTS = "results.json"


def configuration(examples: str = "../examples") -> dict[str, Any]:
    """Return ``sphinx_gallery_conf``; `examples` is relative to the folder of the pages."""
    return {
        "examples_dirs": examples,
        "gallery_dirs": FOLDER,
        "backreferences_dir": f"{FOLDER}/backreferences",
        "filename_pattern": r"\.py$",
        "within_subsection_order": "FileNameSortKey",
        "nested_sections": False,
        "abort_on_example_error": False,
        # All failures are listed, and `_finish` fails the build for each: in words, where
        # sphinx-gallery's own error comes with Sphinx's traceback and a plea to report a bug.
        "only_warn_on_example_error": True,
        # Scripts that use an API are found by its name as the script writes it.
        "doc_module": ("torch", "torch_npu"),
        "prefer_full_module": {"torch"},
        "inspect_global_variables": False,
        # By name, so that Sphinx can compare and cache the configuration.
        "reset_modules": ("matplotlib", "npudocs.execute.scripts.between_scripts"),
        "reset_modules_order": "both",
        # No notebooks: roles and directives of Sphinx would stand in them as they are.
        "notebook_extensions": set(),
        "download_all_examples": False,
        "write_computation_times": False,
        "show_signature": False,
        "default_thumb_file": str(Path(__file__).with_name("thumbnail.svg")),
        "capture_repr": (),
    }


@dataclasses.dataclass
class Result:
    """What became of one script when it last ran on this device."""

    script: str
    outcome: str  # "passed", "failed" or "not executed"
    seconds: float = 0.0
    ran: str = ""
    message: str = ""
    unchanged: bool = False


def output_folder(app: Sphinx) -> Path:
    """Return the folder of the generated pages."""
    return Path(app.srcdir) / FOLDER


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


# --- between scripts

_started = 0.0
# By stem: seconds, and when the script ended.
_runs: dict[str, tuple[float, str]] = {}


def between_scripts(gallery_conf: dict[str, Any], fname: str, when: str) -> None:
    """Seed before a script; after it, time it and fail it for an open forward-AD level."""
    from npudocs.site import torch_state

    global _started
    if when == "before":
        torch_state.reset()
        _started = time.perf_counter()
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    _runs[Path(fname).stem] = (
        round(time.perf_counter() - _started, 3),
        now.isoformat("T", "seconds"),
    )
    level = torch_state.open_level()
    if level is None:
        return
    torch_state.close_levels()
    source = Path(gallery_conf["src_dir"]) / gallery_conf["examples_dirs"] / fname
    lines = source.read_text(encoding="utf-8").splitlines()
    opened = [number for number, line in enumerate(lines, 1) if "enter_dual_level(" in line]
    # Written like a traceback, which `_finish` takes the line from.
    place = f'File "{source.parent.name}/{fname}", line {opened[-1] if opened else 1}'
    message = f"{place}\nforward-AD level {level} is left open at the end of the script"
    # What sphinx-gallery itself does with a script that raised.
    gallery_conf["failing_examples"].setdefault(str(source.resolve()), message)
    target = Path(gallery_conf["src_dir"]) / FOLDER / fname
    target.with_name(f"{fname}.md5").unlink(missing_ok=True)


# --- before and after the gallery


def _prepare(app: Sphinx) -> None:
    """Remove everything that another device, or a script that is gone, left behind."""
    conf = app.config.sphinx_gallery_conf
    device = app.config.npudocs_device
    executes = app.builder.format == "html" and device.on
    conf["plot_gallery"] = executes
    _runs.clear()
    _cells.cache_clear()
    folder, stamp = output_folder(app), output_folder(app) / "stamp"
    _remove_deleted(app, folder)
    if app.builder.format != "html":
        return
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != device.stamp():
        shutil.rmtree(folder, ignore_errors=True)
        for copied in ("_images", "_downloads", FOLDER):
            shutil.rmtree(Path(app.outdir) / copied, ignore_errors=True)
        folder.mkdir(parents=True)
        stamp.write_text(device.stamp(), encoding="utf-8")
    # A script counts as unchanged only where the result of its run is known: a build that was
    # killed half-way leaves the one without the other.
    known = {Path(result.script).stem for result in _load(folder) if result.outcome == "passed"}
    for md5 in folder.glob("*.py.md5"):
        stem = md5.name.removesuffix(".py.md5")
        if stem not in known:
            md5.unlink()


def _remove_deleted(app: Sphinx, folder: Path) -> None:
    """Remove what was made from scripts that are gone, and their pages."""
    alive = set(scripts(app))
    gone = {path.stem for path in folder.glob("*.py")} - alive
    made = ("{}.*", "images/sphx_glr_{}_[0-9]*", "images/thumb/sphx_glr_{}_thumb.*")
    for pattern in (pattern.format(stem) for stem in gone for pattern in made):
        for path in folder.glob(pattern):
            path.unlink()
    for page in Path(app.outdir).glob(f"{FOLDER}/*.html"):
        if page.stem not in {*alive, "index"}:
            page.unlink()
    shutil.rmtree(folder / "backreferences", ignore_errors=True)


def _draw_thumbnails(app: Sphinx) -> None:
    """Give a script without a figure its own drawing, ``thumbnails/NAME.svg`` beside the script.

    sphinx-gallery takes such a path from a comment in the script only, and what a script of the task's
    items contains is recorded by its hash.
    """
    for stem, path in scripts(app).items():
        drawing = path.parent / "thumbnails" / f"{stem}.svg"
        thumbnail = output_folder(app) / "images" / "thumb" / f"sphx_glr_{stem}_thumb.svg"
        # Only the default is an SVG; a figure or the sign of a failure is a PNG.
        if drawing.is_file() and thumbnail.is_file():
            shutil.copyfile(drawing, thumbnail)


def _load(folder: Path) -> list[Result]:
    try:
        text = (folder / RESULTS).read_text(encoding="utf-8")
        return [Result(**entry) for entry in json.loads(text)["scripts"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def results(app: Sphinx) -> dict[str, Result]:
    """Return the result of every script by its stem, as far as this build knows."""
    conf = app.config.sphinx_gallery_conf
    earlier = {Path(result.script).stem: result for result in _load(output_folder(app))}
    found = {}
    for stem, path in scripts(app).items():
        name = name_of(app, path)
        run = _runs.get(stem, (0.0, ""))
        if not conf["plot_gallery"]:
            found[stem] = Result(name, "not executed")
        elif message := conf["failing_examples"].get(str(path.resolve())):
            found[stem] = Result(name, "failed", *run, message)
        elif stem in _runs:
            found[stem] = Result(name, "passed", *run)
        elif stem in earlier:
            found[stem] = dataclasses.replace(earlier[stem], unchanged=True)
    return found


def _finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the results and say how many scripts ran."""
    if exception or app.builder.format != "html":
        return
    found = list(results(app).values())
    device = app.config.npudocs_device
    content = {
        "device": dataclasses.asdict(device),
        "stamp": device.stamp(),
        "scripts": [dataclasses.asdict(result) for result in found],
    }
    published = Path(app.outdir).parent / "gallery"
    published.mkdir(exist_ok=True)
    for folder in (output_folder(app), published):
        if folder.is_dir():
            (folder / RESULTS).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if not device.on:
        logger.info("%d scripts not executed: the device is switched off", len(found))
        return
    ran = [result for result in found if not result.unchanged]
    failed = [result for result in found if result.outcome == "failed"]
    for result in failed:
        lines = re.findall(rf'{re.escape(result.script)}", line (\d+)', result.message)
        place = f"{result.script}:{lines[-1] if lines else 1}"
        problems.report(app, result.message.rstrip().splitlines()[-1], location=place)
    logger.info(
        "%d scripts executed in %.1f s (%d failed), %d unchanged",
        len(ran),
        sum(result.seconds for result in ran),
        len(failed),
        len(found) - len(ran),
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx_gallery.gen_gallery")
    # After sphinx-gallery read its settings (10), before it makes the pages (500).
    app.connect("builder-inited", _prepare, priority=100)
    app.connect("builder-inited", _draw_thumbnails, priority=600)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
