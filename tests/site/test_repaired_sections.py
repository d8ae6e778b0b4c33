"""What sections say of the repair, where the expected result is described and gives no number.

`test_expected_results` compares those that give one. The numbers here are those of the CPU, which composes what
its own fused kernels refuse, or were calculated by hand.
"""

from __future__ import annotations

import re

import pytest
import torch
import torch.autograd.forward_ad as fwAD
from test_expected_results import DEVIATIONS, EXPECTED, SECTIONS, printed_by

import npu_forward_ad

REPAIRED = [name for name, one in DEVIATIONS.items() if one["repaired"] in (True, "level")]
DESCRIBED = [name for name in REPAIRED if "Error" in EXPECTED.get(name, "Error")]
# A mask is random: what each number may be. The tangent of 1 is scaled by 2; that of (x m x)' is 2 m x.
MASKED = {"dropout": {0, 2}, "dropout_backward": {0, 4, 8}}
# No CPU has these. The normed sum does not change with its scale, and rstd falls as it grows.
BY_HAND = {
    "cdist": [-0.6],
    "npu_refused": [0.8485, 1.1314, 0, 0, 0.1414, -0.1414, 6, 8, 6, 8],
}
NUMBER = r"[-+]?\d+\.\d*(?:e[-+]\d+)?"


def parts(text: str) -> tuple[list[float], str]:
    """The numbers of a printed result, and what stands around them."""
    text = re.sub(r"\s|,device='npu:0'|,grad_fn=<\w+>", "", re.sub(r",\s+", ",", text))
    return [float(found) for found in re.findall(NUMBER, text)], re.sub(NUMBER, "", text)


def on_npu(name: str) -> str:
    torch.manual_seed(0)
    return printed_by(SECTIONS[name], "npu:0")


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_repaired_section_gives_the_right_numbers(name: str) -> None:
    with npu_forward_ad.repaired():
        found, words = parts(on_npu(name))
    if name in MASKED:
        assert found and {*found} <= MASKED[name]
    elif name in BY_HAND:
        assert found == pytest.approx(BY_HAND[name], abs=1e-4)
    else:
        torch.manual_seed(0)
        math = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
        with torch.backends.mkldnn.flags(enabled=False), math:
            right, around = parts(printed_by(SECTIONS[name], "cpu"))
        assert found == pytest.approx(right, abs=2e-4)
        assert words == around


@pytest.mark.parametrize("name", [name for name in DEVIATIONS if name not in REPAIRED])
def test_what_is_not_repaired_is_as_it_was(name: str) -> None:
    shipped = on_npu(name)
    with npu_forward_ad.repaired():
        assert on_npu(name) == shipped


def test_without_a_level_gelu_stays_what_it_was() -> None:
    x = torch.tensor([2.0], device="npu:0")
    shipped = torch.nn.functional.gelu(x)
    with npu_forward_ad.repaired():
        assert torch.equal(torch.nn.functional.gelu(x), shipped)
        with fwAD.dual_level():
            assert not torch.allclose(torch.nn.functional.gelu(x), shipped)
