"""Says on each page with executable code which device executed it, or that none did.

Results of doctests come from ``build/doctest/results.json`` and count only for the same device and the
same blocks; everything else is shown as not executed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs.execute import blocks
from npudocs.execute import scripts as gallery
from npudocs.site.words import say

RESULTS = Path("doctest") / "results.json"


def _results_file(app: Sphinx) -> Path:
    return Path(app.outdir).parent / RESULTS


def _note_results(app: Sphinx, config: Config) -> None:
    """Make new doctest results a change of the configuration: pages are written again."""
    path = _results_file(app)
    data = path.read_bytes() if path.is_file() else b""
    config.npudocs_doctest_results = hashlib.sha256(data).hexdigest()


def _doctests(app: Sphinx, docname: str, found: list[blocks.Block]) -> tuple[str, str]:
    """Return the kind of banner and its words for a page with executable blocks."""
    device = app.config.npudocs_device
    later = ("off", say("Not executed in this build: make doctest executes the code of this page."))
    try:
        results = json.loads(_results_file(app).read_text(encoding="utf-8"))
        current = results["stamp"] == device.stamp() and results["digests"].get(
            docname
        ) == blocks.digest(found)
    except (OSError, ValueError, KeyError):
        return later
    if not current:
        return later
    files = {str(app.env.doc2path(docname).resolve())}
    files |= {str(block.path.resolve()) for block in found}
    mine = [
        record
        for record in results["blocks"]
        if str((Path(app.confdir) / record["page"]).resolve()) in files
    ]
    counts = [
        f"{number} {say(outcome)}"
        for outcome in ("passed", "failed", "skipped")
        if (number := sum(record["outcome"] == outcome for record in mine))
    ]
    if not any(record["outcome"] != "skipped" for record in mine):
        return "off", say("Not executed: {counts}.").format(counts=", ".join(counts))
    said = say("Executed on {device}. Code blocks: {counts}.")
    return device.kind, said.format(device=device.words, counts=", ".join(counts))


def _script(app: Sphinx, docname: str) -> tuple[str, str]:
    device = app.config.npudocs_device
    result = gallery.results(app).get(docname.rpartition("/")[2])
    if result is None or result.outcome == "not executed":
        return "off", say("Not executed in this build.")
    when = datetime.datetime.fromisoformat(result.ran).strftime("%Y-%m-%d %H:%M UTC")
    said = say("Executed on {device}. Script {outcome} in {seconds} s, {when}.")
    seconds = f"{result.seconds:.1f}"
    outcome = say(result.outcome)
    return device.kind, said.format(
        device=device.words, outcome=outcome, seconds=seconds, when=when
    )


def _insert(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    found, _ = blocks.collect(doctree)
    if gallery.script_of(app, docname):
        kind, words = _script(app, docname)
    elif not any(block.kind in blocks.COUNTED for block in found):
        return
    elif not app.config.npudocs_device.on:
        kind, words = "off", say("Not executed in this build: the device is switched off.")
    else:
        kind, words = _doctests(app, docname, found)
    label = say("not executed") if kind == "off" else say(app.config.npudocs_device.label)
    box = nodes.container(classes=["npudocs-banner", f"npudocs-{kind}"])
    line = nodes.paragraph()
    line += nodes.strong(text=label)
    line += nodes.Text(f" {words}")
    box += line
    title = next(doctree.findall(nodes.title), None)
    if title is None:
        doctree.insert(0, box)
    else:
        title.parent.insert(title.parent.index(title) + 1, box)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("npudocs_doctest_results", "", "html", types=frozenset({str}))
    app.connect("config-inited", _note_results)
    app.connect("doctree-resolved", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
