"""The pytest plugin: ``pytest --softnpu``, or ``softnpu = true`` in the ini file.

An installed softnpu brings it along. From a checkout: ``-p softnpu.pytest_plugin``.
The processes of pytest-xdist get the device as every child process does: by the environment.
"""

from __future__ import annotations

import importlib
import os
import sys

import pytest

from . import SoftNpuError, activate, soc


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option and the setting; neither turns anything on by being there."""
    about = "run the tests on the software NPU (on an Ascend host: on its device)"
    parser.getgroup("softnpu").addoption("--softnpu", action="store_true", help=about)
    parser.addini("softnpu", f"true: {about}", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Turns the device on: no conftest was imported yet, and so, as a rule, no torch.

    Raises:
        pytest.UsageError: softnpu cannot be turned on, with what to do about it; or the setting
            is neither true nor false.
    """
    if not _wanted(early_config):
        return
    imported_before = "torch_npu" in sys.modules
    try:
        kind = activate()
    except SoftNpuError as error:
        message = f"softnpu: {error}"
        if imported_before:
            message += (
                " A plugin imported it before pytest knew its options: "
                "run the tests with python -m softnpu run -m pytest instead."
            )
        raise pytest.UsageError(message) from error
    _have_torch_load_it()
    early_config.stash[_KIND] = kind


def _have_torch_load_it() -> None:
    # With another value torch does not load torch_npu, and the tests would run on the CPU.
    if os.environ.get(_AUTOLOAD, "1") != "1":
        os.environ[_AUTOLOAD] = "1"
        if "torch" in sys.modules:
            importlib.import_module("torch_npu")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says which device the tests run on, so that no log passes software for a chip."""
    kind = config.stash.get(_KIND, None)
    if kind == "software":
        name = soc.soc_name()
        return f"softnpu: software NPU, not a chip: emulates {name} ({soc.product(name)})"
    if kind == "silicon":
        return "softnpu: silicon: stepped aside for this machine's Ascend device"
    return None


_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_KIND = pytest.StashKey[str]()


def _wanted(config: pytest.Config) -> bool:
    try:
        return bool(config.getini("softnpu") or config.known_args_namespace.softnpu)
    except (ValueError, pytest.UsageError) as error:  # by the version of pytest
        raise pytest.UsageError(f"softnpu: the setting softnpu: {error}: true or false") from error
