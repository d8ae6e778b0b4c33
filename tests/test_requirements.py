"""The pins of docs/requirements.txt, each for every Python that the README names."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

FILE = Path(__file__).parents[1] / "docs" / "requirements.txt"
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PINS = [
    Requirement(line)
    for line in FILE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
# What this Python has installed can be asked for the others it runs with.
INSTALLED = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate()]


@pytest.mark.parametrize("pin", INSTALLED, ids=str)
def test_a_pin_is_installed_and_runs_with_every_python_it_is_for(pin):
    found = importlib.metadata.distribution(pin.name)
    assert found.version in pin.specifier
    runs = SpecifierSet(found.metadata["Requires-Python"] or "")
    for python in PYTHONS:
        if pin.marker is None or pin.marker.evaluate({"python_version": python}):
            assert f"{python}.0" in runs, f"{pin} needs Python {runs}"


@pytest.mark.parametrize("python", PYTHONS)
def test_every_python_gets_one_version_of_each(python):
    names = [
        pin.name
        for pin in PINS
        if pin.marker is None or pin.marker.evaluate({"python_version": python})
    ]
    assert len(names) == len(set(names)) == len({pin.name for pin in PINS})
