"""
Where primal and tangent live
=============================

A dual tensor on the NPU has both halves on the NPU, and so has everything computed from it. Making
and unpacking a dual tensor moves nothing and copies nothing.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
   :items: 3
"""

import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

x = torch.tensor([1.0, 2.0, 3.0], device=device)
v = torch.tensor([1.0, 0.0, -1.0], device=device)

# %%
# Both halves are on the device
# -----------------------------

with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    primal, tangent = fwAD.unpack_dual(dual)

assert dual.device == x.device
assert primal.device == x.device
assert tangent.device == x.device
assert tangent.device.type == device.type

# %%
# Neither was copied
# ------------------
#
# The primal is a view of ``x``, the tangent is ``v`` itself.

assert primal.data_ptr() == x.data_ptr()
assert tangent is v

# %%
# Results stay there
# ------------------

with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    primal, tangent = fwAD.unpack_dual(torch.sin(dual) * dual)

assert primal.device == x.device
assert tangent.device == x.device

# %%
# A copy to the CPU takes the tangent along
# -----------------------------------------
#
# ``cpu()`` and ``to()`` have a derivative like any other operator: the tangent of the copy is the
# copy of the tangent. A model that is spread over devices can therefore be differentiated in one
# pass.

with fwAD.dual_level():
    on_cpu = fwAD.make_dual(x, v).cpu()
    primal, tangent = fwAD.unpack_dual(on_cpu)

assert primal.device.type == "cpu"
assert torch.equal(tangent, torch.tensor([1.0, 0.0, -1.0]))
