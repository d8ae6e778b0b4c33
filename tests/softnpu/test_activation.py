"""The three ways in, child processes, and what steps aside or refuses."""

from __future__ import annotations

import re
import sys

import pytest
from programs import ROOT, command, start

import softnpu
from softnpu import activation, packages

SHOW = "import torch; print(torch.ones(2, 3, device='npu').sum().item())"


@pytest.mark.full
def test_a_child_process_inherits_the_device():
    done = start(
        f"""
        import subprocess, sys
        print(subprocess.check_output([sys.executable, "-c", {SHOW!r}], text=True))
        """
    )
    assert "6.0" in done.stdout


def test_run_gives_a_script_its_own_command_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import sys\n{SHOW}\nprint(sys.argv[1:], sys.path[0])\n")
    done = command([sys.executable, "-m", "softnpu", "run", str(script), "-v", "--x", "a b"])
    assert "6.0" in done.stdout
    assert f"['-v', '--x', 'a b'] {tmp_path}" in done.stdout


def test_run_m_runs_a_module(tmp_path):
    (tmp_path / "module_here.py").write_text("import sys\nprint('ran', sys.argv[1:])\n")
    words = [sys.executable, "-m", "softnpu", "run", "-m", "module_here", "-q"]
    assert "ran ['-q']" in command(words, cwd=tmp_path).stdout


def test_run_passes_on_the_exit_status_of_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(7)\n")
    words = [sys.executable, "-m", "softnpu", "run", str(script)]
    assert command(words, check=False).returncode == 7


def test_run_names_a_script_that_is_not_there():
    done = command([sys.executable, "-m", "softnpu", "run", "absent.py"], check=False)
    assert done.returncode == 1
    assert done.stderr == "softnpu: there is no script absent.py\n"


def test_run_m_names_a_module_that_is_not_there():
    done = command([sys.executable, "-m", "softnpu", "run", "-m", "absent.part"], check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"softnpu: there is no module absent\.part for \S+\n", done.stderr)


@pytest.mark.parametrize(
    ("target", "missing"),
    [
        ("package.missing", "package.missing"),
        ("package.missing.part", "package.missing.part"),
        ("package.module.part", "package.module.part"),
        ("package", "package.__main__"),
        ("__main__", "__main__"),
    ],
)
def test_run_m_names_what_is_missing_in_a_package(tmp_path, target, missing):
    (tmp_path / "package").mkdir()
    for name in ("__init__", "module"):
        (tmp_path / "package" / f"{name}.py").write_text("")
    words = [sys.executable, "-m", "softnpu", "run", "-m", target]
    done = command(words, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(rf"softnpu: there is no module {missing} for \S+\n", done.stderr)


def test_run_m_does_not_hide_an_error_in_the_package(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("import absent_elsewhere\n")
    words = [sys.executable, "-m", "softnpu", "run", "-m", "package.missing"]
    done = command(words, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'absent_elsewhere'\n")


@pytest.mark.full
@pytest.mark.parametrize("autoload", ["1", "0"])
def test_sourcing_the_script_turns_the_device_on(tmp_path, autoload):
    first = "" if autoload == "1" else "import torch_npu; "
    shell = f'source "{ROOT}/softnpu/set_env.sh" && "{sys.executable}" -c "{first}{SHOW}"'
    done = command(
        ["bash", "-c", shell],
        cwd=tmp_path,
        PYTHON=sys.executable,
        TORCH_DEVICE_BACKEND_AUTOLOAD=autoload,
    )
    assert "6.0" in done.stdout


def test_sourcing_fails_with_the_message_and_leaves_the_shell_alone():
    shell = (
        f'source "{ROOT}/softnpu/set_env.sh" || echo "status $? home ${{ASCEND_HOME_PATH:-unset}}"'
    )
    done = command(["bash", "-c", shell], PYTHON=sys.executable, SOFTNPU_SOC="A9")
    assert "status 1 home unset" in done.stdout
    assert "SOFTNPU_SOC='A9' is not a product or SoC name" in done.stderr


def test_env_prints_the_script_to_source():
    done = command([sys.executable, "-m", "softnpu", "env"])
    assert done.stdout.strip() == f"{ROOT}/softnpu/set_env.sh"


def test_activating_twice_changes_nothing():
    assert softnpu.activate() == "software"
    assert softnpu.is_software()


def test_activating_after_torch_npu_is_refused():
    code = "import sys; sys.modules['torch_npu'] = sys; import softnpu; softnpu.activate()"
    done = command([sys.executable, "-c", code], check=False)
    assert done.returncode == 1
    assert "must be called before torch or torch_npu is imported" in done.stderr


def test_a_real_device_with_cann_is_left_alone(monkeypatch):
    monkeypatch.setattr(activation, "DEVICE_NODES", "/dev/null")
    monkeypatch.setattr(activation, "is_software", lambda: False)
    # An Ascend host has the CPU build of torch, whatever is here.
    monkeypatch.setattr(packages, "aborts_beside_cuda", lambda: False)
    # The library that is loaded stands for CANN's here.
    assert activation.activate() == "silicon"


def test_a_real_device_without_cann_is_explained(tmp_path):
    code = (
        "from softnpu import activation; activation.DEVICE_NODES = '/dev/null';"
        "activation.activate()"
    )
    done = command([sys.executable, "-c", code], check=False)
    assert done.returncode == 1
    assert "Source CANN's set_env.sh first" in done.stderr
    assert command([sys.executable, "-c", code], SOFTNPU_FORCE="1").returncode == 0


def test_without_activation_there_is_no_software_device():
    done = command([sys.executable, "-c", "import softnpu; print(softnpu.is_software())"])
    assert done.stdout == "False\n"


@pytest.mark.full
def test_info_says_what_is_emulated():
    done = command([sys.executable, "-m", "softnpu", "info"], SOFTNPU_SOC="A3")
    assert "a software NPU, not a chip" in done.stdout
    assert "Ascend910_9391 (A3)" in done.stdout
    assert "torch_npu           2." in done.stdout
    assert "    aclnnMul " in done.stdout


def test_the_fingerprint_follows_the_sources(tmp_path, monkeypatch):
    before = softnpu.fingerprint()
    (tmp_path / "kernel.py").write_text("x = 1\n")
    monkeypatch.setattr(activation, "PACKAGE", tmp_path)
    first = activation.fingerprint.__wrapped__()
    (tmp_path / "kernel.py").write_text("x = 2\n")
    assert len({before, first, activation.fingerprint.__wrapped__()}) == 3
