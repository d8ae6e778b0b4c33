"""The C libraries without Python: on this machine, and cross-compiled for aarch64 under QEMU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from programs import command

pytestmark = pytest.mark.full

PROGRAM = Path(__file__).with_name("csrc_abi.c")
CROSS = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
GROUPS = ("start", "devices", "streams and events", "memory", "handles", "refusals")


def libraries(cache: Path, **environment: str) -> Path:
    """Compiles the libraries as softnpu does; returns their folder."""
    code = "from softnpu import build; print(build.cann_home() / build.LIBRARY_FOLDER)"
    done = command([sys.executable, "-c", code], SOFTNPU_CACHE=str(cache), **environment)
    return Path(done.stdout.strip())


def compile_program(compiler: str, into: Path) -> Path:
    """Compiles the C program; a warning is an error."""
    program = into / "csrc_abi"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]
    command([compiler, *flags, "-o", str(program), str(PROGRAM), "-ldl"])
    return program


def check_output(done: subprocess.CompletedProcess) -> None:
    """Every group of checks has said that it is fine."""
    ended = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert ended == [f"ok {group}" for group in GROUPS], done.stdout


def test_the_libraries_work_without_python(tmp_path):
    program = compile_program("cc", tmp_path)
    check_output(command([str(program), str(libraries(tmp_path / "cache"))]))


@pytest.mark.skipif(
    not (shutil.which(CROSS) and shutil.which(EMULATOR)),
    reason="apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
)
def test_the_libraries_work_on_aarch64(tmp_path):
    folder = libraries(tmp_path / "cache", CC=CROSS)
    program = compile_program(CROSS, tmp_path)
    libc = command([CROSS, "-print-file-name=libc.so.6"]).stdout.strip()
    root = Path(libc).resolve().parents[1]
    check_output(command([EMULATOR, "-L", str(root), str(program), str(folder)]))
    for library in folder.glob("*.so"):
        # e_machine of the ELF header: 183 is aarch64.
        assert int.from_bytes(library.read_bytes()[18:20], "little") == 183, library.name
