r"""
How uncertain is the result?
============================

A measured quantity comes with a standard deviation. To first order, the variance of a result
computed from several of them is

.. math:: \sigma_y^2 = \sum_{i,j} J_i\, C_{ij}\, J_j , \qquad J_i = \frac{\partial y}{\partial x_i} ,

where :math:`C` is the covariance of the inputs. Forward mode delivers all :math:`J_i` of the formula
that is already there; nobody derives it by hand. The example is the acceleration of gravity from a
pendulum, with the correction for its amplitude.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import math

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The measurement
# ---------------
#
# Length, period and amplitude, each with its standard deviation. When the support gives way a little,
# length and period both come out too long, so their errors have a correlation of 0.5.

names = ["length", "period", "amplitude"]
measured = torch.tensor([1.000, 2.0137, 0.25], device=device)  # m, s, rad
deviations = torch.tensor([0.004, 0.003, 0.03], device=device)  # m, s, rad
correlation = torch.eye(3, device=device)
correlation[0, 1] = correlation[1, 0] = 0.5
covariance = deviations[:, None] * correlation * deviations


def gravity(inputs):
    """The acceleration of gravity; the last dimension of `inputs` are the three quantities."""
    length, period, amplitude = inputs.unbind(-1)
    slower = 1 + amplitude**2 / 16
    return 4 * math.pi**2 * length / period**2 * slower**2


# %%
# All partial derivatives in one pass
# -----------------------------------
#
# The three measured values three times, each time with another unit vector as tangent.

with fwAD.dual_level():
    dual = fwAD.make_dual(measured.repeat(3, 1), torch.eye(3, device=device))
    values, partials = fwAD.unpack_dual(gravity(dual))

value = values[0].item()
sigma = torch.sqrt(partials @ covariance @ partials).item()

# %%
# The budget
# ----------
#
# What each quantity contributes, as if the others were exact, and what the correlation takes away: a
# length that is too long raises the result, and a period that is too long lowers it.

contributions = (partials * deviations).cpu()
print(f"{'quantity':12}{'partial':>10}{'deviation':>11}{'contributes (m/s²)':>20}")
for row in zip(names, partials.tolist(), deviations.tolist(), contributions.tolist(), strict=True):
    print("{:12}{:10.4f}{:11.4f}{:20.4f}".format(*row))
alone = contributions.norm().item()
print(f"g = {value:.3f} ± {sigma:.3f} m/s², and ± {alone:.3f} without the correlation")

# %%
# Monte Carlo
# -----------
#
# The independent answer: draw the three quantities 200 000 times and look how the results scatter. It
# needs no derivative and makes no approximation. It runs in ``float64`` on the CPU.

torch.manual_seed(0)
factor = torch.linalg.cholesky(covariance.cpu().to(torch.float64))
noise = torch.randn(200_000, 3, dtype=torch.float64)
samples = gravity(measured.cpu().to(torch.float64) + noise @ factor.T)

# %%
# The picture
# -----------

bell = torch.linspace(-4, 4, 200, dtype=torch.float64)
density = torch.exp(-(bell**2) / 2) / (sigma * math.sqrt(2 * math.pi))

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4), width_ratios=[3, 2], layout="constrained"
)
left.hist(samples, bins=120, density=True, color="#BBBBBB", label="Monte Carlo, 200 000 draws")
left.plot(value + sigma * bell, density, color="#D55E00", label="first order, one forward pass")
left.set_xlabel("acceleration of gravity (m/s²)")
left.set_ylabel("probability density (s²/m)")
left.set_ylim(top=1.3 * density.max())
left.legend(loc="upper center")
right.barh(
    [*names, "together"],
    [*contributions.abs().tolist(), sigma],
    color=["#0072B2", "#0072B2", "#0072B2", "#D55E00"],
)
right.invert_yaxis()
right.set_xlabel("standard deviation of g (m/s²)")
right.set_title("Where it comes from")
plt.show()

# %%
# What has to hold
# ----------------
#
# *The partial derivatives are the ones of the formula*, worked out by hand:
#
# .. math:: \frac{\partial g}{\partial l} = \frac{g}{l} , \qquad
#    \frac{\partial g}{\partial T} = -\frac{2 g}{T} , \qquad
#    \frac{\partial g}{\partial \theta} = \frac{g\, \theta}{4 (1 + \theta^2 / 16)} .
#
# A dozen operations, each rounded to :math:`\epsilon/2`, stay within 16 :math:`\epsilon`.

length, period, amplitude = measured.cpu().to(torch.float64).tolist()
g = gravity(measured.cpu().to(torch.float64)).item()
exact = torch.tensor(
    [g / length, -2 * g / period, g * amplitude / 4 / (1 + amplitude**2 / 16)],
    dtype=torch.float64,
)
tolerance = 16 * torch.finfo(torch.float32).eps

assert partials.device.type == device.type
torch.testing.assert_close(partials.cpu().to(torch.float64), exact, rtol=tolerance, atol=0)

# %%
# *First order is enough here.* The deviation estimated from :math:`N` draws is itself uncertain by
# :math:`1 / \sqrt{2 N}`, 0.16 percent. The second order adds less than that. One percent is allowed.

assert abs(samples.std().item() / sigma - 1) < 0.01
# What the picture shows: with their correlation, the contributions make the deviation; the density has the area 1.
together = contributions @ correlation.cpu() @ contributions
assert abs(together.item() / sigma**2 - 1) < tolerance
assert abs(torch.trapezoid(density, sigma * bell).item() - 1) < 1e-4
