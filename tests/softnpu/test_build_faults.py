"""Builds that go wrong: a message that says what to do, never a traceback or a half-made library."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import ROOT, command

from softnpu import build

pytestmark = pytest.mark.full

EXPORT = [sys.executable, "-m", "softnpu", "export"]
ONES = [
    sys.executable,
    "-c",
    "import softnpu; softnpu.activate(); import torch; print(torch.ones(2, device='npu').tolist())",
]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def refused(done: subprocess.CompletedProcess) -> str:
    """The one message of a command that had to fail."""
    assert done.returncode == 1, done
    assert done.stderr.startswith("softnpu: "), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def builds(cache: Path, **environment: str) -> Path:
    """Builds, and returns the folder of the libraries."""
    done = command(EXPORT, SOFTNPU_CACHE=str(cache), **environment)
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("export ASCEND_HOME_PATH=")]
    home = Path(line.partition("=")[2].strip("'"))
    assert build._is_whole(home)
    return home


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("blocks", [0, 8, 400])
def test_a_file_that_may_not_grow(cache, blocks):
    # In blocks of 512 bytes. What the compiler writes ends early, as on a full disk.
    words = ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", *EXPORT]
    text = refused(command(words, check=False, SOFTNPU_CACHE=str(cache)))
    assert "C compiler failed" in text or "cannot keep its libraries" in text
    assert list(cache.iterdir()) == []


def test_a_full_disk_is_explained_and_room_is_enough_to_go_on(tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    mount = f'mount -t tmpfs -o size=300k softnpu "{full}" && exec "$@"'
    inside = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    both = f'"$@"; code=$?; ls -A "{full}" >&2; mount -o remount,size=100m "{full}"; "$@"; echo $code $?'
    done = command(
        [*inside, "sh", "-c", both, "sh", *EXPORT], SOFTNPU_CACHE=str(full), TMPDIR=str(tmp_path)
    )
    assert done.stdout.splitlines()[-1] == "1 0"
    assert done.stderr.startswith("softnpu: ")
    assert "No space left" in done.stderr
    assert "building-" not in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_folder_that_may_not_be_written(cache):
    cache.mkdir(mode=0o500)
    words = EXPORT
    if os.geteuid() == 0:  # without its capabilities root is held to the mode, as anybody is
        words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *EXPORT]
        if shutil.which("setpriv") is None:
            pytest.skip("this is root, and setpriv (util-linux) is not installed")
    text = refused(command(words, check=False, SOFTNPU_CACHE=str(cache)))
    assert "cannot keep its libraries" in text and "SOFTNPU_CACHE" in text


def test_a_user_without_a_home():
    # A container started with --user 12345: no entry in the list of users, no HOME.
    program = """
import pwd

def unknown(uid):
    raise KeyError(uid)

pwd.getpwuid = unknown
from softnpu.__main__ import main
raise SystemExit(main())
"""
    words = [sys.executable, "-c", program, "export"]
    done = command(["env", "-u", "HOME", "-u", "XDG_CACHE_HOME", *words], check=False)
    assert "SOFTNPU_CACHE" in refused(done)


@pytest.mark.parametrize("place", ["missing", "folder", "plain", "relative"])
def test_a_compiler_that_is_not_one(cache, tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("not executable")
    compiler = "no/such/cc" if place == "relative" else str(tmp_path / place)
    text = refused(command(EXPORT, check=False, SOFTNPU_CACHE=str(cache), CC=compiler))
    assert f"found no {compiler!r}" in text
    assert not cache.exists()


# Compilers that run and are wrong. Each gets the words of a compiler; -o names its output.
WRONG_COMPILERS = {
    "bytes that are no text": r"printf '\377\376 garbage \200\n' >&2; exit 1",
    "no output file": "exit 0",
    "an output that is no library": 'for w; do out=$w; done; echo garbage > "$out"',
    "killed": "kill -9 $$",
}


@pytest.mark.parametrize("wrong", WRONG_COMPILERS)
def test_a_wrong_compiler_is_explained(cache, tmp_path, wrong):
    compiler = script(tmp_path / "cc", WRONG_COMPILERS[wrong])
    # `run`, which also loads the libraries.
    words = [sys.executable, "-m", "softnpu", "run", "-m", "this"]
    text = refused(command(words, check=False, SOFTNPU_CACHE=str(cache), CC=compiler))
    assert "compiler" in text
    assert compiler in text
    assert [path for path in cache.iterdir() if build._is_whole(path)] == []


def test_an_executable_that_the_system_cannot_run(cache, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_bytes(b"\x7fELF nothing")
    compiler.chmod(0o755)
    text = refused(command(EXPORT, check=False, SOFTNPU_CACHE=str(cache), CC=str(compiler)))
    assert str(compiler) in text


def test_a_cache_with_spaces_and_letters_of_other_alphabets(tmp_path):
    cache = tmp_path / "mit Leerzeichen, Ünïcödé 缓存 $HOME 'quoted'"
    done = command(ONES, SOFTNPU_CACHE=str(cache), LC_ALL="C", PYTHONUTF8="0")
    assert done.stdout.strip() == "[1.0, 1.0]"
    # In a shell, too, where the libraries are found through LD_LIBRARY_PATH.
    shell = f'eval "$({sys.executable} -m softnpu export)" && {sys.executable} -c "{TORCH_ONLY}"'
    done = command(["sh", "-c", shell], SOFTNPU_CACHE=str(cache))
    assert done.stdout.strip() == "[1.0, 1.0]"


TORCH_ONLY = "import torch; print(torch.ones(2, device='npu').tolist())"


def test_a_relative_cache_and_a_change_of_folder(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    program = f"""
import os, subprocess, sys
import softnpu
softnpu.activate()
os.chdir("elsewhere")
import torch
assert torch.ones(2, device="npu").tolist() == [1, 1]
assert softnpu.activate() == "software"
subprocess.run([sys.executable, "-c", {TORCH_ONLY!r}], check=True)
"""
    done = command([sys.executable, "-c", program], cwd=tmp_path, SOFTNPU_CACHE="cache")
    assert done.stdout.strip() == "[1.0, 1.0]"
    assert [path.name for path in tmp_path.iterdir() if path.name != "elsewhere"] == ["cache"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def wait_for(what: str, there: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end, f"not within 30 seconds: {what}"
        time.sleep(0.02)


def test_a_build_killed_in_the_middle_does_not_hinder_the_next(cache, tmp_path):
    """Two processes build; one is killed while its compiler runs, the other must finish."""
    started, release = tmp_path / "started", tmp_path / "release"
    # The first call of this compiler waits; whoever makes it is the one to be killed.
    compiler = script(
        tmp_path / "cc",
        f'if mkdir "{started}" 2>/dev/null; then\n'
        f'  for _ in $(seq 600); do [ -e "{release}" ] && exit 1; sleep 0.05; done\n'
        f'fi\nexec cc "$@"',
    )
    environment = os.environ | {
        "SOFTNPU_CACHE": str(cache),
        "CC": compiler,
        "PYTHONPATH": str(ROOT),
    }
    killed = subprocess.Popen(
        EXPORT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for("the first calls its compiler", started.exists)
        other = subprocess.Popen(
            EXPORT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for("both build", lambda: len(list(cache.glob("building-*"))) == 2)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait(30) == -signal.SIGKILL
        assert other.wait(120) == 0
    finally:
        release.touch()
        killed.kill()
    home = builds(cache, CC=compiler)
    left = [path.name for path in cache.iterdir() if path != home]
    assert all(name.startswith("building-") for name in left), left
