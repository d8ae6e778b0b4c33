"""Threads: each with a stream and a device of its own, and none in the way of another."""

from __future__ import annotations

import pytest
from programs import run

START = """
import threading
import time
import torch
from softnpu import kernels


def in_threads(work, count=8):
    failures = []
    barrier = threading.Barrier(count)

    def guarded(index):
        barrier.wait()
        try:
            work(index)
        except BaseException as error:
            failures.append(f"thread {index}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not failures, failures
"""

WORK = """
def operators(index):
    torch.npu.set_device(index % 2)
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        x = torch.arange(24.0).reshape(4, 6).add(index).npu()
        assert x.device.index == index % 2
        y = x
        for _ in range(10):
            y = torch.softmax(y @ x.T @ x / 100, 1) + y
    stream.synchronize()
    expected = x.cpu()
    here = expected
    for _ in range(10):
        here = torch.softmax(here @ expected.T @ expected / 100, 1) + here
    torch.testing.assert_close(y.cpu(), here)

in_threads(operators)

def backward(index):
    device = f"npu:{index % 2}"
    x = torch.linspace(-1, 1, 12, device=device).add(index).requires_grad_()
    for _ in range(5):
        x.grad = None
        (x.sin() * x).sum().backward()
    here = x.detach().cpu()
    torch.testing.assert_close(x.grad.cpu(), here.cos() * here + here.sin())

in_threads(backward)

def jvp(index):
    x = torch.linspace(-1, 1, 12, device="npu:1")
    value, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent.cpu(), x.cpu().cos())

in_threads(jvp, 1)  # torch keeps the levels of forward mode for the whole process

# What one thread makes current is not current in another.
torch.npu.set_device(0)
seen = {}

def current(index):
    assert torch.npu.current_device() == 0
    torch.npu.set_device(index % 2)
    stream = torch.npu.Stream()
    torch.npu.set_stream(stream)
    for _ in range(20):
        time.sleep(0.001)
        assert torch.npu.current_stream() == stream
        assert torch.npu.current_device() == index % 2
        assert torch.ones(2, device="npu").device.index == index % 2
    seen[index] = stream

in_threads(current)
assert len({stream.npu_stream for stream in seen.values()}) == 8
assert torch.npu.current_device() == 0
assert torch.npu.current_stream() == torch.npu.default_stream()

# A grad-mode of one thread is not that of another, and kernels change none.
def modes(index):
    x = torch.ones(3, device="npu", requires_grad=True)
    with torch.inference_mode() if index == 1 else torch.set_grad_enabled(index % 2 == 0):
        for _ in range(10):
            assert (x * 2).requires_grad == (index % 2 == 0)

in_threads(modes)
"""


@pytest.mark.parametrize("queue", ["0", "1"])
def test_eight_threads_with_streams_devices_gradients_and_modes(queue):
    run(START + WORK, SOFTNPU_DEVICES="2", TASK_QUEUE_ENABLE=queue)


def test_errors_of_threads_do_not_mix():
    run(
        START
        + """
NAMES = ["aclnnErfinv", "aclnnSinh", "aclnnCosh", "aclnnAtanh"]
CALLS = [torch.erfinv, torch.sinh, torch.cosh, torch.atanh]

def broken(index):
    def kernel(self, out):
        time.sleep(0.001)
        raise ValueError(f"broken number {index}")
    return kernel

for index, name in enumerate(NAMES):
    kernels.kernels()[name] = broken(index)

def work(index):
    x = torch.zeros(2, device="npu")
    for _ in range(20):
        if index >= 4:
            assert (x + index).tolist() == [index, index]
            continue
        try:
            CALLS[index](x)
        except RuntimeError as error:
            text = str(error)
            assert f"softnpu: {NAMES[index]}: the kernel raised" in text, text
            assert text.count("ValueError: broken number") == 1, text
            assert f"ValueError: broken number {index}" in text, text
        else:
            raise SystemExit("no error")

in_threads(work)
"""
    )


@pytest.mark.parametrize("queue", ["0", "1"])
def test_threads_may_end_with_work_in_flight_and_leave_their_results(queue):
    run(
        START
        + """
def slow(self, out):
    time.sleep(0.01)
    out.copy_(self + 1)

kernels.kernels()["aclnnErfinv"] = slow
left = {}

def work(index):
    with torch.npu.stream(torch.npu.Stream()):
        x = torch.full((3,), float(index), device="npu")
        for _ in range(5):
            x = torch.erfinv(x)
    left[index] = x

for _ in range(3):  # threads that are gone, and others in their place
    in_threads(work)
    torch.npu.synchronize()
    assert {index: x.tolist() for index, x in left.items()} == {
        index: [index + 5.0] * 3 for index in range(8)
    }
print("end")
""",
        TASK_QUEUE_ENABLE=queue,
    )


def test_hooks_of_a_backward_run_in_the_device_thread_with_its_device():
    run(
        """
        import threading, torch

        seen = []
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                seen.append((threading.get_ident(), torch.npu.current_device()))
                return grad * 2

        torch.npu.set_device(0)
        x = torch.ones(2, device="npu:1", requires_grad=True)
        y = torch.ones(2, device="npu:0", requires_grad=True)
        (Double.apply(x).to("npu:0") * Double.apply(y)).sum().backward()
        assert x.grad.tolist() == [4, 4] and x.grad.device.index == 1
        assert y.grad.tolist() == [4, 4] and y.grad.device.index == 0
        assert sorted(device for _, device in seen) == [0, 1]
        assert threading.get_ident() not in {thread for thread, _ in seen}
        assert torch.npu.current_device() == 0

        class Raise(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                raise ValueError("raised in backward")

        try:
            Raise.apply(x).sum().backward()
        except ValueError as error:
            assert "raised in backward" in str(error)
        else:
            raise SystemExit("no error")
        x.grad = None
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3, 3]
        """,
        SOFTNPU_DEVICES="2",
    )


def test_a_data_loader_pins_in_its_thread():
    run(
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
        for device in ("", "npu"):
            words = {"pin_memory_device": device} if device else {}
            loader = DataLoader(data, batch_size=2, num_workers=1, pin_memory=True, **words)
            for _ in range(2):
                rows = []
                for x, y in loader:
                    assert x.is_pinned()
                    there = x.to("npu", non_blocking=True) * 2
                    rows += zip(there.tolist(), y.npu(non_blocking=True).tolist())
                assert rows == [([4.0 * i, 4.0 * i + 2], i) for i in range(6)], rows
        """
    )
