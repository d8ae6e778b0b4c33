"""`npudocs.execute` in a project without torch, on the processor: it is of use to others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "on_the_cpu"
# A process in which torch cannot be imported.
BUILD = """
import sys
sys.modules["torch"] = sys.modules["torch_npu"] = sys.modules["softnpu"] = None
from sphinx.cmd.build import build_main
code = build_main(sys.argv[1:])
mine = {name for name in sys.modules if name.startswith("npudocs.")}
assert all(name.startswith("npudocs.execute") for name in mine), mine
sys.exit(code)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE, tmp_path / "project"))


def _build(project: Path, builder: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BUILD, "-n", "-W", "-b", builder, "-c", str(project)]
    return subprocess.run(
        [*command, str(project / "docs"), str(project / "build" / builder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
    )


def test_page_script_and_test_run_and_are_labeled(project: Path) -> None:
    done = _build(project, "html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 0 failed, 0 skipped" in done.stdout
    for page in ("index", "gallery/ones"):
        text = (project / f"build/html/{page}.html").read_text(encoding="utf-8")
        assert "Executed on a processor" in text
    done = _build(project, "execute")
    assert "1 test files: 1 passed; 1 executed" in done.stdout
    content = json.loads((project / "build/executed.json").read_text(encoding="utf-8"))
    assert {unit["file"] for unit in content["units"]} == {
        *("docs/index.md", "examples/ones.py", "tests/test_sums.py")
    }


def test_its_own_state_may_not_stay(project: Path) -> None:
    page = project / "docs" / "index.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace(">>> sum", '>>> import os\n>>> os.environ["SUMS_MODE"] = "odd"\n>>> sum'),
        encoding="utf-8",
    )
    done = _build(project, "html")
    assert done.returncode == 1
    assert "index.md:4: ERROR: This block leaves behind" in done.stderr
    assert "SUMS_MODE=odd" in done.stderr
