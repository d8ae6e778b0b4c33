"""The site's state for projects whose device is a name: nothing is compared with a real one."""

from __future__ import annotations

from typing import Any

from npudocs.site.state import left_behind, names, reset

__all__ = ["left_behind", "names", "prepare", "reset"]


def prepare(device: Any) -> None:
    """Import what the processes need."""
    import torch  # noqa: F401
