"""The pytest plugin, in small projects with a pytest process of their own.

Most of them do without torch: that the device is on shows before torch is imported.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from programs import ROOT, command

from softnpu import build

pytestmark = pytest.mark.full

ON = """
import os, softnpu
assert softnpu.is_software() and os.environ["ASCEND_HOME_PATH"]
"""
OFF = """
import os, sys, softnpu
assert not softnpu.is_software() and "ASCEND_HOME_PATH" not in os.environ
assert "torch" not in sys.modules and "softnpu.kernels" not in sys.modules
"""
TORCH = """
import torch

def test_the_device():
    assert torch.ones(2, 3, device="npu").sum().item() == 6
"""
PASSES = "def test_nothing():\n    pass\n"


def run_pytest(
    project: Path, *options: str, check: bool = True, **environment: str
) -> subprocess.CompletedProcess:
    """Runs pytest in a project's folder with the plugin of this checkout."""
    words = [sys.executable, "-m", "pytest", "-p", "softnpu.pytest_plugin", *options]
    return command(words, check=check, cwd=project, **environment)


@pytest.fixture
def project(tmp_path):
    """Writes files into the folder of a project."""

    def write(**files: str) -> Path:
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        for name, text in files.items():
            suffix = "ini" if name == "pytest" else "py"
            (tmp_path / f"{name}.{suffix}").write_text(text)
        return tmp_path

    return write


def test_the_option_turns_the_device_on_before_a_conftest_imports_torch(project):
    folder = project(conftest=ON + "import torch\n", test_it=TORCH)
    done = run_pytest(folder, "--softnpu")
    assert "softnpu: software NPU, not a chip: emulates Ascend910B1 (A2)" in done.stdout
    assert "1 passed" in done.stdout


def test_the_setting_turns_the_device_on(project):
    folder = project(pytest="[pytest]\nsoftnpu = true\n", conftest=ON, test_it=PASSES)
    done = run_pytest(folder, SOFTNPU_SOC="A3")
    assert "emulates Ascend910_9391 (A3)" in done.stdout
    assert "1 passed" in done.stdout


def test_without_both_nothing_happens(project):
    done = run_pytest(project(conftest=OFF, test_it=PASSES))
    assert "softnpu:" not in done.stdout
    assert "1 passed" in done.stdout


def test_on_an_ascend_host_it_says_that_it_steps_aside(project):
    # A file that is there stands for the device, softnpu's library for CANN's.
    chip = """
from softnpu import activation, packages
activation.DEVICE_NODES = "/dev/null"
packages.aborts_beside_cuda = lambda: False
"""
    folder = project(chip=chip, conftest="import os\nassert 'ASCEND_HOME_PATH' not in os.environ")
    (folder / "test_it.py").write_text(PASSES)
    library = build.cann_home() / build.LIBRARY_FOLDER
    done = run_pytest(folder, "-p", "chip", "--softnpu", LD_LIBRARY_PATH=str(library),
                      PYTHONPATH=f"{ROOT}:{folder}")  # fmt: skip
    assert "softnpu: silicon: stepped aside" in done.stdout


@pytest.mark.parametrize("value", ["0", ""])
def test_torch_loads_the_device_though_the_environment_says_no(project, value):
    done = run_pytest(project(test_it=TORCH), "--softnpu", TORCH_DEVICE_BACKEND_AUTOLOAD=value)
    assert "software NPU, not a chip" in done.stdout
    assert "1 passed" in done.stdout


def test_torch_that_a_plugin_imported_without_the_device_gets_it(project):
    folder = project(early="import torch\n", test_it=TORCH)
    done = run_pytest(folder, "-p", "early", "--softnpu", PYTHONPATH=f"{ROOT}:{folder}",
                      TORCH_DEVICE_BACKEND_AUTOLOAD="0")  # fmt: skip
    assert "1 passed" in done.stdout


def usage_error(folder: Path, *options: str, **environment: str) -> str:
    """The one error that pytest ends with, and nothing else."""
    done = run_pytest(folder, "--softnpu", *options, check=False, **environment)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("ERROR: softnpu: ")
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


def test_a_setting_that_is_wrong_is_a_usage_error(project):
    assert "SOFTNPU_SOC='A9' is not" in usage_error(project(), SOFTNPU_SOC="A9")
    text = usage_error(project(pytest="[pytest]\nsoftnpu = maybe\n"))
    assert "the setting softnpu: invalid truth value 'maybe': true or false" in text


def test_no_compiler_is_a_usage_error(project):
    folder = project()
    text = usage_error(folder, PATH=str(folder), SOFTNPU_CACHE=str(folder / "cache"))
    assert "softnpu needs a C compiler and found no 'cc'" in text


def test_versions_that_do_not_match_are_a_usage_error(project):
    folder = project()
    (folder / "torch_npu-1.0.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: torch_npu\nVersion: 1.0.0\n"
    (folder / "torch_npu-1.0.0.dist-info" / "METADATA").write_text(metadata)
    text = usage_error(folder, PYTHONPATH=f"{folder}:{ROOT}")
    assert "torch_npu 1.0.0 do not match" in text


def test_torch_npu_imported_before_is_a_usage_error(project):
    folder = project(early="import sys\nsys.modules['torch_npu'] = sys\n")
    text = usage_error(folder, "-p", "early", PYTHONPATH=f"{ROOT}:{folder}")
    assert "must be called before torch or torch_npu is imported" in text
    assert "python -m softnpu run -m pytest instead" in text


def test_the_processes_of_xdist_get_the_device(project):
    pytest.importorskip("xdist", reason="pip install pytest-xdist")
    done = run_pytest(project(test_it=TORCH), "--softnpu", "-n", "2")
    assert "software NPU, not a chip" in done.stdout
    assert "1 passed" in done.stdout
