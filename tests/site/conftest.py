"""The project that a test builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tinyproject import Project


@pytest.fixture
def project(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Project:
    """A project with an index page and an empty gallery."""
    return Project(tmp_path, capfd)
