r"""
Move the parameters of a module
===============================

What would a network answer if its parameters were a little different? The parameters of an
``nn.Module`` are attributes, and a dual tensor cannot be put in the place of a ``Parameter``.
:py:func:`torch.func.functional_call` runs the module with other tensors in their place, so they
can be dual. One forward pass then shows how *every* prediction moves when all parameters move
together, here by one step of gradient descent.

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
# A network and its data
# ----------------------
#
# It is trained a little, on the CPU, so that it is somewhere in the middle of its way.

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16), torch.nn.Tanh(),
    torch.nn.Linear(16, 1),
)  # fmt: skip
inputs = torch.linspace(-3, 3, 41)[:, None]
targets = torch.sin(2 * inputs)

for _ in range(100):
    model.zero_grad()
    ((model(inputs) - targets) ** 2).mean().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad

reference = copy.deepcopy(model).to(torch.float64)  # on the CPU, for the check
model.to(device)
x, y = inputs.to(device), targets.to(device)

# %%
# The direction
# -------------
#
# A step of gradient descent with the rate 1. The direction is one tensor for each parameter.

rate = 1.0
loss = ((model(x) - y) ** 2).mean()
gradients = torch.autograd.grad(loss, list(model.parameters()))
parameters = {name: value.detach() for name, value in model.named_parameters()}
direction = {name: -rate * gradient for name, gradient in zip(parameters, gradients, strict=True)}

# %%
# Parameters as dual tensors
# --------------------------

with fwAD.dual_level():
    duals = {name: fwAD.make_dual(value, direction[name]) for name, value in parameters.items()}
    predictions, change = fwAD.unpack_dual(functional_call(model, duals, (x,)))

# %%
# The module itself is untouched: its parameters are the ones it had.

assert all(value.equal(parameters[name]) for name, value in model.named_parameters())

# %%
# The picture
# -----------
#
# The tangent says what the step does to the predictions to first order. The dotted line is what a real
# step does. They nearly agree; the gap between them is the curvature, which a first derivative does
# not see.

moved = {name: value + direction[name] for name, value in parameters.items()}
with torch.no_grad():
    after = functional_call(model, moved, (x,))

figure, (upper, lower) = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
upper.plot(inputs, targets, color="#999999", linewidth=5, alpha=0.6, label="target")
upper.plot(inputs, predictions.cpu(), color="#0072B2", label="prediction")
upper.plot(inputs, (predictions + change).cpu(), "--", color="#D55E00", label="plus its tangent")
upper.set_ylabel("output (no unit)")
upper.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.2), frameon=False)
lower.plot(inputs, change.cpu(), "--", color="#D55E00", label="tangent of the prediction")
lower.plot(inputs, (after - predictions).cpu(), ":", color="black", label="change by a real step")
lower.set_ylabel("change of the output (no unit)")
lower.set_xlabel("input (no unit)")
lower.legend()
for axes in (upper, lower):
    axes.grid(True, alpha=0.3)
plt.show()

# %%
# What has to hold
# ----------------
#
# *The tangent is the Jacobian times the direction.* The Jacobian comes from reverse mode in
# ``float64`` on the CPU, one row for each of the 41 predictions. Three layers with sums of at most
# 16 products, each rounded to :math:`\epsilon/2`, in the value and in the tangent, leave an error
# well below 100 :math:`\epsilon` of the largest change.

wide_predictions = reference(inputs.to(torch.float64)).flatten()
expected = []
for prediction in wide_predictions:
    row = torch.autograd.grad(prediction, list(reference.parameters()), retain_graph=True)
    along = zip(row, direction.values(), strict=True)
    expected.append(sum((part * move.cpu().to(torch.float64)).sum() for part, move in along))
expected = torch.stack(expected)

error = (change.flatten().cpu().to(torch.float64) - expected).abs().max() / expected.abs().max()
print(f"relative error of the tangent: {error:.1e}")
assert change.device.type == device.type
assert error < 100 * torch.finfo(torch.float32).eps

# %%
# *Along minus the gradient, the loss falls* by the rate times the squared length of the gradient, to
# first order. The tangents of the predictions say the same through the chain rule.

slope = (2 * (predictions - y) * change).mean()
length = sum((gradient**2).sum() for gradient in gradients)
torch.testing.assert_close(slope, -rate * length, rtol=1e-4, atol=0)
