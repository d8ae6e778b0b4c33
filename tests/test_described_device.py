"""The device question, with a torch that answers as the test says."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest
from tinyproject import OFF, SILICON, SOFTWARE, Project

from npudocs import device
from npudocs.device import Device, DeviceError

# What npu-smi prints for "info -l" and "info -t board", shortened.
BOARD = {
    "-l": "Total Count                    : 1\n\n\tNPU ID                         : 7\n",
    "-t": (
        "\tNPU ID                         : 7\n"
        "\tSoftware Version               : 23.0.5\n"
        "\tFirmware Version               : 7.1.0.7.220\n"
        "\tCompatibility                  : OK\n"
    ),
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.SimpleNamespace:
    """Let torch, torch_npu and softnpu answer what the returned namespace says."""
    answers = types.SimpleNamespace(accelerator="npu", name="softnpu Ascend910B3", software=True)
    torch = types.ModuleType("torch")
    torch.__version__ = "2.13.0+cpu"
    torch.accelerator = types.SimpleNamespace(
        current_accelerator=lambda **_: (
            answers.accelerator and types.SimpleNamespace(type=answers.accelerator)
        )
    )
    torch.npu = types.SimpleNamespace(get_device_name=lambda: answers.name)
    softnpu = types.SimpleNamespace(
        is_software=lambda: answers.software,
        fingerprint=lambda: "f00d",
        soc=types.SimpleNamespace(soc_name=lambda: "Ascend910B3"),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(device, "softnpu", softnpu)
    monkeypatch.setattr(device, "_torch_version", lambda: "2.13.0+cpu")
    monkeypatch.setattr(device.preflight, "versions_problem", lambda: None)
    monkeypatch.setattr(device.metadata, "version", lambda name: "2.13.0")
    answers.cann = {"CANN": "9.1.0", "DRIVER": "25.5.1"}
    monkeypatch.setattr(device, "_cann_version", lambda module: answers.cann[module])
    monkeypatch.setattr(device, "_npu_smi", lambda *words: BOARD[words[0]])
    monkeypatch.setattr(device, "ASCEND", tmp_path)
    monkeypatch.delenv("NPUDOCS_DEVICE", raising=False)
    return answers


def test_software(fake: types.SimpleNamespace) -> None:
    found = device.describe()
    assert (found.kind, found.soc, found.softnpu, found.cann) == (
        "software",
        "Ascend910B3",
        "f00d",
        "",
    )
    assert "software NPU (no chip)" in found.described()
    # Described by its settings, it is what torch says of it.
    fake.name = "Ascend910B3 (softnpu)"
    assert device.ask() == found


def test_silicon(fake: types.SimpleNamespace) -> None:
    fake.name, fake.software = "Ascend910_9391", False
    found = device.describe()
    assert (found.kind, found.soc, found.cann) == ("silicon", "Ascend910_9391", "9.1.0")
    assert "soft" not in found.described()


def _driver_and_firmware(fake: types.SimpleNamespace) -> tuple[str, str]:
    fake.name, fake.software = "Ascend910B1", False
    found = device.ask()
    return found.driver, found.firmware


def test_driver_and_firmware_are_asked_of_a_chip(
    fake: types.SimpleNamespace, tmp_path: Path
) -> None:
    for name, text in (
        ("driver", "Version=25.5.0\nascendhal_version=7.35.19\nInnerversion=V100R001C23\n"),
        ("firmware", "Version=7.1.0.11.220\nfirmware_version=1.0\npackage_version=23.0.7\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "version.info").write_text(text, encoding="utf-8")
    assert _driver_and_firmware(fake) == ("25.5.1", "7.1.0.11.220")
    # CANN need not tell the driver's.
    fake.cann["DRIVER"] = ""
    assert _driver_and_firmware(fake) == ("25.5.0", "7.1.0.11.220")


def test_a_container_without_the_files_asks_the_tool(fake: types.SimpleNamespace) -> None:
    fake.cann["DRIVER"] = ""
    assert _driver_and_firmware(fake) == ("23.0.5", "7.1.0.7.220")


@pytest.mark.parametrize("fails", ["tool", "board"])
def test_what_nothing_tells_is_empty(
    fake: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    fake.cann["DRIVER"] = ""

    def npu_smi(*words: str) -> str:
        if fails == "tool":
            raise subprocess.CalledProcessError(1, "npu-smi")
        return BOARD["-l"] if words[0] == "-l" else "Firmware Version : NA\n"

    monkeypatch.setattr(device, "_npu_smi", npu_smi)
    assert _driver_and_firmware(fake) == ("", "")


def test_software_has_neither_driver_nor_firmware(fake: types.SimpleNamespace) -> None:
    found = device.describe()
    assert (found.cann, found.driver, found.firmware) == ("", "", "")


@pytest.mark.parametrize(("name", "software"), [("Ascend910B1", True), ("softnpu", False)])
def test_name_and_library_that_disagree_are_refused(
    fake: types.SimpleNamespace, name: str, software: bool
) -> None:
    fake.name, fake.software = name, software
    with pytest.raises(DeviceError, match="Refusing"):
        device.ask()


@pytest.mark.parametrize(("accelerator", "found"), [(None, "none"), ("cuda", "'cuda'")])
def test_no_npu_says_what_to_do(
    fake: types.SimpleNamespace, accelerator: str | None, found: str
) -> None:
    fake.accelerator, fake.software = accelerator, False
    words = f"accelerator found is {found}.*set_env.sh"
    with pytest.raises(DeviceError, match=words):
        device.ask()
    with pytest.raises(DeviceError, match=words):
        device.describe()


def test_an_autoload_that_is_off_is_named(
    fake: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.accelerator = None
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    with pytest.raises(DeviceError, match="TORCH_DEVICE_BACKEND_AUTOLOAD=0 is set: unset it"):
        device.ask()


def test_versions_are_compared_before_anything_is_imported(
    fake: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(device.preflight, "versions_problem", lambda: "they do not match")
    with pytest.raises(DeviceError, match="they do not match"):
        device.describe()


def test_torch_that_cannot_be_imported(
    fake: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceError, match="torch cannot be imported here"):
        device.ask()


def test_off_and_unknown_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
    monkeypatch.setenv("NPUDOCS_DEVICE", "off")
    assert device.describe() == Device("off")
    monkeypatch.setenv("NPUDOCS_DEVICE", "cpu")
    with pytest.raises(DeviceError, match="only value is 'off'"):
        device.describe()


def test_every_field_changes_the_stamp() -> None:
    device = Device("software")
    fields = ("kind", "name", "soc", "torch", "torch_npu", "cann", "softnpu", "python", "driver")
    stamps = {Device(**{"kind": "software", field: "other"}).stamp() for field in fields}
    assert len(stamps | {device.stamp()}) == 10


def test_pages_name_the_device_and_never_alike(project: Project) -> None:
    project.page("```{doctest}\n>>> 1\n1\n```\n\n```{device}\n```\n")
    texts = {}
    for kind, arguments in (("software", SOFTWARE), ("silicon", SILICON), ("off", OFF)):
        project.device(arguments)
        result = project.build()
        assert result.code == 0, result.output
        # Another device's results are not this one's.
        assert kind == "off" or "1 pages: 1 passed; 1 executed" in result.output
        texts[kind] = project.read("html/page.html")
        assert f"npudocs-banner npudocs-{kind}" in texts[kind]
    assert "Executed on softnpu, the software NPU (no chip), as Ascend910B1" in texts["software"]
    assert "Ascend910B1 (emulated)" in texts["software"]
    assert "Executed on an Ascend chip" in texts["silicon"]
    assert "softnpu" not in texts["silicon"]
    assert "not executed in this build" in texts["off"]


def test_changed_block_is_executed_again(project: Project) -> None:
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    assert "1 pages: 1 passed; 1 executed" in project.build().output
    assert "1 pages: 1 passed; 0 executed" in project.build().output
    project.page("Prose.\n\n```{doctest}\n>>> 1\n1\n```\n")
    assert "1 pages: 1 passed; 0 executed" in project.build().output
    project.page("```{doctest}\n>>> 2\n2\n```\n")
    assert "1 pages: 1 passed; 1 executed" in project.build().output


def test_build_without_a_device_ends_with_one_message(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing() -> Device:
        raise DeviceError("what to do")

    monkeypatch.setattr(device, "describe", nothing)
    conf = project.root / "conf.py"
    conf.write_text(conf.read_text().replace("execute_device =", "unused ="))
    result = project.build()
    assert result.code == 1
    assert "npudocs: what to do" in result.output
    assert "Traceback" not in result.output
