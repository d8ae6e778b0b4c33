r"""
Tangents in half precision
==========================

A tangent is rounded like any other number, and it has a size of its own: a value near 1 may carry a
tangent near 1e-8, which ``float16`` cannot hold. This recipe shows what rounding, underflow and
overflow do to tangents in ``float16`` and ``bfloat16`` and under autocast, and a remedy: a tangent may
be scaled.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual, torch.autocast
"""

import contextlib

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# A network in three precisions
# -----------------------------
#
# Three layers :math:`h \mapsto \tanh(W h)` with 64 values and a batch of 16. Weights and inputs
# are rounded to ``bfloat16`` at the start, so that all precisions work with the same ones: what is
# measured is the rounding of the computation, not that of the input.

torch.manual_seed(0)
width, batch, layers = 64, 16, 3
weights = [(torch.randn(width, width) / 8).bfloat16().float() for _ in range(layers)]
start = torch.randn(width, batch).bfloat16().float()
direction = torch.randn(width, batch).bfloat16().float()


def network(h, dtype=torch.float32):
    for weight in weights:
        h = torch.tanh(torch.mm(weight.to(device, dtype), h))
    return h


# %%
# The exact answer is the chain rule by hand, in ``float64`` on the CPU.

value, tangent = start.to(torch.float64), direction.to(torch.float64)
for weight in weights:
    value = torch.tanh(weight.to(torch.float64) @ value)
    tangent = (1 - value**2) * (weight.to(torch.float64) @ tangent)


def relative(actual, expected):
    return ((actual.cpu().to(torch.float64) - expected).norm() / expected.norm()).item()


# %%
# What rounding costs
# -------------------
#
# Under autocast, the tangent of this network follows the value: the matrix product is in ``float16``, and
# so is its tangent. Inputs and weights stay in ``float32``. That is not so for each operator: see the
# end of this page.

runs = {
    "float32": (torch.float32, None),
    "float16": (torch.float16, None),
    "bfloat16": (torch.bfloat16, None),
    "autocast to float16": (torch.float32, torch.float16),
}
errors = {}
print(f"{'':22}{'error of value':>16}{'of tangent':>12}  dtype of the tangent")
for name, (dtype, lower) in runs.items():
    cast = torch.autocast(device.type, dtype=lower) if lower else contextlib.nullcontext()
    with fwAD.dual_level(), cast:
        dual = fwAD.make_dual(start.to(device, dtype), direction.to(device, dtype))
        result = fwAD.unpack_dual(network(dual, dtype))
    errors[name] = relative(result.primal, value), relative(result.tangent, tangent)
    print(f"{name:22}{errors[name][0]:16.1e}{errors[name][1]:12.1e}  {result.tangent.dtype}")
    assert result.tangent.dtype == result.primal.dtype == (lower or dtype)

# %%
# What the size of the tangent does
# ---------------------------------
#
# The result's tangent is linear in the input's, so :math:`J (s v) / s` is the same for each scale
# :math:`s`, if nothing is rounded to zero or to infinity on the way. The scales are powers of two, which
# round nothing by themselves; the division is done in ``float64``.

exponents = list(range(-40, 25, 2))
sweeps = {}
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    sweeps[dtype] = []
    for exponent in exponents:
        scaled = (direction * 2.0**exponent).to(device, dtype)
        with fwAD.dual_level():
            dual = fwAD.make_dual(start.to(device, dtype), scaled)
            result = fwAD.unpack_dual(network(dual, dtype)).tangent
        sweeps[dtype].append(relative(result.cpu().to(torch.float64) / 2.0**exponent, tangent))

# %%
# The picture
# -----------
#
# ``float16`` has a window. On its left, tangents become zero one after another until nothing is left,
# an error of 100 percent; on its right, they overflow, and the error is infinite or not a number: the
# line ends. ``bfloat16`` rounds eight times as coarsely and has the range of ``float32``. An error in
# the middle of the window is all that half precision has to cost.

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
styles = {
    torch.float16: ("#D55E00", "o-"),
    torch.bfloat16: ("#009E73", "s-"),
    torch.float32: ("#0072B2", "^-"),
}
scales = [2.0**exponent for exponent in exponents]
for dtype, (color, style) in styles.items():
    name = str(dtype).removeprefix("torch.")
    axes.loglog(scales, sweeps[dtype], style, color=color, markersize=4, label=name)
axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
axes.text(scales[-1], 1.2, "the tangent is gone", ha="right", va="bottom")
axes.set_ylim(top=10)
axes.set_xlabel("scale $s$ of the input's tangent (no unit)")
axes.set_ylabel("relative error of $J(sv)/s$ (no unit)")
axes.set_title(f"Three layers on the device {device.type}")
axes.grid(True, alpha=0.3)
axes.legend(loc="center left", bbox_to_anchor=(0.02, 0.3))
plt.show()

# %%
# The remedy
# ----------
#
# Scale the tangent into the window, compute, and divide in a wider dtype. This is what loss scaling
# does for ``backward``; in forward mode it needs no second try, since the scale is yours from the start.

tiny = direction * 2.0**-30
with fwAD.dual_level():
    dual = fwAD.make_dual(start.to(device, torch.float16), tiny.to(device, torch.float16))
    lost = fwAD.unpack_dual(network(dual, torch.float16)).tangent
    scaled = (tiny * 2.0**30).to(device, torch.float16)
    dual = fwAD.make_dual(start.to(device, torch.float16), scaled)
    rescued = fwAD.unpack_dual(network(dual, torch.float16)).tangent.to(torch.float32) / 2.0**30

print(f"without the scale: largest tangent {lost.abs().max().item():.1e}")
print(f"with it: {rescued.abs().max().item():.1e}, expected {tangent.abs().max() / 2**30:.1e}")

# %%
# What has to hold
# ----------------
#
# *The tangent loses about as much as the value.* A result of three layers, each with a rounded sum and
# a rounded hyperbolic tangent, is off by a few units in the last place; the tangent has one more
# factor, :math:`1 - \tanh^2`, and its rounding. Eight :math:`\epsilon` of the dtype covers both, if the
# sums are kept in a wider dtype than the operands; without that, the number of terms would come in.

finest = {"float32": torch.float32, "bfloat16": torch.bfloat16}
for name, pair in errors.items():
    assert max(pair) < 8 * torch.finfo(finest.get(name, torch.float16)).eps

# %%
# *The scale does not matter inside the range of the dtype*, and outside of it there is nothing left.

half = dict(zip(exponents, sweeps[torch.float16], strict=True))
assert all(half[exponent] < 8 * torch.finfo(torch.float16).eps for exponent in range(-8, 10, 2))
assert half[-40] == 1.0
assert not half[24] < 1.0
assert max(sweeps[torch.bfloat16]) < 8 * torch.finfo(torch.bfloat16).eps
assert max(sweeps[torch.float32]) < 8 * torch.finfo(torch.float32).eps

# %%
# *The remedy works*: nothing without it, the accuracy of ``float16`` with it.

assert not lost.any()
assert relative(rescued, tangent / 2**30) < 8 * torch.finfo(torch.float16).eps

# %%
# Where the tangent does not follow under autocast
# ------------------------------------------------
#
# Autocast hands some operators on in ``float32``. Of a half precision tensor, ``softmax`` then loses its
# tangent on the NPU, since it is converted inside (:doc:`/deviations/lost_tangents`), and the
# tangent of a norm keeps the lower dtype. Convert before, and both are right.

with torch.autocast(device.type, dtype=torch.bfloat16), fwAD.dual_level():
    point = torch.tensor([0.0, 1.0], device=device, dtype=torch.bfloat16)
    dual = fwAD.make_dual(point, torch.tensor([1.0, 0.0], device=device, dtype=torch.bfloat16))
    lost = fwAD.unpack_dual(torch.softmax(dual, 0))
    kept = fwAD.unpack_dual(torch.softmax(dual.float(), 0))
    lower = fwAD.unpack_dual(torch.linalg.vector_norm(dual))
    same = fwAD.unpack_dual(torch.linalg.vector_norm(dual.float()))

print("softmax:", lost.tangent, "with float():", kept.tangent.tolist())
print("norm:", lower.primal.dtype, lower.tangent.dtype, "with float():", same.tangent.dtype)
assert lost.tangent is None, "torch_npu keeps this tangent now: remove this part"
slope = (1 / (1 + torch.tensor(1.0).exp())) * (1 / (1 + torch.tensor(-1.0).exp()))
torch.testing.assert_close(kept.tangent.cpu(), torch.stack([slope, -slope]), rtol=1e-5, atol=1e-6)
assert lower.primal.dtype == same.primal.dtype == same.tangent.dtype == torch.float32
assert lower.tangent.dtype == torch.bfloat16
