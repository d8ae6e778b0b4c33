"""The recording worker with a stand-in for torch and the device, so that it starts in a moment."""

from __future__ import annotations

import os
import sys
import types

torch = types.ModuleType("torch")
torch_state = types.ModuleType("npudocs.site.torch_state")
torch_state.reset = lambda: None
torch_state.level = None
torch_state.open_level = lambda: torch_state.level


def close_levels() -> None:
    """Close the stand-in's level."""
    torch_state.level = None


torch_state.close_levels = close_levels
sys.modules["torch"] = torch
sys.modules["npudocs.site.torch_state"] = torch_state

import npudocs  # noqa: E402
from npudocs.recording import worker  # noqa: E402
from npudocs.site import device  # noqa: E402

npudocs.site.torch_state = torch_state


def describe() -> device.Device:
    """Answer as the software NPU would, or as the test wants it."""
    mood = os.environ.get("STAND_IN", "")
    if mood == "no device":
        raise device.DeviceError("there is none")
    if mood == "dies":
        print("no driver", file=sys.stderr, flush=True)
        os.abort()
    if mood.startswith("once "):
        flag = mood.removeprefix("once ")
        if os.path.exists(flag):
            os._exit(9)
        open(flag, "w").close()
    names = ("softnpu Ascend910B1", "Ascend910B1", "2.13.0", "2.13.0", "", "f00d", "3.11.7")
    return device.Device("software", *names)


device.describe = describe

if __name__ == "__main__":
    worker.main(*sys.argv[1:])
