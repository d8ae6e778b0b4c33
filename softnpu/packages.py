"""Whether the installed torch and torch_npu can work together, told without importing either."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata
from pathlib import Path

# torch_npu releases that abort the process beside a CUDA build of torch: both register
# the same key with torch's allocator (seen with the wheels from PyPI).
ABORT_BESIDE_CUDA = ("2.13.0",)


def problem() -> str | None:
    """What is wrong with the installed torch and torch_npu and what to do, or ``None``."""
    torch, torch_npu = _version("torch"), _version("torch_npu")
    missing = [name for name, has in (("torch", torch), ("torch_npu", torch_npu)) if has is None]
    if missing:
        return (
            f"{' and '.join(missing)} not installed for this Python. Install both in the same "
            "version, for example: python -m pip install torch==2.13.0 torch_npu==2.13.0"
        )
    if _release(torch) != _release(torch_npu):
        return (
            f"torch {torch} and torch_npu {torch_npu} do not match: both must have the same "
            "major.minor.patch. Install the torch_npu made for this torch: "
            f"python -m pip install torch_npu=={_release(torch)}"
        )
    cuda = _cuda_of_torch()
    if cuda and _release(torch_npu) in ABORT_BESIDE_CUDA:
        return (
            f"torch {torch} is a build for CUDA {cuda}, and torch_npu {torch_npu} aborts beside "
            "it. Install the CPU build of the same torch, from PyTorch's index of CPU wheels "
            "(choose pip and CPU on PyTorch's installation page; with make, put that address "
            "into PIP_EXTRA_INDEX_URL)."
        )
    return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> str:
    """``2.13.0`` for ``2.13.0+cpu`` and ``2.13.0.post2``."""
    found = re.match(r"\d+\.\d+\.\d+", version)
    return found.group() if found else version


def _cuda_of_torch() -> str | None:
    """The CUDA version that torch was built for, from the file in which torch keeps it."""
    spec = importlib.util.find_spec("torch")
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    found = re.search(r"^cuda\b[^=]*= *['\"](.+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None
