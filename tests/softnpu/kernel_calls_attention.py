"""The calls that test_kernels.py makes, continued: attention of torch_npu's own.

The truth is the formula of CANN's documents, in float64, and what autograd makes of it.
"""

from __future__ import annotations

import math

import torch
import torch_npu
from kernel_calls import call, gradients, instead

SCALE = 0.3
TRIANGLE = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
BATCH, QUERIES, KEYS = 2, 5, 7
SHAPES = (BATCH, QUERIES, 4, 8), (BATCH, KEYS, 2, 8), (BATCH, KEYS, 2, 8)  # two heads share one

# From and to batch, sequence, head and element.
LAYOUTS = {
    "BSND": (lambda t: t, lambda t: t),
    "BNSD": (lambda t: t.transpose(1, 2), lambda t: t.transpose(1, 2)),
    "BSH": (lambda t: t.flatten(2), lambda t: t.unflatten(2, (4, 8))),
    "SBH": (
        lambda t: t.transpose(0, 1).flatten(2),
        lambda t: t.unflatten(2, (4, 8)).transpose(0, 1),
    ),
}


def _right_of(diagonal: int, queries=QUERIES, keys=KEYS):
    return torch.ones(queries, keys, dtype=torch.bool).triu(diagonal + 1)


def _band(before: int, after: int, queries=QUERIES, keys=KEYS, shift=0):
    right = _right_of(shift + after, queries, keys)
    return right | ~_right_of(shift - before - 1, queries, keys)


def _prefixes(*counts: int):
    return torch.stack([_right_of(2) & (torch.arange(KEYS) >= n) for n in counts])[:, None]


# The arguments of a call, and what they hide.
MASKS = {
    "nothing": ({}, None),
    "a mask": ({"atten_mask": _band(3, 2)}, _band(3, 2)),
    "a band": (
        {"atten_mask": _band(2, 1), "pre_tockens": 2, "next_tockens": 1},
        _band(2, 1),
    ),
    "the whole mask": (
        {"atten_mask": _band(3, 2), "sparse_mode": 1, "pre_tockens": 0, "next_tockens": 0},
        _band(3, 2),
    ),
    "upper left": ({"atten_mask": TRIANGLE, "sparse_mode": 2}, _right_of(0)),
    "lower right": ({"atten_mask": TRIANGLE, "sparse_mode": 3}, _right_of(2)),
    "band at the right": (
        {"atten_mask": TRIANGLE, "sparse_mode": 4, "pre_tockens": 3, "next_tockens": 1},
        _band(3, 1, shift=2),
    ),
    "prefixes": (
        {"atten_mask": _prefixes(3, 4), "sparse_mode": 5, "prefix": [3, 4]},
        _prefixes(3, 4),
    ),
    "a mode without its mask": ({"sparse_mode": 2}, None),
}


def _true(query, key, value, shift=None, hidden=None, shift_last=False):
    """Batch, sequence, head, element; the shift is added before the scores are scaled, or last."""
    query, key, value = (t.double().transpose(1, 2) for t in (query, key, value))
    key, value = (t.repeat_interleave(query.shape[1] // t.shape[1], 1) for t in (key, value))
    scores = query @ key.mT
    shift = 0.0 if shift is None else shift
    scores = scores * SCALE + shift if shift_last else (scores + shift) * SCALE
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return (scores.softmax(-1) @ value).transpose(1, 2).float()


def _fused(layout: str, options: dict, shift=None):
    given, back = LAYOUTS[layout]

    def function(*operands):
        npu = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
        pse = None if shift is None else shift.npu()
        operands = (given(t).contiguous() for t in operands)
        arguments = {"pse": pse, "scale": SCALE, **npu}
        return back(torch_npu.npu_fusion_attention(*operands, 4, layout, **arguments)[0])

    return function


def _pair(forward: str, backward: str, mine, true, shapes) -> None:
    for name in (forward, backward):
        call(
            name,
            instead(
                lambda x: gradients(mine, *(x(*shape) for shape in shapes)),
                lambda x: gradients(true, *(x(*shape) for shape in shapes)),
            ),
        )


_SCORE = "aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"
_SHIFT = torch.rand(BATCH, 4, QUERIES, KEYS, generator=torch.Generator().manual_seed(2))
for _layout in LAYOUTS:
    _pair(
        *_SCORE,
        _fused(_layout, {}, _SHIFT),
        lambda *operands: _true(*operands, _SHIFT),
        SHAPES,
    )
    for _options, _hides in MASKS.values():
        _pair(
            *_SCORE,
            _fused(_layout, _options),
            lambda *operands, hidden=_hides: _true(*operands, hidden=hidden),
            SHAPES,
        )

# Sequences of different lengths one after the other, one of them without queries.
LENGTHS = (3, 4), (0, 2), (5, 5), (2, 6)
QUERY_ENDS, KEY_ENDS = ([3, 3, 8, 10], [4, 6, 11, 17])


def _in_turn(hidden):
    def function(query, key, value):
        parts = [t.split(lengths) for t, lengths in zip((query, key, value), sides, strict=True)]
        return torch.cat(
            [
                _true(*(t[None] for t in three), hidden=hidden(number, *LENGTHS[number]))[0]
                for number, three in enumerate(zip(*parts, strict=True))
            ]
        )

    queries, keys = (list(side) for side in zip(*LENGTHS, strict=True))
    sides = queries, keys, keys
    return function


def _packed(function, options: dict):
    def run(*operands):
        npu = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
        ends = {"actual_seq_qlen": QUERY_ENDS, "actual_seq_kvlen": KEY_ENDS}
        return function(*operands, 4, "TND", scale=SCALE, **ends, **npu)[0]

    return run


def _second(*operands, pre_tockens=2147483647, next_tockens=2147483647, **options):
    return torch_npu.npu_fusion_attention_v2(
        *operands, pre_tokens=pre_tockens, next_tokens=next_tockens, **options
    )


_PACKED = {
    0: ({}, lambda n, q, k: None),
    2: ({}, lambda n, q, k: _right_of(0, q, k)),
    3: ({}, lambda n, q, k: _right_of(k - q, q, k)),
    4: ({"pre_tockens": 3, "next_tockens": 0}, lambda n, q, k: _band(3, 0, q, k, k - q)),
    7: (
        {"pre_tockens": 6, "next_tockens": -1},
        lambda n, q, k: _right_of(k - q - (n == 3), q, k),
    ),
    8: (
        {"pre_tockens": 6, "next_tockens": -1},
        lambda n, q, k: _right_of(k - q - 1 if n == 0 else 0, q, k),
    ),
}
for _mode, (_options, _hides) in _PACKED.items():
    _options = {"sparse_mode": _mode, **_options, **({"atten_mask": TRIANGLE} if _mode else {})}
    for _version, _function, _layout in (
        ("", torch_npu.npu_fusion_attention, {}),
        ("V2", _second, {}),
        ("V4", torch_npu.npu_fusion_attention, {"softmax_layout": "TND"}),
    ):
        _pair(
            f"aclnnFlashAttentionVarLenScore{_version}",
            f"aclnnFlashAttentionUnpaddingScoreGrad{_version}",
            _packed(_function, _options | _layout),
            _in_turn(_hides),
            ((10, 4, 8), (17, 2, 8), (17, 2, 8)),
        )

for _kind in (0, 1):
    _pair(
        "aclnnFlashAttentionScoreV2",
        "aclnnFlashAttentionScoreGradV2",
        lambda q, k, v, kind=_kind: torch_npu.npu_fusion_attention_v2(
            q, k, v, 4, "BSND", pse=_SHIFT.npu(), pse_type=kind, scale=SCALE
        )[0],
        lambda *operands, kind=_kind: _true(*operands, _SHIFT, shift_last=kind == 0),
        SHAPES,
    )


def direct(forward, backward, x):
    """What torch_npu calls on a 950DT: pairs of gradients, and of what dropout must keep equal."""
    q, k, v = (x(*shape).requires_grad_() for shape in SHAPES)
    true = _true(q, k, v)
    slope = x(*true.shape)
    pairs = []
    for keep in (1.0, 0.5):
        highest, total = torch.empty(2, BATCH, 4, QUERIES, 8)
        out, grads = torch.empty(q.shape), [torch.empty(t.shape) for t in (q, k, v)]
        plain = [t.detach() for t in (q, k, v)]
        numbers = SCALE, keep, 65536, 65536, 4, "BSND"
        forward(
            *(*plain, *[None] * 10, *[()] * 5, *numbers, 0, 0, 0, 1, "", 3, 4),
            *(highest, total, None, out),
        )
        backward(
            *(*plain, slope, *[None] * 4, highest, total, *[None] * 10, *[()] * 5, *numbers),
            *("", 0, 0, 1, 3, 4, 0, *grads, None, None, torch.empty(0), None),
        )
        if keep == 1:
            pairs += [(out, true.detach())]
            pairs += zip(grads, torch.autograd.grad(true, (q, k, v), slope), strict=True)
        else:  # linear in the value: the same draws give the same number
            pairs.append(((grads[2] * plain[2]).sum(), (out * slope).sum()))
            assert not torch.allclose(out, true, atol=0.1)
    return pairs
