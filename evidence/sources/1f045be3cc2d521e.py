"""
Create a level
==============

A tangent lives in a *level*. Nothing can carry a tangent until a level is open, so
:py:func:`~torch.autograd.forward_ad.enter_dual_level` is the first call of forward-mode AD.

.. verifies::
   :apis: torch.autograd.forward_ad.enter_dual_level, torch.autograd.forward_ad.exit_dual_level
   :items: 1
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# Open a level
# ------------
#
# The call takes no argument and returns the level: a plain Python ``int``.

level = fwAD.enter_dual_level()

assert type(level) is int
assert level == 0

# %%
# The number is valid if a dual tensor can be made with it. This one is on the NPU.

dual = fwAD.make_dual(torch.ones(3, device=device), torch.ones(3, device=device), level=level)

assert dual.device.type == device.type
assert fwAD.unpack_dual(dual, level=level).tangent is not None

# %%
# Close it
# --------
#
# Whoever opens a level by hand closes it by hand. The parameter is keyword-only.

fwAD.exit_dual_level(level=level)

# %%
# The number is not an identifier
# -------------------------------
#
# PyTorch supports one level at a time, so the number is always 0, and the next level gets it again.
# It cannot serve to tell two levels apart.

second = fwAD.enter_dual_level()
fwAD.exit_dual_level(level=second)

assert second == level
