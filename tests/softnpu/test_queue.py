"""torch_npu's task queue in its three modes: results, errors, and the end of the process.

Each case runs in a fork of one process that has imported torch but not used the device yet: a
process of its own in all that matters here, without the seconds that importing takes.
"""

from __future__ import annotations

import json
import signal

import pytest
from programs import run

FORK = """
import json, os, signal, sys, time
import torch
from softnpu import kernels

sys.setswitchinterval(0.001)
DEADLINE = 100  # seconds; far more than any case needs


def slow(self, out):
    time.sleep(0.005)
    out.copy_(self + 1)


def broken(self, out):
    raise ValueError("broken on purpose")


jobs = [(name, send) for name, (_, send) in CASES.items()]
running, results = {}, []  # two at a time
while jobs or running:
    if jobs and len(running) < 2:
        name, send = jobs.pop(0)
        errors = os.path.join(os.environ["FOLDER"], name)
        file = os.open(errors, os.O_CREAT | os.O_WRONLY)
        pid = os.fork()
        if pid == 0:
            break  # the child goes on below the loop and ends as any program does
        os.close(file)
        running[pid] = [name, send, errors, time.time() + DEADLINE]
        continue
    time.sleep(0.01)
    for pid, (name, send, errors, end) in list(running.items()):
        shown = open(errors).read()
        if send and "ready" in shown:
            os.kill(pid, send)
            running[pid][1] = 0
        done, status = os.waitpid(pid, os.WNOHANG)
        ending = os.waitstatus_to_exitcode(status) if done else "deadlock"
        if not done and time.time() > end:
            os.kill(pid, signal.SIGKILL)
            done, _ = os.waitpid(pid, 0)
        if done:
            del running[pid]
            results.append((name, ending, open(errors).read()))
else:
    print("RESULTS" + json.dumps(results))
    sys.exit()

os.dup2(file, 2)
kernels.kernels()["aclnnErfinv"] = slow
exec(CASES[name][0])
"""

BUSY = """
x = torch.zeros(4, device="npu")
for _ in range(20):
    x = torch.erfinv(x)
print("ready", file=sys.stderr, flush=True)
"""

# name: (what the program does, the signal it is sent once it says "ready")
CASES = {
    "training": (
        """
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
        0,
    ),
    "jvp": (
        """
def jvp(device):
    x = torch.linspace(-1, 1, 12).reshape(3, 4).to(device)
    f = lambda x: torch.tanh(x @ x.T).sin() * torch.nn.functional.gelu(x[:, :3])
    value, tangent = torch.func.jvp(f, (x,), (x.cos(),))
    return value.cpu(), tangent.cpu()

torch.testing.assert_close(jvp("npu"), jvp("cpu"))
""",
        0,
    ),
    "broken kernel": (
        """
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
        0,
    ),
    "broken kernel in flight": (
        """
kernels.kernels()["aclnnErfinv"] = broken
torch.erfinv(torch.zeros(4, device="npu"))
""",
        0,
    ),
    "end": (BUSY, 0),
    "sys.exit": (BUSY + "sys.exit(7)", 0),
    "exception": (BUSY + "raise ValueError('the last words')", 0),
    "os._exit": (BUSY + "os._exit(5)", 0),
    "thread": (
        "import threading\ndef work():\n    exec(BUSY)\n    sys.exit(9)\n"
        "threading.Thread(target=work).start()",
        0,
    ),
    "SIGINT": (BUSY + "while True: x = torch.erfinv(x)", int(signal.SIGINT)),
    "SIGTERM": (BUSY + "while True: x = torch.erfinv(x)", int(signal.SIGTERM)),
}


@pytest.fixture(scope="module", params=["0", "1", "2"])
def mode(request):
    """The value of ``TASK_QUEUE_ENABLE``."""
    return request.param


@pytest.fixture(scope="module")
def ends(mode, tmp_path_factory):
    """What became of every case: ``ends[case]`` is (exit status, standard error)."""
    done = run(
        f"BUSY = {BUSY!r}\nCASES = {CASES!r}\n{FORK}",
        FOLDER=str(tmp_path_factory.mktemp("errors")),
        TASK_QUEUE_ENABLE=mode,
    )
    rows = json.loads(done.stdout.partition("RESULTS")[2])
    return {name: (status, errors) for name, status, errors in rows}


@pytest.mark.parametrize("case", ["training", "jvp", "end", "thread"])
def test_the_work_is_done_and_the_process_ends(ends, case):
    status, errors = ends[case]
    assert status == 0, errors
    assert "Error" not in errors


def test_an_exit_status_survives_work_in_flight(ends):
    assert ends["sys.exit"][0] == 7
    assert ends["os._exit"][0] == 5


def test_an_uncaught_exception_is_shown_with_work_in_flight(ends):
    status, errors = ends["exception"]
    assert status == 1
    assert "ValueError: the last words" in errors


def test_signals_end_the_process(ends):
    assert ends["SIGTERM"][0] == -signal.SIGTERM
    status, errors = ends["SIGINT"]
    assert status == -signal.SIGINT
    assert "KeyboardInterrupt" in errors


def test_the_error_of_a_kernel_names_the_operator_and_has_its_traceback(ends, mode):
    status, errors = ends["broken kernel"]
    assert status == 0, errors
    error = errors.partition("raised by ")[2]
    assert error.startswith("operator: " if mode == "0" else ("operator: ", "synchronize: "))
    assert "softnpu: aclnnErfinv: the kernel raised" in error
    assert "ValueError: broken on purpose" in error


def test_the_error_of_a_kernel_in_flight_is_shown_at_the_end(ends, mode):
    status, errors = ends["broken kernel in flight"]
    assert status == (1 if mode == "0" else 0), errors
    assert "softnpu: aclnnErfinv: the kernel raised" in errors
    assert "ValueError: broken on purpose" in errors
