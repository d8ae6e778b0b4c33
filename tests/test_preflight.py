"""What is said about machines that lack something."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from npudocs import preflight

ROOT = Path(preflight.__file__).parent.parent


def versions(**installed: str):
    """Return a stand-in for importlib.metadata.version."""

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    return version


@pytest.mark.parametrize("version", [(3, 10), (3, 13, 0)])
def test_supported_python(version: tuple[int, ...]) -> None:
    assert preflight.python_problem(version) is None


@pytest.mark.parametrize("version", [(3, 9, 18), (3, 14)])
def test_unsupported_python(version: tuple[int, ...]) -> None:
    assert "BASE_PYTHON=" in preflight.python_problem(version)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_supported_platform(machine: str) -> None:
    assert preflight.platform_problem("Linux", machine, ("glibc", "2.36")) is None


@pytest.mark.parametrize(
    ("system", "machine", "libc", "words"),
    [
        ("Darwin", "arm64", ("", ""), "This is Darwin arm64"),
        ("Windows", "AMD64", ("", ""), "This is Windows AMD64"),
        ("Linux", "riscv64", ("glibc", "2.36"), "This is Linux riscv64"),
        ("Linux", "x86_64", ("", ""), "musl"),
        ("Linux", "x86_64", ("glibc", "2.17"), "glibc 2.17"),
    ],
)
def test_unsupported_platform(system: str, machine: str, libc: tuple[str, str], words: str) -> None:
    problem = preflight.platform_problem(system, machine, libc)
    assert words in problem
    assert "torch_npu has wheels for Linux" in problem


def test_missing_venv_and_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "python3-venv" in preflight.venv_problem(lambda name: name != "ensurepip")
    assert preflight.venv_problem(lambda name: True) is None
    monkeypatch.setenv("CC", "ccache nocc")
    assert "gcc" in preflight.compiler_problem(lambda name: None)
    assert preflight.compiler_problem(lambda name: f"/bin/{name}") is None


def test_versions_are_checked_by_softnpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softnpu.packages.problem", lambda: "they do not match")
    assert preflight.versions_problem() == "they do not match"


def test_missing_docs_packages(tmp_path: Path) -> None:
    listed = tmp_path / "requirements.txt"
    listed.write_text('# text\nSphinx==8; python_version < "3.11"\nSphinx==9\nnope-x==1\n')
    problem = preflight.docs_problem(listed, versions(Sphinx="8"))
    assert "nope-x" in problem
    assert "Sphinx" not in problem
    assert "pip install -r docs/requirements.txt" in problem
    assert preflight.docs_problem(version=lambda name: "1") is None


def test_command_line_prints_every_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = (lambda: "first", lambda: None, lambda: "second")
    monkeypatch.setitem(preflight.CHECKS, "venv", checks)
    assert preflight.main(["venv"]) == 1
    assert capsys.readouterr().err == "preflight: first\npreflight: second\n"
    assert preflight.main([]) == 2


def test_real_command_without_a_compiler() -> None:
    """The command make runs, on a path without any compiler."""
    done = subprocess.run(
        [sys.executable, "npudocs/preflight.py", "venv"],
        cwd=ROOT,
        env={"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "preflight: No C compiler (cc)" in done.stderr
