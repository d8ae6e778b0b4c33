"""The variables ``SOFTNPU_...``: which there are, and the switches among them."""

from __future__ import annotations

import difflib
import os

from .errors import SoftNpuError

SWITCHES = ("SOFTNPU_ASYNC", "SOFTNPU_FORCE", "SOFTNPU_SIGNALS")
OTHERS = ("SOFTNPU_CACHE", "SOFTNPU_DEVICES", "SOFTNPU_MEMORY", "SOFTNPU_SOC")


def is_on(switch: str) -> bool:
    """Whether a switch is 1; 0, nothing or no such variable is off.

    Raises:
        SoftNpuError: another value.
    """
    text = os.environ.get(switch, "")
    if text not in ("", "0", "1"):
        raise SoftNpuError(f"{switch}={text!r} is neither 1 (on) nor 0 (off).")
    return text == "1"


def check() -> None:
    """Checks the switches, and that there is no variable ``SOFTNPU_...`` that means nothing.

    Raises:
        SoftNpuError: a value that a switch does not have, or an unknown variable.
    """
    known = (*SWITCHES, *OTHERS)
    for name in sorted(os.environ):
        if name.startswith("SOFTNPU_") and name not in known:
            ends = [other.removeprefix("SOFTNPU_") for other in known]
            near = difflib.get_close_matches(name.removeprefix("SOFTNPU_").upper(), ends, n=1)
            wanted = (
                f"Is it SOFTNPU_{near[0]}?" if near else f"Known are {', '.join(sorted(known))}."
            )
            raise SoftNpuError(f"{name} is no setting of softnpu. {wanted}")
    for switch in SWITCHES:
        is_on(switch)
