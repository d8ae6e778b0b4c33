"""Random operator calls through the C interface, on the real kernels: a code comes back, always.

``fuzz/child.py`` makes the calls in a process of its own, from real calls of test_kernels.py
that it changes at random; ``fuzz/campaign.py`` is the long run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "fuzz"))

import campaign

pytestmark = pytest.mark.full

INPUTS = 2500


def test_operators_with_hostile_arguments_never_crash():
    summary, faults = campaign.run(0, INPUTS, most=1)
    assert not faults, "\n".join(f"{f.number} {f.how}: {f.input[:500]}\n{f.trace}" for f in faults)
    succeeded = int(summary.split()[2])
    assert summary == f"{INPUTS} inputs, {succeeded} succeeded"
    assert succeeded > INPUTS / 5  # else the inputs would not reach the kernels


@pytest.mark.parametrize(
    ("mistake", "how"), [("crash", "exit -11"), ("write", "exit 3"), ("hang", "no answer in 5 s")]
)
def test_a_mistake_of_a_kernel_is_seen(monkeypatch, mistake, how):
    if mistake == "hang":
        monkeypatch.setattr(campaign, "HANG", 5)
    _, (fault,) = campaign.run(0, 100, 1, mistake)
    assert fault.how == how
