"""The calls that test_kernels.py makes, continued: torch_npu's fused functions and recurrent layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from kernel_calls import call, gradients, instead


def _pair(forward: str, backward: str, mine, true, *shapes: tuple[int, ...]) -> None:
    """A function that torch does not have, and its gradients."""

    def made(x):
        return [x(*shape) for shape in shapes]

    call(forward, instead(lambda x: mine(*made(x)), lambda x: true(*made(x))))
    call(
        backward,
        instead(lambda x: gradients(mine, *made(x)), lambda x: gradients(true, *made(x))),
    )


def _geglu(self, left: bool, approximate: str):
    a, b = self.chunk(2, 1)
    gelu = F.gelu(a if left else b, approximate=approximate)
    return gelu * (b if left else a)


for _left, _code in ((False, 0), (False, 1), (True, 1)):
    _pair(
        "aclnnGeGluV3",
        "aclnnGeGluV3Backward",
        lambda t, left=_left, code=_code: torch_npu.npu_geglu(t, 1, code, left)[0],
        lambda t, left=_left, code=_code: _geglu(t, left, ("none", "tanh")[code]),
        (3, 8, 2),
    )

_pair(
    "aclnnAddLayerNorm",
    "aclnnAddLayerNormGrad",
    lambda *t: torch.cat(torch_npu.npu_add_layer_norm(*t, 1e-3, True)[::3]),
    lambda a, b, g, c: torch.cat((F.layer_norm(a + b, (4,), g, c, 1e-3), a + b)),
    *((2, 3, 4), (2, 3, 4), (4,), (4,)),
)
_pair(
    "aclnnDeepNorm",
    "aclnnDeepNormGrad",
    lambda *t: torch_npu.npu_deep_norm(*t, 0.4, 1e-3)[2],
    lambda x, gx, c, g: F.layer_norm(0.4 * x + gx, (4,), g, c, 1e-3),
    *((2, 3, 4), (2, 3, 4), (4,), (4,)),
)


def _group_norm_swish(x, weight, bias):
    y = F.group_norm(x, 2, weight, bias, 1e-3)
    return y * torch.sigmoid(1.5 * y)


_pair(
    "aclnnGroupNormSwish",
    "aclnnGroupNormSwishGrad",
    lambda x, w, b: torch_npu.npu_group_norm_swish(x, 2, w, b, eps=1e-3, swish_scale=1.5)[0],
    _group_norm_swish,
    *((2, 4, 3), (4,), (4,)),
)


def _cross_entropy(function, x, reduction: str, weighted: bool, smoothing: float):
    target = torch.tensor([0, 2, 3, 1], device=x.device)
    weight = torch.tensor([0.2, 0.3, 0.5, 0.7], device=x.device) if weighted else None
    options = {"ignore_index": 3, "label_smoothing": smoothing}
    result = function(x, target, weight, reduction=reduction, **options)
    return result[0] if isinstance(result, tuple) else result.reshape(-1)


for _options in (
    ("mean", False, 0.0),
    ("sum", True, 0.1),
    ("none", True, 0.0),
    ("mean", True, 0.2),
):
    _pair(
        "aclnnCrossEntropyLoss",
        "aclnnCrossEntropyLossGrad",
        lambda x, o=_options: _cross_entropy(torch_npu.npu_cross_entropy_loss, x, *o),
        lambda x, o=_options: _cross_entropy(F.cross_entropy, x, *o),
        (4, 4),
    )


def _turned(x, mode: str):
    if mode == "interleave":
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * 1j).flatten(-2)
    half = x.shape[-1] // 2
    return torch.roll(x, half, -1) * torch.tensor([-1.0] * half + [1.0] * half)


for _mode in ("half", "interleave"):
    _pair(
        "aclnnRotaryPositionEmbedding",
        "aclnnRotaryPositionEmbeddingGrad",
        lambda x, r1, r2, mode=_mode: torch_npu.npu_rotary_mul(x, r1, r2, mode),
        lambda x, r1, r2, mode=_mode: x * r1 + _turned(x, mode) * r2,
        *((2, 3, 4, 8), (1, 3, 1, 8), (1, 3, 1, 8)),
    )
call(
    "aclnnInterleaveRope",
    instead(
        lambda x: torch_npu.npu_interleave_rope(x(1, 2, 3, 8), x(1, 1, 3, 8), x(1, 1, 3, 8)),
        lambda x: (
            (t := x(1, 2, 3, 8).unflatten(-1, (4, 2)).mT.flatten(-2)) * x(1, 1, 3, 8)
            + _turned(t, "half") * x(1, 1, 3, 8)
        ),
    ),
)


def _both_turned(x, mode: str):
    query, key, cos, sin = x(1, 2, 3, 8), x(1, 2, 1, 8), x(1, 2, 1, 8), x(1, 2, 1, 8)
    return [t * cos + _turned(t, mode) * sin for t in (query, key)]


for _mode in ("half", "interleave"):
    call(
        "aclnnApplyRotaryPosEmbV2",
        instead(
            lambda x, mode=_mode: torch_npu.npu_apply_rotary_pos_emb(
                x(1, 2, 3, 8), x(1, 2, 1, 8), x(1, 2, 1, 8), x(1, 2, 1, 8), "BSND", mode
            ),
            lambda x, mode=_mode: _both_turned(x, mode),
        ),
    )


def _compressed(x, weight):
    parts = [x[first : first + 16] for first in (0, 16, 40)]  # of sequences of 40 and 20 tokens
    return torch.stack([torch.einsum("tnd,tn->nd", part, weight) for part in parts])


def _small_halves(x):
    """The operator takes no float32; with these numbers float16 is exact."""
    return [
        x.whole(*shape, low=-1, high=2, dtype=torch.float16) for shape in ((60, 2, 16), (16, 2))
    ]


def _compress(x, weight):
    return torch_npu.npu_nsa_compress(x, weight, 16, 16, actual_seq_len=[40, 60])


call(
    "aclnnNsaCompress",
    instead(lambda x: _compress(*_small_halves(x)), lambda x: _compressed(*_small_halves(x))),
)
call(
    "aclnnNsaCompressGrad",
    instead(
        lambda x: gradients(_compress, *_small_halves(x)),
        lambda x: gradients(_compressed, *_small_halves(x)),
    ),
)

_EXPERTS = [[1, 0], [2, 1], [0, 2]]
_ROWS = [0, 2, 0, 1, 1, 2]  # the token of each row, by expert
_PLACES = [2, 0, 4, 3, 1, 5]  # the row of each token's each expert

for _count in (0, 4):
    _pair(
        "aclnnMoeTokenPermute",
        "aclnnMoeTokenPermuteGrad",
        lambda t, n=_count: torch_npu.npu_moe_token_permute(
            t, torch.tensor(_EXPERTS, device="npu"), n
        )[0],
        lambda t, n=_count: t[torch.tensor(_ROWS[: n or 6])],
        (3, 4),
    )
_pair(
    "aclnnMoeTokenUnpermute",
    "aclnnMoeTokenUnpermuteGrad",
    lambda t, p: torch_npu.npu_moe_token_unpermute(
        t, torch.tensor(_PLACES, device="npu", dtype=torch.int32), p
    ),
    lambda t, p: (t[torch.tensor(_PLACES)].unflatten(0, (3, 2)) * p[..., None]).sum(1),
    *((6, 4), (3, 2)),
)


def _gated(scores, normalized: bool):
    values, experts = scores.topk(2)
    values = values / values.sum(1, keepdim=True) if normalized else values
    return values * 1.5, experts.int()


for _norm in (0, 1):
    call(
        "aclnnMoeGatingTopK",
        instead(
            lambda x, n=_norm: torch_npu.npu_moe_gating_top_k(
                x(3, 8), 2, norm_type=n, routed_scaling_factor=1.5
            )[:2],
            lambda x, n=_norm: _gated((torch.softmax(t := x(3, 8), 1), t.sigmoid())[n], n == 1),
        ),
    )


def _attention(query, key, value):
    return torch_npu.npu_fusion_attention_v2(query, key, value, 2, "BNSD", scale=0.3)[0]


_pair(
    "aclnnFlashAttentionScoreV2",
    "aclnnFlashAttentionScoreGradV2",
    _attention,
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3),
    *((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8)),
)
