"""
Half and single precision
=========================

Models are often computed in ``float16``. A dual tensor keeps the dtype of its primal and of
its tangent, and the result of a computation on it has that dtype too.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
   :items: 7
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([1.0, -2.0, 0.5])
v = torch.tensor([0.25, 1.0, 4.0])

# %%
# Made and unpacked in the same dtype
# -----------------------------------
#
# All numbers here, and their products, are exact in both dtypes, so equality is the right
# comparison.

for dtype in (torch.float16, torch.float32):
    with fwAD.dual_level():
        dual = fwAD.make_dual(x.to(device, dtype), v.to(device, dtype))
        primal, tangent = fwAD.unpack_dual(dual)
        square, square_tangent = fwAD.unpack_dual(dual * dual)

    assert primal.dtype == dtype
    assert tangent.dtype == dtype
    assert torch.equal(primal.cpu(), x.to(dtype))
    assert torch.equal(tangent.cpu(), v.to(dtype))

    assert square.dtype == dtype
    assert square_tangent.dtype == dtype
    assert torch.equal(square_tangent.cpu(), (2 * x * v).to(dtype))

# %%
# A cast inside the level takes the tangent along
# -----------------------------------------------
#
# Here the cast goes through :py:meth:`torch.Tensor.to`. Look at the tangent's dtype, not only at
# the primal's.

with fwAD.dual_level():
    dual = fwAD.make_dual(x.to(device), v.to(device))
    primal, tangent = fwAD.unpack_dual(dual.to(torch.float16))

assert primal.dtype == torch.float16
assert tangent.dtype == torch.float16
assert torch.equal(tangent.cpu(), v.to(torch.float16))

# %%
# What half precision costs
# -------------------------
#
# ``float16`` carries 11 significant bits, about three decimal digits. The derivative of the sine
# at 1 is the cosine of 1. Rounding it to ``float16`` costs at most 2**-11 in relative terms; the
# check allows 2**-9, which leaves room for a device whose half-precision cosine is off by one unit
# in the last place.

with fwAD.dual_level():
    dual = fwAD.make_dual(
        torch.ones(1, dtype=torch.float16, device=device),
        torch.ones(1, dtype=torch.float16, device=device),
    )
    slope = fwAD.unpack_dual(torch.sin(dual)).tangent.item()

exact = 0.5403023058681398  # cos(1)

assert abs(slope - exact) <= 2**-9 * exact
