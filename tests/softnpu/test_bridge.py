"""From the C library into Python: the short way of pointwise kernels, Dynamo, threads, memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from programs import run, start

CALLS = str(Path(__file__).parent)

COUNTING = """
import collections
import torch
from softnpu.kernels import kernels
kernels()
from softnpu.kernels._tools import POINTWISE

short = collections.Counter()

def counted(name, function):
    def call(*arguments, out):
        short[name] += 1
        return function(*arguments, out=out)
    return call

for name, known in list(POINTWISE.items()):
    POINTWISE[name] = known._replace(function=counted(name, known.function))
"""


def test_the_short_way_gives_what_torch_gives():
    done = run(
        COUNTING
        + f"""
import sys
sys.path.insert(0, {CALLS!r})
from kernel_calls import CALLS, Inputs

for name in POINTWISE:
    for function in CALLS[name]:
        true, mine = (function(Inputs(device)) for device in ("cpu", "npu"))
        if isinstance(true, torch.Tensor):
            true, mine = [true], [mine]
        for one, other in zip(true, mine, strict=True):
            torch.testing.assert_close(other.cpu(), one, rtol=0, atol=0, equal_nan=True)
never = sorted(set(POINTWISE) - set(short))
print(*never)
"""
    )
    assert done.stdout.split() == [], "never called the short way"


def test_the_short_way_is_left_where_out_would_be_wrong():
    run(
        COUNTING
        + """
def check(mine, true, name, times):
    assert torch.equal(mine.cpu(), true), (name, mine, true)
    assert short[name] == times, (name, short)
    short.clear()

def pair(*shape):
    values = torch.rand(*shape)
    return values, values.npu()

true, mine = pair(4, 4)
check(mine * mine, true * true, "aclnnMul", 1)
check(mine.t() * mine, true.t() * true, "aclnnMul", 1)
check(mine * mine[0], true * true[0], "aclnnMul", 0)  # another shape
other, same = mine.new_ones(4, 4).int(), torch.ones(4, 4).int()
check(other / other, same / same, "aclnnDiv", 0)  # another dtype
check(mine.mul_(mine), true.mul_(true), "aclnnInplaceMul", 1)  # the same elements
check(mine.mul_(mine.t()), true * true.t(), "aclnnInplaceMul", 0)  # the same in another order
true, mine = pair(8)
torch.add(mine[:4], mine[:4], out=mine[4:])
check(mine[4:], true[:4] * 2, "aclnnAdd", 1)  # side by side
assert torch.equal(mine[:4].cpu(), true[:4])
check(torch.zeros(0, 3, device="npu").mul_(2), torch.zeros(0, 3), "aclnnInplaceMuls", 1)
"""
    )


def test_the_short_way_is_shielded_too():
    run(
        COUNTING
        + """
from torch.utils._python_dispatch import TorchDispatchMode

class Watch(TorchDispatchMode):
    calls = []
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append(function._schema.name)
        return function(*args, **(kwargs or {}))

x = torch.tensor([2.0, 3.0], device="npu")
with torch.device("npu"), torch.inference_mode(), Watch():
    inferred = x * x
assert Watch.calls == ["aten::mul"], Watch.calls
assert inferred.tolist() == [4, 9]
y = x.clone().requires_grad_()
(y * y).sum().backward()
assert y.grad.tolist() == [4, 6]
value, tangent = torch.func.jvp(lambda v: v * v, (x,), (torch.ones_like(x),))
assert (value.tolist(), tangent.tolist()) == ([4, 9], [4, 6])
assert torch.vmap(lambda v: v * v)(x).tolist() == [4, 9]
assert short["aclnnMul"] >= 5, short
try:
    torch.bitwise_and(x.int(), x.int(), out=x)  # torch's own refusal, outside any kernel
except RuntimeError:
    pass
assert (x * x).tolist() == [4, 9]
"""
    )


def test_dynamo_does_not_trace_kernels():
    run(
        """
import torch
from torch._dynamo.utils import counters

def plain(v):
    return torch.sin(v) * torch.nn.functional.silu(v)

def steps(device):
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    module = module.to(device)
    x = torch.tensor([0.5, 1.0, 2.0]).to(device)
    results = []
    for wrap in (lambda f: f, lambda f: torch.compile(f, backend="eager")):
        module.zero_grad()
        given = x.clone().requires_grad_()
        loss = wrap(module)(given).sum() + wrap(plain)(given).sum()
        loss.backward()
        results.append([loss.detach(), given.grad, *(p.grad.clone() for p in module.parameters())])
        results[-1] += torch.func.jvp(wrap(plain), (x,), (torch.ones_like(x),))
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other), device
    return dict(counters["frames"])

traced = steps("npu")
assert traced == steps("cpu") and traced["ok"] > 0, traced
assert torch._C._dynamo.eval_frame.get_eval_frame_callback() is None
"""
    )


def test_the_first_operator_may_run_in_compiled_code():
    run(
        """
import torch

@torch.compile(backend="eager")
def first(count):
    return torch.ones(count, device="npu") + 1

assert first(3).tolist() == [2, 2, 2]
"""
    )


def test_threads_inside_kernels_at_once_have_shields_of_their_own():
    run(
        """
import threading
import torch
from softnpu import kernels

both = threading.Barrier(2, timeout=60)

def aclnnErfinv(self, out):
    both.wait()
    made = torch.ones(2)
    assert made.device.type == "cpu"
    both.wait()
    out.copy_(made)

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
results = []

def call():
    with torch.device("npu"):
        results.append(torch.erfinv(torch.zeros(2)).tolist())
        assert torch.ones(1).device.type == "npu"

threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert results == [[1, 1], [1, 1]], results
"""
    )


@pytest.mark.full
def test_calls_leave_no_memory_behind():
    page = os.sysconf("SC_PAGESIZE")
    done = start(
        f"""
import torch
from softnpu import kernels

def aclnnErfinv(self, out):
    raise ValueError("on purpose")

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
x = torch.ones(4, device="npu")
short = torch.tensor([1, 1, 0], device="npu")

def fails():
    try:
        torch.erfinv(x)
    except RuntimeError:
        pass

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * {page}

for name, call, times in (
    ("short", lambda: x * x, 20000),
    ("long", lambda: torch.relu(x), 20000),
    ("list", lambda: torch.cat([x, x]), 10000),
    ("shape found later", lambda: torch.nonzero(short), 10000),
    ("error", fails, 3000),
):
    for _ in range(2000): call()
    before = resident()
    for _ in range(times): call()
    print(name, (resident() - before) / times)
"""
    )
    # The smallest thing that a call makes, a view of a tensor, is larger. torch_npu does not destroy
    # the two tensor handles (256 bytes each) of a call that failed.
    for line in done.stdout.splitlines():
        given_up = 2 * 256 if line.startswith("error ") else 0
        assert float(line.split()[-1]) - given_up < 50, done.stdout
