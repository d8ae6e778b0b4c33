"""Pairs of torch and torch_npu that cannot work are refused before they are imported."""

from __future__ import annotations

import ctypes
import sys

import pytest
from programs import ROOT, command

import softnpu
from softnpu import activation, build, packages


@pytest.fixture
def installed(monkeypatch):
    """Pretends that these versions are installed."""

    def pretend(torch, torch_npu, cuda=None):
        versions = {"torch": torch, "torch_npu": torch_npu}
        monkeypatch.setattr(packages, "_version", versions.get)
        monkeypatch.setattr(packages, "_cuda_of_torch", lambda: cuda)
        monkeypatch.setattr(packages, "_folder_of_torch", lambda: "/usr/lib")

    return pretend


@pytest.mark.parametrize(
    ("torch", "torch_npu", "cuda"),
    [
        ("2.13.0+cpu", "2.13.0", None),
        ("2.7.1", "2.7.1.post11", None),
        ("2.7.1+cu126", "2.7.1.post2", "12.6"),
    ],
)
def test_a_pair_that_works_is_taken(installed, torch, torch_npu, cuda):
    installed(torch, torch_npu, cuda)
    assert packages.problem() is None


def test_other_versions_are_refused(installed):
    installed("2.14.1+cpu", "2.13.0")
    assert "torch 2.14.1+cpu and torch_npu 2.13.0 do not match" in packages.problem()
    assert "pip install torch_npu==2.14.1" in packages.problem()


@pytest.mark.parametrize(
    ("python", "folder", "refused"),
    [
        ((3, 12, 1), "/home/a/第二 clone/lib", True),
        ((3, 13, 0), "/home/é/lib", True),
        ((3, 11, 7), "/home/a/第二 clone/lib", False),
        ((3, 12, 1), "/home/a/second clone/lib", False),
    ],
)
def test_a_path_at_which_torch_npu_crashes_is_refused(
    installed, monkeypatch, python, folder, refused
):
    installed("2.13.0+cpu", "2.13.0")
    monkeypatch.setattr(packages, "_folder_of_torch", lambda: folder)
    monkeypatch.setattr(packages.sys, "version_info", python)
    said = packages.problem()
    assert (said is not None) == refused
    if refused:
        assert f"torch lies in {folder}" in said and "ASCII letters alone" in said


def test_a_missing_package_is_named(installed):
    installed("2.13.0", None)
    assert packages.problem().startswith("torch_npu not installed for this Python.")
    installed(None, None)
    assert packages.problem().startswith("torch and torch_npu not installed")


def test_a_release_that_cannot_load_beside_cuda_is_refused(installed):
    installed("2.12.0+cu130", "2.12.0.post3", "13.0")
    assert "torch 2.12.0+cu130 is a CUDA build" in packages.problem()
    assert "torch_npu==2.12.0.post2" in packages.problem()
    installed("2.12.0+cpu", "2.12.0.post3", None)
    assert packages.problem() is None
    installed("2.12.0+cu130", "2.12.0.post2", "13.0")
    assert packages.problem() is None


@pytest.mark.parametrize(
    ("torch_npu", "cuda", "expected"),
    [
        ("2.13.0", "13.0", True),
        ("2.14.0", "13.0", True),
        ("2.12.0.post2", "13.0", False),
        ("2.7.1.post11", "12.6", False),
        ("2.13.0", None, False),
        (None, None, False),
    ],
)
def test_where_torch_npu_aborts_beside_cuda_is_known(installed, torch_npu, cuda, expected):
    installed("2.13.0", torch_npu, cuda)
    assert packages.aborts_beside_cuda() is expected


def test_a_cuda_build_is_preloaded_around_for_children(monkeypatch):
    monkeypatch.setattr(packages, "aborts_beside_cuda", lambda: True)
    preload = softnpu.environment()["LD_PRELOAD"].split(":")[0]
    assert preload.endswith("/lib64/libsoftnpu_beside_cuda.so")
    # Without a CUDA build it changes nothing.
    command([sys.executable, "-c", "print(1)"], LD_PRELOAD=preload)
    monkeypatch.setattr(packages, "aborts_beside_cuda", lambda: False)
    assert "LD_PRELOAD" not in softnpu.environment()


def test_a_cuda_build_on_a_real_device_is_refused(monkeypatch):
    monkeypatch.setattr(packages, "aborts_beside_cuda", lambda: True)
    monkeypatch.setattr(activation, "DEVICE_NODES", "/dev/null")
    monkeypatch.setattr(activation, "is_software", lambda: False)
    with pytest.raises(softnpu.SoftNpuError, match="Install the CPU build of the same torch"):
        softnpu.activate()


def test_what_torch_was_built_for_is_read_without_importing_it(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    program = "from softnpu import packages; print(packages._cuda_of_torch())"
    for line, expected in (("= '13.0'", "13.0"), (": Optional[str] = None", "None")):
        (package / "version.py").write_text(f"__version__ = '2.13.0'\ncuda {line}\n")
        path = f"{tmp_path}:{ROOT}"
        done = command([sys.executable, "-c", program], PYTHONPATH=path)
        assert done.stdout.strip() == expected


def test_a_run_ends_with_the_message(tmp_path):
    for name, version in (("torch", "2.12.0"), ("torch_npu", "2.13.0")):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    words = [sys.executable, "-m", "softnpu", "run", "-m", "this"]
    done = command(words, check=False, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 1
    assert done.stderr.startswith("softnpu: torch 2.12.0 and torch_npu 2.13.0 do not match")


def test_only_cuda_gets_a_set_of_its_own():
    """Everyone else's question for torch's allocator keys is handed on to torch."""
    import torch  # noqa: F401 - it loads libc10.so

    name = "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev"
    folder = build.cann_home() / build.LIBRARY_FOLDER
    addresses = []
    for library in ("libc10.so", str(folder / build.PRELOAD)):
        function = ctypes.CDLL(library)[name]
        function.restype = ctypes.c_void_p
        addresses.append(function())
    assert addresses[0] == addresses[1]
