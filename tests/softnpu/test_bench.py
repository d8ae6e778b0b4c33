"""The benchmark measures what it names, and says what it could not measure."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from programs import run

from tools.bench import cases, openreg


@pytest.mark.parametrize("name", cases.CASES)
def test_a_case_computes_the_same_on_both_devices(name):
    make, sizes = cases.CASES[name]
    results = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        result = make(min(sizes), device)()
        results.append([result] if isinstance(result, torch.Tensor) else list(result))
    for mine, true in zip(*reversed(results), strict=True):
        assert mine.device.type == "npu"
        torch.testing.assert_close(mine.cpu(), true)


def test_the_cheaper_call_is_found_to_be_cheaper():
    taken = cases.best({"much": lambda: sum(range(3000)), "little": lambda: None}, 0.05)
    assert 0 < taken["little"] * 10 < taken["much"]


@pytest.mark.skipif(importlib.util.find_spec("torch_openreg"), reason="torch_openreg is installed")
def test_an_absent_openreg_is_explained():
    assert "torch_openreg is not installed" in openreg.measured()


def test_an_openreg_that_fails_is_explained(tmp_path, monkeypatch):
    (tmp_path / "torch_openreg.py").write_text("raise RuntimeError('no such luck')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    assert openreg.measured() == "torch_openreg failed: RuntimeError: no such luck"


def test_the_parts_of_a_multiply_make_up_the_whole():
    done = run(
        """
        import torch
        from tools.bench.phases import phases
        parts = phases(0.2)
        whole = parts.pop("whole")
        assert all(part > 0 for part in parts.values()), parts
        print(sum(parts.values()) / whole)
        """
    )
    # Each part is measured alone; a wrong difference would be off by more.
    assert 0.5 < float(done.stdout) < 2
