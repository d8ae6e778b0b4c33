r"""
Hessian-vector products for Newton's method
===========================================

Forward mode over reverse mode: take the gradient of a function by reverse mode, at a point that is
a dual tensor. The gradient's tangent is then the directional derivative of the gradient, which is
the Hessian times the direction,

.. math:: H v = \lim_{h \to 0} \frac{\nabla f(x + h v) - \nabla f(x)}{h} ,

without the Hessian itself. A Newton method whose linear
systems are solved by conjugate gradients needs nothing else.

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
# The function
# ------------
#
# Rosenbrock's function has its minimum, 0, at (1, 1), at the end of a curved valley.


def rosenbrock(p):
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


# %%
# Gradient and Hessian-vector product in one go
# ---------------------------------------------
#
# The point requires a gradient, for reverse mode, and gets a tangent, for forward mode. The dual
# tensor is what the gradient is taken of.


def gradient_and_hvp(point, direction):
    with fwAD.dual_level():
        dual = fwAD.make_dual(point.detach().requires_grad_(), direction)
        (gradient,) = torch.autograd.grad(rosenbrock(dual), dual)
        gradient, product = fwAD.unpack_dual(gradient)
    return gradient.detach(), product.detach()


# %%
# Check it at one point
# ---------------------
#
# The Hessian of Rosenbrock's function, by hand:
#
# .. math:: H_{xx} = 2 + 1200 x^2 - 400 y, \qquad H_{xy} = H_{yx} = -400 x, \qquad H_{yy} = 200


def exact_hessian(point):
    x, y = point.cpu().to(torch.float64).tolist()
    return torch.tensor(
        [[2 + 1200 * x * x - 400 * y, -400 * x], [-400 * x, 200.0]], dtype=torch.float64
    )


def error(point, direction, product):
    """The deviation from the exact product, relative to the size of Hessian times direction."""
    hessian = exact_hessian(point)
    direction = direction.cpu().to(torch.float64)
    deviation = (product.cpu().to(torch.float64) - hessian @ direction).norm()
    return (deviation / (hessian.norm() * direction.norm())).item()


point = torch.tensor([-1.25, 1.0], device=device)
direction = torch.tensor([1.0, 2.0], device=device)
gradient, product = gradient_and_hvp(point, direction)

# %%
# The gradient came from the NPU, and so did the product. A dozen operations, each rounded to
# :math:`\epsilon/2`, with one subtraction of numbers a few times larger than their difference: 32
# :math:`\epsilon` is a safe bound.

tolerance = 32 * torch.finfo(torch.float32).eps

assert product.device.type == device.type
assert error(point, direction, product) < tolerance

# %%
# Newton's method with conjugate gradients
# ----------------------------------------
#
# Each iteration solves :math:`H d = -\nabla f` for the direction :math:`d`. Conjugate gradients
# need two products for two unknowns, and a positive curvature along the way, which the assertion
# makes sure of. The step is halved until it lowers the function enough (Armijo's rule).


def newton_direction(point, gradient):
    solution = torch.zeros_like(gradient)
    residual = -gradient
    search = residual
    for _ in range(2):
        _, product = gradient_and_hvp(point, search)
        errors.append(error(point, search, product))
        curvature = search @ product
        assert curvature > 0
        length = (residual @ residual) / curvature
        solution = solution + length * search
        smaller = residual - length * product
        search = smaller + (smaller @ smaller) / (residual @ residual) * search
        residual = smaller
    return solution if solution.any() else -gradient


errors = []
path = [point]
for _ in range(40):
    value = rosenbrock(point)
    gradient, _ = gradient_and_hvp(point, torch.zeros_like(point))
    if gradient.norm() < 1e-3:
        break
    move = newton_direction(point, gradient)
    scale = 1.0
    while rosenbrock(point + scale * move) > value + 1e-4 * scale * (gradient @ move):
        scale /= 2
    point = point + scale * move
    path.append(point)

path = torch.stack(path).cpu()

# %%
# The picture
# -----------

x, y = np.meshgrid(np.linspace(-1.6, 1.5, 300), np.linspace(-0.7, 2.2, 300))
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
contours = axes.contourf(
    x, y, np.log10((1 - x) ** 2 + 100 * (y - x * x) ** 2 + 1e-3), levels=14, cmap="cividis"
)
figure.colorbar(contours, label="log₁₀ of the function value (no unit)")
axes.plot(path[:, 0], path[:, 1], "o-", color="white", markeredgecolor="black", label="iterates")
axes.plot(1, 1, "*", color="#D55E00", markersize=16, markeredgecolor="white", label="minimum")
axes.set_xlabel("x (no unit)")
axes.set_ylabel("y (no unit)")
axes.set_title(f"Newton's method on the device {device.type}: {len(path) - 1} iterations")
axes.legend(loc="lower left")
plt.show()

# %%
# What has to hold
# ----------------
#
# Every product on the way agrees with the exact Hessian. The path ends at the minimum: the smaller
# eigenvalue of :math:`H` there is 0.4, so a gradient shorter than 1e-3 puts the point within 1e-3
# / 0.4 = 2.5e-3 of it.

assert errors
assert max(errors) < tolerance
assert (path[-1] - torch.ones(2)).norm() < 2.5e-3
assert len(path) < 40
