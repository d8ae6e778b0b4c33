"""Transforms of signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import kernel
from ._tools import known, write

if TYPE_CHECKING:
    from ._types import Tensor, int32_t, int64_t


@kernel
def aclRfft1D(self: Tensor, n: int64_t, dim: int64_t, normalize: int64_t, out: Tensor):
    norm = known(normalize, {1: "backward", 2: "forward", 3: "ortho"})
    write(out, torch.view_as_real(torch.fft.rfft(self, n, dim, norm)))


@kernel
def aclStft(
    self: Tensor,
    windowOptional: Tensor,
    out: Tensor,
    nFft: int64_t,
    hopLength: int64_t,
    winLength: int32_t,
    normalized: bool,
    onesided: bool,
    returnComplex: bool,
):
    window = torch.ones(winLength, dtype=self.dtype) if windowOptional is None else windowOptional
    shown = {"normalized": normalized, "onesided": onesided, "return_complex": True}
    result = torch.stft(self, nFft, hopLength, winLength, window, center=False, **shown)
    write(out, result if returnComplex else torch.view_as_real(result))
