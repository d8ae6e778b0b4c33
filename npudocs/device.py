"""The one place that asks which device executes the pages.

The site asks once a build, a record and a sweep once a run. It needs neither Sphinx nor, before it is
asked, torch.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import os
import platform
import re
import runpy
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import softnpu
import softnpu.soc
from npudocs import preflight
from npudocs.execute import isolate

# Where the driver and the firmware of a chip are installed by default.
ASCEND = Path("/usr/local/Ascend")
HINT = (
    "Build through make (make html), which brings the software NPU; on an Ascend host source CANN's "
    "set_env.sh first and use make html PYTHON=python3; or build without executing anything: "
    "make html DEVICE=off"
)


class DeviceError(Exception):
    """There is no device to execute the pages on, in words that say what to do."""


@dataclasses.dataclass(frozen=True)
class Device:
    """The device that executed a build. Results belong to it and are never shown as another's."""

    kind: str  # "software", "silicon" or "off"
    name: str = ""
    soc: str = ""
    torch: str = ""
    torch_npu: str = ""
    cann: str = ""
    softnpu: str = ""
    python: str = ""
    queue: str = ""  # TASK_QUEUE_ENABLE: it decides where operators run
    # Of a chip; empty where nothing tells them.
    driver: str = ""
    firmware: str = ""

    @property
    def on(self) -> bool:
        """True where pages and scripts are executed."""
        return self.kind != "off"

    @property
    def label(self) -> str:
        """Name the kind of device in two words."""
        return {"software": "software NPU", "silicon": "Ascend chip"}.get(self.kind, "no device")

    def described(self, say: Callable[[str], str] = str) -> str:
        """Name the device in one phrase, translated by `say`: software is never taken for a chip."""
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
    """The device that the pages are executed on.

    The software NPU is described by its settings, so that a build in which nothing changed need not import
    torch; `ask` is compared with it before anything runs.

    Raises:
        DeviceError: there is none, or it is not an NPU, in words that say what to do.
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
    if softnpu.is_software():
        return _npu(f"{softnpu.soc.soc_name()} (softnpu)", _torch_version())
    try:
        return isolate.call(ask)
    except ChildProcessError as error:
        raise DeviceError(str(error)) from error


def _torch_version() -> str:
    """The version that torch calls itself, which its wheel's may lack a part of, without importing it."""
    package = Path(importlib.util.find_spec("torch").origin).parent
    return runpy.run_path(str(package / "version.py"))["__version__"]


def ask() -> Device:
    """The device that torch has in this process.

    Raises:
        DeviceError: as `describe`.
    """
    try:
        import torch
    except Exception as error:
        raise DeviceError(f"torch cannot be imported here: {error}\n{HINT}") from error
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None or accelerator.type != "npu":
        found = "none" if accelerator is None else f"{accelerator.type!r}"
        loading = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
        unloaded = "" if loading != "0" else " TORCH_DEVICE_BACKEND_AUTOLOAD=0 is set: unset it."
        raise DeviceError(
            f"The pages run on an NPU; the accelerator found is {found}.{unloaded} {HINT}"
        )
    return _npu(torch.npu.get_device_name(), torch.__version__)


def _npu(name: str, torch_version: str) -> Device:
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
        torch=torch_version,
        torch_npu=metadata.version("torch_npu"),
        softnpu=softnpu.fingerprint() if software else "",
        python=platform.python_version(),
        queue=os.environ.get("TASK_QUEUE_ENABLE", ""),
        **({} if software else _of_the_chip()),
    )


def _of_the_chip() -> dict[str, str]:
    """The versions of CANN, driver and firmware; each is empty where nothing tells it."""
    board = _board()
    return {
        "cann": _cann_version("CANN"),
        "driver": _cann_version("DRIVER")
        or _installed("driver")
        or board.get("Software Version", ""),
        "firmware": _installed("firmware") or board.get("Firmware Version", ""),
    }


def _cann_version(module: str) -> str:
    from torch_npu.npu.utils import get_cann_version

    try:
        return get_cann_version(module=module) or ""
    except Exception:
        # An older CANN does not know each module.
        return ""


def _installed(package: str) -> str:
    """The version of the driver or the firmware, from where Huawei's guides tell to read it."""
    path = ASCEND / package / "version.info"
    try:
        found = re.search(r"^Version=(\S+)", path.read_text(encoding="utf-8"), re.M)
    except (OSError, ValueError):
        return ""
    return found[1] if found else ""


def _board() -> dict[str, str]:
    """What the driver says of the first chip: a container often has its tool alone."""
    try:
        chips = re.search(r"NPU ID\s*:\s*(\d+)", _npu_smi("-l"))
        told = _npu_smi("-t", "board", "-i", chips[1]) if chips else ""
    except (OSError, subprocess.SubprocessError):
        return {}
    # "NA" stands for what a board does not tell.
    found = re.findall(r"^\s*(\w+ Version)\s*:\s*(\S+)\s*$", told, re.M)
    return {name: version for name, version in found if version != "NA"}


def _npu_smi(*words: str) -> str:
    done = subprocess.run(
        ["npu-smi", "info", *words], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout
