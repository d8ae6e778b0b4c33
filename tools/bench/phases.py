"""Where the time of a small multiply goes: each part measured by itself, or as a difference."""

from __future__ import annotations

import torch

from softnpu.kernels import kernels

from .cases import best

# An operator with a multiply's parameters, whose kernel does nothing here.
NOTHING = "aclnnMaximum"


def phases(seconds: float = 1.0) -> dict[str, float]:
    """Seconds of each part, and of the whole."""
    kernels()[NOTHING] = lambda self, other, out: None
    a, b, out = torch.rand(3), torch.rand(3), torch.empty(3)
    x, y = a.npu(), b.npu()
    x * y  # softnpu.bridge is imported by the first use

    from torch._C import _to_dlpack as to_dlpack

    from softnpu import bridge

    enter_functions, enter_keys, leave_keys, leave_functions = bridge.make_shield()

    def shield() -> None:
        enter_functions()
        enter_keys()
        leave_keys(None, None, None)
        leave_functions(None, None, None)

    taken = best(
        {
            "whole": lambda: x * y,
            "nothing": lambda: torch.maximum(x, y),
            "allocation": lambda: torch.empty_like(x),
            "both ways": lambda: bridge.from_dlpack(to_dlpack(a)),
            "one way": lambda: to_dlpack(a),
            "shield": shield,
            "kernel": lambda: torch.mul(a, b, out=out),
        },
        seconds,
    )
    conversion = 3 * (taken["both ways"] - taken["one way"])
    dispatch = taken["nothing"] - conversion - taken["shield"]
    return {
        "torch_npu's dispatch and softnpu's runtime in C": dispatch - taken["allocation"],
        "torch_npu's allocation of the result": taken["allocation"],
        "conversion of three arguments (DLPack)": conversion,
        "shield against the caller's state": taken["shield"],
        "kernel (torch.mul on the CPU)": taken["kernel"],
        "whole": taken["whole"],
    }
