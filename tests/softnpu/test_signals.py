"""Python code that comes in the middle of a kernel: signal handlers, finalizers."""

from __future__ import annotations

import pytest
from programs import run

# A kernel that a signal of the test's choice reaches.
SIGNAL = """
import signal, sys, torch
from softnpu import kernels

def aclnnErfinv(self, out):
    signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass
    out.copy_(self)

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
x = torch.zeros(2, device="npu")
"""
MODES = {"at once": {}, "backlog": {"SOFTNPU_ASYNC": "1"}, "queue": {"TASK_QUEUE_ENABLE": "2"}}
modes = pytest.mark.parametrize("mode", MODES)


@modes
def test_an_interrupt_in_a_kernel_reaches_the_program(mode):
    done = run(
        SIGNAL
        + """
try:
    try:
        torch.erfinv(x)
        torch.npu.synchronize()
    except Exception:
        for _ in range(1000):
            pass
except KeyboardInterrupt:
    print("interrupted")
assert (x + 1).tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert "interrupted" in done.stdout


@modes
def test_a_handler_may_end_the_program_with_its_own_status(mode):
    done = run(
        SIGNAL
        + """
signal.signal(signal.SIGINT, lambda *_: sys.exit(3))
torch.erfinv(x)
torch.npu.synchronize()
""",
        check=False,
        **MODES[mode],
    )
    assert done.returncode == 3, done.stderr


@modes
def test_the_failure_of_a_test_that_takes_too_long_is_no_error_of_the_kernel(mode):
    """As pytest-timeout has it: pytest's failures are no `Exception`."""
    done = run(
        SIGNAL
        + """
import pytest
signal.signal(signal.SIGINT, lambda *_: pytest.fail("took too long"))
try:
    try:
        torch.erfinv(x)
        torch.npu.synchronize()
    except RuntimeError as error:
        for _ in range(1000):
            pass
except pytest.fail.Exception as error:
    print(error)
assert (x + 1).tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert done.stdout == "took too long\n"


@pytest.mark.parametrize(
    "use", ["(x + 1).tolist()", "torch.npu.synchronize()", "torch.npu.empty_cache()"]
)
@pytest.mark.parametrize("mode", ["backlog", "queue"])
def test_a_handler_that_waits_for_the_stream_it_runs_in_gets_an_error(mode, use):
    """With work left behind the kernel, and memory that can be given back."""
    done = run(
        SIGNAL
        + f"""
def handler(*_):
    {use}

signal.signal(signal.SIGINT, handler)
torch.npu.synchronize()
del_me = torch.zeros(1 << 22, device="npu")
del del_me
torch.erfinv(x)
y = x + 1
try:
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
else:
    print("no error")
assert y.tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert "in the middle of a kernel" in done.stdout + done.stderr
    assert "RuntimeError" in done.stdout


def test_memory_cannot_be_freed_in_the_middle_of_a_kernel():
    """What waits behind the kernel may use it."""
    run(
        SIGNAL
        + """
import ctypes
acl = ctypes.CDLL("libascendcl.so")
block, codes = ctypes.c_void_p(), []
assert acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(64), 0) == 0
signal.signal(signal.SIGINT, lambda *_: codes.append(acl.aclrtFree(block)))
torch.npu.synchronize()
torch.erfinv(x)
y = x + 1
try:
    torch.npu.synchronize()
except RuntimeError:
    pass
assert codes and codes[0] != 0, codes
assert acl.aclrtFree(block) == 0
""",
        SOFTNPU_ASYNC="1",
    )


@modes
def test_no_finalizer_runs_in_the_middle_of_a_kernel(mode):
    run(
        """
        import gc, torch
        from softnpu import kernels

        class Cycle:
            def __init__(self):
                self.me = self
            def __del__(self):
                collected.append(inside)
                assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]

        collected, inside = [], False

        def aclnnErfinv(self, out):
            global inside
            inside = True
            for _ in range(2000):
                [].append([[] for _ in range(10)])
            rubbish = [[i] for i in range(20000)]
            out.copy_(self)
            inside = False

        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        x = torch.zeros(2, device="npu")
        for _ in range(20):
            Cycle()
            torch.erfinv(x)
            torch.npu.synchronize()
        assert gc.isenabled()
        gc.collect()
        assert len(collected) == 20 and not any(collected), collected
        gc.disable()
        torch.erfinv(x)
        torch.npu.synchronize()
        assert not gc.isenabled()
        """,
        **MODES[mode],
    )
