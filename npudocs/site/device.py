"""The one place that asks which device executes the pages.

`describe` answers once a build; everything else reads ``app.config.npudocs_device``. A project (or a
test) may set that value in its ``conf.py`` itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import re
from importlib import metadata
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from npudocs import preflight
from npudocs.execute import problems
from npudocs.site.words import say

HINT = (
    "Build through make (make html), which brings the software NPU; on an Ascend host source CANN's "
    "set_env.sh first and use make html PYTHON=python3; or build without executing anything: "
    "make html DEVICE=off"
)


class DeviceError(Exception):
    """There is no device to execute the pages on, in words that say what to do."""


@dataclasses.dataclass(frozen=True)
class Device:
    """What executed a build. Results belong to it and are never shown as another's."""

    kind: str  # "software", "silicon" or "off"
    name: str = ""
    soc: str = ""
    torch: str = ""
    torch_npu: str = ""
    cann: str = ""
    softnpu: str = ""
    python: str = ""
    queue: str = ""  # TASK_QUEUE_ENABLE: it decides where operators run

    @property
    def on(self) -> bool:
        """True where pages and scripts are executed."""
        return self.kind != "off"

    @property
    def label(self) -> str:
        """Name the kind of device in two words."""
        return {"software": "software NPU", "silicon": "Ascend chip"}.get(self.kind, "no device")

    @property
    def words(self) -> str:
        """Name the device in one phrase, so that software is never taken for a chip."""
        if not self.on:
            return say("no device (switched off)")
        if self.kind == "software":
            where = say("softnpu, the software NPU (no chip), as {soc}").format(soc=self.soc)
        else:
            where = say("an Ascend chip, {name}").format(name=self.name)
            where += f", CANN {self.cann}" if self.cann else ""
        return f"{where}; torch {self.torch}, torch_npu {self.torch_npu}"

    def stamp(self) -> str:
        """Return a hash that differs whenever results must not be reused."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def describe() -> Device:
    """Ask torch for the device that is active in this process.

    Raises DeviceError, with what to do, where there is none or it is not an NPU.
    """
    wish = os.environ.get("NPUDOCS_DEVICE", "")
    if wish == "off":
        # torch is still imported, to compare signatures; it must not look for a device.
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        return Device("off")
    if wish:
        raise DeviceError(f"NPUDOCS_DEVICE is {wish!r}; the only value is 'off'.")
    if problem := preflight.versions_problem():
        raise DeviceError(problem)
    try:
        import torch
    except Exception as error:
        raise DeviceError(f"torch cannot be imported here: {error}\n{HINT}") from error
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != "npu":
        found = "none" if accelerator is None else f"{accelerator.type!r}"
        raise DeviceError(f"The pages run on an NPU; the accelerator found is {found}. {HINT}")
    return _describe_npu(torch)


def _describe_npu(torch: Any) -> Device:
    import softnpu

    name = torch.npu.get_device_name()
    software = softnpu.is_software()
    if ("softnpu" in name.lower()) != software:
        raise DeviceError(
            f"The device calls itself {name!r}, but its AscendCL library is "
            f"{'softnpu' if software else 'not softnpu'}: results could be taken for another "
            "device's. Refusing to build."
        )
    soc = re.search(r"Ascend[0-9][\w-]*", name)
    return Device(
        kind="software" if software else "silicon",
        name=name,
        soc=soc.group() if soc else name,
        torch=torch.__version__,
        torch_npu=metadata.version("torch_npu"),
        cann="" if software else _cann_version(),
        softnpu=softnpu.fingerprint() if software else "",
        python=platform.python_version(),
        queue=os.environ.get("TASK_QUEUE_ENABLE", ""),
    )


def _cann_version() -> str:
    from torch_npu.npu.utils import get_cann_version

    return get_cann_version(module="CANN") or ""


def _fill_config(app: Sphinx, config: Config) -> None:
    if config.npudocs_device is None:
        try:
            config.npudocs_device = describe()
        except DeviceError as error:
            problems.stop(str(error))


def setup(app: Sphinx) -> dict[str, Any]:
    # "env": another device reads and writes every page anew.
    app.add_config_value("npudocs_device", None, "env", types=frozenset({Device}))
    app.connect("config-inited", _fill_config)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
