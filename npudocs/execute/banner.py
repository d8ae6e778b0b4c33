"""Says on each page with executable code which device executed it, or that none did."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from npudocs.execute import blocks, scripts, session
from npudocs.execute.results import UnitRun

Say = Callable[[str], str]


def _words(app: Sphinx, docname: str) -> tuple[str, str] | None:
    """Return the kind of banner and its words; None for a page without executable code."""
    say, here = session.translator(app), session.of(app)
    page = blocks.of(app.env).get(docname)
    script = scripts.script_of(app, docname)
    if script is None and not (page and any(b.kind in blocks.COUNTED for b in page.blocks)):
        return None
    if not here.device.on:
        return "off", say("Not executed in this build: the device is switched off.")
    path = script or Path(app.env.doc2path(docname)).resolve()
    unit = here.run.units.get(scripts.name_of(app, path))
    if unit is None or (page and script is None and unit.digest != page.digest):
        return "off", say("Not executed in this build.")
    return (_script if script else _page)(say, unit, here.device)


def _script(say: Say, unit: UnitRun, device: Any) -> tuple[str, str]:
    when = datetime.datetime.fromisoformat(unit.ran).strftime("%Y-%m-%d %H:%M UTC")
    words = say("Executed on {device}. Script {outcome} in {seconds} s, {when}.")
    outcome = say(unit.outcome)
    seconds = f"{unit.seconds:.1f}"
    return device.kind, words.format(
        device=device.described(say),
        outcome=outcome,
        seconds=seconds,
        when=when,
    )


def _page(say: Say, unit: UnitRun, device: Any) -> tuple[str, str]:
    outcomes = Counter(result.outcome for result in unit.counted)
    order = ("passed", "failed", "crashed", "timeout", "skipped")
    counts = ", ".join(f"{outcomes[one]} {say(one)}" for one in order if outcomes[one])
    if not outcomes - Counter(skipped=outcomes["skipped"]):
        return "off", say("Not executed: {counts}.").format(counts=counts)
    if unit.used == 0:
        words = say("Executed on the host; the device was not used. Code blocks: {counts}.")
        return "host", words.format(counts=counts)
    words = say("Executed on {device}. Code blocks: {counts}.")
    return device.kind, words.format(device=device.described(say), counts=counts)


def _skipped(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say at each block that was skipped that it was, and why."""
    say = session.translator(app)
    path = Path(app.env.doc2path(docname)).resolve()
    unit = session.of(app).run.units.get(scripts.name_of(app, path))
    lines = {r.line: r.message for r in unit.results if r.outcome == "skipped"} if unit else {}
    for block, node in blocks.collect(doctree)[0] if lines else ():
        if block.line in lines:
            words = say("Skipped here: {reason}").format(reason=lines[block.line])
            note = nodes.paragraph(text=words, classes=["npudocs-skipped"])
            node.parent.insert(node.parent.index(node), note)


def _insert(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html" or (found := _words(app, docname)) is None:
        return
    kind, words = found
    if scripts.script_of(app, docname) is None:
        _skipped(app, doctree, docname)
    device = session.of(app).device
    say = session.translator(app)
    labels = {"off": say("not executed"), "host": say("on the host")}
    label = labels.get(kind) or say(device.label)
    line = nodes.paragraph("", "", nodes.strong(text=label), nodes.Text(f" {words}"))
    box = nodes.container("", line, classes=["npudocs-banner", f"npudocs-{kind}"])
    title = next(doctree.findall(nodes.title), None)
    if title is None:
        doctree.insert(0, box)
    else:
        title.parent.insert(title.parent.index(title) + 1, box)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
