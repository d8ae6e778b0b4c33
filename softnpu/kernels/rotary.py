"""Rotary position embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import known, write

if TYPE_CHECKING:
    from ._types import String, Tensor, int64_t


def _halves(x: Tensor) -> Tensor:
    """The second half, negated, and the first."""
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _pairs(x: Tensor) -> Tensor:
    """The same for every pair of neighbors."""
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


_TURNS = {0: _halves, 1: _pairs}


@kernel
def aclnnRotaryPositionEmbedding(x: Tensor, cos: Tensor, sin: Tensor, mode: int64_t, out: Tensor):
    write(out, x * cos + known(mode, _TURNS)(x) * sin)


@kernel
def aclnnRotaryPositionEmbeddingGrad(
    dy: Tensor,
    cos: Tensor,
    sin: Tensor,
    xOptional: Tensor,
    mode: int64_t,
    dxOut: Tensor,
    dcosOut: Tensor,
    dsinOut: Tensor,
):
    turned = known(mode, _TURNS)
    write(dxOut, dy * cos - turned(dy * sin))  # the turn's transpose is its negative
    if xOptional is not None:
        write(dcosOut, (dy * xOptional).sum_to_size(cos.shape))
        write(dsinOut, (dy * turned(xOptional)).sum_to_size(sin.shape))


@kernel
def aclnnInterleaveRope(x: Tensor, cos: Tensor, sin: Tensor, out: Tensor):
    split = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    write(out, split * cos + _halves(split) * sin)


@kernel
def aclnnApplyRotaryPosEmbV2(
    queryRef: Tensor, keyRef: Tensor, cos: Tensor, sin: Tensor, layout: int64_t, rotaryMode: String
):
    if rotaryMode not in ("half", "interleave"):
        raise NotImplementedError(f"a rotary embedding in the mode {rotaryMode}")
    turned = {"half": _halves, "interleave": _pairs}[rotaryMode]
    for tensor in (queryRef, keyRef):
        write(tensor, tensor * cos + turned(tensor) * sin)
