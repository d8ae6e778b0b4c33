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

# What a chip has beside torch_npu: 9.1.0, 8.2.RC1, 25.5.1, 24.1.rc1, 7.1.0.11.220.
CHIP = ("cann", "driver", "firmware")
VERSION = re.compile(r"[1-9]\d*\.\d+\.\w+([.-]\w+)*", re.ASCII)
# The major version of CANN that torch_npu has needed since a release: 2.11.0 names 9.1.0, and 2.7.1.post2 8.5.0.
# Its tables name the CANN it was tested with, and hosts run others, so that only an older major is refused.
OLDEST_CANN = {(2, 11): 9, (2, 7): 8}
# torch 2.7.1, the oldest release that is recorded, is of 2025.
EARLIEST = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
# A clock may be wrong, or of a machine that thinks it is in another zone.
TOLERANCE = datetime.timedelta(days=1)


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
    yield from _emulated(where) if software else _chip(where)
    if not EARLIEST <= moment(content["started"]) <= _now() + TOLERANCE:
        yield "started", "no run was then: it is in the future, or before torch_npu's releases"
    if "passed" in content:
        yield from _seconds(content)


def _emulated(where: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name in CHIP:
        if where.get(name):
            yield f"where.{name}", "a software NPU has none"


def _chip(where: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name in CHIP:
        if not VERSION.fullmatch(where.get(name, "")):
            words = "is no version, and a chip's record has it: docs/evidence/contribute.md"
            yield f"where.{name}", f"{where.get(name, '')!r} {words}"
            return
    version = numbers(release(where["torch_npu"]))
    oldest = next((cann for since, cann in OLDEST_CANN.items() if version >= since), 0)
    if int(where["cann"].split(".")[0]) < oldest:
        words = f"torch_npu {where['torch_npu']} needs CANN {oldest} or newer"
        yield "where.cann", f"is {where['cann']}; {words}"
    # "+cpu" is no sign of a run without a chip: torch_npu is made for PyTorch's CPU build, and that calls
    # itself so on x86-64. A CUDA build is one, beside the releases that end the process there.
    aborts = version >= ABORTS_BESIDE_CUDA or where["torch_npu"] in REFUSED_BESIDE_CUDA
    if "+cu" in where["torch"] and aborts:
        yield "where.torch", f"torch_npu {where['torch_npu']} aborts beside a CUDA build"


def _seconds(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The length of a run is the sum of its results', so that parallel jobs do not matter.

    It may be larger than that of the checks, since blocks that only serve others are none.
    """
    results = [*content["passed"].values(), *(o["seconds"] for o in content["others"].values())]
    total, length = sum(results), content["seconds"]
    rounding = 0.05 + 0.001 * len(results)
    if length <= 0 or (content["passed"] and total <= 0):
        yield "seconds", "a run takes some"
    elif total > length + rounding:
        yield "seconds", f"is {length}, and the checks took {total:.3f}"


def moment(text: str) -> datetime.datetime:
    """The time that ``started`` tells; a sweep has a day, and it is the end of it."""
    found = datetime.datetime.fromisoformat(text)
    if len(text) == len("2026-11-30"):
        found += datetime.timedelta(days=1)
    return found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
