"""Links inside a site: what leads nowhere is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudocs.site import links


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


def test_a_sound_site_has_no_problem(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert links.main([str(site)]) == 0
    assert "2 pages, 0 links that lead nowhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("gone.html", "leads to no file"),
        ("../index.html#gone", "has no anchor 'gone' to lead to in index.html"),
        ("#gone", "has no anchor 'gone' to lead to in api/x.html"),
        ("../../other.html", "leads out of the site"),
        ("/api/x.html", "is absolute"),
        ("../data/", "leads to no file"),
    ],
)
def test_a_broken_link_is_named(
    site: Path, link: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (site / "api/x.html").open("a", encoding="utf-8") as file:
        file.write(f'<img src="{link}">\n')
    assert links.main([str(site)]) == 1
    captured = capsys.readouterr()
    assert f"api/x.html:2: {link!r} " in captured.err and says in captured.err


@pytest.mark.parametrize(
    "link", ["", "../", "x.html?v=1", "../index.html#status=same&amp;form=dual", "data:image/png,x"]
)
def test_other_links_are_left_alone(site: Path, link: str) -> None:
    with (site / "api/x.html").open("a", encoding="utf-8") as file:
        file.write(f'<a href="{link}">')
    assert list(links.problems(site)) == []


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        links.main([str(tmp_path)])
    assert "make html builds them" in capsys.readouterr().err
