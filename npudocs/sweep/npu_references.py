"""The results of torch_npu's own functions, from plain torch functions that have a forward formula.

Independent of the software NPU's kernels: nothing here is called by them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

clone, gelu, linear = torch.clone, F.gelu, F.linear


def kept(x: Tensor) -> Tensor:
    """A dropout that drops nothing: what is drawn does not matter."""
    return x * 1


def other_dtype(x: Tensor) -> torch.dtype:
    return torch.float16 if x.dtype == torch.float32 else torch.float32


def cast(x: Tensor) -> Tensor:
    return x.to(other_dtype(x))


def gathered(x: Tensor) -> Tensor:
    return x[torch.tensor([0, 2, 2])]


def fast_gelu(x: Tensor) -> Tensor:
    """The formula of aclnnFastGelu's document, which is x * sigmoid(1.702 * x)."""
    return x * torch.sigmoid(1.702 * x)


def geglu(x: Tensor) -> Tensor:
    value, gate = x.chunk(2, -1)
    return value * F.gelu(gate, approximate="tanh")


def swiglu(x: Tensor) -> Tensor:
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value


def rms_norm(x: Tensor, gamma: Tensor) -> Tensor:
    wide = x.float()
    scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return (scaled * gamma.float()).to(x.dtype)


def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
    return rms_norm(x1 + x2, gamma), x1 + x2


def add_layer_norm(x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    total = x1.float() + x2.float()
    y = F.layer_norm(total, gamma.shape, gamma.float(), beta.float(), 1e-5)
    return y.to(x1.dtype), total.to(x1.dtype)


def deep_norm(x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    total = 0.3 * x.float() + gx.float()
    return F.layer_norm(total, gamma.shape, gamma.float(), beta.float(), 1e-6).to(x.dtype)


def group_norm_swish(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return F.silu(F.group_norm(x.float(), 2, gamma.float(), beta.float(), 1e-5)).to(x.dtype)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def rotary_of_both(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return rotary(q, cos, sin), rotary(k, cos, sin)


def interleaved_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return rotary(x.unflatten(-1, (-1, 2)).mT.flatten(-2), cos, sin)


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """In float32: two heads, batch and head first."""
    scores = query.float() @ key.float().mT * 0.5
    return (scores.softmax(-1) @ value.float()).to(query.dtype)


def compressed(x: Tensor, weight: Tensor) -> Tensor:
    """Two windows of sixteen tokens, each a weighted sum."""
    wide = x.float().unflatten(0, (2, 16))
    return (wide * weight.float()[:, :, None]).sum(1).to(x.dtype)


def permuted(tokens: Tensor) -> Tensor:
    """Three tokens for the experts ((1, 0), (2, 1), (0, 2)), ordered by expert."""
    return tokens[torch.tensor([0, 2, 0, 1, 1, 2])]


def unpermuted(rows: Tensor, probabilities: Tensor) -> Tensor:
    """The way back, every row times its probability."""
    own = rows.float()[torch.tensor([2, 0, 4, 3, 1, 5])].unflatten(0, (3, 2))
    return (own * probabilities.float()[..., None]).sum(1).to(rows.dtype)


def cross_entropy(x: Tensor) -> Tensor:
    return F.cross_entropy(x, torch.tensor([0, 2, 1])).reshape(1)


def gated(scores: Tensor) -> Tensor:
    return scores.float().softmax(-1).topk(2).values.to(scores.dtype)


def lstm(x: Tensor, h: Tensor, c: Tensor, *params: Tensor) -> tuple[Tensor, ...]:
    """One layer in one direction, without oneDNN's, which has no forward formula."""
    with torch.backends.mkldnn.flags(enabled=False):
        return torch.lstm(x, (h, c), params, True, 1, 0.0, True, False, False)


def gru(x: Tensor, h: Tensor, *params: Tensor) -> tuple[Tensor, ...]:
    """One layer in one direction."""
    return torch.gru(x, h, params, True, 1, 0.0, True, False, False)
