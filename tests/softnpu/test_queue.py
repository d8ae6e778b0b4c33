"""torch_npu's task queue in its three modes: results, errors, and the end of the process."""

from __future__ import annotations

import signal

import pytest
from programs import run

pytestmark = pytest.mark.full

START = """
import os, signal, subprocess, sys, time
import torch
from softnpu import kernels

sys.setswitchinterval(0.001)


def slow(self, out):
    time.sleep(0.005)
    out.copy_(self + 1)


def broken(self, out):
    raise ValueError("broken on purpose")


def send(number):  # from another process, while this one goes on
    subprocess.Popen(["kill", f"-{int(number)}", str(os.getpid())])


kernels.kernels()["aclnnErfinv"] = slow
"""

BUSY = """
x = torch.zeros(4, device="npu")
for _ in range(20):
    x = torch.erfinv(x)
"""

CASES = {
    "training": """
def train(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 3)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.linspace(-1, 1, 216).reshape(6, 1, 6, 6), torch.arange(6) % 3
    x, y = x.to(device), y.to(device)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()

torch.testing.assert_close(train("npu"), train("cpu"), rtol=1e-4, atol=1e-5)
""",
    "jvp": """
def jvp(device):
    x = torch.linspace(-1, 1, 12).reshape(3, 4).to(device)
    f = lambda x: torch.tanh(x @ x.T).sin() * torch.nn.functional.silu(x[:, :3])
    value, tangent = torch.func.jvp(f, (x,), (x.cos(),))
    return value.cpu(), tangent.cpu()

torch.testing.assert_close(jvp("npu"), jvp("cpu"))
""",
    "broken kernel": """
kernels.kernels()["aclnnErfinv"] = broken
x = torch.zeros(4, device="npu")
torch.npu.synchronize()
where = "operator"
try:
    torch.erfinv(x)
    where = "synchronize"
    torch.npu.synchronize()
except RuntimeError as error:
    print(f"raised by {where}: {error}", file=sys.stderr)
torch.npu.synchronize()
""",
    "broken kernel in flight": """
kernels.kernels()["aclnnErfinv"] = broken
torch.erfinv(torch.zeros(4, device="npu"))
""",
    "end": BUSY,
    "sys.exit": BUSY + "sys.exit(7)",
    "exception": BUSY + "raise ValueError('the last words')",
    "os._exit": BUSY + "os._exit(5)",
    "thread": f"""
import threading
def work():
    exec({BUSY!r})
    sys.exit(9)
threading.Thread(target=work).start()
""",
    "SIGINT": BUSY + "send(signal.SIGINT)\nwhile True: x = torch.erfinv(x)",
    "SIGTERM": BUSY + "send(signal.SIGTERM)\nwhile True: x = torch.erfinv(x)",
}


@pytest.fixture(params=["0", "1", "2"])
def mode(request):
    """The value of ``TASK_QUEUE_ENABLE``."""
    return request.param


@pytest.fixture
def ended(mode):
    """Runs a case in each mode; returns its exit status and standard error."""

    def end(case: str) -> tuple[int, str]:
        done = run(START + CASES[case], check=False, TASK_QUEUE_ENABLE=mode)
        return done.returncode, done.stderr

    return end


@pytest.mark.parametrize("case", ["training", "jvp", "end", "thread"])
def test_the_work_is_done_and_the_process_ends(ended, case):
    status, errors = ended(case)
    assert status == 0, errors
    assert "Error" not in errors


def test_an_exit_status_survives_work_in_flight(ended):
    assert ended("sys.exit")[0] == 7
    assert ended("os._exit")[0] == 5


def test_an_uncaught_exception_is_shown_with_work_in_flight(ended):
    status, errors = ended("exception")
    assert status == 1
    assert "ValueError: the last words" in errors


def test_signals_end_the_process(ended):
    assert ended("SIGTERM")[0] == -signal.SIGTERM
    status, errors = ended("SIGINT")
    assert status == -signal.SIGINT
    assert "KeyboardInterrupt" in errors


def test_the_error_of_a_kernel_names_the_operator_and_has_its_traceback(ended, mode):
    status, errors = ended("broken kernel")
    assert status == 0, errors
    error = errors.partition("raised by ")[2]
    assert error.startswith("operator: " if mode == "0" else ("operator: ", "synchronize: "))
    assert "softnpu: aclnnErfinv: the kernel raised" in error
    assert "ValueError: broken on purpose" in error


def test_the_error_of_a_kernel_in_flight_is_shown_at_the_end(ended, mode):
    status, errors = ended("broken kernel in flight")
    assert status == (1 if mode == "0" else 0), errors
    assert "softnpu: aclnnErfinv: the kernel raised" in errors
    assert "ValueError: broken on purpose" in errors
