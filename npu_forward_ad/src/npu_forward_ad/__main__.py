"""Runs a program repaired: ``python -m npu_forward_ad script.py arguments``."""

import runpy
import sys
from pathlib import Path

USAGE = "usage: python -m npu_forward_ad script.py [arguments]"


def main() -> None:
    """Repair, then run the script as ``__main__`` with its own arguments."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(USAGE)
    script = sys.argv[1]
    if not Path(script).is_file():
        sys.exit(f"npu_forward_ad: there is no file {script}\n{USAGE}")
    import torch  # noqa: F401 - loads torch_npu, where the host lets it

    from npu_forward_ad.registration import RepairError, repair

    try:
        repair()
    except RepairError as error:
        sys.exit(f"npu_forward_ad: {error}")
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")


main()
