"""The calls that test_kernels.py makes, continued: normalization, convolution, pooling, resizing, linear algebra."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from kernel_calls import aten, call, gradients, instead

# Normalization and embedding.
call("aclnnLayerNorm", lambda x: aten.native_layer_norm(x(3, 4), (4,), x(4), x(4), 1e-5))
call(
    "aclnnLayerNormBackward",
    lambda x: gradients(lambda a, w, b: F.layer_norm(a, (4,), w, b), x(3, 4), x(4), x(4)),
)
call("aclnnGroupNorm", lambda x: aten.native_group_norm(x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5))
call(
    "aclnnGroupNormBackward",
    lambda x: gradients(lambda a, w, b: F.group_norm(a, 2, w, b), x(2, 4, 3), x(4), x(4)),
)
call("aclnnBatchNorm", lambda x: _batch_norm(x, True), lambda x: _batch_norm(x, False))
call(
    "aclnnBatchNormBackward",
    lambda x: gradients(
        lambda a, w, b: F.batch_norm(a, x(3), x.positive(3), w, b, True), x(4, 3, 2), x(3), x(3)
    ),
)
call(
    "aclnnBatchNormBackward",
    lambda x: gradients(
        lambda a, w, b: F.batch_norm(a, x(3), x.positive(3), w, b, False), x(4, 3, 2), x(3), x(3)
    ),
)
call("aclnnEmbedding", lambda x: F.embedding(x.whole(2, 3, high=5), x(5, 4)))
call(
    "aclnnEmbeddingDenseBackward",
    lambda x: aten.embedding_dense_backward(x(7, 4), x.whole(7, high=5), 5, -1, False),
)
call(
    "aclnnEmbeddingDenseBackward",
    lambda x: aten.embedding_dense_backward(x(7, 4), x.whole(7, high=5), 5, 2, True),
)
call("aclnnEmbeddingRenorm", lambda x: aten.embedding_renorm_(x(5, 4), x.of([0, 2]), 0.5, 2.0))
call(
    "aclnnEmbeddingBag",
    lambda x: F.embedding_bag(x.whole(7, high=5), x(5, 4), x.of([0, 3]), mode="mean"),
)
call(
    "aclnnEmbeddingBag",
    lambda x: F.embedding_bag(x.whole(7, high=5), x(5, 4), x.of([0, 3]), mode="max"),
)
call("aclnnRenorm", lambda x: torch.renorm(x(3, 4), 2, 0, 0.5))
call("aclnnInplaceRenorm", lambda x: x(3, 4).renorm_(2, 0, 0.5))
call(
    "aclnnRmsNorm",
    instead(
        lambda x: torch_npu.npu_rms_norm(x(3, 4), x(4), 1e-5)[0],
        lambda x: F.rms_norm(x(3, 4), (4,), x(4), 1e-5),
    ),
)


def _batch_norm(x, training):
    running = x(3), x.positive(3)
    result = F.batch_norm(x(4, 3, 2), *running, x(3), x(3), training, 0.3)
    return [result, *running]


# Convolution, padding, pooling, resizing.
call("aclnnConvolution", lambda x: F.conv2d(x(2, 4, 5, 6), x(6, 2, 3, 2), x(6), 2, 1, groups=2))
call(
    "aclnnConvolution",
    lambda x: [F.conv1d(x(2, 3, 7), x(4, 3, 3)), F.conv3d(x(1, 2, 4, 4, 4), x(3, 2, 2, 2, 2))],
)
call("aclnnConvolution", lambda x: F.conv_transpose2d(x(2, 4, 3, 3), x(4, 2, 3, 3), x(2), 2, 1, 1))
call(
    "aclnnConvolutionBackward",
    lambda x: gradients(
        lambda a, w, b: F.conv2d(a, w, b, 2, 1), x(2, 4, 5, 6), x(6, 4, 3, 2), x(6)
    ),
)
call(
    "aclnnConvDepthwise2d",
    lambda x: (
        aten._conv_depthwise2d(x(2, 4, 5, 6), x(4, 1, 3, 2), (3, 2), x(4), (2, 1), (1, 0), (1, 1))
        if x.device == "npu"
        else F.conv2d(x(2, 4, 5, 6), x(4, 1, 3, 2), x(4), (2, 1), (1, 0), groups=4)
    ),
)
call("aclnnConvTbc", lambda x: torch.conv_tbc(x(5, 2, 3), x(2, 3, 4), x(4), 1))
call(
    "aclnnConvTbcBackward",
    lambda x: aten.conv_tbc_backward(x(6, 2, 4), x(5, 2, 3), x(2, 3, 4), x(4), 1),
)
call("aclnnIm2col", lambda x: F.unfold(x(2, 3, 5, 6), (2, 3), padding=1, stride=2))
call("aclnnIm2colBackward", lambda x: F.fold(x(2, 12, 20), (5, 6), (2, 2)))
call(
    "aclnnConstantPadNd",
    lambda x: [F.pad(x(3, 4), (1, 2), value=2.5), F.pad(x(3, 4), (-1, 0, 2, 1))],
)
for _dims, _pad in ((1, (1, 2)), (2, (1, 2, 2, 1)), (3, (1, 0, 2, 1, 1, 1))):
    for _mode, _word in (("Reflection", "reflection"), ("Replication", "replication")):
        call(
            f"aclnn{_mode}Pad{_dims}d",
            lambda x, d=_dims, p=_pad, w=_word: getattr(aten, f"{w}_pad{d}d")(x(1, 2, *[4] * d), p),
        )
        call(
            f"aclnn{_mode}Pad{_dims}dBackward",
            lambda x, d=_dims, p=_pad, w=_word: gradients(
                lambda a: getattr(aten, f"{w}_pad{d}d")(a, p), x(1, 2, *[4] * d)
            ),
        )
call("aclnnAdaptiveAvgPool2d", lambda x: F.adaptive_avg_pool2d(x(2, 3, 5, 6), (2, 4)))
call(
    "aclnnAdaptiveAvgPool2dBackward",
    lambda x: aten._adaptive_avg_pool2d_backward(x(2, 3, 2, 4), x(2, 3, 5, 6)),
)
call("aclnnAdaptiveAvgPool3d", lambda x: F.adaptive_avg_pool3d(x(2, 3, 4, 5, 6), (2, 3, 4)))
call(
    "aclnnAdaptiveAvgPool3dBackward",
    lambda x: aten._adaptive_avg_pool3d_backward(x(1, 2, 2, 3, 4), x(1, 2, 4, 5, 6)),
)
call("aclnnAdaptiveMaxPool2d", lambda x: aten.adaptive_max_pool2d(x(2, 3, 5, 6), (2, 4)))
call(
    "aclnnAdaptiveMaxPool2dBackward",
    lambda x: gradients(lambda a: F.adaptive_max_pool2d(a, (2, 4)), x(2, 3, 5, 6)),
)
call("aclnnAdaptiveMaxPool3d", lambda x: F.adaptive_max_pool3d(x(2, 3, 4, 5, 6), (2, 3, 4)))
call(
    "aclnnAdaptiveMaxPool3dBackward",
    lambda x: gradients(lambda a: F.adaptive_max_pool3d(a, (2, 3, 4)), x(1, 2, 4, 5, 6)),
)
call(
    "aclnnAvgPool2d",
    lambda x: F.avg_pool2d(x(2, 3, 5, 6), (2, 3), (1, 2), (1, 1), count_include_pad=False),
)
call("aclnnAvgPool2d", lambda x: F.avg_pool2d(x(2, 3, 5, 6), 2, ceil_mode=True, divisor_override=3))
call(
    "aclnnAvgPool2dBackward",
    lambda x: gradients(lambda a: F.avg_pool2d(a, 2, ceil_mode=True), x(2, 3, 5, 6)),
)
call("aclnnAvgPool3d", lambda x: F.avg_pool3d(x(2, 3, 4, 5, 6), 2, 1, 1))
call(
    "aclnnAvgPool3dBackward",
    lambda x: gradients(lambda a: F.avg_pool3d(a, 2, 1, 1), x(1, 2, 4, 5, 6)),
)
call("aclnnMaxPool2dWithMask", lambda x: F.max_pool2d(x(2, 3, 5, 6), (2, 3), 2, 1))
call(
    "aclnnMaxPool2dWithMaskBackward",
    lambda x: gradients(lambda a: F.max_pool2d(a, (2, 3), 2, 1), x(2, 3, 5, 6)),
)
call(
    "aclnnMaxPool2dWithMaskBackward",
    lambda x: gradients(lambda a: F.max_pool2d(a, 2, 1, dilation=2, ceil_mode=True), x(3, 5, 6)),
)
call("aclnnMaxPool3dWithArgmax", lambda x: F.max_pool3d(x(1, 2, 4, 5, 6), 2))
call(
    "aclnnMaxPool3dWithArgmaxBackward",
    lambda x: gradients(lambda a: F.max_pool3d(a, 2), x(1, 2, 4, 5, 6)),
)
call(
    "aclnnMaxUnpool2d",
    lambda x: aten.max_unpool2d(x(1, 2, 2, 2), x.of([[[[0, 3], [9, 12]]] * 2]), (4, 4)),
)
call(
    "aclnnMaxUnpool3d",
    lambda x: aten.max_unpool3d(
        x(1, 1, 1, 2, 2), x.of([[[[[0, 3], [9, 12]]]]]), (2, 4, 4), (2, 2, 2), (0, 0, 0)
    ),
)

_UP = {
    "Nearest1dV2": ("nearest", 1), "Nearest2dV2": ("nearest", 2), "Nearest3d": ("nearest", 3),
    "NearestExact1d": ("nearest-exact", 1), "NearestExact2d": ("nearest-exact", 2),
    "NearestExact3d": ("nearest-exact", 3), "Linear1d": ("linear", 1),
    "Bilinear2d": ("bilinear", 2), "Bicubic2d": ("bicubic", 2), "Trilinear3d": ("trilinear", 3),
}  # fmt: skip


def _resize(mode, **options):
    return lambda a: F.interpolate(a, mode=mode, **options)


for _name, (_mode, _dims) in _UP.items():
    for _options in ({"size": (7, 3, 5)[:_dims]}, {"scale_factor": (1.5, 0.5, 2.0)[:_dims]}):
        _f = _resize(_mode, **_options)
        call(
            f"aclnnUpsample{_name}",
            lambda x, d=_dims, f=_f: f(x(1, 2, *(4, 6, 5)[:d])),
        )
        call(
            f"aclnnUpsample{_name.removesuffix('V2')}Backward{'V2' * (_name == 'Bilinear2d')}",
            lambda x, d=_dims, f=_f: gradients(f, x(1, 2, *(4, 6, 5)[:d])),
        )
for _mode, _name in (("bilinear", "Bilinear2dAA"), ("bicubic", "Bicubic2dAA")):
    call(
        f"aclnnUpsample{_name}",
        lambda x, m=_mode: F.interpolate(x(1, 2, 6, 7), (4, 3), mode=m, antialias=True),
    )
    call(
        f"aclnnUpsample{_name}{'Backward' if _mode == 'bilinear' else 'Grad'}",
        lambda x, m=_mode: gradients(
            lambda a: F.interpolate(a, (4, 3), mode=m, antialias=True), x(1, 2, 6, 7)
        ),
    )
call("aclnnAffineGrid", lambda x: F.affine_grid(x(2, 2, 3), (2, 3, 4, 5), align_corners=True))
call(
    "aclnnGridSampler2D",
    lambda x: F.grid_sample(x(1, 2, 4, 5), x.unit(1, 3, 3, 2), align_corners=True),
)
call(
    "aclnnGridSampler2DBackward",
    lambda x: gradients(
        lambda a, g: F.grid_sample(a, g, align_corners=True), x(1, 2, 4, 5), x.unit(1, 3, 3, 2)
    ),
)
call(
    "aclnnGridSampler3D",
    lambda x: F.grid_sample(x(1, 2, 4, 5, 3), x.unit(1, 2, 3, 3, 3), align_corners=False),
)
call(
    "aclnnGridSampler3DBackward",
    lambda x: gradients(
        lambda a, g: F.grid_sample(a, g, align_corners=False),
        x(1, 2, 4, 5, 3),
        x.unit(1, 2, 3, 3, 3),
    ),
)

# Linear algebra, signals.
call(
    "aclnnLinalgCholesky",
    lambda x: [torch.linalg.cholesky(_spd(x)), torch.linalg.cholesky(_spd(x), upper=True)],
)
call(
    "aclnnLinalgQr",
    lambda x: [
        *torch.linalg.qr(x(4, 3)),
        *torch.linalg.qr(x(4, 3), "complete"),
        torch.linalg.qr(x(4, 3), "r")[1],
    ],
)
call(
    "aclnnSvd",
    lambda x: [
        *torch.linalg.svd(x(4, 3)),
        *torch.linalg.svd(x(2, 3, 4), False),
        torch.linalg.svdvals(x(4, 3)),
    ],
)
call("aclnnTriangularSolve", lambda x: torch.linalg.solve_triangular(_spd(x), x(4, 2), upper=True))
call("aclnnInverse", lambda x: torch.inverse(_spd(x)))
call("aclnnSlogdet", lambda x: torch.slogdet(_spd(x)))
call("aclStft", lambda x: torch.stft(x(40), 8, 4, window=x(8), center=False, return_complex=True))


def _spd(x):
    return torch.eye(4, device=x.device) * 5 + (lambda a: a + a.t())(x.unit(4, 4))
