"""How attention is computed: layouts, what a query may see, the numbers and their gradients.

In float32 step by step, not in a chip's tiles: equal within rounding. The formulas, the layouts and
the meaning of ``sparseMode`` are those of CANN's documents (hicann/ops-transformer,
attention/flash_attention_score and docs/context).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import torch

from ._tools import known, write
from .random import generator, kept

if TYPE_CHECKING:
    from ._types import IntArray, Tensor

# Where batch, head, sequence and element are. H is head and element, T batch and sequence.
_PLACES = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "SBND": (1, 2, 0, 3)}
_SPLIT = {"BSH": "BSND", "SBH": "SBND", "TND": "BSND"}

_MODES = {
    0: "mask", 1: "whole mask", 2: "causal from the upper left", 3: "causal from the lower right",
    4: "band", 5: "prefix", 6: "prefix", 7: "band in the last sequence", 8: "band in the first",
}  # fmt: skip


class How(NamedTuple):
    """The settings of a call that decide what is computed."""

    layout: str
    heads: int  # of the query
    scale: float
    keep: float
    mode: int
    before: int
    after: int
    prefix: IntArray = ()
    query_ends: IntArray = ()  # of each sequence, where the layout is TND
    key_ends: IntArray = ()
    shift_kind: int = 1  # pseType
    as_input: bool = False  # whether maxima and sums lie as the input, where it is TND
    drawn: tuple[int, int] | None = None  # seed and offset, where no mask says what is dropped


class Extras(NamedTuple):
    """The optional tensors of a call."""

    shift: Tensor | None
    drop: Tensor | None
    padding: Tensor | None
    mask: Tensor | None


def _heads_first(tensor: Tensor, how: How, heads: int) -> Tensor:
    """As (batch, head, sequence, element) in float32; all sequences of TND are one."""
    if how.layout not in _PLACES and how.layout not in _SPLIT:
        raise NotImplementedError(f"attention with the layout {how.layout}")
    if how.layout == "TND":
        tensor = tensor[None]
    elif how.layout in _SPLIT:
        tensor = tensor.unflatten(-1, (heads, -1))
    return tensor.permute(_PLACES[_SPLIT.get(how.layout, how.layout)]).float()


def _write_back(out: Tensor, result: Tensor, how: How) -> None:
    """Writes what is (batch, head, sequence, element) into an output in its layout and dtype."""
    places = _PLACES[_SPLIT.get(how.layout, how.layout)]
    result = result.permute(tuple(places.index(i) for i in range(4)))
    write(out, result.reshape(out.shape).to(out.dtype))


def _operands(query: Tensor, key: Tensor, value: Tensor, how: How) -> list[Tensor]:
    heads = how.heads
    if how.layout in ("BSH", "SBH"):
        heads = key.shape[-1] * how.heads // query.shape[-1]
    return [
        _heads_first(query, how, how.heads),
        _heads_first(key, how, heads),
        _heads_first(value, how, heads),
    ]


def _shared(tensor: Tensor, heads: int) -> Tensor:
    """Key or value with a head for each of the query's."""
    return tensor.repeat_interleave(heads // tensor.shape[1], 1)


def _spans(how: How, query: Tensor, key: Tensor) -> list[tuple[slice, slice]]:
    """The places of each sequence among the queries and the keys."""
    if how.layout != "TND":
        return [(slice(0, query.shape[2]), slice(0, key.shape[2]))]
    if len(how.query_ends) != len(how.key_ends) or not how.query_ends:
        raise ValueError("the layout TND wants the ends of as many sequences of queries as of keys")
    sides = [
        [slice(a, b) for a, b in zip((0, *ends), ends, strict=False)]
        for ends in (how.query_ends, how.key_ends)
    ]
    return list(zip(*sides, strict=True))


def _of(tensor: Tensor, how: How, number: int, scores: Tensor) -> Tensor:
    """The part of a mask or shift that is one sequence's: in TND they are all as large."""
    if how.layout != "TND":
        return tensor
    if tensor.dim() == 4:
        tensor = tensor[number if len(tensor) > 1 else 0]
    return tensor[..., : scores.shape[-2], : scores.shape[-1]]


def _mode(how: How, number: int) -> int:
    """The mode of one sequence: 7 and 8 have a band in one of them."""
    known(how.mode, _MODES)
    if how.mode < 7:
        return how.mode
    lengths = [b - a for a, b in zip((0, *how.query_ends), how.query_ends, strict=False)]
    filled = [n for n, length in enumerate(lengths) if length]
    if filled and number == filled[-1 if how.mode == 7 else 0]:
        return 4
    return 3 if how.mode == 7 else 2


def _outside(scores: Tensor, how: How, shift: int) -> Tensor:
    """What lies outside the band that preTokens and nextTokens leave around a diagonal."""
    return _after(scores, shift + how.after) | ~_after(scores, shift - how.before - 1)


def _after(scores: Tensor, diagonal: int) -> Tensor:
    rows, columns = (torch.arange(size) for size in scores.shape[-2:])
    return columns > rows[:, None] + diagonal


def _hidden(mask: Tensor | None, scores: Tensor, how: How, number: int) -> Tensor | None:
    """Where nothing is seen; without a mask the mode means nothing, as CANN documents."""
    if mask is None:
        return None
    mode = _mode(how, number)
    shift = scores.shape[-1] - scores.shape[-2]
    if mode in (0, 1):
        hidden = _of(mask, how, number, scores).bool()
        if mode == 0 and (_outside(scores, how, 0) & ~hidden).any():
            raise ValueError(
                "the mask shows what lies outside the band of preTokens and nextTokens; CANN's "
                "document says that they have to agree"
            )
        return hidden
    _check_triangle(mask, how.mode)
    if mode == 4:
        return _outside(scores, how, shift)
    if mode in (5, 6):
        each = torch.tensor(how.prefix)[:, None, None, None]
        of = each[number : number + 1] if how.layout == "TND" else each
        return _after(scores, shift) & (torch.arange(scores.shape[-1]) >= of)
    return _after(scores, 0 if mode == 2 else shift)


@functools.cache
def _triangle() -> Tensor:
    return torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def _check_triangle(mask: Tensor, mode: int) -> None:
    """Whether the mask is the one that CANN prescribes where the mode decides what is seen."""
    if mode == 5:  # the whole mask, one for each batch
        return
    rows = 3072 if mode == 6 else 2048
    first = mask.reshape(-1, *mask.shape[-2:])[0]
    if first.shape != (rows, 2048) or not torch.equal(first[:2048].bool(), _triangle()):
        raise ValueError(
            f"sparseMode {mode} wants the mask that CANN's document describes, ones above the "
            f"diagonal: {rows} rows that begin with "
            "torch.ones(2048, 2048, dtype=torch.bool).triu(1)"
        )


def _scores(query: Tensor, key: Tensor, shift: Tensor | None, how: How, number: int) -> Tensor:
    """Scaled and shifted; pseType 1 adds the shift before it scales."""
    scores = query @ key.mT
    if shift is None:
        return scores * how.scale
    if known(how.shift_kind, {0: "made outside", 1: "made outside", 2: "", 3: ""}) == "":
        raise NotImplementedError("attention that makes its own position shift")
    part = _of(shift, how, number, scores).float()
    return (scores + part) * how.scale if how.shift_kind == 1 else scores * how.scale + part


def _hide(scores: Tensor, mask: Tensor | None, how: How, number: int) -> Tensor:
    hidden = _hidden(mask, scores, how, number)
    return scores if hidden is None else scores.masked_fill(hidden, -torch.inf)


def _factors(drop: Tensor | None, how: How, shapes: list[torch.Size]) -> list[Tensor]:
    """What dropout makes of the weights of each sequence."""
    if not 0 < how.keep <= 1:
        raise ValueError(f"keepProb is {how.keep}, should be above 0 and at most 1")
    if drop is None and (how.keep == 1 or how.drawn is None):
        return [torch.ones(())] * len(shapes)
    counts = [shape.numel() for shape in shapes]
    empty = torch.empty(sum(counts))
    bits = _drawn(empty, how) if drop is None else kept(drop, empty)
    pairs = zip(bits.split(counts), shapes, strict=True)
    return [part.reshape(shape) / how.keep for part, shape in pairs]


def _drawn(empty: Tensor, how: How) -> Tensor:
    return empty.uniform_(generator=generator(*how.drawn)) < how.keep


def _prepared(query: Tensor, key: Tensor, value: Tensor, extras: Extras, how: How):
    if extras.padding is not None:
        raise NotImplementedError("attention with a padding mask")
    q, k, v = _operands(query, key, value, how)
    spans = _spans(how, q, k)
    shapes = [
        torch.Size((*q.shape[:2], at.stop - at.start, there.stop - there.start))
        for at, there in spans
    ]
    return q, k, v, spans, _factors(extras.drop, how, shapes)


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    extras: Extras,
    how: How,
    highest_out: Tensor,
    total_out: Tensor,
    out: Tensor,
) -> None:
    """Attention, and the maxima and sums of its softmax that the backward needs."""
    q, k, v, spans, factors = _prepared(query, key, value, extras, how)
    k, v = _shared(k, how.heads), _shared(v, how.heads)
    result = torch.zeros(*q.shape[:3], v.shape[-1])
    highest, total = torch.zeros(*q.shape[:3], 1), torch.ones(*q.shape[:3], 1)
    for number, ((at, there), factor) in enumerate(zip(spans, factors, strict=True)):
        if not (at.stop > at.start and there.stop > there.start):
            continue
        scores = _scores(q[:, :, at], k[:, :, there], extras.shift, how, number)
        scores = _hide(scores, extras.mask, how, number)
        # A query that sees nothing gets zeros, as torch's CPU gives: torch_npu's
        # scaled_dot_product_attention hands such rows over, from a mask of padding.
        top = scores.amax(-1, keepdim=True)
        top = top.masked_fill(top == -torch.inf, 0)
        parts = torch.exp(scores - top)
        sums = parts.sum(-1, keepdim=True)
        sums = sums.masked_fill(sums == 0, 1)
        highest[:, :, at], total[:, :, at] = top, sums
        result[:, :, at] = parts / sums * factor @ v[:, :, there]
    _write_back(out, result, how)
    for made, outs in ((highest, highest_out), (total, total_out)):
        made = made.expand(*made.shape[:3], outs.shape[-1])
        if how.layout == "TND":
            # Unless asked otherwise the heads come first, though the shape says the last but one.
            made = made[0].transpose(0, 1) if how.as_input else made[0].reshape(outs.shape)
        write(outs, made)


def _kept_from_forward(tensor: Tensor, how: How) -> Tensor:
    """The forward's maxima or sums as (batch, head, sequence, 1)."""
    if how.layout == "TND":
        count, heads = tensor.shape[:2]
        tensor = tensor.transpose(0, 1) if how.as_input else tensor.reshape(heads, count, -1)
        tensor = tensor[None]
    return tensor[..., :1]


def backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    grad: Tensor,
    extras: Extras,
    how: How,
    highest: Tensor,
    total: Tensor,
    outs: tuple[Tensor, Tensor, Tensor],
    to_shift: Tensor | None,
) -> None:
    """The gradients of query, key and value.

    That of the shift is NaN: CANN's document says that ``dpseOut`` is not used yet, so a chip
    leaves there what the memory held.
    """
    q, k, v, spans, factors = _prepared(query, key, value, extras, how)
    shared = k.shape[1]
    k, v, dy = _shared(k, how.heads), _shared(v, how.heads), _heads_first(grad, how, how.heads)
    highest, total = _kept_from_forward(highest, how), _kept_from_forward(total, how)
    to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for number, ((at, there), factor) in enumerate(zip(spans, factors, strict=True)):
        mine, its, values, slope = q[:, :, at], k[:, :, there], v[:, :, there], dy[:, :, at]
        scores = _hide(_scores(mine, its, extras.shift, how, number), extras.mask, how, number)
        weights = torch.exp(scores - highest[:, :, at]) / total[:, :, at]
        to_weights = slope @ values.mT * factor
        share = (to_weights * weights).sum(-1, keepdim=True)
        to_scores = weights * (to_weights - share) * how.scale
        to_q[:, :, at] = to_scores @ its
        to_k[:, :, there] = to_scores.mT @ mine
        to_v[:, :, there] = (weights * factor).mT @ slope
    results = to_q, *(t.unflatten(1, (shared, -1)).sum(2) for t in (to_k, to_v))
    for out, result in zip(outs, results, strict=True):
        _write_back(out, result, how)
    if to_shift is not None and to_shift.numel():
        write(to_shift, torch.full(to_shift.shape, torch.nan).to(to_shift.dtype))
