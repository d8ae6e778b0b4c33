"""Python code that comes in the middle of a kernel: signal handlers and what they raise."""

from __future__ import annotations

import pytest
from programs import run

pytestmark = pytest.mark.full

# A kernel that a signal of the test's choice reaches.
SIGNAL = """
import signal, sys, torch
from softnpu import kernels

sent = []

def aclnnErfinv(self, out):
    if not sent:
        sent.append(True)
        signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass
    out.copy_(self + 1)

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
x = torch.zeros(2, device="npu")
"""
ONCE = "signal.raise_signal(signal.SIGINT)"
TWICE = SIGNAL.replace(ONCE, f"{ONCE}; {ONCE}")
# The error of the operator comes first, wherever; what comes then is the program's to catch.
FAILS = """
try:
    try:
        torch.erfinv(x)
        torch.npu.synchronize()
    except RuntimeError:
        for _ in range(1000):
            pass
"""
MODES = {"at once": {}, "backlog": {"SOFTNPU_ASYNC": "1"}, "queue": {"TASK_QUEUE_ENABLE": "2"}}
modes = pytest.mark.parametrize("mode", MODES)
WAIT = {"SOFTNPU_SIGNALS": "1"}  # the program's own handlers wait for the kernel, as Ctrl-C does


@modes
def test_ctrl_c_comes_when_the_kernel_is_done(mode):
    done = run(
        SIGNAL
        + """
y = x + 5
try:
    with torch.no_grad():
        torch.erfinv(x, out=y)
        torch.npu.synchronize()
except KeyboardInterrupt:
    print("interrupted")
assert torch.is_grad_enabled()
assert y.tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert done.stdout == "interrupted\n"


def test_ctrl_c_comes_when_the_kernel_is_done_in_a_transform():
    run(
        SIGNAL
        + """
try:
    torch.func.jvp(torch.erfinv, (x,), (x,))
except KeyboardInterrupt:
    pass
torch.func.jvp(torch.sinh, (x,), (x,))
"""
    )


@modes
def test_a_second_ctrl_c_stops_a_kernel(mode):
    done = run(
        TWICE
        + FAILS
        + """
except KeyboardInterrupt as error:
    print(error.__context__)
assert (x + 1).tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert "a signal handler raised KeyboardInterrupt inside the kernel" in done.stdout


@modes
def test_an_exception_for_a_thread_comes_in_that_thread(mode):
    run(
        """
import ctypes, threading, torch
from softnpu import kernels

class Stop(BaseException):
    pass

def aclnnErfinv(self, out):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Stop)
    )
    for _ in range(1000):
        pass

def work():
    try:
        try:
            torch.erfinv(x)
            torch.npu.synchronize()
        except RuntimeError:
            for _ in range(1000):
                pass
    except Stop:
        came.append(threading.current_thread())

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
x, came = torch.zeros(2, device="npu"), []
thread = threading.Thread(target=work)
thread.start()
thread.join()
for _ in range(1000):
    pass
assert came == [thread], came
""",
        **MODES[mode],
    )


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
        **WAIT,
        **MODES[mode],
    )
    assert done.returncode == 3, done.stderr


@modes
def test_a_time_limit_ends_what_it_is_set_for(mode):
    """Its handler uses the NPU, which it finds as ever."""
    done = run(
        SIGNAL
        + """
class TooLong(Exception):
    pass

def handler(*_):
    assert torch.is_grad_enabled()
    assert (x + 1).tolist() == [1, 1]
    raise TooLong

assert signal.signal(signal.SIGINT, handler) is signal.default_int_handler
assert signal.getsignal(signal.SIGINT) is handler
try:
    torch.erfinv(x)
    torch.npu.synchronize()
except TooLong:
    print("too long")
assert signal.signal(signal.SIGINT, signal.SIG_DFL) is handler
assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
""",
        **WAIT,
        **MODES[mode],
    )
    assert done.stdout == "too long\n"


def test_a_handler_from_before_the_first_use_waits_too_and_a_wrong_one_changes_nothing():
    run(
        """
import signal

def handler(*_):
    came.append(inside)

came, inside = [], False
signal.signal(signal.SIGTERM, handler)
"""
        + SIGNAL.replace("SIGINT", "SIGTERM")
        + """
def aclnnErfinv(self, out):
    global inside
    inside = True
    signal.raise_signal(signal.SIGTERM)
    for _ in range(1000):
        pass
    inside = False

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
torch.erfinv(x)
for _ in range(1000):
    pass
assert came == [False], came
for number, wrong in ((signal.SIGKILL, handler), (signal.SIGTERM, "text"), (999, handler)):
    try:
        signal.signal(number, wrong)
    except (OSError, TypeError, ValueError):
        pass
    else:
        raise SystemExit("no error")
assert signal.getsignal(signal.SIGTERM) is handler
signal.raise_signal(signal.SIGTERM)
assert came == [False, False], came
""",
        **WAIT,
    )


@modes
def test_unasked_the_programs_own_handler_comes_at_once_and_signal_is_pythons_own(mode):
    """What it raises follows the error of the operator."""
    done = run(
        """
import signal
before = signal.signal, signal.getsignal
"""
        + SIGNAL
        + """
class TooLong(BaseException):
    pass

def handler(*_):
    raise TooLong

assert (signal.signal, signal.getsignal) == before
assert signal.signal(signal.SIGINT, handler) is signal.default_int_handler
assert signal.getsignal(signal.SIGINT) is handler
"""
        + FAILS
        + """
except TooLong as error:
    print(error.__context__)
assert (x + 1).tolist() == [1, 1]
""",
        **MODES[mode],
    )
    assert "a signal handler raised TooLong inside the kernel" in done.stdout


@modes
def test_what_a_second_signal_raises_follows_the_error_of_its_operator(mode):
    done = run(
        TWICE
        + """
import pytest
signal.signal(signal.SIGINT, lambda *_: pytest.fail("took too long"))
"""
        + FAILS
        + """
except pytest.fail.Exception as error:
    print(error)
assert (x + 1).tolist() == [1, 1]
""",
        **WAIT,
        **MODES[mode],
    )
    assert done.stdout == "took too long\n"


@pytest.mark.parametrize(
    "use",
    [
        "(x + 1).tolist()",
        "torch.npu.synchronize()",
        "torch.npu.empty_cache()",
        "other.synchronize()",
    ],
)
@pytest.mark.parametrize("mode", ["backlog", "queue"])
def test_code_inside_a_kernel_cannot_wait_for_the_npu(mode, use):
    """With work left behind the kernel, a stream that waits for it, and memory to give back."""
    done = run(
        SIGNAL
        + f"""
def aclnnErfinv(self, out):  # the collector may run a finalizer in it
    {use}

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
torch.npu.synchronize()
unused = torch.zeros(1 << 22, device="npu")
del unused
other = torch.npu.Stream()
torch.erfinv(x)
y = x + 1
event = torch.npu.current_stream().record_event()
with torch.npu.stream(other):
    other.wait_event(event)
    z = y + 1
try:
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
else:
    print("no error")
assert y.tolist() == [1, 1]
assert z.tolist() == [2, 2]
""",
        **MODES[mode],
    )
    assert "came in the middle of a kernel" in done.stdout + done.stderr
    assert "RuntimeError" in done.stdout


def test_memory_cannot_be_freed_in_the_middle_of_a_kernel():
    """What waits behind the kernel may use it."""
    run(
        SIGNAL
        + """
import ctypes
acl = ctypes.CDLL("libascendcl.so")
block, codes = ctypes.c_void_p(), []

def aclnnErfinv(self, out):
    codes.append(acl.aclrtFree(block))

kernels.kernels()["aclnnErfinv"] = aclnnErfinv
assert acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(64), 0) == 0
torch.npu.synchronize()
torch.erfinv(x)
y = x + 1
torch.npu.synchronize()
assert codes[0] != 0, codes
assert acl.aclrtFree(block) == 0
""",
        SOFTNPU_ASYNC="1",
    )
