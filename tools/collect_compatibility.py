"""Writes which CANN and which Python a torch_npu goes with, as torch_npu's project says.

    python -m tools.collect_compatibility CHECKOUT

CHECKOUT is a checkout of Ascend/pytorch (a bare one is enough); its COMPATIBILITY.en.md is read, and
``evidence/compatibility.json`` is written. ``tests/site/test_install.py`` compares docs/install.md with it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

from npudocs import evidence

PATH = "COMPATIBILITY.en.md"
FILE = evidence.FOLDER / "compatibility.json"


def compatibility(text: str, versions: tuple[str, ...]) -> dict[str, object]:
    """Return, for each version of torch that the document names, its CANN by torch_npu, and its Pythons.

    "recommended" has the recommended version of each component. A row in another form is left out, so that
    the page misses it.
    """
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    recommended = {row[0]: row[1].split(" ")[0] for row in rows if len(row) == 2}
    found: dict[str, object] = {"recommended": recommended["TorchNPU"]}
    for torch in versions:
        cann = {
            row[0]: row[3].removeprefix("CANN ")
            for row in rows
            if len(row) == 4 and row[2] == torch
        }
        (pythons,) = [row[1] for row in rows if row[0] == f"PyTorch {torch}"] or [""]
        listed = re.findall(r"3\.\d+", pythons)
        if cann or listed:
            found[torch] = {"cann": dict(reversed(cann.items())), "python": listed}
    return found


def main(checkout: str) -> None:
    """Read the checkout and write the file."""

    def git(*words: str) -> str:
        command = ["git", "-C", checkout, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    source = {
        "repository": "Ascend/pytorch",
        "commit": git("rev-parse", "HEAD").strip(),
        "path": PATH,
    }
    found = compatibility(git("show", f"HEAD:{PATH}"), evidence.VERSIONS)
    FILE.write_text(json.dumps({"source": source, **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
