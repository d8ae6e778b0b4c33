"""Putting the repair in, taking it out, and what is said where that is not possible."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

import npu_forward_ad
from npu_forward_ad import registration

ROOT = Path(__file__).parents[2]


def lost() -> bool:
    x = torch.ones(3, device="npu")
    with fwAD.dual_level():
        return fwAD.unpack_dual(F.l1_loss(fwAD.make_dual(x, x), 0 * x)).tangent is None


def kernels(names):
    return {name: torch._C._dispatch_dump(name) for name in names}


def run(*words: str, **environment: str) -> subprocess.CompletedProcess:
    source = str(ROOT / "npu_forward_ad" / "src")
    environment = {**os.environ, "PYTHONPATH": source, **environment}
    options = {
        "cwd": ROOT,
        "env": environment,
        "capture_output": True,
        "text": True,
        "timeout": 120,
    }
    return subprocess.run([sys.executable, *words], check=False, **options)


def test_undo_gives_back_every_kernel():
    names = torch._C._dispatch_get_all_op_names()
    before = kernels(names)
    made = npu_forward_ad.repair()
    assert not lost() and "aten::matmul" in made.operators and "npu::npu_rms_norm" in made.operators
    assert kernels(names) != before
    made.undo()
    made.undo()
    assert lost() and made.operators == () and kernels(names) == before


def test_a_block_is_undone_after_an_error():
    with pytest.raises(ZeroDivisionError), npu_forward_ad.repaired():
        assert 1 / lost()  # not lost: an error
    assert lost()


def test_a_second_repair_is_an_error(repair):
    with pytest.raises(npu_forward_ad.RepairError, match="repaired already"):
        npu_forward_ad.repair()
    assert not lost()


def test_an_unknown_version_is_an_error(monkeypatch):
    monkeypatch.setattr(sys.modules["torch_npu"], "__version__", "9.9.9")
    with pytest.raises(npu_forward_ad.RepairError, match="torch_npu 9.9.9 is not known"):
        npu_forward_ad.repair()
    assert lost()


def test_a_fork_is_told_that_it_is_repaired(repair, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)  # a real fork could not use the device
    with pytest.raises(npu_forward_ad.RepairError, match="fork"):
        npu_forward_ad.repair()


def test_where_no_npu_is_a_warning_says_so(monkeypatch):
    monkeypatch.setattr(torch.npu, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="no NPU here"):
        assert npu_forward_ad.repair().operators == ()
    assert lost()


def test_without_a_level_torch_npus_own_kernel_runs(repair, monkeypatch):
    x = torch.ones(2, 2, device="npu", requires_grad=True)
    assert type((x @ x).grad_fn).__name__ == "MatmulBackward0"
    with fwAD.dual_level():
        assert type((x @ x).grad_fn).__name__ == "MmBackward0"


def test_a_level_of_another_thread_is_seen(repair):
    """PyTorch has one level for all threads."""
    x, seen = torch.ones(3, device="npu"), []

    def work() -> None:
        with fwAD.dual_level():
            loss = F.l1_loss(fwAD.make_dual(x, x), 0 * x)
            seen.append(fwAD.unpack_dual(loss).tangent.item())

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [1.0] * 3


def test_the_page_keeps_the_guard_to_paste():
    page = (ROOT / "docs" / "deviations" / "guard.md").read_text(encoding="utf-8")
    pasted = re.search(r"```\{testcode\}\n(.*?)```", page, re.DOTALL)[1]
    module = (ROOT / "npu_forward_ad" / "src" / "npu_forward_ad" / "guard.py").read_text()
    assert module.split('"""\n\n', 1)[1] == pasted


def test_no_file_of_the_package_needs_more_than_torch():
    allowed = {"__future__", "torch", "npu_forward_ad", *sys.stdlib_module_names}
    for path in Path(registration.__file__).parent.glob("*.py"):
        found = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        assert set(found) <= allowed, path.name


@pytest.mark.full
def test_a_program_runs_repaired(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, torch.autograd.forward_ad as fwAD\n"
        "x = torch.ones(3, device='npu')\n"
        "with fwAD.dual_level():\n"
        "    loss = torch.nn.functional.l1_loss(fwAD.make_dual(x, x), 0 * x)\n"
        "    print(sys.argv[1:], fwAD.unpack_dual(loss).tangent.item(), __name__)\n"
    )
    done = run("-m", "softnpu", "run", "-m", "npu_forward_ad", str(program), "--a", "b")
    assert done.stdout == "['--a', 'b'] 1.0 __main__\n", done.stderr


@pytest.mark.full
@pytest.mark.parametrize("words", [[], ["nowhere.py"]])
def test_a_program_that_is_not_there_is_an_error(words):
    done = run("-m", "npu_forward_ad", *words, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 1 and "usage: python -m npu_forward_ad" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_torch_npu_has_to_be_imported_first():
    program = "import torch, npu_forward_ad; npu_forward_ad.repair()"
    done = run("-c", program, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stderr.splitlines()[-1].endswith(
        "RepairError: torch_npu is not imported yet: import torch_npu, then call repair()"
    )
