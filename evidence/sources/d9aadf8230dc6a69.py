r"""
Sensitivity of a simulation to a parameter
==========================================

A population grows by the logistic equation

.. math:: \frac{\mathrm{d}N}{\mathrm{d}t} = r N \left(1 - \frac{N}{K}\right) .

How much would the result change if the growth rate :math:`r` were a little different? Make
:math:`r` a dual tensor, run the simulation as it is, and every state carries :math:`\partial N /
\partial r` with it. The memory needed does not grow with the number of steps, because nothing has
to be kept for a backward pass.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The simulation
# --------------
#
# Three populations with different growth rates run side by side in one tensor. They do not
# influence each other, so a tangent of ones gives each one's own derivative. Time is in days,
# :math:`N` in thousands.

rates = [0.4, 0.6, 1.0]  # per day
capacity = 10.0  # thousands
start = 0.5  # thousands
step = 0.125  # days
steps = 120


def growth(population, rate):
    return rate * population * (1 - population / capacity)


def advance(population, rate):
    """One step of the classical fourth-order Runge-Kutta method."""
    k1 = growth(population, rate)
    k2 = growth(population + step / 2 * k1, rate)
    k3 = growth(population + step / 2 * k2, rate)
    k4 = growth(population + step * k3, rate)
    return population + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


# %%
# Run it on dual tensors
# ----------------------
#
# The start does not depend on the rate, so it has no tangent. After the first step the state has
# one.

states, sensitivities = [], []
rate = torch.tensor(rates, device=device)

with fwAD.dual_level():
    dual_rate = fwAD.make_dual(rate, torch.ones_like(rate))
    population = torch.full_like(rate, start)
    for _ in range(steps):
        population = advance(population, dual_rate)
        primal, tangent = fwAD.unpack_dual(population)
        states.append(primal)
        sensitivities.append(tangent)

states = torch.stack(states).cpu()
sensitivities = torch.stack(sensitivities).cpu()

# %%
# The exact answer
# ----------------
#
# The logistic equation has a solution in closed form,
#
# .. math:: N(t) = \frac{K}{1 + (K / N_0 - 1)\, e^{-r t}} ,
#    \qquad \frac{\partial N}{\partial r} = t\, N \left(1 - \frac{N}{K}\right) .
#
# It is evaluated in ``float64`` on the CPU. No automatic differentiation is involved.

days = step * torch.arange(1, steps + 1, dtype=torch.float64)
exponents = -days[:, None] * torch.tensor(rates, dtype=torch.float64)
exact_states = capacity / (1 + (capacity / start - 1) * torch.exp(exponents))
exact_sensitivities = days[:, None] * exact_states * (1 - exact_states / capacity)

# %%
# The picture
# -----------

colors = ["#0072B2", "#E69F00", "#009E73"]
figure, (upper, lower) = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
for column, (value, color) in enumerate(zip(rates, colors, strict=True)):
    upper.plot(days, states[:, column], color=color, label=f"r = {value} per day")
    lower.plot(days, sensitivities[:, column], color=color)
    upper.plot(days[::8], exact_states[::8, column], "o", color=color, markerfacecolor="none")
    lower.plot(
        days[::8], exact_sensitivities[::8, column], "o", color=color, markerfacecolor="none"
    )
upper.plot([], [], "o", color="gray", markerfacecolor="none", label="closed form")
upper.set_ylabel("population N (thousands)")
lower.set_ylabel("∂N/∂r (thousands · days)")
lower.set_xlabel("time t (days)")
upper.set_title("Logistic growth and its sensitivity to the growth rate")
upper.legend()
for axes in (upper, lower):
    axes.grid(True, alpha=0.3)
plt.show()

# %%
# A small error in :math:`r` hardly matters at the start and at the end; in between it shifts the
# steep part of the curve, and the slow population stays uncertain for longest.
#
# What has to hold
# ----------------
#
# A fourth-order method with :math:`r h \le 0.125` makes an error of the order of :math:`(r h)^4
# \approx 2.4 \cdot 10^{-4}` times a small constant, in the state and in its derivative. Rounding
# adds at most :math:`\epsilon/2` for each of the 120 steps, :math:`7 \cdot 10^{-6}` in all. A
# margin of 1e-4 of the largest value covers both.


def relative_error(actual, expected):
    return ((actual - expected).abs().max() / expected.abs().max()).item()


assert relative_error(states, exact_states) < 1e-4
assert relative_error(sensitivities, exact_sensitivities) < 1e-4

# %%
# The sensitivity is largest when :math:`N` is past half its capacity, not at the end.

peak = days[sensitivities.argmax(dim=0)]

assert (peak < days[-1]).all()
