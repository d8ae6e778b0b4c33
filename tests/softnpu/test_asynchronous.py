"""A device whose streams have a backlog: SOFTNPU_ASYNC=1, or torch_npu's own queue."""

from __future__ import annotations

import signal

import pytest
from programs import run

MODES = {
    "backlog": {"SOFTNPU_ASYNC": "1"},
    "queue": {"TASK_QUEUE_ENABLE": "1"},
    "queue of two": {"TASK_QUEUE_ENABLE": "2"},
}
asynchronous = pytest.mark.parametrize("mode", MODES)


@asynchronous
def test_work_waits_until_somebody_synchronizes(mode):
    run(
        """
        import time, torch
        stream, other = torch.npu.Stream(), torch.npu.Stream()
        start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        with torch.npu.stream(stream):
            start.record()
            y = torch.ones(64, 64, device="npu") @ torch.ones(64, 64, device="npu")
            end.record()
            early = torch.zeros(64, 64).pin_memory()
            early.copy_(y, non_blocking=True)
        assert not end.query() and not stream.query()
        assert early[0, 0] == 0, "the copy has not happened yet, as on a slow chip"
        stream.synchronize()
        assert end.query() and stream.query()
        assert early[0, 0] == 64
        assert start.elapsed_time(end) > 0

        # An event orders two streams.
        with torch.npu.stream(stream):
            z = torch.full((8,), 2.0, device="npu")
            for _ in range(20):
                z = z + 1
            end.record()
        with torch.npu.stream(other):
            other.wait_event(end)
            w = z * 2
            z.record_stream(other)
        other.synchronize()
        assert end.query()
        assert w.cpu().tolist() == [44] * 8

        # Asking in a loop comes to an end.
        with torch.npu.stream(stream):
            for _ in range(50):
                z = z + 1
            end.record()
        began = time.monotonic()
        while not end.query():
            assert time.monotonic() - began < 60
        """,
        **MODES[mode],
    )


@asynchronous
def test_page_locked_memory_is_read_when_the_copy_runs(mode):
    run(
        """
        import torch
        source = torch.ones(4).pin_memory()
        there = torch.zeros(4, device="npu")
        torch.npu.synchronize()
        there.copy_(source, non_blocking=True)
        source.fill_(7)  # a mistake of the program: the copy may not have happened
        assert there.tolist() == [7] * 4
        """,
        **MODES[mode],
    )


@asynchronous
def test_an_error_of_a_kernel_comes_at_the_synchronizing_call(mode):
    run(
        """
        import torch
        from softnpu import kernels
        def aclnnErfinv(self, out):
            raise ValueError("broken on purpose")
        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        x = torch.ones(4, device="npu")
        for synchronize in (
            torch.npu.synchronize,
            torch.npu.current_stream().synchronize,
            lambda: torch.npu.current_stream().record_event().synchronize(),
        ):
            y = torch.erfinv(x)
            z = x + 1
            try:
                synchronize()
            except RuntimeError as error:
                assert "aclnnErfinv" in str(error), error
                assert "ValueError: broken on purpose" in str(error), error
            else:
                raise SystemExit("the error was lost")
            torch.npu.synchronize()  # it was told once
            assert z.tolist() == [2] * 4
        """,
        **MODES[mode],
    )


@asynchronous
def test_a_lost_error_is_told_when_the_program_ends(mode):
    done = run(
        """
        import torch
        from softnpu import kernels
        def aclnnErfinv(self, out):
            raise ValueError("broken on purpose")
        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        torch.erfinv(torch.ones(4, device="npu"))
        """,
        check=False,
        **MODES[mode],
    )
    assert "ValueError: broken on purpose" in done.stderr


@pytest.mark.full
@asynchronous
def test_training_gives_what_it_gives_without_a_backlog(mode):
    program = """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).npu()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x = torch.linspace(-1, 1, 64).reshape(8, 8).npu()
        for _ in range(30):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
        f = lambda x: model(x).sum()
        print(loss.item().hex(), torch.func.jvp(f, (x,), (torch.ones_like(x),))[1].item().hex())
        """
    assert run(program, **MODES[mode]).stdout == run(program).stdout


@asynchronous
def test_a_full_stream_holds_back_no_more_than_its_length(mode):
    run(
        """
        import ctypes, torch
        acl = ctypes.CDLL("libascendcl.so")
        x = torch.ones(2, device="npu")
        torch.npu.synchronize()
        before, most = acl.softnpu_live_handles(), 0
        for i in range(30_000):
            x = x + 0
            most = max(most, acl.softnpu_live_handles() - before)
        assert 1000 < most < 30_000, most
        torch.npu.synchronize()
        assert acl.softnpu_live_handles() <= before
        assert x.tolist() == [1, 1]
        """,
        **MODES[mode],
    )


@asynchronous
def test_an_interrupt_loses_no_work_that_waits(mode):
    run(
        """
        import os, signal, threading, torch
        w = torch.zeros(10, device="npu")
        torch.npu.synchronize()
        for _ in range(900):
            w.add_(1)
        interrupt = threading.Timer(0.004, lambda: os.kill(os.getpid(), signal.SIGINT))
        try:
            interrupt.start()
            torch.npu.synchronize()
            threading.Event().wait(60)
        except KeyboardInterrupt:
            assert w.cpu()[0] == 900
        else:
            raise SystemExit("no KeyboardInterrupt")
        """,
        **MODES[mode],
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("mode", "kernel"),
    [(mode, "time.sleep(0.001)") for mode in ("at once", *MODES)] + [("queue of two", "pass")],
)
def test_a_program_ends_while_daemon_threads_fill_the_streams(mode, kernel):
    """Without softnpu, on the CPU, such a program ends with SIGABRT up to Python 3.13: a thread is
    unwound through torch when it asks for the interpreter."""
    done = run(
        f"""
        import ctypes, threading, time, torch
        from softnpu import kernels
        def aclnnErfinv(self, out):
            {kernel}
        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        acl = ctypes.CDLL("libascendcl.so")
        x = torch.ones(8, 8, device="npu")
        def work():
            y = x
            while True:
                y = torch.erfinv(y)
        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        end = time.time() + 0.5
        while time.time() < end:
            assert acl.softnpu_live_handles() < 100_000
        print("end", flush=True)
        """,
        check=False,
        **MODES.get(mode, {}),
    )
    assert done.stdout == "end\n", done.stderr
    assert done.returncode in {0, -signal.SIGABRT}, done.stderr
