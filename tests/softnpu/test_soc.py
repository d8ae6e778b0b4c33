"""Which chip is emulated: names, settings, and what torch_npu makes of them."""

from __future__ import annotations

import sys

import pytest
from programs import command, run

from softnpu import SoftNpuError, soc


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, "Ascend910B1"),
        ("A2", "Ascend910B1"),
        ("A3", "Ascend910_9391"),
        ("950DT", "Ascend950DT"),
        ("Ascend910B4-1", "Ascend910B4-1"),
        ("a3", "Ascend910_9391"),
        ("ascend910b4", "Ascend910B4"),
    ],
)
def test_a_product_or_a_soc_name_chooses(monkeypatch, setting, expected):
    monkeypatch.delenv("SOFTNPU_SOC", raising=False)
    if setting:
        monkeypatch.setenv("SOFTNPU_SOC", setting)
    assert soc.soc_name() == expected


def test_an_unknown_soc_is_refused_with_the_known_ones(monkeypatch):
    monkeypatch.setenv("SOFTNPU_SOC", "Ascend31")
    with pytest.raises(SoftNpuError, match=r"'Ascend31' is not .* A3 \(Ascend910_9391"):
        soc.soc_name()


def test_an_unknown_soc_ends_a_run_with_one_line():
    words = [sys.executable, "-m", "softnpu", "run", "-m", "this"]
    done = command(words, check=False, SOFTNPU_SOC="H100")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "SOFTNPU_SOC='H100'" in done.stderr


@pytest.mark.parametrize("setting", ["none", "0", "-1", "nan", "inf", "1e30"])
def test_a_memory_size_that_is_none_is_refused(monkeypatch, setting):
    monkeypatch.setenv("SOFTNPU_MEMORY", setting)
    with pytest.raises(SoftNpuError, match="not a number of GiB between 0 and"):
        soc.memory_bytes()


@pytest.mark.parametrize("setting", ["none", "0", "17"])
def test_a_number_of_devices_that_is_none_is_refused(monkeypatch, setting):
    monkeypatch.setenv("SOFTNPU_DEVICES", setting)
    with pytest.raises(SoftNpuError, match="not a number from 1 to 16"):
        soc.check_device_count()


@pytest.mark.parametrize("product", ["A3", "950DT"])
def test_torch_npu_takes_each_product(product):
    done = run(
        """
        import torch
        x = torch.arange(4.0, device="npu").requires_grad_()
        y = (x * x + 1).sum()
        y.backward()
        print(x.grad.tolist(), torch.npu.get_device_name())
        """,
        SOFTNPU_SOC=product,
    )
    assert f"[0.0, 2.0, 4.0, 6.0] {soc.PRODUCTS[product][0]} (softnpu)" in done.stdout
