"""
Unpack a tensor that has no tangent
===================================

:py:func:`~torch.autograd.forward_ad.unpack_dual` accepts any tensor. One without a tangent gives
``None`` in its place. This is not an error, so the caller has to look.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.unpack_dual,
      torch.autograd.forward_ad.UnpackedDualTensor
   :items: 8
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([1.0, 2.0, 3.0], device=device)

# %%
# Inside a level
# --------------
#
# The primal is a view of the input: another Python object over the same memory.

with fwAD.dual_level():
    unpacked = fwAD.unpack_dual(x)

assert isinstance(unpacked, fwAD.UnpackedDualTensor)
primal, tangent = unpacked
assert tangent is None
assert primal.device == x.device
assert torch.equal(primal.cpu(), torch.tensor([1.0, 2.0, 3.0]))
assert primal is not x
assert primal.data_ptr() == x.data_ptr()

# %%
# Outside a level
# ---------------
#
# With no level open there is nothing to take apart, and the input itself comes back.

primal, tangent = fwAD.unpack_dual(x)

assert tangent is None
assert primal is x

# %%
# ``None`` means no tangent, not a tangent of zeros
# -------------------------------------------------
#
# A constant has a derivative of zero, and PyTorch does not store zeros for it. A function that has
# to return a tensor fills the gap itself.


def jvp(function, x, v):
    """The Jacobian-vector product, with zeros where the result does not depend on ``x``."""
    with fwAD.dual_level():
        primal, tangent = fwAD.unpack_dual(function(fwAD.make_dual(x, v)))
    return torch.zeros_like(primal) if tangent is None else tangent


constant = torch.tensor([5.0, 5.0, 5.0], device=device)

assert torch.equal(jvp(lambda x: constant, x, x).cpu(), torch.zeros(3))
assert torch.equal(jvp(lambda x: x * x, x, x).cpu(), torch.tensor([2.0, 8.0, 18.0]))

# %%
# .. warning::
#
#    Fill with zeros only where a missing tangent really means "does not depend on the input".
#    Some operators lose the tangent of an NPU tensor without an error, and zeros would then be a
#    wrong answer; see :doc:`/forward_ad`.
