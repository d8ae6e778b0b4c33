"""Attention, as ``npu_fusion_attention`` and its later versions compute it, step by step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from npu_forward_ad.registration import Own, unwritten

WIDE = 2147483647
# How the outputs of the softmax are repeated in their last dimension.
REPEATED = 8


def _heads_first(x: Tensor, layout: str, width: int) -> Tensor:
    """Return batch, head, token, element, in float32; `width` is that of a head."""
    x = x.float()
    if layout in ("BSH", "SBH"):
        x = x.unflatten(-1, (-1, width))
        return x.permute((0, 2, 1, 3) if layout == "BSH" else (1, 2, 0, 3))
    return x.transpose(1, 2) if layout == "BSND" else x


def _back(x: Tensor, layout: str) -> Tensor:
    if layout in ("BSH", "SBH"):
        return x.permute((0, 2, 1, 3) if layout == "BSH" else (2, 0, 1, 3)).flatten(-2)
    return x.transpose(1, 2) if layout == "BSND" else x


def _hidden(words: dict[str, Any], scores: Tensor) -> Tensor | None:
    """Return what each token does not see, by the mask and the sparse mode."""
    mode, mask = words["sparse_mode"], words["atten_mask"]
    rows, columns = scores.shape[-2:]
    before, after = words["pre_tokens"], words["next_tokens"]
    if mode in (0, 1):
        if mask is None:
            return None
        hidden = mask.bool()
        if mode == 1 or min(before, after) >= max(rows, columns):
            return hidden
        return hidden | _outside(scores, 0, before, after)
    late = columns - rows
    if mode == 2:
        return _outside(scores, 0, WIDE, 0)
    if mode == 3:
        return _outside(scores, late, WIDE, 0)
    if mode == 4:
        return _outside(scores, late, before, after)
    # 5 and 6: causal, and what stands in front is seen by all.
    prefix = torch.tensor(words["prefix"], device=scores.device).reshape(-1, 1, 1, 1)
    return _outside(scores, late, WIDE, 0) & (torch.arange(columns, device=scores.device) >= prefix)


def _outside(scores: Tensor, shift: int, before: int, after: int) -> Tensor:
    """What lies outside of the band around the diagonal, which is moved by `shift` to the right."""
    rows, columns = (torch.arange(n, device=scores.device) for n in scores.shape[-2:])
    apart = columns - rows.unsqueeze(-1) - shift
    return (apart > after) | (apart < -before)


def _one(q: Tensor, k: Tensor, v: Tensor, words: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output, the largest score and the sum of a row, heads first."""
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
    scale, pse = words["scale"], words["pse"]
    scores = torch.matmul(q, k.mT)
    if pse is not None and words["pse_type"] == 0:
        scores = (scores + pse.float()) * scale
    else:
        scores = scores * scale + (0 if pse is None else pse.float())
    hidden = _hidden(words, scores)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    largest = scores.amax(-1, keepdim=True)
    largest = largest.masked_fill(largest == float("-inf"), 0)
    parts = torch.exp(scores - largest)
    total = parts.sum(-1, keepdim=True)
    if words["sink"] is not None:
        sink = words["sink"].float().reshape(-1, 1, 1)
        total = total + torch.exp(sink - largest)
    total = total.masked_fill(total == 0, 1)  # a token that sees nothing
    return torch.matmul(parts / total, v), largest, total


def _ragged(q: Tensor, k: Tensor, v: Tensor, words: dict[str, Any]) -> tuple[Tensor, ...]:
    """Sequences of several lengths behind each other (TND), by where each ends."""
    ends, key_ends = ([int(n) for n in words[f"actual_seq_{x}len"]] for x in ("q", "kv"))
    found = []
    for begin, end, first, last in zip([0, *ends], ends, [0, *key_ends], key_ends, strict=False):
        parts = (q[begin:end], k[first:last], v[first:last])
        parts = tuple(x.float().transpose(0, 1).unsqueeze(0) for x in parts)
        found.append([x[0].transpose(0, 1) for x in _one(*parts, words)])
    return tuple(torch.cat(x) for x in zip(*found, strict=False))


def _attention(own: Own, given: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    words = {"pse_type": 1, "sink": None, "dropout_mask": None, **given}
    for name in ("pre_t", "next_t"):  # the first and the third version spell them so
        words[f"{name}okens"] = words.get(f"{name}okens", words.get(f"{name}ockens", WIDE))
    q, k, v, layout = (words[name] for name in ("query", "key", "value", "input_layout"))
    if words.get("query_rope") is not None:
        q, k = (torch.cat((q, words["query_rope"]), -1), torch.cat((k, words["key_rope"]), -1))
    if layout == "TND":
        out, largest, total = _ragged(q, k, v, words)
    else:
        width = q.shape[-1] // words["head_num"] if layout in ("BSH", "SBH") else q.shape[-1]
        groups = k.shape[-1] // width if layout in ("BSH", "SBH") else 0
        value_width = v.shape[-1] // groups if groups else v.shape[-1]
        parts = [_heads_first(x, layout, n) for x, n in ((q, width), (k, width), (v, value_width))]
        out, largest, total = _one(*parts, words)
        out = _back(out, layout)
    repeated = [x.expand(*x.shape[:-1], REPEATED) for x in (largest, total)]
    return out.to(q.dtype), *repeated


def _unwritten(given: dict[str, Any]) -> str:
    """Return what of a call has no formula, nothing where all has."""
    if given.get("keep_prob", 1) < 1 or given.get("dropout_mask") is not None:
        return "dropout"
    if given.get("padding_mask") is not None:
        return "a padding mask"
    if given.get("sparse_mode", 0) > 6:
        return f"sparse mode {given['sparse_mode']}"
    if given.get("pse_type", 1) > 1:
        return "a positional shift that is computed inside"
    if given.get("input_layout") == "TND" and given.get("pse") is not None:
        return "a positional shift of sequences of several lengths"
    return ""


def _bound(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _version(
    name: str, signature: Callable[..., Any], tail: Callable[..., Any]
) -> Callable[..., Any]:
    parameters = inspect.signature(signature)

    def formula(own: Own, *args: Any, **kwargs: Any) -> Any:
        given = _bound(parameters, args, kwargs)
        given |= given.pop("more", {})
        if what := _unwritten(given):
            return unwritten(f"{name} with {what}", own, *args, **kwargs)
        out, largest, total = _attention(own, given)
        return out, largest, total, given["query"].new_empty(0), *tail(given)

    return formula


def _positional(
    query,
    key,
    value,
    head_num,
    input_layout,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tockens=WIDE,
    next_tockens=WIDE,
    inner_precise=0,
    prefix=None,
    actual_seq_qlen=None,
    actual_seq_kvlen=None,
    sparse_mode=0,
    gen_mask_parallel=True,
    sync=False,
    softmax_layout="",
    sink=None,
    dropout_mask=None,
    seed=0,
    offset=0,
): ...


def _by_name(
    query, key, value, head_num, input_layout, *, pse=None, atten_mask=None, scale=1.0, prefix=None,
    actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, **more,
): ...  # fmt: skip


def _counts(given: dict[str, Any]) -> tuple[int, int, int]:
    """No seed, no offset, and how many weights there are to drop."""
    return 0, 0, _weights(given)


def _weights(given: dict[str, Any]) -> int:
    q, k, layout, heads = (given[x] for x in ("query", "key", "input_layout", "head_num"))
    if layout == "TND":
        ends, key_ends = ([0, *map(int, given[f"actual_seq_{x}len"])] for x in ("q", "kv"))
        pairs = zip(ends, ends[1:], key_ends, key_ends[1:], strict=False)
        return heads * sum((b - a) * (d - c) for a, b, c, d in pairs)
    token = {"SBH": 0, "BSH": 1, "BSND": 1, "BNSD": 2}[layout]
    batch = q.shape[1 if layout == "SBH" else 0]
    return batch * heads * q.shape[token] * k.shape[token]


def _on_device(given: dict[str, Any]) -> tuple[Tensor, Tensor]:
    zero = torch.zeros(1, dtype=torch.int64, device=given["query"].device)
    return zero, zero.clone()


ATTENTION = {
    "npu_fusion_attention": _version("npu_fusion_attention", _positional, _counts),
    "npu_fusion_attention_v2": _version("npu_fusion_attention_v2", _by_name, _counts),
    "npu_fusion_attention_v3": _version("npu_fusion_attention_v3", _positional, _on_device),
}
