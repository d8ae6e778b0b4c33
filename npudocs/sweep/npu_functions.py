"""torch_npu's own differentiable functions: how each is called, and what it should give.

A function is listed under the name of its operator in the dispatcher, namespace ``npu``. What
has an autograd kernel of torch_npu there is either in ``FUNCTIONS`` or, with the reason, in
``tests/sweep/unsampled.json``. torch_npu is imported only when something is called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import npu_references as ref


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
    dtypes: tuple[str, ...]


def _function(
    name: str,
    shapes: str,
    reference: Callable[..., Any],
    *options: Any,
    call: Callable[..., Any] | None = None,
    dtypes: str = "float32 float16 bfloat16",
    **keywords: Any,
) -> NpuFunction:
    """Return an entry of the table; without `call`, the operator takes tensors and options."""
    inputs = tuple(tuple(map(int, shape.split(","))) for shape in shapes.split())
    call = call or _npu(name, *options, **keywords)
    return NpuFunction(name, call, reference, inputs, tuple(dtypes.split()))


def _npu(name: str, *options: Any, part: Any = None, **keywords: Any) -> Callable[..., Any]:
    """Return what calls an operator with the tensors, then the options; it gives a part of the outputs."""

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


def _dtype_cast(name: str) -> NpuFunction:
    return _function(
        name, "3,4", lambda x: x.to(_other(x)), call=lambda x: _npu(name, _other(x))(x)
    )


def _integers(x: Tensor, values: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=x.device)


def _cross_entropy(x: Tensor) -> Tensor:
    return _npu("npu_cross_entropy_loss", part=0)(x, _integers(x, [0, 2, 1]))


def _permute(tokens: Tensor) -> Tensor:
    experts = _integers(tokens, [[1, 0], [2, 1], [0, 2]])
    return _npu("npu_moe_token_permute", part=0)(tokens, experts)


def _unpermute(name: str, part: Any = None) -> NpuFunction:
    def call(rows: Tensor, probabilities: Tensor) -> Tensor:
        places = _integers(rows, [2, 0, 4, 3, 1, 5], torch.int32)
        return _npu(name, part=part)(rows, places, probabilities)

    return _function(name, "6,8 3,2", ref.unpermuted, call=call)


def _apply_rotary(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    # It writes into its arguments, though its schema does not say so.
    return _npu("npu_apply_rotary_pos_emb")(query.clone(), key.clone(), cos, sin)


def _attention(name: str) -> NpuFunction:
    shapes = "1,2,4,16 1,2,6,16 1,2,6,16"
    return _function(name, shapes, ref.attention, 2, "BNSD", part=0, scale=0.5)


_HALF = "float16 bfloat16"
_NO_BFLOAT = "float32 float16"

# Name, shapes of the inputs, what it should give, and how it is called where the tensors are not all.
FUNCTIONS: tuple[NpuFunction, ...] = (
    _function("fast_gelu", "3,4", ref.fast_gelu),
    _function("npu_fast_gelu", "3,4", ref.fast_gelu),
    _function("npu_gelu", "3,4", F.gelu),
    _function("npu_geglu", "3,8", ref.geglu, part=0),
    _function("npu_swiglu", "3,8", ref.swiglu),
    _function("npu_linear", "3,4 5,4 5", F.linear),
    _function("npu_rms_norm", "2,3,8 8", ref.rms_norm, part=0),
    _function("npu_add_rms_norm", "3,8 3,8 8", ref.add_rms_norm, part=slice(0, 3, 2)),
    _function(
        "npu_add_layer_norm", "3,8 3,8 8 8", ref.add_layer_norm, 1e-5, True, part=slice(0, 4, 3)
    ),
    _function("npu_deep_norm", "3,8 3,8 8 8", ref.deep_norm, part=2),
    _function(
        "npu_group_norm_swish",
        "2,4,3 4 4",
        ref.group_norm_swish,
        call=lambda x, w, b: torch.ops.npu.npu_group_norm_swish(x, 2, w, b)[0],
    ),
    _function("npu_cross_entropy_loss", "3,4", ref.cross_entropy, call=_cross_entropy),
    _function(
        "npu_gather_sparse_index",
        "4,3",
        lambda x: x[torch.tensor([0, 2, 2])],
        call=lambda x: _npu("npu_gather_sparse_index")(x, _integers(x, [0, 2, 2])),
    ),
    # Nothing is dropped: what is drawn does not matter.
    _function("_npu_dropout", "3,4", lambda x: x * 1, 0.0, part=0),
    _dtype_cast("npu_dtype_cast"),
    _dtype_cast("_npu_dtype_cast"),
    # To the format ND, which it has: the tensor itself comes back, and its tangent with it.
    *(
        _function(name, "3,4", torch.clone, *options)
        for name, options in {
            "_npu_format_cast": (2,),
            "_npu_format_cast.aclnn": (2, 0),
            "_npu_format_cast.input_dtype": (2, 0, 0),
        }.items()
    ),
    _function("npu_rotary_mul", "2,3,4,64 1,3,1,64 1,3,1,64", ref.rotary),
    _function(
        "npu_interleave_rope", "1,2,3,64 1,1,3,64 1,1,3,64", ref.interleaved_rotary, dtypes=_HALF
    ),
    _function(
        "npu_apply_rotary_pos_emb",
        "1,2,3,128 1,2,1,128 1,2,1,128 1,2,1,128",
        ref.rotary_of_both,
        call=_apply_rotary,
    ),
    _attention("npu_fusion_attention"),
    _attention("npu_fusion_attention_v2"),
    _attention("npu_fusion_attention_v3"),
    _function(
        "npu_nsa_compress",
        "32,2,16 16,2",
        ref.compressed,
        16,
        16,
        actual_seq_len=[32],
        dtypes=_HALF,
    ),
    _function("npu_moe_token_permute", "3,8", ref.permuted, call=_permute),
    _unpermute("npu_moe_token_unpermute"),
    _unpermute("_npu_moe_token_unpermute", 0),
    _function("npu_moe_gating_top_k", "3,8", ref.gated, 2, part=0),
    # torch_npu's torch.lstm and torch.gru call them.
    _function(
        "_lstm_npu", "4,2,3 1,2,5 1,2,5 20,3 20,5 20 20", ref.lstm, call=ref.lstm, dtypes=_NO_BFLOAT
    ),
    _function("_gru_npu", "4,2,3 1,2,5 15,3 15,5 15 15", ref.gru, call=ref.gru, dtypes=_NO_BFLOAT),
)
