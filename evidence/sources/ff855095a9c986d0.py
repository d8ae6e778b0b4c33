r"""
A full Jacobian, column by column
=================================

One forward pass gives one column of a Jacobian: the tangent of the result when the tangent of the
input is a unit vector. This recipe collects the columns of a small Jacobian in three ways, in a
loop, in one pass over a batch, and with :py:func:`torch.func.jacfwd`, and uses it for what
engineers need it for: how fast the hand of a robot arm moves when its joints turn.

.. verifies::
   :apis: torch.autograd.forward_ad.dual_level, torch.autograd.forward_ad.make_dual,
      torch.autograd.forward_ad.unpack_dual, torch.func.jacfwd
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.autograd.forward_ad as fwAD

device = torch.accelerator.current_accelerator()

# %%
# The arm
# -------
#
# Three links in a plane. Each joint's angle counts from the link before it, so the direction of a
# link is the sum of all angles up to its joint. The function takes the three angles in the last
# dimension and returns where the hand is; dimensions before that are a batch.

lengths = torch.tensor([0.5, 0.4, 0.2], device=device)  # meters
angles = torch.tensor([0.5, 0.9, -0.6], device=device)  # radians


def hand(angles):
    directions = torch.cumsum(angles, dim=-1)
    x = (lengths * torch.cos(directions)).sum(-1)
    y = (lengths * torch.sin(directions)).sum(-1)
    return torch.stack([x, y], dim=-1)


# %%
# One column a pass
# -----------------
#
# The unit vectors are the rows of the identity matrix. Three inputs, three passes.

columns = []
for unit in torch.eye(3, device=device):
    with fwAD.dual_level():
        dual = fwAD.make_dual(angles, unit)
        columns.append(fwAD.unpack_dual(hand(dual)).tangent)
in_a_loop = torch.stack(columns, dim=1)

# %%
# All columns in one pass
# -----------------------
#
# A function that accepts a batch needs no loop: repeat the point, and give each copy a tangent of
# its own. The batch makes rows, so the result is transposed.

with fwAD.dual_level():
    dual = fwAD.make_dual(angles.repeat(3, 1), torch.eye(3, device=device))
    in_one_pass = fwAD.unpack_dual(hand(dual)).tangent.T

# %%
# The same with jacfwd
# --------------------
#
# :py:func:`torch.func.jacfwd` builds the batch by itself, also for a function that knows of none.

with_jacfwd = torch.func.jacfwd(hand)(angles)

# %%
# The exact answer
# ----------------
#
# The hand turns about joint :math:`k` like a rigid body: the velocity is the vector from the joint
# to the hand, turned by 90 degrees. This is geometry, in ``float64`` on the CPU; nothing is
# differentiated.

directions = torch.cumsum(angles.cpu().to(torch.float64), dim=0)
links = lengths.cpu().to(torch.float64) * torch.stack([directions.cos(), directions.sin()])
joints = torch.cat([torch.zeros(2, 1, dtype=torch.float64), links.cumsum(dim=1)], dim=1)
to_hand = joints[:, -1:] - joints[:, :-1]
exact = torch.stack([-to_hand[1], to_hand[0]])

for row, name in enumerate("xy"):
    print(f"d{name}/dθ (m/rad):", "  ".join(f"{value:7.4f}" for value in in_a_loop[row].tolist()))

# %%
# The picture
# -----------
#
# Each arrow is one column: where the hand goes, and how fast, when only that joint turns. The
# ellipse is what the Jacobian does to all joint velocities of length one together. Where it is
# thin, the arm is slow.

turn = np.linspace(0, 2 * np.pi, 200)
axes_of_ellipse, sizes, _ = np.linalg.svd(exact.numpy())
outline = axes_of_ellipse @ (sizes[:, None] * np.stack([np.cos(turn), np.sin(turn)]))

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
axes.plot(*joints, "-", color="#555555", linewidth=6, solid_capstyle="round", zorder=1)
axes.plot(*joints[:, :-1], "o", color="white", markeredgecolor="#555555", markersize=11)
end = joints[:, -1]
axes.plot(end[0] + 0.4 * outline[0], end[1] + 0.4 * outline[1], color="#999999", linestyle=":")
for number, (color, column) in enumerate(
    zip(["#0072B2", "#D55E00", "#009E73"], in_a_loop.T.cpu(), strict=True), start=1
):
    axes.annotate(
        "",
        end + 0.4 * column,
        end,
        arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.5},
    )
    axes.plot([], [], color=color, linewidth=2.5, label=f"joint {number} turns")
axes.plot([], [], color="#999999", linestyle=":", label="all joints together")
axes.set_aspect("equal")
axes.set_xlabel("x (m)")
axes.set_ylabel("y (m)")
axes.set_title("Columns of the Jacobian (arrows: 0.4 s of motion at 1 rad/s)")
axes.grid(True, alpha=0.3)
axes.legend(loc="lower right")
plt.show()

# %%
# What has to hold
# ----------------
#
# The three ways compute the same products, and each agrees with geometry. A column is a sum of
# three terms below one meter, whose sine has a rounded argument; 16 :math:`\epsilon` is a generous
# bound for that.

tolerance = 16 * torch.finfo(torch.float32).eps

for jacobian in (in_a_loop, in_one_pass, with_jacfwd):
    assert jacobian.shape == (2, 3)
    assert jacobian.device.type == device.type
    assert (jacobian.cpu().to(torch.float64) - exact).abs().max() < tolerance
