"""Turning the software NPU on: in this process, for its children, for a shell."""

from __future__ import annotations

import ctypes
import functools
import glob
import hashlib
import os
import site
import sys
from pathlib import Path

from . import build, packages, settings, soc
from .errors import SoftNpuError

PACKAGE = Path(__file__).parent
DEVICE_NODES = "/dev/davinci[0-9]*"  # what Ascend's driver makes, one for each chip


def activate() -> str:
    """Makes the software NPU the device that torch_npu finds, here and in child processes.

    Must come before ``import torch`` (its autoload imports torch_npu). Where a real
    Ascend device is present it steps aside and changes nothing.

    Returns:
        ``"software"``, or ``"silicon"`` where it stepped aside.

    Raises:
        SoftNpuError: torch_npu is loaded already or does not fit torch, a device
            without CANN, a setting that is not valid, or a build that failed.
    """
    if is_software():
        return "software"
    if wrong := packages.problem():
        raise SoftNpuError(wrong)
    if real_device():
        if packages.aborts_beside_cuda():
            raise SoftNpuError(
                "torch is a CUDA build here, and torch_npu aborts beside one. Install the CPU "
                "build of the same torch, as Ascend's installation guide says."
            )
        return "silicon"
    if "torch_npu" in sys.modules:
        raise SoftNpuError(
            "softnpu.activate() must be called before torch or torch_npu is imported."
        )
    values = environment()
    first = [build.PRELOAD] if packages.aborts_beside_cuda() else []
    for name in (*first, *build.LIBRARIES):
        # By absolute path and global: the wheel's own libraries then find them by name,
        # though LD_LIBRARY_PATH is read only when a process starts.
        path = os.path.join(values["ASCEND_HOME_PATH"], build.LIBRARY_FOLDER, name)
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    os.environ.update(values)
    # multiprocessing's spawn hands its children this list, but for its first entry, which is the
    # script's folder.
    if str(PACKAGE.parent) not in sys.path[1:]:
        sys.path.append(str(PACKAGE.parent))
    return "software"


def environment() -> dict[str, str]:
    """The environment variables that turn the software NPU on for a new process.

    Raises:
        SoftNpuError: a setting that is not valid, or a build that failed.
    """
    soc.soc_name()
    soc.memory_bytes()
    soc.check_device_count()
    home = build.cann_home()
    values = {}
    if packages.aborts_beside_cuda():
        preload = str(home / build.LIBRARY_FOLDER / build.PRELOAD)
        values["LD_PRELOAD"] = _prepend("LD_PRELOAD", preload)
    if not _is_installed():
        values["PYTHONPATH"] = _prepend("PYTHONPATH", str(PACKAGE.parent))
    return values | {
        "ASCEND_HOME_PATH": str(home),  # torch_npu expects what CANN's set_env.sh sets
        "ASCEND_OPP_PATH": str(home / "opp"),
        "LD_LIBRARY_PATH": _prepend("LD_LIBRARY_PATH", str(home / build.LIBRARY_FOLDER)),
        # Off unless the user chose: an error is then raised by the call that caused it, and
        # not later by one that synchronizes (csrc/backlog.c).
        "TASK_QUEUE_ENABLE": os.environ.get("TASK_QUEUE_ENABLE", "0"),
    }


def _is_installed() -> bool:
    """Whether a new process finds this package by itself; else it is in a checkout."""
    return str(PACKAGE.parent) in (*site.getsitepackages(), site.getusersitepackages())


def _prepend(variable: str, entry: str) -> str:
    rest = [part for part in os.environ.get(variable, "").split(":") if part and part != entry]
    return ":".join([entry, *rest])


def real_device() -> bool:
    """Whether this machine has an Ascend device that CANN can drive.

    Raises:
        SoftNpuError: there is a device, and no CANN to be found; or a setting that is not valid.
    """
    settings.check()
    if settings.is_on("SOFTNPU_FORCE") or not glob.glob(DEVICE_NODES):
        return False
    try:
        ctypes.CDLL("libascendcl.so")
    except OSError as error:
        raise SoftNpuError(
            "This machine has an Ascend device, but CANN's libraries are not found. Source "
            "CANN's set_env.sh first, or set SOFTNPU_FORCE=1 to use the software NPU here."
        ) from error
    return True


def is_software() -> bool:
    """Whether the AscendCL library loaded in this process is the software one."""
    try:
        loaded = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return hasattr(loaded, "softnpu_is_software")


@functools.cache
def fingerprint() -> str:
    """A hash of softnpu's sources: results of another softnpu are not results of this one."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in {".py", ".c", ".h", ".tsv"}:
            digest.update(path.relative_to(PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
