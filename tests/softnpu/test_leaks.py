"""Nothing grows while operators run: memory, device memory, Python objects, handles.

``python -m softnpu run tests/softnpu/test_leaks.py 100000`` measures a longer run.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from programs import start

pytestmark = pytest.mark.full

OPERATORS = 10_000
WARM_UP = 3_000
# A leak of 100 bytes in each operator would be more than 1,000,000. The process itself grows by
# some 2 MB until its allocators have settled, after 20,000 operators: that is printed only.
MOST = {
    "resident": None,
    "heap": 200_000,
    "device": 0,
    "blocks": 1_000,
    "objects": 50,
    "handles": 0,
}


class Figures(NamedTuple):
    """What a leak would make grow."""

    resident: int  # bytes of the process
    heap: int  # bytes that malloc has handed out
    device: int  # bytes of tensors
    blocks: int  # that Python's own allocator has handed out
    objects: int
    handles: int


class Mallinfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``: ten sizes, of which two are asked for here."""

    _fields_ = (
        *((f"a{i}", ctypes.c_size_t) for i in range(4)),
        ("mapped", ctypes.c_size_t),
        *((f"b{i}", ctypes.c_size_t) for i in range(2)),
        ("handed_out", ctypes.c_size_t),
        *((f"c{i}", ctypes.c_size_t) for i in range(2)),
    )


def heap() -> int:
    """Bytes that malloc has handed out, in all of its arenas."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo
    now = mallinfo2()
    return now.handed_out + now.mapped


def resident() -> int:
    """Private memory of this process, in bytes."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("smaps_rollup has no Private_Dirty")


def figures() -> Figures:
    """The figures now."""
    import torch

    torch.npu.synchronize()
    gc.collect()
    live = ctypes.CDLL("libascendcl.so").softnpu_live_handles
    live.restype = ctypes.c_uint64
    device, blocks = torch.npu.memory_allocated(), sys.getallocatedblocks()
    return Figures(resident(), heap(), device, blocks, len(gc.get_objects()), live())


def operators():
    """Mixed work without an end: yields after each operator."""
    import torch

    host = torch.randn(16, 16)
    x, y = host.npu(), host.npu()
    while True:
        yield x * y
        yield x + 1.5
        yield x @ y
        yield x.t()[2:5, ::3].contiguous()
        yield x.sum().item()
        yield torch.randn(4, 4, device="npu")
        yield host.npu()
        yield x.cpu()
        yield torch.cat([x, y])
        yield torch.where(x > 0, x, y)
        yield x[x > 0]  # a shape that is known afterwards
        yield x.clone().mul_(2)
        with torch.npu.stream(torch.npu.Stream()):
            event = torch.npu.Event()
            event.record()
            yield torch.exp(x)
        event.synchronize()
        # Not an error of a kernel: there torch_npu itself leaves the handles of the call behind.
        with contextlib.suppress(RuntimeError):
            x.reshape(7)
        yield x


def measure(count: int) -> tuple[Figures, Figures]:
    """Figures after the warm-up and after ``count`` further operators."""
    steps = operators()
    for _ in range(WARM_UP):
        next(steps)
    before = figures()
    for _ in range(count):
        next(steps)
    return before, figures()


def report(count: int) -> list[str]:
    """Prints the figures and returns the names of those that have grown."""
    before, after = measure(count)
    growth = Figures(*(b - a for a, b in zip(before, after, strict=True)))
    print(f"{count} operators\nbefore {before}\nafter  {after}\ngrowth {growth}")
    limits = {name: most for name, most in MOST.items() if most is not None}
    return [name for name, most in limits.items() if getattr(growth, name) > most]


PROGRAM = """
import sys
sys.path.insert(0, "tests/softnpu")
{mistake}
import test_leaks
print(*test_leaks.report({count}))
"""
# Every kernel then loses 100 bytes, an object and a handle.
MISTAKE = """
import ctypes
from softnpu import kernels
libc, acl = ctypes.CDLL(None), ctypes.CDLL("libascendcl.so")
libc.malloc.restype = acl.aclCreateScalar.restype = ctypes.c_void_p
kept = []
def leaking(function):
    def run(*arguments):
        ctypes.memset(ctypes.c_void_p(libc.malloc(100)), 1, 100)
        kept.append([function])
        acl.aclCreateScalar(b"12345678", 0)
        return function(*arguments)
    run.__wrapped__ = function
    return run
found = kernels.kernels()
found |= {name: leaking(function) for name, function in found.items()}
"""


@pytest.mark.parametrize(
    ("mistake", "grown"), [("", ""), (MISTAKE, "heap blocks objects handles")], ids=["", "mistake"]
)
def test_nothing_grows_but_where_a_kernel_leaks(mistake, grown):
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("this C library has no mallinfo2 (glibc 2.33)")
    done = start(PROGRAM.format(count=OPERATORS, mistake=mistake))
    assert done.stdout.splitlines()[-1] == grown, done.stdout


if __name__ == "__main__":
    sys.exit(bool(report(int(sys.argv[1]))))
