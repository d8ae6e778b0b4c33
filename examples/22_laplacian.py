r"""
The Laplacian of a field
========================

Physics is full of second derivatives: heat, waves, and the residual that a physics-informed network
is trained on contain :math:`\Delta \phi = \phi_{xx} + \phi_{yy} + \phi_{zz}`. One
:py:func:`torch.func.jvp` inside another gives them, for all points at once and without a backward
pass. Here they turn an electric potential into the charges that cause it.

.. verifies::
   :apis: torch.func.jvp
"""

import math

import matplotlib.pyplot as plt
import torch

device = torch.accelerator.current_accelerator()

# %%
# A potential
# -----------
#
# Two clouds of charge, +1 and -1, with a Gaussian profile of width :math:`\sigma`. The potential of such a
# cloud (with :math:`4 \pi \epsilon_0 = 1`) is
#
# .. math:: \phi(r) = \frac{q}{r} \operatorname{erf} \frac{r}{\sqrt 2\, \sigma} .

sigma = 0.5
centers = torch.tensor([[-0.8, 0.0, 0.0], [0.8, 0.0, 0.0]])
charges = [1.0, -1.0]


def potential(points):
    """The potential at points, one in each row."""
    total = 0
    for center, charge in zip(centers.to(device), charges, strict=True):
        r = ((points - center) ** 2).sum(dim=1).sqrt()
        total = total + charge * torch.erf(r / (math.sqrt(2) * sigma)) / r
    return total


# %%
# Second derivative in one direction
# ----------------------------------
#
# The inner call differentiates in the direction :math:`v`, the outer one differentiates that. Each
# point has its own row and depends on no other, so one call serves all of them.


def second_derivative(function, points, v):
    def slope(points):
        return torch.func.jvp(function, (points,), (v,))[1]

    return torch.func.jvp(slope, (points,), (v,))[1]


def laplacian(function, points):
    """All three directions in one batch, added up."""
    count = len(points)
    directions = torch.eye(3, device=device)[:, None].repeat(1, count, 1).reshape(-1, 3)
    return second_derivative(function, points.repeat(3, 1), directions).reshape(3, -1).sum(dim=0)


# %%
# From the potential to the charge
# --------------------------------
#
# Poisson's equation: the density of charge is :math:`\rho = -\Delta \phi / 4 \pi`. The points are a grid in
# the plane :math:`z = 0`. It has an even number of points a side, so none of them falls on a center,
# where the formula divides by zero.

side = 60
line = torch.linspace(-2, 2, side)
y, x = torch.meshgrid(line, line, indexing="ij")
points = torch.stack([x.flatten(), y.flatten(), torch.zeros(side * side)], dim=1)

phi = potential(points.to(device))
density = -laplacian(potential, points.to(device)) / (4 * math.pi)

# %%
# The exact answer
# ----------------
#
# The clouds that the potential was made from, in ``float64`` on the CPU. Nothing is differentiated.
#
# .. math:: \rho(r) = \frac{q}{(2 \pi)^{3/2} \sigma^3}\, e^{-r^2 / 2 \sigma^2}

exact = torch.zeros(side * side, dtype=torch.float64)
for center, charge in zip(centers, charges, strict=True):
    squared = ((points - center).to(torch.float64) ** 2).sum(dim=1)
    peak = charge / ((2 * math.pi) ** 1.5 * sigma**3)
    exact = exact + peak * torch.exp(-squared / (2 * sigma**2))

# %%
# The picture
# -----------
#
# The potential reaches everywhere. Its Laplacian finds the two clouds.

figure, axes = plt.subplots(1, 3, figsize=(9.5, 4.2), layout="constrained")
wide = density.cpu().to(torch.float64)
titles = ["potential φ", r"density $-\Delta\phi / 4\pi$", "error of the density"]
units = ["unit charges per m", "unit charges per m³", "10⁻⁶ unit charges per m³"]
fields = [phi, density, 1e6 * (wide - exact)]
for place, title, unit, field in zip(axes, titles, units, fields, strict=True):
    limit = field.abs().max().item()
    image = place.imshow(
        field.cpu().reshape(side, side),
        origin="lower",
        extent=(-2, 2, -2, 2),
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
    )
    figure.colorbar(image, ax=place, label=unit, location="bottom")
    place.set_title(title)
    place.set_xlabel("x (m)")
axes[0].set_ylabel("y (m)")
plt.show()

# %%
# What has to hold
# ----------------
#
# Near a center, the second derivative is a sum of parts of the size :math:`3 / r^2` that cancel. The
# nearest points are at a distance of 0.04 m; parts of :math:`2 \cdot 10^3`, each rounded to
# :math:`\epsilon`, and divided by :math:`4 \pi`, leave an error of about 2e-5. The margin is five times
# that; the largest density is 0.5.

error = (wide - exact).abs().max().item()
print(f"largest density {exact.abs().max():.3f}, largest error {error:.1e}")
assert density.device.type == device.type
assert error < 1e-4

# %%
# Farther away than 0.5 m, the same parts are below 12, and the error is at least ten times smaller.

far = ((points[:, None] - centers) ** 2).sum(dim=2).sqrt().min(dim=1).values > 0.5
assert (wide - exact)[far].abs().max() < 1e-5
