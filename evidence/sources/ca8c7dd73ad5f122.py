r"""
A forward gradient on the NPU
=============================

Give ``x`` a tangent, compute as usual, and take the tangent of the result. For :math:`y = x \cdot
x` the product rule says

.. math:: y' = x' x + x x' = 2 x x' ,

where the prime marks the tangent.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
   :items: 3, 5
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([[1.0, -2.0], [3.0, 0.5]], device=device)
x_tangent = torch.tensor([[1.0, 0.5], [-2.0, 4.0]], device=device)

# %%
# One pass gives value and derivative
# -----------------------------------

with fwAD.dual_level():
    dual = fwAD.make_dual(x, x_tangent)
    y, y_tangent = fwAD.unpack_dual(dual * dual)

print("value     ", y.cpu().tolist())
print("derivative", y_tangent.cpu().tolist())

# %%
# Check
# -----
#
# The expectation is the formula above, worked out by hand. The numbers were chosen so that every
# product is exact in ``float32``; the comparison can ask for equality instead of a tolerance.

assert torch.equal(y.cpu(), torch.tensor([[1.0, 4.0], [9.0, 0.25]]))
assert torch.equal(y_tangent.cpu(), torch.tensor([[2.0, -2.0], [-12.0, 4.0]]))
assert y_tangent.device.type == device.type

# %%
# What the tangent means
# ----------------------
#
# ``x_tangent`` is a direction, and ``y_tangent`` is how fast ``y`` changes in that direction. With
# the tangent set to ones, an elementwise function gives its ordinary derivative, here :math:`2x`.

with fwAD.dual_level():
    dual = fwAD.make_dual(x, torch.ones_like(x))
    slope = fwAD.unpack_dual(dual * dual).tangent

assert torch.equal(slope.cpu(), torch.tensor([[2.0, -4.0], [6.0, 1.0]]))
