"""What the tests of the repair share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import npu_forward_ad


@pytest.fixture
def repair() -> Iterator[npu_forward_ad.Repair]:
    """The repair, for one test."""
    with npu_forward_ad.repaired() as made:
        yield made
