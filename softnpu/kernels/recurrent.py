"""LSTM and GRU: layers and directions of one step each, computed in float32.

``dropout`` changes nothing: CANN's documents say so of GRU, and that LSTM does not support it yet.
Where sequences have different lengths, ``batchSizes`` says how many are still there at each step,
and input and output are padded: a sequence that has ended keeps its state, and its output is zero
(DynamicRNN in hicann/ops-nn). GRU does not accept it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F

from . import kernel
from ._tools import write, write_all

if TYPE_CHECKING:
    from ._types import BoolArray, Tensor, TensorList, double, int64_t


def _weights(params: TensorList, biased: bool) -> list[list[Tensor]]:
    """For each layer and direction: of the input, of the hidden state, and their biases."""
    count = 4 if biased else 2
    return [[p.float() for p in params[n : n + count]] for n in range(0, len(params), count)]


def _steps(length: int, reverse: int) -> range:
    return range(length)[::-1] if reverse else range(length)


def _gates(x: Tensor, hidden: Tensor, weights: list[Tensor], count: int):
    bias = weights[2:] or (None, None)
    sides = F.linear(x, weights[0], bias[0]), F.linear(hidden, weights[1], bias[1])
    return [side.chunk(count, -1) for side in sides]


def _there(batches: Tensor | None, input: Tensor) -> Tensor | None:
    """Which sequences are still there, as (steps, sequences, 1); None where all are to the end."""
    if batches is None:
        return None
    return (torch.arange(len(input) // len(batches)) < batches[:, None])[..., None]


def _of_steps(tensor: Tensor, batches: Tensor | None, batch_first: bool) -> Tensor:
    """Input, output or a gradient as (steps, sequences, features)."""
    if batches is not None:
        return tensor.float().reshape(len(batches), -1, tensor.shape[-1])
    return tensor.float().transpose(0, 1) if batch_first else tensor.float()


def lstm_step(x: Tensor, state: Sequence[Tensor], weights: list[Tensor], there: Tensor | None):
    i, f, j, o = (a + b for a, b in zip(*_gates(x, state[0], weights, 4), strict=True))
    i, j, f, o = i.sigmoid(), j.tanh(), f.sigmoid(), o.sigmoid()
    c = f * state[1] + i * j
    if there is not None:
        c = torch.where(there, c, state[1])
    h = o * c.tanh()
    if there is not None:
        h = torch.where(there, h, state[0])
    return h, c, i, j, f, o, c.tanh()


def _gru_step(x: Tensor, state: Sequence[Tensor], weights: list[Tensor], there: None):
    (xr, xz, xn), (hr, hz, hn) = _gates(x, state[0], weights, 3)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return (1 - z) * n + z * state[0], r, z, n, hn


def masked(tensor: Tensor, there: Tensor | None) -> Tensor:
    return tensor if there is None else tensor * there


def run_one(
    step: Callable,
    x: Tensor,
    state: Sequence[Tensor],
    weights: list[Tensor],
    reverse: int,
    there: Tensor | None,
) -> list[Tensor]:
    """One layer in one direction: what each step made, over all steps."""
    steps: list = [()] * len(x)
    for t in _steps(len(x), reverse):
        state = steps[t] = step(x[t], state, weights, None if there is None else there[t])
    return [torch.stack(part) for part in zip(*steps, strict=True)]


def _run(
    step: Callable, x: Tensor, starts: Sequence[Tensor], weights: list, directions: int, there
):
    """All layers: the output, and for each layer and direction what each step made."""
    made = []
    for layer in range(len(weights) // directions):
        for reverse in range(directions):
            number = layer * directions + reverse
            state = [start[number] for start in starts]
            made.append(run_one(step, x, state, weights[number], reverse, there))
        x = masked(torch.cat([parts[0] for parts in made[-directions:]], -1), there)
    return x, made


def _forward(
    step: Callable,
    input: Tensor,
    params: TensorList,
    hx: Sequence[Tensor],
    batches: Tensor | None,
    biased: bool,
    train: bool,
    both: bool,
    batch_first: bool,
    output: Tensor,
    ends: Sequence[Tensor],
    kept: Sequence[TensorList],
) -> None:
    x, there = _of_steps(input, batches, batch_first), _there(batches, input)
    weights = _weights(params, biased)
    starts = [start.float() for start in hx] or [torch.zeros(end.shape) for end in ends]
    result, made = _run(step, x, starts, weights, 1 + both, there)
    if batches is None and batch_first:
        result = result.transpose(0, 1)
    write(output, result.to(output.dtype))
    for number, end in enumerate(ends):
        last = [parts[number][0 if both and n % 2 else -1] for n, parts in enumerate(made)]
        write(end, torch.stack(last).to(end.dtype))
    if not train:  # torch_npu hands over outputs even so, of one element, for two of them
        return
    for outs, results in zip(kept, zip(*made, strict=True), strict=True):
        if outs:
            write_all(
                outs, [result.to(out.dtype) for out, result in zip(outs, results, strict=True)]
            )


def _backward(
    step: Callable,
    input: Tensor,
    params: TensorList,
    hx: Sequence[Tensor],
    to_output: Tensor | None,
    to_ends: Sequence[Tensor | None],
    kept: Sequence[TensorList],
    batches: Tensor | None,
    biased: bool,
    both: bool,
    batch_first: bool,
    to_input: Tensor,
    to_starts: Sequence[Tensor],
    to_params: TensorList,
) -> None:
    weights, directions = _weights(params, biased), 1 + both
    made = [[part.float() for part in parts] for parts in zip(*kept, strict=True)]
    first, there = _of_steps(input, batches, batch_first), _there(batches, input)
    above = torch.cat([parts[0] for parts in made[-directions:]], -1) * 0
    if to_output is not None:
        above = _of_steps(to_output, batches, batch_first)
    for layer in range(len(weights) // directions)[::-1]:
        below = made[(layer - 1) * directions : layer * directions] if layer else []
        x = masked(torch.cat([parts[0] for parts in below], -1), there) if layer else first
        above, to_x = masked(above, there), torch.zeros_like(x)
        for reverse, own in enumerate(above.chunk(directions, -1)):
            number = layer * directions + reverse
            states = [start[number].float() for start in hx]
            carried = [
                torch.zeros_like(state) if end is None else end[number].float()
                for state, end in zip(states, to_ends, strict=True)
            ]
            to_own, carried, grads = back_one(
                *(step, x, own, made[number], states, carried, weights[number], reverse, there)
            )
            to_x += to_own
            for out, result in zip(to_starts, carried, strict=True):
                write(out[number], result.to(out.dtype))
            count = len(grads)
            outs = to_params[number * count : (number + 1) * count]
            write_all(outs, [g.to(o.dtype) for o, g in zip(outs, grads, strict=True)])
        above = to_x
    if batches is None and batch_first:
        above = above.transpose(0, 1)
    write(to_input, above.reshape(to_input.shape).to(to_input.dtype))


def back_one(
    step: Callable,
    x: Tensor,
    to_output: Tensor,
    made: list[Tensor],
    states: list[Tensor],
    carried: list[Tensor],
    weights: list[Tensor],
    reverse: int,
    there: Tensor | None,
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """One layer in one direction: the gradients of input, first states and weights."""
    to_x, grads = torch.zeros_like(x), [torch.zeros_like(weight) for weight in weights]
    edge = len(x) - 1 if reverse else 0
    for t in _steps(len(x), not reverse):
        before = t + 1 if reverse else t - 1
        parts = [part[t] for part in made]
        past = states if t == edge else [part[before] for part in made[: len(states)]]
        carried = [carried[0] + to_output[t], *carried[1:]]
        at_input, at_hidden, passed = step(parts, past, carried)
        if there is not None:
            at_input, at_hidden = at_input * there[t], at_hidden * there[t]
            pairs = zip(passed, carried, strict=True)
            passed = [torch.where(there[t], new, old) for new, old in pairs]
        to_x[t] = at_input @ weights[0]
        carried = [passed[0] + at_hidden @ weights[1], *passed[1:]]
        results = at_input.mT @ x[t], at_hidden.mT @ past[0], at_input.sum(0), at_hidden.sum(0)
        for grad, result in zip(grads, results, strict=False):
            grad += result
    return to_x, carried, grads


def lstm_back(parts: list[Tensor], past: list[Tensor], grads: list[Tensor]):
    _, _, i, j, f, o, tanh = parts
    to_c = grads[1] + grads[0] * o * (1 - tanh * tanh)
    gates = (to_c * j * i * (1 - i), to_c * past[1] * f * (1 - f))
    gates = torch.cat((*gates, to_c * i * (1 - j * j), grads[0] * tanh * o * (1 - o)), -1)
    return gates, gates, [torch.zeros_like(to_c), to_c * f]


def _gru_back(parts: list[Tensor], past: list[Tensor], grads: list[Tensor]):
    _, r, z, n, hn = parts
    to_n = grads[0] * (1 - z) * (1 - n * n)
    both = to_n * hn * r * (1 - r), grads[0] * (past[0] - n) * z * (1 - z)
    return torch.cat((*both, to_n), -1), torch.cat((*both, to_n * r), -1), [grads[0] * z]


@kernel
def aclnnLSTM(
    input: Tensor,
    params: TensorList,
    hx: TensorList,
    batchSizes: Tensor,
    hasBias: bool,
    numLayers: int64_t,
    dropout: double,
    train: bool,
    bidirectional: bool,
    batchFirst: bool,
    output: Tensor,
    hy: Tensor,
    cy: Tensor,
    iOut: TensorList,
    jOut: TensorList,
    fOut: TensorList,
    oOut: TensorList,
    hOut: TensorList,
    cOut: TensorList,
    tanhCOut: TensorList,
):
    _forward(
        *(lstm_step, input, params, hx, batchSizes, hasBias, train, bidirectional, batchFirst),
        *(output, (hy, cy), (hOut, cOut, iOut, jOut, fOut, oOut, tanhCOut)),
    )


@kernel
def aclnnLstmBackward(
    input: Tensor,
    hx: TensorList,
    params: TensorList,
    dy: Tensor,
    dh: Tensor,
    dc: Tensor,
    i: TensorList,
    g: TensorList,
    f: TensorList,
    o: TensorList,
    h: TensorList,
    c: TensorList,
    tanhc: TensorList,
    batchSizesOptional: Tensor,
    hasBias: bool,
    numLayers: int64_t,
    dropout: double,
    train: bool,
    bidirectional: bool,
    batchFirst: bool,
    outputMask: BoolArray,
    dxOut: Tensor,
    dhPrevOut: Tensor,
    dcPrevOut: Tensor,
    dparamsOut: TensorList,
):
    _backward(
        *(lstm_back, input, params, hx, dy, (dh, dc), (h, c, i, g, f, o, tanhc)),
        *(batchSizesOptional, hasBias, bidirectional, batchFirst),
        *(dxOut, (dhPrevOut, dcPrevOut), dparamsOut),
    )


def _equally_long(batches: Tensor | None) -> None:
    if batches is not None:
        raise NotImplementedError("aclnnGRU with batchSizes, which its document excludes, too")


@kernel
def aclnnGRU(
    input: Tensor,
    params: TensorList,
    hx: Tensor,
    batchSizes: Tensor,
    hasBias: bool,
    numLayers: int64_t,
    dropout: double,
    train: bool,
    bidirection: bool,
    batchFirst: bool,
    output: Tensor,
    hy: Tensor,
    rOut: TensorList,
    zOut: TensorList,
    nOut: TensorList,
    hnOut: TensorList,
    hOut: TensorList,
):
    _equally_long(batchSizes)
    hidden = () if hx is None else (hx,)
    _forward(
        *(_gru_step, input, params, hidden, None, hasBias, train, bidirection, batchFirst),
        *(output, (hy,), (hOut, rOut, zOut, nOut, hnOut)),
    )


@kernel
def aclnnGRUBackward(
    input: Tensor,
    params: TensorList,
    hx: Tensor,
    dy: Tensor,
    dh: Tensor,
    r: TensorList,
    z: TensorList,
    n: TensorList,
    hn: TensorList,
    h: TensorList,
    batchSizes: Tensor,
    hasBias: bool,
    numLayers: int64_t,
    bidirection: bool,
    batchFirst: bool,
    dxOut: Tensor,
    dhPrevOut: Tensor,
    dparamsOut: TensorList,
):
    _equally_long(batchSizes)
    hidden = torch.zeros(dhPrevOut.shape) if hx is None else hx
    _backward(
        *(_gru_back, input, params, (hidden,), dy, (dh,), (h, r, z, n, hn)),
        *(None, hasBias, bidirection, batchFirst, dxOut, (dhPrevOut,), dparamsOut),
    )
