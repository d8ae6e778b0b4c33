"""The files that publish the site: they are valid, pin what they use, and call what the Makefile has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW, READTHEDOCS = ".github/workflows/site.yml", ".readthedocs.yaml"


def load(name: str) -> dict[str, Any]:
    """One of the files."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def steps() -> list[dict[str, Any]]:
    """The steps of all jobs of the workflow."""
    return [step for job in load(WORKFLOW)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", [WORKFLOW, READTHEDOCS])
def test_every_target_exists(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {*re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE)}
    called = re.findall(r"\bmake ([a-z][\w-]*)", (ROOT / name).read_text(encoding="utf-8"))
    assert called and {*called} <= targets


def test_the_workflow_checks_and_keeps_the_site() -> None:
    run = [step["run"] for step in steps() if "run" in step]
    assert "make check" in run
    kept = [s for s in steps() if "upload-artifact" in s.get("uses", "")]
    assert [step["with"]["path"] for step in kept] == ["build/html"]


def test_actions_are_pinned_and_pip_is_cached() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one) for one in used)
    text = (ROOT / WORKFLOW).read_text(encoding="utf-8")
    assert len(re.findall(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)) == len(used)
    python = [s["with"] for s in steps() if "setup-python" in s.get("uses", "")]
    assert python and all(settings["cache"] == "pip" for settings in python)


def test_the_check_has_both_languages_and_the_links() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^LANGUAGES \?= en zh_CN$", makefile, re.MULTILINE)
    check = re.search(r"^check: (.*)$", makefile, re.MULTILINE)[1].split()
    assert check.index("links") > check.index("html")


def test_read_the_docs_publishes_the_built_site() -> None:
    settings = load(READTHEDOCS)
    assert settings["version"] == 2
    commands = settings["build"]["commands"]
    assert commands[0].startswith("make html")
    assert commands[-1] == 'cp -R build/html "$READTHEDOCS_OUTPUT/html"'
