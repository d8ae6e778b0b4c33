r"""
When forward beats reverse
==========================

A whole Jacobian of :math:`n` inputs and :math:`m` outputs takes :math:`n` forward passes or
:math:`m` backward passes. So forward mode wins for few inputs and reverse mode for few outputs. This
recipe counts the passes, measures the time and the memory, and shows where the border is.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual
"""

import time

import matplotlib.pyplot as plt
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The function
# ------------
#
# :math:`f(x) = \tanh(B \tanh(A x))` from :math:`n` inputs through 64 hidden values to :math:`m`
# outputs.

hidden = 64
torch.manual_seed(0)
wide = torch.randn(hidden, hidden) / hidden**0.5


def function(n, m):
    first, second = wide[:, :n].contiguous().to(device), wide[:m].contiguous().to(device)
    return lambda x: torch.tanh(torch.mv(second, torch.tanh(torch.mv(first, x))))


# %%
# Two ways to a Jacobian
# ----------------------
#
# Forward mode fills it column by column, reverse mode row by row. Both count their passes.


def by_columns(f, x):
    columns = []
    for unit in torch.eye(len(x), device=device):
        with fwAD.dual_level():
            columns.append(fwAD.unpack_dual(f(fwAD.make_dual(x, unit))).tangent)
    return torch.stack(columns, dim=1), len(columns)


def by_rows(f, x):
    x = x.clone().requires_grad_()
    y = f(x)
    units = torch.eye(len(y), device=device)
    rows = [torch.autograd.grad(y, x, unit, retain_graph=True)[0] for unit in units]
    return torch.stack(rows), len(rows)


def stopped(way, f, x):
    """A Jacobian, its number of passes and the seconds it took."""
    torch.accelerator.synchronize()
    begin = time.perf_counter()
    jacobian, passes = way(f, x)
    torch.accelerator.synchronize()
    return jacobian, passes, time.perf_counter() - begin


# %%
# Measure
# -------
#
# The first call of each kind prepares things that later ones find ready, so it is not counted.

shapes = [(1, 64), (4, 64), (16, 64), (64, 64), (64, 16), (64, 4), (64, 1)]
for way in (by_columns, by_rows):
    way(function(1, 1), torch.ones(1, device=device))

table = []
for n, m in shapes:
    f, x = function(n, m), torch.linspace(-1, 1, n, device=device)
    forward, columns, forward_time = stopped(by_columns, f, x)
    reverse, rows, reverse_time = stopped(by_rows, f, x)
    table.append((n, m, columns, rows, forward_time, reverse_time))
    # Two ways, one Jacobian. Sums of 64 products, each rounded to ϵ/2, two layers of them.
    torch.testing.assert_close(forward, reverse, rtol=1e-4, atol=1e-5)

print(f"inputs outputs | passes: forward reverse | ms on {device.type}: forward reverse")
for n, m, columns, rows, forward_time, reverse_time in table:
    print(f"{n:6}{m:8} |{columns:16}{rows:8} |{1e3 * forward_time:16.1f}{1e3 * reverse_time:8.1f}")

# %%
# What reverse mode keeps
# -----------------------
#
# Reverse mode has to remember the values that its backward pass will need, for each step of a long
# computation. ``saved_tensors_hooks`` sees every tensor that is kept. Forward mode needs no graph: its
# tangent goes along and is dropped with the value.


def simulate(x, steps):
    for _ in range(steps):
        x = x + 0.01 * torch.sin(x)
    return x


def bytes_kept(x, steps):
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        simulate(x, steps)
    return sum(tensor.nbytes for tensor in kept)


state = torch.linspace(-1, 1, 1000, device=device)
lengths = [0, 10, 20, 40]
kept_forward, kept_reverse = [], []
for steps in lengths:
    with fwAD.dual_level():
        dual = fwAD.make_dual(state, torch.ones_like(state))
        kept_forward.append(bytes_kept(dual, steps))
    leaf = state.clone().requires_grad_()
    kept_reverse.append(bytes_kept(leaf, steps))

# %%
# The picture
# -----------
#
# The times are what this one run measured on the device named at the top of the page; another device
# gives other numbers, and a software NPU says nothing about a chip's. What does not depend on the
# device is the number of passes, and that the memory of reverse mode grows with the length of the
# computation.

labels = [f"{n} → {m}" for n, m, *_ in table]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 4.2), width_ratios=[3, 2], layout="constrained"
)
left.semilogy(labels, [1e3 * row[4] for row in table], "o-", color="#0072B2", label="forward")
left.semilogy(labels, [1e3 * row[5] for row in table], "s-", color="#D55E00", label="reverse")
left.set_xlabel("inputs → outputs (number)")
left.set_ylabel("time for the Jacobian (ms)")
left.set_title(f"Measured on the device {device.type}")
right.plot(lengths, [kept / 1024 for kept in kept_forward], "o-", color="#0072B2", label="forward")
right.plot(lengths, [kept / 1024 for kept in kept_reverse], "s-", color="#D55E00", label="reverse")
right.set_xlabel("steps of a simulation (number)")
right.set_ylabel("kept for the derivative (KiB)")
right.set_title("Counted, 4 KiB a state")
for axes in (left, right):
    axes.grid(True, alpha=0.3)
    axes.legend()
plt.show()

# %%
# What has to hold
# ----------------
#
# No time is asserted, for it is nobody's promise. The passes are counted, and so are the bytes: forward
# mode keeps nothing, reverse mode keeps the same for each step, here at least the argument of the sine.
# That both ways gave the same Jacobian was asserted where it was measured; this one checks the
# largest of them against the chain rule, in ``float64`` on the CPU.

assert [(row[2], row[3]) for row in table] == shapes
assert kept_forward == [0, 0, 0, 0]
assert kept_reverse[0] == 0
assert kept_reverse[1] >= 10 * state.nbytes
assert kept_reverse[2] == 2 * kept_reverse[1]
assert kept_reverse[3] == 4 * kept_reverse[1]

full = wide.to(torch.float64)
middle = torch.tanh(full @ torch.linspace(-1, 1, hidden).to(torch.float64))
last = torch.tanh(full @ middle)
exact = (1 - last**2)[:, None] * full @ ((1 - middle**2)[:, None] * full)
jacobian, _ = by_columns(function(hidden, hidden), torch.linspace(-1, 1, hidden, device=device))
assert jacobian.device.type == device.type
torch.testing.assert_close(jacobian.cpu().to(torch.float64), exact, rtol=1e-4, atol=1e-5)
