"""The forks that run the tests' programs: as a new Python would, and nothing is left of them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import programs
import pytest
from programs import run, start

SHOW = """
import atexit, os, sys, torch
print(sorted(globals()), __name__, sys.argv, sys.path, os.getcwd())
print(sorted(set(os.environ) - {"LINES", "COLUMNS"}), os.environ["PYTHONPATH"])
print(sys.stdin.read(), file=sys.stderr)
atexit.register(print, "last")
"""


def test_a_fork_finds_what_a_new_python_finds():
    forked, new = run(SHOW), start(SHOW)
    assert forked.stdout == new.stdout
    assert forked.stdout.endswith("last\n")
    assert (forked.stderr, new.stderr) == ("\n", "\n")


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("pass", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("raise ValueError('words')", 1, "ValueError: words"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt"),
        ("import os; os.abort()", -signal.SIGABRT, ""),
        ("no program", 1, "SyntaxError"),
    ],
)
def test_the_end_of_a_program(end, status, said):
    done = run(end, check=False)
    assert done.returncode == status
    assert said in done.stderr
    if status:
        with pytest.raises(AssertionError, match=f"exit {status}"):
            run(end)


def test_one_program_changes_nothing_for_the_next():
    run(
        "import os, torch; os.environ['SOFTNPU_X'] = os.chdir('/') or torch.ones(2).npu().device.type"
    )
    run(
        """
        import os, torch
        assert "SOFTNPU_X" not in os.environ and os.getcwd() != "/"
        assert not torch.npu.is_initialized()
        """
    )


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_that_hangs_is_ended_with_what_it_started(monkeypatch):
    monkeypatch.setattr(programs, "SECONDS", 1)
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        run(
            """
            import os, subprocess
            print(os.getpid(), subprocess.Popen(["sleep", "1000"]).pid, flush=True)
            while True: pass
            """
        )
    pids = [int(word) for word in caught.value.output.split()]
    end = time.monotonic() + 10
    while any(is_running(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    assert [is_running(pid) for pid in pids] == [False, False]


def test_what_is_read_before_the_fork_cannot_be_given():
    with pytest.raises(AssertionError, match="SOFTNPU_CACHE is for a new process"):
        run("pass", SOFTNPU_CACHE="elsewhere")


def test_a_process_to_fork_that_ends_is_explained(monkeypatch):
    program = "import sys; sys.exit('no luck')"
    words = [sys.executable, "-c", program]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, text=True, **pipes) as ended:
        monkeypatch.setattr(programs, "_server", lambda: ended)
        with pytest.raises(AssertionError, match="has ended:\nno luck"):
            run("pass")
