"""The variables ``SOFTNPU_...``: 0 or 1 for a switch, and a name that means nothing is refused."""

from __future__ import annotations

import re
import sys

import pytest
from programs import command, run

from softnpu import SoftNpuError, build, settings

NAMES = {*settings.SWITCHES, *settings.OTHERS}


@pytest.mark.parametrize("switch", settings.SWITCHES)
@pytest.mark.parametrize("value", ["yes", "true", "on", "2", "no", " 1", "off"])
def test_a_switch_is_0_or_1(monkeypatch, switch, value):
    monkeypatch.setenv(switch, value)
    wanted = re.escape(f"{switch}={value!r} is neither 1 (on) nor 0 (off).")
    with pytest.raises(SoftNpuError, match=wanted):
        settings.check()


@pytest.mark.parametrize("switch", settings.SWITCHES)
@pytest.mark.parametrize(("value", "on"), [("1", True), ("0", False), ("", False)])
def test_what_a_switch_says(monkeypatch, switch, value, on):
    monkeypatch.setenv(switch, value)
    settings.check()
    assert settings.is_on(switch) is on


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("SOFTNPU_DEVICE", "Is it SOFTNPU_DEVICES?"),
        ("SOFTNPU_ASYNCH", "Is it SOFTNPU_ASYNC?"),
        ("SOFTNPU_SIGNAL", "Is it SOFTNPU_SIGNALS?"),
        ("SOFTNPU_MEM", "Is it SOFTNPU_MEMORY?"),
        ("SOFTNPU_COLOR", "Known are SOFTNPU_ASYNC, SOFTNPU_CACHE, SOFTNPU_DEVICES, "),
    ],
)
def test_an_unknown_variable_is_named_with_the_nearest(monkeypatch, name, near):
    monkeypatch.setenv(name, "1")
    with pytest.raises(SoftNpuError, match=f"{name} is no setting of softnpu. {re.escape(near)}"):
        settings.check()


def test_every_variable_that_the_code_reads_is_known_and_documented():
    sources = {*build.HERE.rglob("*.py"), *build.SOURCES} - {build.HERE / "settings.py"}
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    assert set(re.findall(r'(?<=")SOFTNPU_[A-Z]+(?=")', text)) == NAMES
    for page in (build.HERE / "README.md", build.HERE.parent / "docs" / "softnpu.md"):
        assert {
            *re.findall(r"^\| `(SOFTNPU_\w+)` ", page.read_text(encoding="utf-8"), re.M)
        } == NAMES


@pytest.mark.parametrize(
    "setting", [("SOFTNPU_FORCE", "yes"), ("SOFTNPU_ASYNC", "yes"), ("SOFTNPU_DEVICE", "2")]
)
@pytest.mark.parametrize("words", [["run", "-m", "this"], ["export"], ["info", "add"]])
def test_a_wrong_setting_ends_a_command_with_one_line(words, setting):
    name, value = setting
    done = command([sys.executable, "-m", "softnpu", *words], check=False, **{name: value})
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(rf"softnpu: {name}.* is n.*\n", done.stderr)


@pytest.mark.parametrize("switch", ["SOFTNPU_ASYNC", "SOFTNPU_SIGNALS"])
def test_a_switch_set_before_the_first_use_is_checked_there(switch):
    done = run("import torch; torch.ones(2, device='npu')", check=False, **{switch: "yes"})
    assert done.returncode == 1
    assert f"{switch}='yes' is neither 1 (on) nor 0 (off)." in done.stderr
