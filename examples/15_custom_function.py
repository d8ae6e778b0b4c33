r"""
A function of your own, with its tangent
========================================

Some functions should not be differentiated step by step: a solver iterates, and its iterations are
not what you want the derivative of. :py:class:`torch.autograd.Function` lets you write the formula
yourself. For forward mode, that is the static method ``jvp``.

The example is Kepler's equation, :math:`E - e \sin E = M`, which says where a planet is. It has no
solution in closed form; Newton's method finds :math:`E`. Its derivative is known without any
iteration. Differentiate both sides and solve for :math:`E'`:

.. math:: E' = \frac{M' + e' \sin E}{1 - e \cos E} .

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual, torch.autograd.Function.jvp,
      torch.autograd.gradcheck.gradcheck
"""

import math

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The function
# ------------
#
# ``forward`` computes, without a thought for derivatives. ``setup_context`` keeps what ``jvp`` will
# need, by ``save_for_forward``. ``jvp`` gets one tangent for each input, zeros for a tensor that has
# none, or ``None``, which ``set_materialize_grads(False)`` asks for and which spares the work. It returns
# one for each output.


class Kepler(torch.autograd.Function):
    """Solve E - e sin E = M for E by Newton's method."""

    @staticmethod
    def forward(mean, eccentricity):
        anomaly = mean + eccentricity * torch.sin(mean)
        for _ in range(8):
            excess = anomaly - eccentricity * torch.sin(anomaly) - mean
            anomaly = anomaly - excess / (1 - eccentricity * torch.cos(anomaly))
        return anomaly

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, eccentricity = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_forward(eccentricity, output)

    @staticmethod
    def jvp(ctx, mean_tangent, eccentricity_tangent):
        eccentricity, anomaly = ctx.saved_tensors
        numerator = torch.zeros_like(anomaly)
        if mean_tangent is not None:
            numerator = numerator + mean_tangent
        if eccentricity_tangent is not None:
            numerator = numerator + eccentricity_tangent * torch.sin(anomaly)
        return numerator / (1 - eccentricity * torch.cos(anomaly))


# %%
# Use it like any operator
# ------------------------
#
# The tangent passes through it, here with respect to the time: with the mean anomaly :math:`M = 2
# \pi t / T` as a dual tensor, the angle seen from the sun gets its angular velocity. Three orbits,
# with the eccentricities of the Earth, of Mercury and of a comet, in one tensor.

names = ["Earth, e = 0.017", "Mercury, e = 0.206", "a comet, e = 0.700"]
eccentricity = torch.tensor([[0.017], [0.206], [0.7]], device=device)
times = torch.linspace(0, 1, 121)[None, :].repeat(3, 1)  # in periods


def true_anomaly(time, eccentricity):
    """The angle between a planet and its perihelion, seen from the sun."""
    anomaly = Kepler.apply(2 * math.pi * (time - 0.5), eccentricity)
    factor = torch.sqrt((1 + eccentricity) / (1 - eccentricity))
    return 2 * torch.atan(factor * torch.tan(anomaly / 2))


inside = times[:, 1:-1].contiguous()  # at the ends the tangent function has its pole
with fwAD.dual_level():
    time = fwAD.make_dual(inside.to(device), torch.ones_like(inside, device=device))
    angle, velocity = fwAD.unpack_dual(true_anomaly(time, eccentricity))

# %%
# And with respect to the eccentricity, which tells how far the planet would be displaced if the
# orbit were a little less round.

with fwAD.dual_level():
    mean = (2 * math.pi * (inside - 0.5)).to(device)
    dual = fwAD.make_dual(eccentricity, torch.ones_like(eccentricity))
    anomaly, displacement = fwAD.unpack_dual(Kepler.apply(mean, dual))

# %%
# The exact answer
# ----------------
#
# Kepler's second law gives the angular velocity without his equation: the line from the sun sweeps
# equal areas in equal times,
#
# .. math:: \frac{\mathrm{d}\nu}{\mathrm{d}t}
#    = \frac{2 \pi}{T} \frac{(1 + e \cos \nu)^2}{(1 - e^2)^{3/2}} .
#
# It is evaluated in ``float64`` on the CPU at the angle :math:`\nu` that the solver found.

wide = eccentricity.cpu().to(torch.float64)
nu = angle.cpu().to(torch.float64)
expected = 2 * math.pi * (1 + wide * torch.cos(nu)) ** 2 / (1 - wide**2) ** 1.5

# %%
# The picture
# -----------

colors = ["#0072B2", "#E69F00", "#D55E00"]
figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for row, (name, color) in enumerate(zip(names, colors, strict=True)):
    axes.semilogy(inside[row], velocity[row].cpu(), color=color, label=name)
    axes.semilogy(inside[row, ::6], expected[row, ::6], "o", color=color, markerfacecolor="none")
axes.plot([], [], "o", color="gray", markerfacecolor="none", label="Kepler's second law")
ticks = [2, 5, 10, 20, 50]
axes.set_yticks(ticks, [str(tick) for tick in ticks])
axes.set_xlabel("time since aphelion (orbital periods)")
axes.set_ylabel("angular velocity (radians per period)")
axes.set_title("The tangent through a solver")
axes.grid(True, alpha=0.3)
axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
plt.show()

# %%
# What has to hold
# ----------------
#
# *The tangent obeys the second law.* The solver's :math:`E` carries an error of a few
# :math:`\epsilon`, divided by :math:`1 - e \cos E \ge 0.3` once in the solver and once in its
# derivative; the tangent function near its pole multiplies it by up to 40. That is some hundred
# :math:`\epsilon`, and the margin 1e-4 is 800 of them.

error = ((velocity.cpu().to(torch.float64) - expected).abs() / expected).max()
print(f"largest relative error of the velocity: {error:.1e}")
assert velocity.device.type == device.type
assert error < 1e-4

# %%
# *The displacement agrees with finite differences* of the solver, in ``float64`` on the CPU, with a
# step of 1e-6, which leaves an error of about 1e-9.

wide_mean = 2 * math.pi * (inside.to(torch.float64) - 0.5)
ahead, back = (Kepler.apply(wide_mean, wide + step) for step in (1e-6, -1e-6))
difference = (ahead - back) / 2e-6
torch.testing.assert_close(displacement.cpu().to(torch.float64), difference, rtol=1e-4, atol=1e-5)

# %%
# *And PyTorch's own check of such a formula passes.* ``gradcheck`` compares ``jvp`` with finite
# differences. It is written for ``float64``, hence the CPU. Forward mode alone is checked, since the
# class has no ``backward``.

assert torch.autograd.gradcheck(
    Kepler.apply,
    (wide_mean[:, ::20].clone().requires_grad_(), wide.clone().requires_grad_()),
    check_forward_ad=True,
    check_backward_ad=False,
    check_undefined_grad=False,
    check_batched_grad=False,
)
