"""Compiling and caching: what is wrong is said, and no half-made library is ever used."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from programs import ROOT, command

from softnpu import SoftNpuError, build

BUILD = [sys.executable, "-c", "from softnpu import build; print(build.cann_home())"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTNPU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_no_compiler_is_explained(cache, tmp_path):
    done = command(
        [sys.executable, "-m", "softnpu", "export"],
        check=False,
        SOFTNPU_CACHE=str(cache),
        PATH=str(tmp_path),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("softnpu: softnpu needs a C compiler and found no 'cc'.")
    assert "apt-get install gcc" in done.stderr
    assert not cache.exists()


@pytest.mark.parametrize("setting", ["", " "])
def test_an_empty_compiler_setting_is_none(monkeypatch, setting):
    monkeypatch.setenv("CC", setting)
    assert build._compiler_words() == ["cc"]


def test_a_compiler_error_is_shown_and_nothing_is_kept(cache, monkeypatch):
    monkeypatch.setattr(build, "FLAGS", ("-no-such-flag",))
    with pytest.raises(SoftNpuError, match="(?s)The C compiler failed.*no-such-flag"):
        build.cann_home()
    assert list(cache.iterdir()) == []


def test_a_cache_that_is_a_file_is_explained(cache):
    cache.write_text("in the way")
    with pytest.raises(SoftNpuError, match="name another in SOFTNPU_CACHE"):
        build.cann_home()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_explained(cache):
    cache.mkdir(mode=0o500)
    with pytest.raises(SoftNpuError, match="name another in SOFTNPU_CACHE"):
        build.cann_home()


@pytest.mark.full
def test_a_damaged_cache_is_built_again(cache):
    home = build.cann_home()
    library = home / build.LIBRARY_FOLDER / "libascendcl.so"
    whole = library.read_bytes()
    library.write_bytes(whole[:1000])
    assert build.cann_home() == home
    assert library.stat().st_size == len(whole)
    (home / build.LIBRARY_FOLDER / "libopapi.so").unlink()
    build.cann_home()
    assert (home / build.LIBRARY_FOLDER / "libopapi.so").is_file()


@pytest.mark.full
def test_processes_that_build_at_once_agree(cache):
    def build_once(_: int) -> str:
        return command(BUILD, cwd=ROOT, SOFTNPU_CACHE=str(cache)).stdout

    with ThreadPoolExecutor(3) as pool:
        homes = set(pool.map(build_once, range(3)))
    assert len(homes) == 1
    assert [path.name for path in cache.iterdir()] == [os.path.basename(homes.pop().strip())]
