"""What a record or a sweep cannot say of a run, told from it alone: no git, no second record.

A build looks at this as well, so that no page shows the mark of a run that cannot have been.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from npudocs.evidence.model import numbers, product_of, release
from softnpu.packages import ABORTS_BESIDE_CUDA, REFUSED_BESIDE_CUDA

CHIP = ("cann", "driver", "firmware")
# 9.1.0, 8.2.RC1, 25.5.1, 24.1.rc1, 7.1.0.11.220
VERSION = re.compile(r"[1-9]\d*\.\d+\.\w+([.-]\w+)*", re.ASCII)
# The major version of CANN since a torch_npu: the notes of 2.11.0 name 9.1.0, and hosts run 2.7.1 on 8.5.
# Notes name the CANN of the tests alone, so that a minor version is no contradiction.
OLDEST_CANN = {(2, 11): 9, (2, 7): 8}
# torch 2.7.1, the oldest release that is recorded, is of 2025; and a clock may be a day wrong.
EARLIEST, TOLERANCE = "2025-01-01", datetime.timedelta(days=1)
# Seconds.
LONGEST = 1e6


def broken(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields of a record or a sweep that contradict others, and why."""
    where, software = content["where"], content["kind"] == "software"
    if release(where["torch"]) != release(where["torch_npu"]):
        yield "where.torch", f"does not match torch_npu {where['torch_npu']}"
    if where["product"] != product_of(where["soc"]):
        yield "where.product", f"{where['soc']} is not a SoC of {where['product']}"
    if software != bool(where["softnpu"]) or software != ("softnpu" in where["device"]):
        yield "kind", f"{content['kind']!r} contradicts where.softnpu or where.device"
    if where["soc"] not in re.findall(r"[\w-]+", where["device"]):
        yield "where.device", f"{where['device']!r} does not name the SoC {where['soc']}"
    for name in CHIP:
        version = where.get(name, "")
        if software and version:
            yield f"where.{name}", "a software NPU has none"
        elif not software and not VERSION.fullmatch(version):
            words = "is no version, and a chip's record has it: see docs/evidence/contribute.md"
            yield f"where.{name}", f"{version!r} {words}"
    if not software:
        yield from _beside(where, numbers(release(where["torch_npu"])))
    now = datetime.datetime.now(datetime.timezone.utc)
    if not moment(EARLIEST) <= moment(content["started"]) <= now + TOLERANCE:
        yield "started", "no run was then: it is in the future, or before torch_npu's releases"
    if "passed" in content:
        yield from _seconds(content)


def _beside(where: dict[str, str], version: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    oldest = next((cann for since, cann in OLDEST_CANN.items() if version >= since), 0)
    if int(where["cann"].split(".")[0]) < oldest:
        yield "where.cann", f"{where['cann']} is older than CANN {oldest}, which torch_npu needs"
    # "+cpu" is no sign of a run without a chip: torch_npu is made for PyTorch's CPU build, which calls
    # itself so on x86-64. A CUDA build is one, beside a torch_npu that ends the process there.
    aborts = version >= ABORTS_BESIDE_CUDA or where["torch_npu"] in REFUSED_BESIDE_CUDA
    if "+cu" in where["torch"] and aborts:
        yield "where.torch", f"torch_npu {where['torch_npu']} aborts beside a CUDA build"


def _seconds(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A run's length is the sum of its results', so that parallel jobs do not matter.

    It may be larger than that of the checks, since blocks that only serve others are none.
    """
    results = [*content["passed"].values(), *(o["seconds"] for o in content["others"].values())]
    total, length = sum(results), content["seconds"]
    # What is no number (NaN) is neither more nor less.
    if not 0 < length < LONGEST or (content["passed"] and not total > 0):
        yield "seconds", "a run takes some, and not weeks"
    elif not total <= length + 0.05 + 0.001 * len(results):  # as they are rounded
        yield "seconds", f"is {length}, and the checks took {total:.3f}"


def moment(text: str) -> datetime.datetime:
    """The time that ``started`` tells; a sweep has a day, and it is the end of it."""
    day = len(text) == len(EARLIEST)
    return datetime.datetime.fromisoformat(f"{text}T23:59:59+00:00" if day else text)
