r"""
Notice lost tangents
====================

On the NPU some operations return their value without a tangent and raise no error. Where a lost
tangent meets one that was kept, as in a residual connection, the result has a tangent, and it is
wrong. This recipe differentiates a small network with dropout and attention, finds out with a
guard what goes wrong, repairs it and checks the repair against finite differences.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import types

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

device = torch.accelerator.current_accelerator()

# %%
# The guard
# ---------
#
# The class is that of :doc:`/deviations/guard`, where it is explained and tested. It sees every
# operation that is called inside it and raises an error for one that gets a tangent and returns
# none.

ASKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
CONSTANT = {"_unpack_dual", "detach", "detach_", "bernoulli", "multinomial", "normal"}
GETTERS = (torch.Tensor.data.__get__, torch.Tensor.grad.__get__)


def floating(tree):
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    return [x for x in tensors if x.is_floating_point() or x.is_complex()]


def has_tangent(tree):
    return any(fwAD.unpack_dual(x).tangent is not None for x in floating(tree))


def is_constant(func):
    name = func.__name__
    return name.endswith("_like") or name.startswith("new_") or name in CONSTANT or func in GETTERS


class TangentGuard(TorchFunctionMode):
    """Inside it, an operation that loses the tangents of its inputs raises an error."""

    inside = ()

    def __torch_function__(self, func, classes, args=(), kwargs=None):
        kwargs = kwargs or {}
        if isinstance(func, types.FunctionType) and func not in self.inside:
            # Written in Python: run its body under the guard too, without asking again.
            names = func.__globals__ | dict.fromkeys(ASKS, lambda *_: False)
            parts = (func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
            body = types.FunctionType(*parts)
            body.__kwdefaults__ = func.__kwdefaults__
            outside, self.inside = self.inside, (*self.inside, func)
            try:
                with self:
                    return body(*args, **kwargs)
            finally:
                self.inside = outside
        dual = has_tangent((args, kwargs))  # before the call, which may write into one
        result = func(*args, **kwargs)
        outputs = floating(result)
        if dual and outputs and not is_constant(func) and not has_tangent(outputs):
            raise RuntimeError(f"{func.__name__} lost the tangent")
        return result


# %%
# A network
# ---------
#
# One block of a transformer: attention, dropout and a residual connection, then a loss. The target
# is so far away that no difference in the loss changes its sign, so the absolute value has no kink.

torch.manual_seed(0)
heads, length, width = 2, 16, 16
x = torch.randn(1, heads, length, width).to(device)
v = torch.randn(1, heads, length, width).to(device)
target = 10 + torch.randn(1, heads, length, width).to(device)


def network(x, attention, dropout, loss):
    return loss(x + dropout(attention(x)), target)


# %%
# PyTorch's functions for its parts. The dropout is seeded, so that each call draws the same mask.


def seeded_dropout(x):
    torch.manual_seed(1)
    return F.dropout(x, p=0.25)


parts = {
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "dropout": seeded_dropout,
    "loss": F.l1_loss,
}

# %%
# And what to put in their place, written with operations that keep the tangent.


def attention(x):
    rows = x[0]
    weights = F.softmax(torch.bmm(rows, rows.mT) / width**0.5, dim=-1)
    return torch.bmm(weights, rows)[None]


repairs = {
    "attention": attention,
    "dropout": lambda x: x * seeded_dropout(torch.ones_like(x)),
    "loss": lambda x, target: (x - target).abs().mean(),
}

# %%
# Repair what the guard names
# ---------------------------
#
# Whatever the guard finds is replaced, until it finds nothing. ``names`` says which part an
# operation belongs to.

names = {
    "scaled_dot_product_attention": "attention",
    "dropout": "dropout",
    "l1_loss": "loss",
}


def derivative(parts, guarded=True):
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, v)
        if guarded:
            with TangentGuard():
                result = network(dual, **parts)
        else:
            result = network(dual, **parts)
        tangent = fwAD.unpack_dual(result).tangent
    return None if tangent is None else tangent.item()


unrepaired = dict(parts)
half = derivative({**parts, "loss": repairs["loss"]}, guarded=False)
found = []
for _ in range(len(parts) + 1):
    try:
        repaired = derivative(parts)
        break
    except RuntimeError as error:
        name = str(error).partition(" ")[0]
        found.append(name)
        parts[names[name]] = repairs[names[name]]

print("found:", *found)

# %%
# Finite differences
# ------------------
#
# The functions as they were, not the repaired ones, give a derivative without a tangent: a central
# difference with the step :math:`h`. Rounding spoils it by about the loss times
# :math:`\epsilon / h`, which is :math:`10 \cdot 10^{-7} / 10^{-2} = 10^{-4}`, and curvature by about
# :math:`h^2 = 10^{-4}`.

h = 1e-2
with torch.no_grad():
    ahead, back = (network(x + step * v, **unrepaired).item() for step in (h, -h))
difference = (ahead - back) / (2 * h)

# %%
# The picture
# -----------
#
# Without a repair there is no number at all. With the loss alone repaired there is one, of the
# residual connection only.

labels = ["finite\ndifferences", "all repaired", "loss alone\nrepaired"]
colors = ["#999999", "#0072B2", "#D55E00"]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.bar(labels, [difference, repaired, half], color=colors)
axes.axhline(0, color="black", linewidth=0.8)
axes.set_ylabel("derivative of the loss along v (no unit)")
axes.set_title(f"float32 on the device {device.type}")
plt.show()

# %%
# What has to hold
# ----------------
#
# *The guard found all three*, in the order in which they are called.

assert found == ["scaled_dot_product_attention", "dropout", "l1_loss"]

# %%
# *Without a repair there is no tangent, and with half a repair a wrong one.*

assert derivative(unrepaired, guarded=False) is None
assert abs(half - difference) > 10 * abs(repaired - difference)

# %%
# *The repaired network agrees with the finite difference*, to five times the two errors together. The
# values are the same as before, to rounding: the repairs change how a value is written, not what
# it is.

assert abs(repaired - difference) < 1e-3
torch.testing.assert_close(network(x, **parts), network(x, **unrepaired))
