"""The device of a build: ``app.config.execute_device``, and a table of it on a page.

A project (or a test) may set that value in its ``conf.py`` itself; who else asks is `npudocs.device`.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from npudocs.device import DeviceError, describe
from npudocs.execute import problems
from npudocs.site.words import say


def _fill_config(app: Sphinx, config: Config) -> None:
    if config.execute_device is None:
        try:
            config.execute_device = describe()
        except DeviceError as error:
            problems.stop(str(error))


class DeviceTable(SphinxDirective):
    """``{device}``: a table of what executed this build."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        device = self.config.execute_device
        kinds = {
            "software": say("software NPU (softnpu), no chip"),
            "silicon": say("Ascend chip"),
            "off": say("none: not executed in this build"),
        }
        rows = {
            say("Executed on"): kinds[device.kind],
            say("Device name"): device.name,
            "SoC": say("{soc} (emulated)").format(soc=device.soc)
            if device.kind == "software"
            else device.soc,
            "torch": device.torch,
            "torch_npu": device.torch_npu,
            "CANN": device.cann,
            "softnpu": device.softnpu,
            "Python": device.python,
        }
        body = nodes.tbody()
        for key, value in rows.items():
            if value:
                cells = [nodes.entry("", nodes.paragraph(text=text)) for text in (key, value)]
                body += nodes.row("", *cells)
        columns = [nodes.colspec(colwidth=width) for width in (1, 3)]
        group = nodes.tgroup("", *columns, body, cols=2)
        return [nodes.table("", group, classes=["npudocs-device-table", f"npudocs-{device.kind}"])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", _fill_config)
    app.add_directive("device", DeviceTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
