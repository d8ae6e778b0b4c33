"""LSTM by the older operators: of several layers, of two directions, without biases, or one step.

``torch.nn.LSTM`` and ``LSTMCell`` of torch_npu call them on A2 and A3, once for each layer and
direction, and turn the sequence round themselves where they can. The products' weights are one
matrix, of the input above that of the hidden state; the gates lie as in torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import write
from .recurrent import back_one, lstm_back, lstm_step, masked, run_one

if TYPE_CHECKING:
    from ._types import String, Tensor, TensorList

GATES = ("ifjo", "ifco")  # input, forget, candidate, output


def _reverse(attributes: str) -> bool:
    """Whether the last step comes first.

    Raises:
        NotImplementedError: what torch_npu does not ask for.
    """
    given = dict(line.split("=", 1) for line in attributes.splitlines())
    if given.get("gate_order") not in GATES or given.get("time_major") != "1":
        raise NotImplementedError(f"an older LSTM with {given}")
    return given["direction"] == "REDIRECTIONAL"


def _there(mask: Tensor | None) -> Tensor | None:
    """Which sequences are still there, of a mask (steps, sequences, hidden)."""
    return mask[..., :1].bool() if mask is not None and mask.dim() == 3 else None


def _forward(
    x: Tensor,
    weights: list[Tensor],
    mask: Tensor | None,
    states: list[Tensor | None],
    outputs: TensorList,
    reverse: bool,
) -> None:
    size = outputs[0].shape[-1]
    first = [
        torch.zeros(x.shape[1], size) if state is None else state.float().reshape(-1, size)
        for state in states
    ]
    there = _there(mask)
    made = run_one(lstm_step, x.float(), first, [w.float() for w in weights], reverse, there)
    for out, result in zip(outputs, (masked(made[0], there), *made), strict=True):
        write(out, result.to(out.dtype))


def _split(weight: Tensor, width: int) -> list[Tensor]:
    """The matrices of input and hidden state, as torch has them."""
    return [weight[:width].float().t(), weight[width:].float().t()]


@kernel
def DynamicRNN(inputs: TensorList, outputs: TensorList, attributes: String):
    x, weight, bias, mask, *states = inputs
    weights = [*_split(weight, x.shape[-1]), bias]
    zero = torch.zeros(bias.shape)
    _forward(x, [*weights, zero], mask, states, outputs, _reverse(attributes))


@kernel
def DynamicRNNV2(inputs: TensorList, outputs: TensorList, attributes: String):
    x, to_input, to_hidden, bias, mask, *states = inputs
    biases = [] if bias is None else [bias, torch.zeros(bias.shape)]
    _forward(x, [to_input.t(), to_hidden.t(), *biases], mask, states, outputs, _reverse(attributes))


def _backward(inputs: TensorList, weights: list[Tensor], reverse: bool):
    """The gradients of input, first states and weights; from the output on, inputs are alike."""
    x, rest = inputs[0].float(), inputs[3:]
    _, h, c, made_h, made_c, to_y, to_h, to_c, i, j, f, o, tanh, mask = rest[:14]
    size, there = made_h.shape[-1], _there(mask)
    made = [part.float() for part in (made_h, made_c, i, j, f, o, tanh)]
    states, carried = ([t.float().reshape(-1, size) for t in ts] for ts in ((h, c), (to_h, to_c)))
    to_y = masked(to_y.float(), there)
    weights = [*weights, torch.zeros(4 * size)]
    return back_one(lstm_back, x, to_y, made, states, carried, weights, reverse, there)


def _write(outputs: TensorList, results: list[Tensor]) -> None:
    for out, result in zip(outputs, results, strict=True):
        write(out, result.reshape(out.shape).to(out.dtype))


@kernel
def DynamicRNNGrad(inputs: TensorList, outputs: TensorList, attributes: String):
    weights = _split(inputs[1], inputs[0].shape[-1])
    to_x, to_states, grads = _backward(inputs, weights, _reverse(attributes))
    to_weight = torch.cat((grads[0], grads[1]), 1).t()
    _write(outputs, [to_weight, grads[2], to_x, *to_states])


@kernel
def DynamicRNNV2Grad(inputs: TensorList, outputs: TensorList, attributes: String):
    x, to_input, to_hidden = inputs[:3]
    steps = (x.reshape(1, *x.shape[-2:]), *inputs[1:])
    shaped = [t.reshape(1, *t.shape[-2:]) if n in (6, 7, 8) else t for n, t in enumerate(steps)]
    weights = [to_input.float().t(), to_hidden.float().t()]
    to_x, to_states, grads = _backward(tuple(shaped), weights, _reverse(attributes))
    _write(outputs, [grads[0].t(), grads[1].t(), grads[2], to_x, *to_states])
