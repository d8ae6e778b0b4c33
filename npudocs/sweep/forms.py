"""An operator with its samples, one call of it in each form, and the tangents that come out.

A form takes a call and returns ``(values, tangents)``, two flat lists of equal length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.autograd.forward_ad as fwAD
from torch.utils._pytree import tree_flatten, tree_unflatten

Outputs = tuple[list[torch.Tensor | None], list[torch.Tensor | None]]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Arguments of one call, on the CPU. A tensor that requires grad is one to differentiate."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    text: str
    process: Callable[[Any], Any] = lambda output: output
    host: bool = False  # tensors that are not differentiated stay on the host


@dataclasses.dataclass(frozen=True)
class Variant:
    """One operator, in one of the ways torch's database lists it."""

    name: str
    family: str
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]
    samples: Callable[[str], Iterator[Sample]]
    function: Callable[..., Any]
    reference: Callable[..., Any]
    inplace: Callable[..., Any] | None = None


@dataclasses.dataclass(frozen=True)
class Call:
    """An operator and its arguments, of which some are differentiated along tangents.

    `leaves` are the arguments' leaves; `places` are the positions of those that are differentiated.
    """

    function: Callable[..., Any]
    leaves: list[Any]
    structure: Any
    places: list[int]
    process: Callable[[Any], Any]
    tangents: list[torch.Tensor]

    @property
    def inputs(self) -> list[torch.Tensor]:
        """Return the tensors that are differentiated."""
        return [self.leaves[place] for place in self.places]

    def arguments(self, inputs: list[torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, with `inputs` in the places that are differentiated."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, inputs, strict=True):
            leaves[place] = tensor
        return tree_unflatten(leaves, self.structure)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        arguments, keywords = self.arguments(list(inputs))
        return self.process(self.function(*arguments, **keywords))

    def duals(self) -> list[torch.Tensor]:
        """Return the tensors that are differentiated, with their tangents."""
        pairs = zip(self.inputs, self.tangents, strict=True)
        return [fwAD.make_dual(*pair) for pair in pairs]

    def copy(self, function: Callable[..., Any], device: str, host: bool = False) -> Call:
        """Return the call of `function` with copies on a device: one in place may not spoil the next.

        With `host` only what is differentiated is moved there.
        """
        leaves = [
            _moved(leaf, "cpu" if host and place not in self.places else device)
            for place, leaf in enumerate(self.leaves)
        ]
        tangents = [_moved(tangent, device) for tangent in self.tangents]
        return dataclasses.replace(self, function=function, leaves=leaves, tangents=tangents)


def call_of(sample: Sample, function: Any) -> Call | None:
    """Return a sample as a call on the CPU with tangents; None where nothing is differentiated."""
    leaves, structure = tree_flatten((sample.arguments, sample.keywords))
    places = [
        place
        for place, leaf in enumerate(leaves)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if not places:
        return None
    leaves = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    generator = torch.Generator().manual_seed(1)
    tangents = [
        torch.randn(leaves[place].shape, generator=generator, dtype=leaves[place].dtype)
        for place in places
    ]
    return Call(function, leaves, structure, places, sample.process, tangents)


def _moved(leaf: Any, device: str) -> Any:
    """Return a leaf of the arguments on a device: a tensor's copy with the same values and layout."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout != torch.strided or torch._debug_has_internal_overlap(leaf) == 1:
            return leaf.to(device)
        copy = torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device=device)
        return copy.copy_(leaf)
    if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu"):
        return torch.device(device)
    return leaf


def differentiable(output: Any) -> list[torch.Tensor]:
    """Return the tensors of an output that can carry a tangent."""
    return [
        leaf
        for leaf in tree_flatten(output)[0]
        if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())
    ]


def _unpacked(output: Any) -> Outputs:
    pairs = [fwAD.unpack_dual(tensor) for tensor in differentiable(output)]
    return [pair.primal for pair in pairs], [pair.tangent for pair in pairs]


def dual(call: Call) -> Outputs:
    """Out of place."""
    with fwAD.dual_level():
        return _unpacked(call(*call.duals()))


def inplace(call: Call) -> Outputs:
    """In place on a copy of the first argument: a leaf's own tangent must not be written to."""
    with fwAD.dual_level():
        arguments, keywords = call.arguments(call.duals())
        first, *others = arguments
        return _unpacked(call.process(call.function(first.clone(), *others, **keywords)))


def out(call: Call) -> Outputs:
    """With ``out=``: torch refuses it on dual tensors."""
    expected, structure = tree_flatten(call(*call.inputs))
    empty = [
        torch.empty_like(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in expected
    ]
    with fwAD.dual_level():
        arguments, keywords = call.arguments(call.duals())
        return _unpacked(
            call.function(*arguments, **keywords, out=tree_unflatten(empty, structure))
        )


def func_jvp(call: Call) -> Outputs:
    """By torch.func.jvp."""
    values, found = torch.func.jvp(_flat(call), tuple(call.inputs), tuple(call.tangents))
    return list(values), list(found)


def batched(call: Call) -> Outputs:
    """By torch.func.vmap over torch.func.jvp, with two tangents at once."""
    flat = _flat(call)

    def push(*directions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.func.jvp(flat, tuple(call.inputs), directions)[1]

    stacked = tuple(torch.stack((tangent, 2 * tangent)) for tangent in call.tangents)
    return list(flat(*call.inputs)), list(torch.func.vmap(push, randomness="same")(*stacked))


def forward_over_reverse(call: Call) -> Outputs:
    """The gradient of a weighted sum of the outputs, on dual tensors."""
    with fwAD.dual_level():
        leaves = [x.detach().requires_grad_() for x in call.inputs]
        duals = [fwAD.make_dual(x, t) for x, t in zip(leaves, call.tangents, strict=True)]
        outputs = [one for one in differentiable(call(*duals)) if one.requires_grad]
        weights = [_weights(fwAD.unpack_dual(one).primal) for one in outputs]
        gradients = torch.autograd.grad(
            outputs, leaves, weights, allow_unused=True, create_graph=True
        )
        pairs = [(None, None) if one is None else fwAD.unpack_dual(one) for one in gradients]
        return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def reverse_over_forward(call: Call) -> Outputs:
    """The gradient of a weighted sum of the tangents."""
    with fwAD.dual_level():
        leaves = [x.detach().requires_grad_() for x in call.inputs]
        duals = [fwAD.make_dual(x, t) for x, t in zip(leaves, call.tangents, strict=True)]
        found = [fwAD.unpack_dual(one).tangent for one in differentiable(call(*duals))]
        return _gradients([one for one in found if one is not None], leaves)


def double_backward(call: Call, times: int = 2) -> Outputs:
    """The gradient of a weighted sum of the gradients, `times` in all."""
    leaves = [x.detach().requires_grad_() for x in call.inputs]
    found = differentiable(call(*leaves))
    for _ in range(times - 1):
        found = [one for one in _gradients(found, leaves)[1] if one is not None]
    return _gradients(found, leaves)


def triple_backward(call: Call) -> Outputs:
    """The gradient of a weighted sum of those of `double_backward`."""
    return double_backward(call, 3)


def _gradients(outputs: list[torch.Tensor], leaves: list[torch.Tensor]) -> Outputs:
    """Return no values, and the gradients in the place of the tangents: none where nothing depends."""
    outputs = [one for one in outputs if one.requires_grad]
    nothing = [None] * len(leaves)
    if not outputs:
        return nothing, nothing
    weights = [_weights(one) for one in outputs]
    return nothing, list(
        torch.autograd.grad(outputs, leaves, weights, allow_unused=True, create_graph=True)
    )


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Unequal, so that a sum which is constant, as softmax's, has a gradient too."""
    weights = torch.linspace(0.5, 1.5, output.numel()).reshape(output.shape)
    return weights.to(output.dtype).to(output.device)


def _flat(call: Call) -> Callable[..., tuple[torch.Tensor, ...]]:
    return lambda *inputs: tuple(differentiable(call(*inputs)))


CALLS: dict[str, Callable[[Call], Outputs]] = {
    "dual": dual,
    "inplace": inplace,
    "out": out,
    "func.jvp": func_jvp,
    "forward over reverse": forward_over_reverse,
    "batched": batched,
    "reverse over forward": reverse_over_forward,
    "double backward": double_backward,
    "triple backward": triple_backward,
}
