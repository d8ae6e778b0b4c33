"""Resizing and resampling of images, and their backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernel
from ._precision import in_single
from ._tools import aten, each, write_all

if TYPE_CHECKING:
    from ._types import BoolArray, Tensor, int64_t


def _scales(*factors: float) -> list[float | None]:
    """torch_npu passes 0 or -1 where no scale factor was given."""
    return [factor if factor > 0 else None for factor in factors]


def _sized(function):
    """A function of (self, output size, scales...)."""
    function = in_single(function)
    return lambda self, size, *scales: function(self, size, *_scales(*scales))


def _aligned(function):
    """A function of (self, output size, align corners, scales...)."""
    function = in_single(function)
    return lambda self, size, align, *scales: function(self, size, align, *_scales(*scales))


def _sized_backward(function):
    function = in_single(function)
    return lambda grad, size, shape, *scales: function(grad, size, shape, *_scales(*scales))


def _aligned_backward(function):
    function = in_single(function)
    return lambda grad, size, shape, align, *scales: function(
        grad, size, shape, align, *_scales(*scales)
    )


each(
    "Tensor, IntArray, Tensor",
    aclnnUpsampleNearest1d=_sized(aten.upsample_nearest1d),
    aclnnUpsampleNearest2d=_sized(aten.upsample_nearest2d),
)
each("Tensor, IntArray, float, Tensor", aclnnUpsampleNearest1dV2=_sized(aten.upsample_nearest1d))
each(
    "Tensor, IntArray, float, float, Tensor",
    aclnnUpsampleNearest2dV2=_sized(aten.upsample_nearest2d),
)
each(
    "Tensor, IntArray, double, Tensor",
    aclnnUpsampleNearestExact1d=_sized(aten._upsample_nearest_exact1d),
)
each(
    "Tensor, IntArray, double, double, Tensor",
    aclnnUpsampleNearestExact2d=_sized(aten._upsample_nearest_exact2d),
)
each(
    "Tensor, IntArray, double, double, double, Tensor",
    aclnnUpsampleNearest3d=_sized(aten.upsample_nearest3d),
    aclnnUpsampleNearestExact3d=_sized(aten._upsample_nearest_exact3d),
)
each(
    "Tensor, IntArray, bool, double, Tensor", aclnnUpsampleLinear1d=_aligned(aten.upsample_linear1d)
)
each(
    "Tensor, IntArray, bool, double, double, Tensor",
    aclnnUpsampleBicubic2d=_aligned(aten.upsample_bicubic2d),
    aclnnUpsampleBicubic2dAA=_aligned(aten._upsample_bicubic2d_aa),
    aclnnUpsampleBilinear2d=_aligned(aten.upsample_bilinear2d),
    aclnnUpsampleBilinear2dAA=_aligned(aten._upsample_bilinear2d_aa),
)
each(
    "Tensor, IntArray, bool, double, double, double, Tensor",
    aclnnUpsampleTrilinear3d=_aligned(aten.upsample_trilinear3d),
)
each(
    "Tensor, IntArray, IntArray, double, Tensor",
    aclnnUpsampleNearest1dBackward=_sized_backward(aten.upsample_nearest1d_backward),
    aclnnUpsampleNearestExact1dBackward=_sized_backward(aten._upsample_nearest_exact1d_backward),
)
each(
    "Tensor, IntArray, IntArray, double, double, Tensor",
    aclnnUpsampleNearest2dBackward=_sized_backward(aten.upsample_nearest2d_backward),
    aclnnUpsampleNearestExact2dBackward=_sized_backward(aten._upsample_nearest_exact2d_backward),
)
each(
    "Tensor, IntArray, IntArray, double, double, double, Tensor",
    aclnnUpsampleNearest3dBackward=_sized_backward(aten.upsample_nearest3d_backward),
    aclnnUpsampleNearestExact3dBackward=_sized_backward(aten._upsample_nearest_exact3d_backward),
)
each(
    "Tensor, IntArray, IntArray, bool, double, Tensor",
    aclnnUpsampleLinear1dBackward=_aligned_backward(aten.upsample_linear1d_backward),
)
each(
    "Tensor, IntArray, IntArray, bool, double, double, Tensor",
    aclnnUpsampleBicubic2dAAGrad=_aligned_backward(aten._upsample_bicubic2d_aa_backward),
    aclnnUpsampleBicubic2dBackward=_aligned_backward(aten.upsample_bicubic2d_backward),
    aclnnUpsampleBilinear2dAABackward=_aligned_backward(aten._upsample_bilinear2d_aa_backward),
    aclnnUpsampleBilinear2dBackward=_aligned_backward(aten.upsample_bilinear2d_backward),
    aclnnUpsampleBilinear2dBackwardV2=_aligned_backward(aten.upsample_bilinear2d_backward),
)
each(
    "Tensor, IntArray, IntArray, bool, double, double, double, Tensor",
    aclnnUpsampleTrilinear3dBackward=_aligned_backward(aten.upsample_trilinear3d_backward),
)
each("Tensor, IntArray, bool, Tensor", aclnnAffineGrid=in_single(aten.affine_grid_generator))
each(
    "Tensor, Tensor, int64_t, int64_t, bool, Tensor",
    aclnnGridSampler2D=in_single(aten.grid_sampler_2d),
    aclnnGridSampler3D=in_single(aten.grid_sampler_3d),
)


@kernel
def aclnnGridSampler2DBackward(
    gradOutput: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolationMode: int64_t,
    paddingMode: int64_t,
    alignCorners: bool,
    outputMask: BoolArray,
    inputGrad: Tensor,
    gridGrad: Tensor,
):
    place = interpolationMode, paddingMode, alignCorners, list(outputMask)
    results = in_single(aten.grid_sampler_2d_backward)(gradOutput, input, grid, *place)
    write_all((inputGrad, gridGrad), results)


@kernel
def aclnnGridSampler3DBackward(
    gradOutput: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolationMode: int64_t,
    paddingMode: int64_t,
    alignCorners: bool,
    outputMask: BoolArray,
    inputGrad: Tensor,
    gridGrad: Tensor,
):
    place = interpolationMode, paddingMode, alignCorners, list(outputMask)
    results = in_single(aten.grid_sampler_3d_backward)(gradOutput, input, grid, *place)
    write_all((inputGrad, gridGrad), results)
