"""torch_npu's own differentiable functions: how each is called, and what it should give.

A function is listed under the name of its operator in the dispatcher, namespace ``npu``. What
has an autograd kernel of torch_npu there is either in ``FUNCTIONS`` or, with the reason, in
``UNSAMPLED``. torch_npu is imported only when something is called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import npu_references as references

_ALL = ("float32", "float16", "bfloat16")
_HALF = ("float16", "bfloat16")


@dataclasses.dataclass(frozen=True)
class NpuFunction:
    """A function of torch_npu.

    `inputs` are the shapes of floating point tensors, all of them differentiated; any values
    between -1 and 1 will do. Both `call`, on the NPU, and `reference`, on the CPU, take these
    tensors in order, and make whatever else they need; they return the same tensors, those that
    can carry a tangent.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...] = _ALL


def _npu(name: str, *options: Any, part: Any = None, **keywords: Any) -> Callable[..., Any]:
    """The operator, called with the tensors, then the options; of its outputs, a part."""

    def call(*tensors: Tensor) -> Any:
        import torch_npu  # noqa: F401 - registers the operator

        operator = torch.ops.npu
        for step in name.split("."):
            operator = getattr(operator, step)
        result = operator(*tensors, *options, **keywords)
        return result if part is None else result[part]

    return call


def _other(x: Tensor) -> torch.dtype:
    return torch.float16 if x.dtype == torch.float32 else torch.float32


def _dtype_cast(x: Tensor) -> Tensor:
    import torch_npu

    return torch_npu.npu_dtype_cast(x, _other(x))


def _plain_dtype_cast(x: Tensor) -> Tensor:
    return _npu("_npu_dtype_cast", _other(x))(x)


def _integers(x: Tensor, values: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=x.device)


def _cross_entropy(x: Tensor) -> Tensor:
    return _npu("npu_cross_entropy_loss", part=0)(x, _integers(x, [0, 2, 1]))


def _permute(tokens: Tensor) -> Tensor:
    experts = _integers(tokens, [[1, 0], [2, 1], [0, 2]])
    return _npu("npu_moe_token_permute", part=0)(tokens, experts)


def _unpermute(name: str, part: Any = None) -> Callable[[Tensor, Tensor], Tensor]:
    def call(rows: Tensor, probabilities: Tensor) -> Tensor:
        places = _integers(rows, [2, 0, 4, 3, 1, 5], torch.int32)
        return _npu(name, part=part)(rows, places, probabilities)

    return call


def _apply_rotary(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    # It writes into its arguments, though its schema does not say so.
    return _npu("npu_apply_rotary_pos_emb")(query.clone(), key.clone(), cos, sin)


def _lstm(x: Tensor, h: Tensor, c: Tensor, *params: Tensor) -> tuple[Tensor, ...]:
    return torch.lstm(x, (h, c), params, True, 1, 0.0, True, False, False)


def _gru(x: Tensor, h: Tensor, *params: Tensor) -> tuple[Tensor, ...]:
    return torch.gru(x, h, params, True, 1, 0.0, True, False, False)


_ATTENTION = {"scale": 0.5, "part": 0}
_QKV = ((1, 2, 4, 16), (1, 2, 6, 16), (1, 2, 6, 16))
_SEQUENCE = ((4, 2, 3), (1, 2, 5))

FUNCTIONS: tuple[NpuFunction, ...] = (
    NpuFunction("fast_gelu", _npu("fast_gelu"), references.fast_gelu, ((3, 4),)),
    NpuFunction("npu_fast_gelu", _npu("npu_fast_gelu"), references.fast_gelu, ((3, 4),)),
    NpuFunction("npu_gelu", _npu("npu_gelu"), F.gelu, ((3, 4),)),
    NpuFunction("npu_geglu", _npu("npu_geglu", part=0), references.geglu, ((3, 8),)),
    NpuFunction("npu_swiglu", _npu("npu_swiglu"), references.swiglu, ((3, 8),)),
    NpuFunction("npu_linear", _npu("npu_linear"), F.linear, ((3, 4), (5, 4), (5,))),
    NpuFunction(
        "npu_rms_norm", _npu("npu_rms_norm", part=0), references.rms_norm, ((2, 3, 8), (8,))
    ),
    NpuFunction(
        "npu_add_rms_norm",
        _npu("npu_add_rms_norm", part=slice(0, 3, 2)),
        references.add_rms_norm,
        ((3, 8), (3, 8), (8,)),
    ),
    NpuFunction(
        "npu_add_layer_norm",
        _npu("npu_add_layer_norm", 1e-5, True, part=slice(0, 4, 3)),
        references.add_layer_norm,
        ((3, 8), (3, 8), (8,), (8,)),
    ),
    NpuFunction(
        "npu_deep_norm",
        _npu("npu_deep_norm", part=2),
        references.deep_norm,
        ((3, 8), (3, 8), (8,), (8,)),
    ),
    NpuFunction(
        "npu_group_norm_swish",
        lambda x, w, b: torch.ops.npu.npu_group_norm_swish(x, 2, w, b)[0],
        references.group_norm_swish,
        ((2, 4, 3), (4,), (4,)),
    ),
    NpuFunction(
        "npu_cross_entropy_loss",
        _cross_entropy,
        lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1])).reshape(1),
        ((3, 4),),
    ),
    NpuFunction(
        "npu_gather_sparse_index",
        lambda x: _npu("npu_gather_sparse_index")(x, _integers(x, [0, 2, 2])),
        lambda x: x[torch.tensor([0, 2, 2])],
        ((4, 3),),
    ),
    # Nothing is dropped: what is drawn does not matter.
    NpuFunction("_npu_dropout", _npu("_npu_dropout", 0.0, part=0), lambda x: x * 1, ((3, 4),)),
    NpuFunction("npu_dtype_cast", _dtype_cast, lambda x: x.to(_other(x)), ((3, 4),)),
    NpuFunction("_npu_dtype_cast", _plain_dtype_cast, lambda x: x.to(_other(x)), ((3, 4),)),
    # To the format ND, which it has: the tensor itself comes back, and its tangent with it.
    NpuFunction("_npu_format_cast", _npu("_npu_format_cast", 2), torch.clone, ((3, 4),)),
    NpuFunction(
        "_npu_format_cast.aclnn", _npu("_npu_format_cast.aclnn", 2, 0), torch.clone, ((3, 4),)
    ),
    NpuFunction(
        "_npu_format_cast.input_dtype",
        _npu("_npu_format_cast.input_dtype", 2, 0, 0),
        torch.clone,
        ((3, 4),),
    ),
    NpuFunction(
        "npu_rotary_mul",
        _npu("npu_rotary_mul"),
        references.rotary,
        ((2, 3, 4, 64), (1, 3, 1, 64), (1, 3, 1, 64)),
    ),
    NpuFunction(
        "npu_interleave_rope",
        _npu("npu_interleave_rope"),
        references.interleaved_rotary,
        ((1, 2, 3, 64), (1, 1, 3, 64), (1, 1, 3, 64)),
        _HALF,
    ),
    NpuFunction(
        "npu_apply_rotary_pos_emb",
        _apply_rotary,
        references.rotary_of_both,
        ((1, 2, 3, 128), (1, 2, 1, 128), (1, 2, 1, 128), (1, 2, 1, 128)),
    ),
    *(
        NpuFunction(name, _npu(name, 2, "BNSD", **_ATTENTION), references.attention, _QKV)
        for name in ("npu_fusion_attention", "npu_fusion_attention_v2", "npu_fusion_attention_v3")
    ),
    NpuFunction(
        "npu_nsa_compress",
        _npu("npu_nsa_compress", 16, 16, actual_seq_len=[32]),
        references.compressed,
        ((32, 2, 16), (16, 2)),
        _HALF,
    ),
    NpuFunction("npu_moe_token_permute", _permute, references.permuted, ((3, 8),)),
    NpuFunction(
        "npu_moe_token_unpermute",
        _unpermute("npu_moe_token_unpermute"),
        references.unpermuted,
        ((6, 8), (3, 2)),
    ),
    NpuFunction(
        "_npu_moe_token_unpermute",
        _unpermute("_npu_moe_token_unpermute", 0),
        references.unpermuted,
        ((6, 8), (3, 2)),
    ),
    NpuFunction(
        "npu_moe_gating_top_k", _npu("npu_moe_gating_top_k", 2, part=0), references.gated, ((3, 8),)
    ),
    # torch_npu's torch.lstm and torch.gru call them.
    NpuFunction(
        "_lstm_npu",
        _lstm,
        references.lstm,
        (*_SEQUENCE, (1, 2, 5), (20, 3), (20, 5), (20,), (20,)),
        ("float32", "float16"),
    ),
    NpuFunction(
        "_gru_npu",
        _gru,
        references.gru,
        (*_SEQUENCE, (15, 3), (15, 5), (15,), (15,)),
        ("float32", "float16"),
    ),
)

_ACLOP = "on an A2 torch_npu calls the older aclop operator {}, which the software NPU refuses"
_UNKNOWN = "its operator {} is not in softnpu/operators.tsv"
_LARGE = "its operator {} has no kernel on the software NPU"

UNSAMPLED: dict[str, str] = {
    **{
        name: _ACLOP.format(operator)
        for name, operator in {
            "_dropout_with_byte_mask": "DropOutGenMaskV3",
            "_npu_ciou": "CIoU",
            "npu_bmmV2": "BatchMatMul",
            "npu_confusion_transpose": "ConfusionTransposeD",
            "npu_convolution": "Conv2D",
            "npu_convolution_transpose": "Conv2DTranspose",
            "npu_deformable_conv2d": "Transpose",
            "npu_diou": "DIoU",
            "npu_dropout_do_mask": "DropOutDoMask",
            "npu_dropout_with_add_softmax": "DropOutGenMaskV3",
            "npu_fused_attention_score_fwd": "DropOutGenMaskV3",
            "npu_giou": "GIoU",
            "npu_gru": "DynamicGRUV2",
            "npu_lstm": "DynamicRNN",
            "npu_lstm_cell": "DynamicRNNV2",
            "npu_lstm_data": "DynamicRNN",
            "npu_max.dim": "ArgMaxWithValue",
            "npu_min.dim": "ArgMinWithValue",
            "npu_mish": "Mish",
            "npu_multi_head_attention": "MultiHeadAttention",
            "npu_ps_roi_pooling": "PSROIPoolingV2",
            "npu_scaled_masked_softmax": "ScaledMaskedSoftmax",
            "npu_silu": "Swish",
            "npu_silu_": "Swish",
            "npu_softmax_cross_entropy_with_logits": "SoftmaxCrossEntropyWithLogits",
        }.items()
    },
    **{
        name: _UNKNOWN.format(operator)
        for name, operator in {
            "npu_block_sparse_attention": "aclnnBlockSparseAttention",
            "npu_fused_floyd_attention": "aclnnFusedFloydAttention",
            "npu_lightning_indexer": "aclnnLightningIndexer",
            "npu_masked_causal_conv1d": "aclnnMaskedCausalConv1d",
            "npu_mhc_post": "aclnnMhcPost",
            "npu_mhc_pre": "aclnnMhcPre",
            "npu_mhc_sinkhorn": "aclnnMhcSinkhorn",
            "npu_moe_gating_top_k_softmax": "aclnnMoeGatingTopKSoftmax",
            "npu_sparse_flash_attention": "aclnnSparseFlashAttention",
        }.items()
    },
    **{
        name: _LARGE.format(operator)
        for name, operator in {
            "_npu_moe_token_unpermute_with_routing_map": "aclnnMoeTokenUnpermuteWithRoutingMap",
            "npu_moe_token_permute_with_routing_map": "aclnnMoeTokenPermuteWithRoutingMap",
            "npu_moe_token_unpermute_with_routing_map": "aclnnMoeTokenUnpermuteWithRoutingMap",
            "npu_nsa_compress_attention": "aclnnNsaCompressAttention",
            "npu_nsa_select_attention": "aclnnNsaSelectedAttention",
        }.items()
    },
    "npu_swiglu_group_quant": "its output is quantized to a dtype that the software NPU lacks",
}
