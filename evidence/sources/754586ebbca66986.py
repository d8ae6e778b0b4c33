"""
What is left after the exit
===========================

:py:func:`~torch.autograd.forward_ad.exit_dual_level` takes every tangent of the level away. The
tensors stay, as ordinary tensors. This is the step that frees the memory of the tangents: a level
that stays open keeps each of them alive as long as its dual tensor.

.. verifies::
   :apis: torch.autograd.forward_ad.enter_dual_level, torch.autograd.forward_ad.exit_dual_level,
      torch.autograd.forward_ad.unpack_dual
   :items: 4
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([1.0, 2.0, 3.0], device=device)
v = torch.tensor([1.0, 1.0, 1.0], device=device)

# %%
# Before and after
# ----------------

level = fwAD.enter_dual_level()
dual = fwAD.make_dual(x, v)
kept = fwAD.unpack_dual(dual * dual).tangent

assert fwAD.unpack_dual(dual).tangent is not None

fwAD.exit_dual_level(level=level)

primal, tangent = fwAD.unpack_dual(dual)

assert tangent is None
assert torch.equal(primal.cpu(), torch.tensor([1.0, 2.0, 3.0]))

# %%
# A tangent you hold is yours
# ---------------------------
#
# The exit takes the tangent from the dual tensor; it does not destroy a tangent that a Python name
# still refers to. ``kept`` was unpacked inside the level and is as good as before.

assert torch.equal(kept.cpu(), torch.tensor([2.0, 4.0, 6.0]))

# %%
# A new level starts empty
# ------------------------
#
# The next level has the same number 0, yet it does not find what the old one held.

with fwAD.dual_level():
    assert fwAD.unpack_dual(dual).tangent is None
