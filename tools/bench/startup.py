"""What is paid once: compiling the libraries, and the first tensor of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

FIRST_TENSOR = """
import json, time
times = [time.perf_counter()]
def lap(): times.append(time.perf_counter())
import softnpu; softnpu.activate(); lap()
import torch; lap()
torch.ones(3, device="npu").cpu(); lap()
print(json.dumps([after - before for before, after in zip(times, times[1:])]))
"""
COMPILE = """
import json, os, time
from softnpu import build
start = time.perf_counter(); build.cann_home(); wall = time.perf_counter() - start
taken = os.times()
print(json.dumps([wall, taken.children_user + taken.children_system]))
"""


def _run(program: str, **environment: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def first_tensor(times: int = 3) -> tuple[float, float, float]:
    """Seconds of ``activate()``, the import of torch with torch_npu, and the first tensor."""
    return min((tuple(_run(FIRST_TENSOR)) for _ in range(times)), key=sum)


def compilation() -> tuple[float, float]:
    """Seconds until the libraries are there, and of all the processors together."""
    with tempfile.TemporaryDirectory() as folder:
        wall, processors = _run(COMPILE, SOFTNPU_CACHE=folder)
    return wall, processors
