"""What `npudocs.execute` asks a project for: its device, and the state that one page must not hand on to the next.

A project (or a test) may set ``execute_device`` in its ``conf.py`` itself; who else asks is `npudocs.device`.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

import softnpu
from npudocs import device
from npudocs.execute import isolate, problems
from npudocs.site import rules

SEED = 0
# How often Python looks for cycles of objects, as a reader's own has it.
LOOKS = gc.get_threshold()
# Nodes of a page refer to each other: to look through them as often costs a fifth of a build.
SELDOM = 50_000


def prepare(expected: device.Device) -> None:
    """Import what every process needs, and make sure that the device is the one that is written on the pages."""
    try:
        # Loaded once, and not by each fork: what most pages come to need.
        import torch._decomp.decompositions_for_jvp
        import torch._dynamo  # noqa: F401

        if expected.kind == "software":
            import softnpu.bridge  # noqa: F401

        # In a fork: a device that this process has used is of no use to its forks.
        found = isolate.call(device.ask)
    except (device.DeviceError, ChildProcessError, ImportError) as error:
        problems.stop(str(error))
    if found != expected:
        problems.stop(f"the device is {found.described()}, and not {expected.described()}")


def reset() -> None:
    """Put back the global state that pages and scripts may change or rely on, and seed torch."""
    import torch
    from torch.autograd import forward_ad

    gc.set_threshold(*LOOKS)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    torch.manual_seed(SEED)
    while open_level() is not None:
        forward_ad.exit_dual_level()


def open_level() -> int | None:
    """The forward-AD level that is open, or None."""
    from torch.autograd import forward_ad

    # torch has no public question for this; a level that stays open breaks every later user.
    level = forward_ad._current_level
    return level if level >= 0 else None


def left_behind() -> list[tuple[str, str]]:
    """The state that must not stay, in words, with a text of the line that made it."""
    level = open_level()
    found = [] if level is None else [(f"forward-AD level {level} open", "enter_dual_level(")]
    return found + [(words, "subplots(") for words in rules.unlabeled]


def names() -> dict[str, Any]:
    """The names that the condition of a skip may use."""
    import torch

    return {"torch": torch}


def used() -> int:
    """A number that grows with the work of the NPU: operators launched, or on a chip memory asked for."""
    import torch

    if not torch.npu.is_initialized():
        return 0
    if softnpu.is_software():
        return ctypes.CDLL("libascendcl.so").softnpu_launches()
    return torch.npu.memory_stats().get("allocation.all.allocated", 0)


def _fill_config(app: Sphinx, config: Config) -> None:
    if config.execute_device is None:
        try:
            config.execute_device = device.describe()
        except device.DeviceError as error:
            problems.stop(str(error))


def setup(app: Sphinx) -> None:
    gc.set_threshold(SELDOM)
    app.connect("config-inited", _fill_config)
