r"""
Fit a curve
===========

Few parameters and many data points: the Jacobian of the residuals is tall and narrow, which is what
forward mode is made for. One pass over a batch of dual parameters gives all of it, and the
Levenberg-Marquardt method does the rest. At the end, the same Jacobian says how uncertain the
parameters are.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The data
# --------
#
# A damped oscillation, :math:`a\, e^{-\gamma t} \cos(\omega t + \varphi)`, at 80 times, with noise of 0.1
# mm.

names = ["amplitude (mm)", "damping (1/s)", "frequency (rad/s)", "phase (rad)"]
truth = torch.tensor([2.0, 0.35, 4.0, 0.5])
noise = 0.1  # mm

torch.manual_seed(0)
times = torch.linspace(0, 6, 80)
a, gamma, omega, phi = truth
data = a * torch.exp(-gamma * times) * torch.cos(omega * times + phi) + noise * torch.randn(80)

t, measured = times.to(device), data.to(device)


def oscillation(parameters):
    """The curve; `parameters` has a batch dimension and the four numbers."""
    a, gamma, omega, phi = (parameters[:, [column]] for column in range(4))
    return a * torch.exp(-gamma * t) * torch.cos(omega * t + phi)


# %%
# Curve and Jacobian in one pass
# ------------------------------
#
# The parameters four times, each time with another unit vector as tangent: the result has one row for
# each parameter.


def curve_and_jacobian(parameters):
    with fwAD.dual_level():
        dual = fwAD.make_dual(parameters.repeat(4, 1), torch.eye(4, device=device))
        curves, tangents = fwAD.unpack_dual(oscillation(dual))
    return curves[0], tangents.T


# %%
# The Levenberg-Marquardt method
# ------------------------------
#
# The step solves :math:`(J^T J + \mu D)\, \delta = J^T r`, with :math:`D` the diagonal of :math:`J^T J`.
# A step that lowers the sum of squares is taken, and :math:`\mu` shrinks; another one is not, and
# :math:`\mu` grows. The system has four unknowns, so it is solved on the CPU.

start = torch.tensor([1.0, 0.1, 3.4, 0.0], device=device)
damping = 1e-2
parameters, history = start, []
curve, jacobian = curve_and_jacobian(parameters)
for _ in range(20):
    residuals = measured - curve
    cost = (residuals**2).sum().item()
    history.append(cost)
    normal = (jacobian.T @ jacobian).cpu()
    downhill = (jacobian.T @ residuals).cpu()
    step = torch.linalg.solve(normal + damping * normal.diag().diag(), downhill).to(device)
    tried_curve, tried_jacobian = curve_and_jacobian(parameters + step)
    if ((measured - tried_curve) ** 2).sum().item() < cost:
        parameters, curve, jacobian = parameters + step, tried_curve, tried_jacobian
        damping /= 5
    else:
        damping *= 5

# %%
# What the fit knows
# ------------------
#
# The covariance of the parameters is :math:`\sigma^2 (J^T J)^{-1}`, with :math:`\sigma` from the
# residuals.

normal = (jacobian.T @ jacobian).cpu()
scatter = ((measured - curve) ** 2).sum().item() / (80 - 4)
covariance = scatter * torch.linalg.inv(normal)
deviations = covariance.diag().sqrt()
print(f"{'':22}{'start':>8}{'fit':>10}{'±':>9}{'truth':>8}")
columns = (column.tolist() for column in (start, parameters, deviations, truth))
for row in zip(names, *columns, strict=True):
    print("{:22}{:8.3f}{:10.4f}{:9.4f}{:8.3f}".format(*row))

# %%
# An independent solution
# -----------------------
#
# NumPy in ``float64``, with the derivatives worked out by hand, and another method: Gauss-Newton
# from the truth, until nothing changes.


def by_hand(p):
    a, gamma, omega, phi = p
    s = times.numpy().astype(np.float64)
    decay, angle = np.exp(-gamma * s), omega * s + phi
    curve = a * decay * np.cos(angle)
    columns = [
        decay * np.cos(angle),
        -s * curve,
        -a * s * decay * np.sin(angle),
        -a * decay * np.sin(angle),
    ]
    return curve, np.stack(columns, axis=1)


solution = truth.numpy().astype(np.float64)
for _ in range(20):
    reference, slopes = by_hand(solution)
    solution = solution + np.linalg.lstsq(slopes, data.numpy() - reference, rcond=None)[0]

# %%
# The picture
# -----------
#
# The band is twice the standard deviation of the curve, from the same Jacobian.

with torch.no_grad():
    first = oscillation(start[None])[0].cpu()
tall = jacobian.cpu()
band = 2 * ((tall @ covariance) * tall).sum(dim=1).sqrt()
best = curve.cpu()

figure, (upper, lower) = plt.subplots(2, figsize=(7, 6), height_ratios=[3, 2], layout="constrained")
upper.plot(times, first, ":", color="#999999", label="start")
upper.plot(times, data, "o", color="black", markersize=3, label="data")
upper.fill_between(times, best - band, best + band, color="#D55E00", alpha=0.3)
upper.plot(times, best, color="#D55E00", label="fit, with two standard deviations")
upper.set_xlabel("time (s)")
upper.set_ylabel("displacement (mm)")
upper.legend()
lower.semilogy(history, "o-", color="#0072B2", label="Levenberg-Marquardt")
lower.axhline(noise**2 * 80, color="black", linestyle="--", label="what the noise leaves")
lower.set_xlabel("pass (number)")
lower.set_ylabel("sum of squares (mm²)")
lower.set_xticks(range(0, 20, 2))
lower.legend()
for axes in (upper, lower):
    axes.grid(True, alpha=0.3)
plt.show()

# %%
# What has to hold
# ----------------
#
# *The Jacobian is the one worked out by hand.* The phase :math:`\omega t + \varphi` reaches 25, where
# ``float32`` has steps of 2e-6; times :math:`a t`, which is below 12, and the damping, an error of 1e-5
# remains possible. The largest element is about 3.

_, exact = by_hand(parameters.cpu().numpy().astype(np.float64))
error = np.abs(jacobian.cpu().numpy() - exact).max()
assert jacobian.device.type == device.type
assert error < 2e-5

# %%
# *Both solvers find the same parameters*, to a hundredth of their standard deviation, *and these are
# plausible*: within four standard deviations of the truth.

off = np.abs(parameters.cpu().numpy() - solution) / deviations.numpy()
assert off.max() < 0.01
assert ((parameters.cpu() - truth).abs() < 4 * deviations).all()
