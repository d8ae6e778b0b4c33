r"""
Jacobian-vector product against finite differences
==================================================

The derivative of :math:`f` at :math:`x` in the direction :math:`v` can be estimated with two
function calls,

.. math:: J v \approx \frac{f(x + h v) - f(x - h v)}{2 h} ,

if one knows a good step :math:`h`. Forward-mode AD needs one call and no step. This recipe
measures both in ``float32`` on the NPU against the exact answer.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The function
# ------------
#
# One layer of a network, :math:`f(x) = \tanh(W x)`, with 32 inputs and 32 outputs.

n = 32
torch.manual_seed(0)
cpu_weight = torch.randn(n, n) / n**0.5
cpu_x = torch.randn(n)
cpu_v = torch.randn(n)

weight, x, v = cpu_weight.to(device), cpu_x.to(device), cpu_v.to(device)


def f(x):
    return torch.tanh(weight @ x)


# %%
# The exact answer
# ----------------
#
# :math:`J v = (1 - \tanh^2(W x)) \cdot W v`, evaluated in ``float64`` on the CPU. Its own error,
# about 1e-16, does not matter here.

wide_weight, wide_x, wide_v = cpu_weight.double(), cpu_x.double(), cpu_v.double()
truth = (1 - torch.tanh(wide_weight @ wide_x) ** 2) * (wide_weight @ wide_v)


def error(result):
    """The largest deviation from the truth, relative to the truth's largest element."""
    return ((result.cpu().to(torch.float64) - truth).abs().max() / truth.abs().max()).item()


# %%
# Forward mode
# ------------

with fwAD.dual_level():
    tangent = fwAD.unpack_dual(f(fwAD.make_dual(x, v))).tangent

error_jvp = error(tangent)

# %%
# Finite differences
# ------------------

steps = [10.0 ** (exponent / 4) for exponent in range(-24, 3)]
errors = [error((f(x + h * v) - f(x - h * v)) / (2 * h)) for h in steps]

# %%
# The picture
# -----------
#
# On the right, the step is too large and the curvature of :math:`f` spoils the estimate; the error
# grows as :math:`h^2`. On the left, the step is so small that the two function values agree in
# nearly all of their digits; what is left of the difference is rounding, and the error grows as
# :math:`1/h`. No step is as good as forward mode.

best = min(range(len(steps)), key=errors.__getitem__)

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.loglog(steps, errors, "o-", color="#0072B2", label="central differences")
axes.axhline(error_jvp, color="#D55E00", linestyle="--", label="forward mode (no step)")
axes.annotate(
    f"best step: error {errors[best]:.0e}",
    (steps[best], errors[best]),
    xytext=(-70, 60),
    textcoords="offset points",
    ha="center",
    arrowprops={"arrowstyle": "->"},
)
axes.set_xlabel("step $h$ (no unit)")
axes.set_ylabel("relative error of $Jv$ (no unit)")
axes.set_title(f"float32 on the device {device.type}, against float64 in closed form")
axes.grid(True, which="major", alpha=0.3)
axes.legend()
plt.show()

# %%
# What has to hold
# ----------------
#
# *Forward mode is right to rounding.* Each output is a sum of :math:`n` products. Such a sum,
# rounded at every step, is off by at most :math:`n \epsilon/2` times the sum of the products'
# sizes, and the result needs two of them, :math:`W x` and :math:`W v`. With sizes of the same
# order as the result, a margin of :math:`4 n \epsilon` covers both sums and the hyperbolic
# tangent.

epsilon = torch.finfo(torch.float32).eps

assert error_jvp < 4 * n * epsilon

# %%
# *Finite differences have the V shape.* The best step lies inside the range, near
# :math:`\epsilon^{1/3} \approx 5 \cdot 10^{-3}`, where both errors balance at about
# :math:`\epsilon^{2/3} \approx 2 \cdot 10^{-5}`. Both ends are at least a hundred times worse than
# the best.

assert 1e-4 < steps[best] < 1e-1
assert errors[best] < 10 * epsilon ** (2 / 3)
assert errors[0] > 100 * errors[best]
assert errors[-1] > 100 * errors[best]

# %%
# *And the best step loses to no step*, here by more than a factor of three.

assert errors[best] > 3 * error_jvp
