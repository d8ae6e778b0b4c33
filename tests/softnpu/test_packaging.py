"""What ``pip install`` of this project gives: softnpu alone, with all that it needs to start."""

from __future__ import annotations

import email.message
import email.parser
import shutil
import sys
from pathlib import Path

import pytest
from programs import ROOT, command

pytestmark = pytest.mark.full

pytest.importorskip("setuptools", minversion="77", reason="pip install 'setuptools>=77'")

SOURCE = ROOT / "softnpu"
DATA = {".tsv", ".sh", ".c", ".h"}


def not_made(folder: Path) -> list[Path]:
    """The files below a folder, without Python's caches."""
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The checkout as a source distribution, that as a wheel, and the wheel in a folder."""
    folder = tmp_path_factory.mktemp("packaging")
    checkout = folder / "checkout"
    # The folders that must stay out are part of it.
    for name in ("softnpu", "npudocs", "tests", "tools"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", "README.md", "conf.py", "noxfile.py"):
        shutil.copy(ROOT / name, checkout)
    make_sdist = f"from setuptools import build_meta as b; b.build_sdist({str(folder)!r})"
    command([sys.executable, "-c", make_sdist], cwd=checkout)
    (sdist,) = folder.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    command([*pip, "wheel", *offline, "--no-build-isolation", "-w", str(folder), str(sdist)])
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    command([*pip, "install", *offline, "--target", str(folder / "target"), str(wheel)])
    return folder / "target"


@pytest.fixture(scope="module")
def metadata(installed) -> email.message.Message:
    (path,) = installed.glob("*.dist-info/METADATA")
    return email.parser.Parser().parsestr(path.read_text(encoding="utf-8"))


def test_it_is_softnpu_alone(installed):
    (info,) = installed.glob("softnpu-*.dist-info")
    assert {path.name for path in installed.iterdir()} == {"softnpu", info.name, "bin"}


def test_no_file_is_missing_and_none_is_new(installed):
    def names(folder: Path) -> set[str]:
        return {path.relative_to(folder).as_posix() for path in not_made(folder)}

    assert {path.suffix for path in not_made(SOURCE)} <= {".py", ".md", *DATA}
    assert names(installed / "softnpu") == names(SOURCE)


def test_the_metadata_speaks_of_softnpu(metadata):
    assert metadata["Name"] == "softnpu"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert set(metadata["Requires-Python"].split(",")) == {">=3.10", "<3.14"}
    assert metadata.get_payload().strip() == (SOURCE / "README.md").read_text("utf-8").strip()


def test_torch_is_left_to_the_user(metadata):
    assert metadata.get_all("Requires-Dist") is None


def test_both_commands_start(installed, tmp_path):
    here = {"PYTHONPATH": str(installed)}
    script = command([str(installed / "bin" / "softnpu"), "env"], cwd=tmp_path, **here)
    assert script.stdout.strip() == str(installed / "softnpu" / "set_env.sh")
    info = command([sys.executable, "-m", "softnpu", "info"], cwd=tmp_path, **here)
    assert "a software NPU, not a chip" in info.stdout
    assert "    aclnnMul" in info.stdout


def test_pytest_finds_the_plugin(installed, tmp_path):
    test = "import softnpu\ndef test_it():\n    assert softnpu.is_software()\n"
    (tmp_path / "test_it.py").write_text(test)
    # Naming the plugin as well, as one does in a checkout, does no harm.
    for named in ([], ["-p", "softnpu.pytest_plugin"]):
        words = [sys.executable, "-m", "pytest", "--softnpu", *named]
        done = command(words, cwd=tmp_path, PYTHONPATH=str(installed))
        assert "softnpu: software NPU, not a chip" in done.stdout
        assert "1 passed" in done.stdout
