"""
Name the level explicitly
=========================

:py:func:`~torch.autograd.forward_ad.make_dual` and
:py:func:`~torch.autograd.forward_ad.unpack_dual` use the level that is open. Both also accept it
as the keyword ``level``, which makes a mistake visible: a function that is handed a level and
finds that it is closed fails at once.

.. verifies::
   :apis: torch.autograd.forward_ad.enter_dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual, torch.autograd.forward_ad.UnpackedDualTensor
   :items: 2
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([1.0, 2.0, 3.0], device=device)
v = torch.tensor([0.5, -1.0, 2.0], device=device)

# %%
# Pass the level on
# -----------------

level = fwAD.enter_dual_level()

dual = fwAD.make_dual(x, v, level=level)
explicit = fwAD.unpack_dual(dual, level=level)

assert isinstance(explicit, fwAD.UnpackedDualTensor)
assert torch.equal(explicit.primal.cpu(), torch.tensor([1.0, 2.0, 3.0]))
assert torch.equal(explicit.tangent.cpu(), torch.tensor([0.5, -1.0, 2.0]))

# %%
# Or leave it out
# ---------------
#
# Without ``level`` the open level is used. The result is the same.

implicit = fwAD.unpack_dual(dual)

assert torch.equal(implicit.primal, explicit.primal)
assert torch.equal(implicit.tangent, explicit.tangent)

fwAD.exit_dual_level(level=level)

# %%
# Or let a ``with`` block open and close it
# -----------------------------------------
#
# :py:class:`~torch.autograd.forward_ad.dual_level` gives the same number to the name after ``as``,
# and closes the level also when the block ends with an error. Prefer it; the two functions are for
# code that opens a level in one place and closes it in another.

with fwAD.dual_level() as level:
    dual = fwAD.make_dual(x, v, level=level)
    assert torch.equal(fwAD.unpack_dual(dual, level=level).tangent, v)
