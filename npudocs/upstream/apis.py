"""The APIs whose entries are written, in the order of the native page."""

from __future__ import annotations

import dataclasses

MODULE = "torch.autograd.forward_ad"


@dataclasses.dataclass(frozen=True)
class Api:
    """One API as an entry needs it.

    `tensors` are the parameters (or the fields of a class) that a limit on dtypes names; without one,
    there is no such limit. `part_of` is the API that this one belongs to: `dual_level` enters and exits
    a level, `unpack_dual` returns an `UnpackedDualTensor`.
    """

    name: str
    tensors: tuple[str, ...] = ()
    part_of: str = ""
    is_class: bool = False

    @property
    def full(self) -> str:
        """Return the name with its module."""
        return f"{MODULE}.{self.name}"


# The order of docs/source/autograd.rst and autograd.md, the same from 2.7 to 2.13.
# `dual_level` is a class as well, but its published entry is written as that of a function.
APIS = (
    Api("dual_level"),
    Api("make_dual", tensors=("tensor", "tangent")),
    Api("unpack_dual", tensors=("tensor",)),
    Api("enter_dual_level", part_of="dual_level"),
    Api("exit_dual_level", part_of="dual_level"),
    Api("UnpackedDualTensor", tensors=("primal", "tangent"), part_of="unpack_dual", is_class=True),
)
BY_NAME = {api.name: api for api in APIS}
