"""The same cases on ``torch_openreg``, torch's own example of such a device in C++.

In a process of its own: there is room for one device beside the CPU and the known ones.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys


def measured() -> dict[str, tuple[float, float]] | str:
    """Seconds of each case on the CPU and on torch_openreg, or why there are none."""
    if importlib.util.find_spec("torch_openreg") is None:
        return (
            "torch_openreg is not installed for this Python. Its source is in pytorch's "
            "repository, under test/cpp_extensions/open_registration_extension."
        )
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        env=os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"torch_openreg failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    import torch_openreg  # noqa: F401 - registers the device

    from .cases import all_cases

    print(json.dumps(all_cases("openreg")))
