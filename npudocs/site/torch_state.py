"""What one page or script must not hand on to the next."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

SEED = 0


def reset() -> None:
    """Put back the global state of torch that pages and scripts may change, and seed it."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    torch.manual_seed(SEED)


def open_level() -> int | None:
    """Return the forward-AD level that is open, or None."""
    # torch has no public question for this; a level that stays open breaks every later user.
    level = forward_ad._current_level
    return level if level >= 0 else None


def close_levels() -> None:
    """Leave every open forward-AD level."""
    while open_level() is not None:
        forward_ad.exit_dual_level()
