"""
The NPU agrees with the CPU
===========================

A derivative that looks plausible may still be wrong. This script computes the same Jacobian-vector
product three ways and compares: forward mode on the NPU, forward mode on the CPU, and reverse mode
on the CPU, which uses other formulas.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
   :items: 6
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()


def f(x):
    """A function whose Jacobian is not diagonal: each output depends on each input."""
    return torch.exp(-x * x) + x.sum() * torch.sin(x)


torch.manual_seed(0)
x = torch.randn(5)
v = torch.randn(5)

# %%
# Forward mode on both devices
# ----------------------------

with fwAD.dual_level():
    expected = fwAD.unpack_dual(f(fwAD.make_dual(x, v)))
    actual = fwAD.unpack_dual(f(fwAD.make_dual(x.to(device), v.to(device))))

assert actual.primal.device.type == device.type
assert actual.tangent.device.type == device.type

# %%
# Reverse mode on the CPU
# -----------------------
#
# The whole Jacobian, one row from each backward pass, times the direction.

jacobian = torch.autograd.functional.jacobian(f, x)
reverse = jacobian @ v

# %%
# Compare
# -------
#
# Two devices may round the exponential and the sine differently in the last bits, so the
# comparison allows :py:func:`torch.testing.assert_close`'s own margin for ``float32``: a relative
# difference of 1.3e-6, and 1e-5 near zero.

torch.testing.assert_close(actual.primal.cpu(), expected.primal)
torch.testing.assert_close(actual.tangent.cpu(), expected.tangent)
torch.testing.assert_close(actual.tangent.cpu(), reverse)

# %%
# Would the comparison notice an error?
# -------------------------------------
#
# A check that cannot fail proves nothing. A tangent that is one percent too large is outside the
# margin.

wrong = 1.01 * actual.tangent.cpu()

assert not torch.allclose(wrong, expected.tangent, rtol=1.3e-6, atol=1e-5)
