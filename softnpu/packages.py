"""Whether the installed torch and torch_npu can work together, told without importing either."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib import metadata
from pathlib import Path

# From this release on torch_npu aborts the process beside a CUDA build of torch, unless
# the library of csrc/preload comes first (seen with 2.13.0 and 2.14.0 from PyPI).
ABORTS_BESIDE_CUDA = (2, 13)
# Releases that abort beside one in a way that no library can prevent, with the release before:
# their copy of torch's function, and CUDA's, are bound inside their own libraries.
REFUSED_BESIDE_CUDA = {"2.11.0.post3": "2.11.0.post2", "2.12.0.post3": "2.12.0.post2"}

# At its first use torch_npu converts the path of torch to UTF-8 without Python's lock
# (GetTorchNpuFile in Ascend/pytorch). For letters other than ASCII that takes memory from Python,
# and from this version on Python finds its memory through the thread that has the lock.
PYTHON_THAT_CRASHES_AT_OTHER_LETTERS = (3, 12)


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
    if torch_npu in REFUSED_BESIDE_CUDA and _cuda_of_torch():
        return (
            f"torch {torch} is a CUDA build, and torch_npu {torch_npu} aborts beside one. Install "
            "the CPU build of the same torch from PyTorch's index of CPU wheels, or the release "
            f"before: python -m pip install --no-deps torch_npu=={REFUSED_BESIDE_CUDA[torch_npu]}"
        )
    folder = _folder_of_torch()
    if not folder.isascii() and sys.version_info >= PYTHON_THAT_CRASHES_AT_OTHER_LETTERS:
        return (
            f"torch_npu can end with a segmentation fault at the first tensor: torch lies in "
            f"{folder}, and torch_npu reads a path with letters other than ASCII without Python's "
            "lock, which Python 3.12 and newer do not survive. Make the environment in a folder "
            "with ASCII letters alone."
        )
    return None


def aborts_beside_cuda() -> bool:
    """Whether torch_npu would end the process, since torch is a CUDA build."""
    torch_npu = _version("torch_npu")
    if torch_npu is None or _version("torch") is None or _cuda_of_torch() is None:
        return False
    return tuple(map(int, _release(torch_npu).split(".")[:2])) >= ABORTS_BESIDE_CUDA


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> str:
    """``2.13.0`` for ``2.13.0+cpu`` and ``2.13.0.post2``."""
    found = re.match(r"\d+\.\d+\.\d+", version)
    return found.group() if found else version


def _folder_of_torch() -> str:
    """Where torch is installed, in a folder of its name."""
    spec = importlib.util.find_spec("torch")
    return str(Path(spec.origin).parents[1]) if spec and spec.origin else ""


def _cuda_of_torch() -> str | None:
    """The CUDA version that torch was built for, from the file in which torch keeps it."""
    spec = importlib.util.find_spec("torch")
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    found = re.search(r"^cuda\b[^=]*= *['\"](.+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None
