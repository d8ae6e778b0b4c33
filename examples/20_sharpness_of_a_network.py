r"""
Sharpness of a network
======================

The largest eigenvalue of the Hessian of the loss, :math:`\lambda`, says how fast one may train:
gradient descent diverges where its rate is above :math:`2 / \lambda`. The Hessian of a network is
too large to build. Forward over reverse multiplies it with a direction, and the power method needs
no more than that.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual, torch.func.functional_call
"""

import copy

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD
from torch.func import functional_call

device = torch.accelerator.current_accelerator()

# %%
# The network
# -----------
#
# It has 65 parameters, few enough to build the Hessian for the check. A linear layer with a bias and a
# matrix as input is computed by ``addmm``. Without a bias it is a ``matmul``, and the backward pass of
# that loses the tangent on the NPU: :doc:`/deviations/hessians` has the whole rule, and what to write
# instead.

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
reference = copy.deepcopy(model).to(torch.float64)  # on the CPU, for the check
inputs = torch.randn(64, 2)
targets = torch.sin(2 * inputs[:, :1]) * inputs[:, 1:]

model.to(device)
x, y = inputs.to(device), targets.to(device)
parameters = {name: value.detach() for name, value in model.named_parameters()}


def loss(parameters):
    return ((functional_call(model, parameters, (x,)) - y) ** 2).mean()


# %%
# Hessian times direction
# -----------------------
#
# Each parameter requires a gradient, for reverse mode, and has a tangent, for forward mode. Direction
# and result are flat vectors over all parameters.


def split(flat):
    sizes = [value.numel() for value in parameters.values()]
    parts = zip(parameters.items(), flat.split(sizes), strict=True)
    return {name: part.view_as(value) for (name, value), part in parts}


def hessian_times(direction):
    tangents = split(direction)
    with fwAD.dual_level():
        duals = {
            name: fwAD.make_dual(value.clone().requires_grad_(), tangents[name])
            for name, value in parameters.items()
        }
        gradients = torch.autograd.grad(loss(duals), list(duals.values()))
        products = [fwAD.unpack_dual(gradient).tangent for gradient in gradients]
    return torch.cat([product.detach().flatten() for product in products])


# %%
# The power method
# ----------------
#
# Multiply, normalize, repeat: the direction turns to the eigenvector of the eigenvalue with the
# largest magnitude, and :math:`v \cdot H v` converges to the eigenvalue.

directions, products, estimates = [], [], []
torch.manual_seed(1)
direction = torch.randn(sum(value.numel() for value in parameters.values())).to(device)
for _ in range(16):
    direction = direction / direction.norm()
    product = hessian_times(direction)
    directions.append(direction)
    products.append(product)
    estimates.append((direction @ product).item())
    direction = product

eigenvector = directions[-1]
sharpness = estimates[-1]
print(f"sharpness {sharpness:.4f}: train with a rate below {2 / sharpness:.3f}")

# %%
# The exact answer
# ----------------
#
# The whole Hessian in ``float64`` on the CPU, by two reverse passes, one row at a time. No forward mode
# is involved.

wide = list(reference.parameters())
wide_loss = ((reference(inputs.to(torch.float64)) - targets.to(torch.float64)) ** 2).mean()
gradient = torch.cat([g.flatten() for g in torch.autograd.grad(wide_loss, wide, create_graph=True)])
rows = []
for element in gradient:
    row = torch.autograd.grad(element, wide, retain_graph=True, materialize_grads=True)
    rows.append(torch.cat([part.flatten() for part in row]))
hessian = torch.stack(rows)
spectrum = torch.linalg.eigvalsh(hessian)

# %%
# The picture
# -----------
#
# On the left, the estimates arrive at the eigenvalue. On the right, the loss around the point: steep
# along the eigenvector, flat along a random direction. The dashed lines are the parabolas that
# gradient and Hessian-vector product predict.

distances = torch.linspace(-1.2, 1.2, 25)
flat = torch.cat([value.flatten() for value in parameters.values()])
pairs = [("eigenvector", eigenvector, products[-1]), ("random", directions[0], products[0])]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
left.axhline(spectrum[-1], color="black", linestyle="--", label="exact, whole Hessian")
left.plot(range(1, 17), estimates, "o-", color="#0072B2", label="power method")
left.set_xlabel("Hessian-vector products (number)")
left.set_ylabel("eigenvalue (no unit)")
left.set_ylim(bottom=0)
for (name, along, bent), color in zip(pairs, ["#D55E00", "#0072B2"], strict=True):
    with torch.no_grad():
        losses = [loss(split(flat + distance * along)).item() for distance in distances]
    slope = gradient.detach() @ along.cpu().to(torch.float64)
    curvature = (along @ bent).item()
    parabola = losses[12] + distances * slope + distances**2 / 2 * curvature
    right.plot(distances, losses, color=color, label=f"loss, {name}")
    right.plot(distances, parabola, "--", color=color, alpha=0.6)
right.plot([], [], "--", color="gray", label="parabolas")
right.set_xlabel("distance from the parameters (no unit)")
right.set_ylabel("loss (no unit)")
for axes in (left, right):
    axes.grid(True, alpha=0.3)
    axes.legend()
plt.show()

# %%
# What has to hold
# ----------------
#
# *Each product agrees with the whole Hessian.* A lost tangent would not: it would be ``None``, or half
# of the sum. The mean over 64 points, in two layers and through two kinds of derivative, stays within
# 100 :math:`\epsilon` of the Hessian's largest eigenvalue.

largest = spectrum.abs().max()
for direction, product in zip(directions, products, strict=True):
    expected = hessian @ direction.cpu().to(torch.float64)
    error = (product.cpu().to(torch.float64) - expected).norm() / largest
    assert product.device.type == device.type
    assert error < 100 * torch.finfo(torch.float32).eps

# %%
# *The power method has found the largest eigenvalue*, to one percent. The error of the estimate shrinks
# with the square of the ratio of the two largest eigenvalues in each step.

assert largest == spectrum[-1]
assert abs(sharpness / spectrum[-1].item() - 1) < 0.01
