r"""
Train without a backward pass
=============================

Take a random direction :math:`v`, and let one forward pass tell the slope of the loss along it. The
*forward gradient*

.. math:: g = (\nabla L \cdot v)\, v, \qquad v \sim \mathcal{N}(0, I),

is right on average, since the average of :math:`v v^T` is the identity. It is noisy, and it keeps
nothing for a backward pass. This recipe trains a classifier with it.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The data
# --------
#
# Two clouds of points with eight features, as labels 0 and 1. The model is logistic regression: eight
# weights.

torch.manual_seed(0)
n, features = 400, 8
labels = (torch.arange(n) % 2).to(torch.float32)
points = torch.randn(n, features) + 0.6 * (2 * labels - 1)[:, None] * torch.randn(features)

x, y = points.to(device), labels.to(device)

# %%
# The loss
# --------
#
# The cross entropy of a logistic model with the logit :math:`z` is the softplus of :math:`z` minus
# :math:`y z`. It takes a batch of weights, one column each, and returns a loss for each: several
# directions cost one pass.


def losses(weights):
    logits = torch.mm(x, weights)
    return (torch.nn.functional.softplus(logits) - y[:, None] * logits).mean(dim=0)


# %%
# The forward gradient
# --------------------
#
# Each column holds the same weights, with a direction of its own as tangent. The estimates are
# averaged.


def forward_gradient(weights, directions):
    count = directions.shape[1]
    with fwAD.dual_level():
        dual = fwAD.make_dual(weights[:, None].repeat(1, count), directions)
        value, slopes = fwAD.unpack_dual(losses(dual))
    return value[0], slopes, (directions * slopes).mean(dim=1)


# %%
# Training
# --------
#
# One, four and sixteen directions a step. Noise limits the rate: with :math:`k` directions and
# :math:`d` weights the squared length of :math:`g` is on average :math:`(d + k + 1) / k` times that
# of the gradient, so the rate is divided by that.

steps, rate = 60, 2.0
curves = {}
for count in (1, 4, 16):
    weights = torch.zeros(features, device=device)
    curve = []
    for _ in range(steps):
        directions = torch.randn(features, count).to(device)
        value, _, estimate = forward_gradient(weights, directions)
        weights = weights - rate * count / (features + count + 1) * estimate
        curve.append(value)
    curves[count] = torch.stack(curve).cpu()

# %%
# The independent answer
# ----------------------
#
# The gradient of this loss has a closed form, :math:`X^T (\sigma(X w) - y) / n`. Gradient descent
# with it, in ``float64`` on the CPU, is what the forward gradients are compared with.

wide_x, wide_y = points.to(torch.float64), labels.to(torch.float64)


def exact_gradient(weights):
    return wide_x.T @ (torch.sigmoid(wide_x @ weights) - wide_y) / n


def exact_loss(weights):
    logits = wide_x @ weights
    return (torch.nn.functional.softplus(logits) - wide_y * logits).mean()


wide_weights = torch.zeros(features, dtype=torch.float64)
exact_curve = []
for _ in range(steps):
    exact_curve.append(exact_loss(wide_weights))
    wide_weights = wide_weights - rate * exact_gradient(wide_weights)

# %%
# The picture
# -----------
#
# All of them fall toward the same loss, with more directions faster. By the formula above the rate for one
# direction is a tenth of that for the gradient, and so is the way of a step. For a model with a
# million weights it is a millionth, which is why this is of use where a backward pass is impossible, and not
# where it is merely inconvenient.

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for (count, curve), color in zip(curves.items(), ["#E69F00", "#009E73", "#0072B2"], strict=True):
    label = f"forward gradient, {count} direction{'s' if count > 1 else ''} a step"
    axes.plot(curve, color=color, label=label)
axes.plot(exact_curve, "--", color="black", label="gradient descent, closed form")
axes.set_xlabel("step (number)")
axes.set_ylabel("cross entropy (nats)")
axes.set_title("Logistic regression without a backward pass")
axes.grid(True, alpha=0.3)
axes.legend()
plt.show()

# %%
# What has to hold
# ----------------
#
# *Each slope is the gradient times the direction.* The loss is a mean of 400 terms; the rounding of
# such a mean is far below 1e-5 of the largest slope.

torch.manual_seed(1)
weights = torch.randn(features)
directions = torch.randn(features, 2000)
_, slopes, estimate = forward_gradient(weights.to(device), directions.to(device))
gradient = exact_gradient(weights.to(torch.float64))
expected = directions.T.to(torch.float64) @ gradient
error = (slopes.cpu().to(torch.float64) - expected).abs().max() / expected.abs().max()

assert slopes.device.type == device.type
assert error < 1e-5

# %%
# *The average over many directions is the gradient.* Its expected squared error is :math:`(d + 1) /
# k` of the gradient's squared length, here with 2000 directions a relative error of about 0.07. Three
# times that is allowed.

spread = ((features + 1) / directions.shape[1]) ** 0.5
off = (estimate.cpu().to(torch.float64) - gradient).norm() / gradient.norm()
print(f"relative error of the average: {off:.3f}, expected about {spread:.3f}")
assert off < 3 * spread

# %%
# *Training works*: with 16 directions the loss ends within 0.01 of gradient descent, and even with one
# it falls to less than two thirds of the start.

assert abs(curves[16][-1] - exact_curve[-1]) < 0.01
assert curves[1][-1] < curves[1][0] * 2 / 3
