"""Random numbers.

The stream is softnpu's own, not a chip's: a function of the seed and the offset that
torch_npu's generator hands down, so that ``torch.manual_seed`` makes a run repeatable.
Only the distributions agree with a chip's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import aten, write

if TYPE_CHECKING:
    from ._types import DataType, IntArray, Scalar, Tensor, double, int64_t, uint64_t


def generator(seed: int, offset: int) -> torch.Generator:
    """A generator for one call. torch_npu counts the offset up at each call."""
    mixed = seed * 0x9E3779B97F4A7C15 + offset * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB
    mixed = (mixed ^ (mixed >> 31)) % 2**63
    return torch.Generator("cpu").manual_seed(mixed)


@kernel
def aclnnInplaceNormal(selfRef: Tensor, mean: float, std: float, seed: int64_t, offset: int64_t):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.normal_(mean, std, generator=generator(seed, offset)))


def _normal(out: Tensor, mean, std, seed: int, offset: int) -> Tensor:
    drawn = torch.empty(out.shape, dtype=out.dtype).normal_(generator=generator(seed, offset))
    return drawn * std + mean


@kernel
def aclnnNormalFloatFloat(mean: float, std: float, seed: int64_t, offset: int64_t, out: Tensor):
    write(out, _normal(out, mean, std, seed, offset))


@kernel
def aclnnNormalFloatTensor(mean: float, std: Tensor, seed: int64_t, offset: int64_t, out: Tensor):
    write(out, _normal(out, mean, std, seed, offset))


@kernel
def aclnnNormalTensorFloat(mean: Tensor, std: float, seed: int64_t, offset: int64_t, out: Tensor):
    write(out, _normal(out, mean, std, seed, offset))


@kernel
def aclnnNormalTensorTensor(mean: Tensor, std: Tensor, seed: int64_t, offset: int64_t, out: Tensor):
    write(out, _normal(out, mean, std, seed, offset))


@kernel
def aclnnInplaceUniform(
    selfRef: Tensor, from_: double, to: double, seed: uint64_t, offset: uint64_t
):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.uniform_(from_, to, generator=generator(seed, offset)))


@kernel
def aclnnInplaceRandom(
    selfRef: Tensor, from_: int64_t, to: int64_t, seed: int64_t, offset: int64_t
):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.random_(from_, to, generator=generator(seed, offset)))


@kernel
def aclnnInplaceRandomWithoutFromTo(selfRef: Tensor, seed: int64_t, offset: int64_t):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.random_(generator=generator(seed, offset)))


@kernel
def aclnnInplaceBernoulli(selfRef: Tensor, prob: Scalar, seed: int64_t, offset: int64_t):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.bernoulli_(prob, generator=generator(seed, offset)))


@kernel
def aclnnInplaceBernoulliTensor(selfRef: Tensor, prob: Tensor, seed: int64_t, offset: int64_t):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.bernoulli_(prob, generator=generator(seed, offset)))


@kernel
def aclnnRandperm(n: int64_t, seed: int64_t, offset: int64_t, out: Tensor):
    write(out, torch.randperm(n, generator=generator(seed, offset), dtype=out.dtype))


@kernel
def aclnnMultinomial(
    self: Tensor,
    numsamples: int64_t,
    replacement: bool,
    seed: int64_t,
    offset: int64_t,
    out: Tensor,
):
    numbers = generator(seed, offset)
    write(out, torch.multinomial(self, numsamples, replacement, generator=numbers))


@kernel
def aclnnSimThreadExponential(
    selfRef: Tensor, count: int64_t, lambda_: double, seed: int64_t, offset: int64_t
):
    drawn = torch.empty(selfRef.shape, dtype=selfRef.dtype)
    write(selfRef, drawn.exponential_(lambda_, generator=generator(seed, offset)))


@kernel
def aclnnRReluWithNoise(
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    seed: int64_t,
    offset: int64_t,
    out: Tensor,
):
    write(out, _rrelu(self, noise, lower, upper, training, seed, offset))


@kernel
def aclnnInplaceRReluWithNoise(
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    seed: int64_t,
    offset: int64_t,
):
    write(self, _rrelu(self, noise, lower, upper, training, seed, offset))


def _rrelu(self: Tensor, noise: Tensor, lower, upper, training, seed: int, offset: int) -> Tensor:
    drawn = torch.empty(noise.shape, dtype=noise.dtype).copy_(noise)
    numbers = generator(seed, offset)
    result = aten.rrelu_with_noise(self, drawn, lower, upper, training, generator=numbers)
    noise.copy_(drawn)
    return result


def _mask(out: Tensor, shape: IntArray, prob: float, seed: int, offset: int) -> None:
    """A bit for each element, the first in the lowest bit of the first byte: 1 keeps it."""
    draws = torch.rand(math.prod(shape), generator=generator(seed, offset), dtype=torch.float64)
    bits = torch.zeros(out.numel() * 8, dtype=torch.uint8)
    bits[: draws.numel()] = draws >= prob
    powers = 2 ** torch.arange(8, dtype=torch.uint8)
    write(out, (bits.reshape(-1, 8) * powers).sum(1, dtype=torch.uint8).reshape(out.shape))


@kernel
def aclnnDropoutGenMask(shape: IntArray, prob: double, seed: int64_t, offset: int64_t, out: Tensor):
    _mask(out, shape, prob, seed, offset)


@kernel
def aclnnDropoutGenMaskV2(
    shape: IntArray,
    prob: double,
    seed: int64_t,
    offset: int64_t,
    probDataType: DataType,
    out: Tensor,
):
    _mask(out, shape, prob, seed, offset)


def kept(mask: Tensor, like: Tensor) -> Tensor:
    """The mask's bits as booleans, in the shape of a tensor."""
    bits = mask.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8) & 1
    return bits.reshape(-1)[: like.numel()].reshape(like.shape).bool()


def _dropped(self: Tensor, mask: Tensor, prob: float) -> Tensor:
    """As torch's dropout on the CPU: the kept elements times the rounded 1 / (1 - prob)."""
    scale = 0.0 if prob == 1 else 1 / (1 - prob)
    return self * kept(mask, self).to(self.dtype).mul_(scale)


@kernel
def aclnnDropoutDoMask(self: Tensor, mask: Tensor, prob: double, out: Tensor):
    write(out, _dropped(self, mask, prob))


@kernel
def aclnnDropoutV3(
    input: Tensor,
    optionalNoiseShape: Tensor,
    p: double,
    seed: int64_t,
    offset: int64_t,
    out: Tensor,
    maskOut: Tensor,
):
    # What torch_npu calls on a 950DT; it never gives a noise shape.
    _mask(maskOut, input.shape, p, seed, offset)
    write(out, _dropped(input, maskOut, p))


@kernel
def aclnnMaskedScale(self: Tensor, mask: Tensor, scale: float, out: Tensor):
    write(out, self * mask.to(self.dtype) * scale)
