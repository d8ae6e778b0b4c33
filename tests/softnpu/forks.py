"""The process whose forks run the programs of the tests: see ``programs.run``.

It has turned the device on and imported torch, which takes seconds, and has not used the device:
what softnpu and torch_npu read from the environment at the first use is still to be read.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from types import CodeType

PR_SET_PDEATHSIG = 1  # what a process gets when its parent ends


def serve(folder: str) -> CodeType:
    """Answer requests until there are no more. In each fork, return the program it was made for.

    So a program runs at the top of ``__main__``, and ends as that of a new Python ends.
    """
    os.chdir(folder)
    import softnpu

    softnpu.activate()
    import torch

    if torch.npu.is_initialized() or "softnpu.bridge" in sys.modules:
        sys.exit("forks.py: importing torch used the device, so its forks cannot")
    gc.collect()
    gc.freeze()  # what is here already need not be searched for garbage when a fork ends: a second
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            return become(request)
        print(json.dumps(ending(pid, request["seconds"])), flush=True)
    sys.exit()


def become(request: dict) -> CodeType:
    """Make this process that of the request's program, and return the program."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # Ctrl-C in the middle of a test
    files = os.devnull, request["stdout"], request["stderr"]
    for number, path in enumerate(files):
        file = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the other one has read ahead
    os.environ.update(request["environment"])
    return compile(request["program"], "<string>", "exec")


def ending(pid: int, seconds: float) -> int | None:
    """Wait for a fork and return its exit status, None if it took too long; nothing of it is left."""
    end = time.monotonic() + seconds
    ended = None
    while ended is None and time.monotonic() < end:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is None:
            time.sleep(0.005)
    os.killpg(pid, signal.SIGKILL)  # what it started, or itself: its number is its own till waitpid
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) if ended else None
