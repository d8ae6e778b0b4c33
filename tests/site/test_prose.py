"""Support in prose fails the build, in any shape and language; what only sounds like it does not."""

from __future__ import annotations

from pathlib import Path

from tinyproject import Project

TEXTS = Path(__file__).parent / "prose"
MESSAGE = "this states support in prose"
MORE = """
extensions += ["sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist"]
locale_dirs = ["../locales"]
"""
QUOTED = "```{not-support}\n:reason: quotes a report\n\nThe report says: ✔ on A2.\n```\n"


def texts(name: str) -> list[str]:
    """Return the texts of a file; a page is made of each."""
    return (TEXTS / name).read_text(encoding="utf-8").split("\n\n<!-- next -->\n\n")


def pages(project: Project, texts: list[str]) -> None:
    """Write a page for each text."""
    conf = project.root / "conf.py"
    conf.write_text(conf.read_text() + MORE)
    for number, text in enumerate(texts, 1):
        project.write(f"docs/p{number:03}.md", f"# P{number}\n\nWords.\n\n{text}\n")


def test_statements_of_support(project: Project) -> None:
    claims = texts("claims.md")
    pages(project, claims)
    result = project.build()
    assert result.code != 0
    told = {
        line.partition(".md:")[0][-4:] for line in result.output.splitlines() if MESSAGE in line
    }
    assert len(claims) > 140
    assert [text for n, text in enumerate(claims, 1) if f"p{n:03}" not in told] == []


def test_no_statements(project: Project) -> None:
    pages(project, texts("may_stand.md"))
    result = project.build()
    assert result.code == 0, result.output


def test_a_translation_is_prose_too(project: Project) -> None:
    pages(project, ["The A2 calls another operator."])
    project.write(
        "locales/zh_CN/LC_MESSAGES/p001.po",
        'msgid "The A2 calls another operator."\nmsgstr "A2 支持该算子。"\n',
    )
    assert project.build().code == 0
    result = project.build("zh", "-b", "html", "-D", "language=zh_CN")
    assert result.code != 0
    assert f"docs/p001.md:5: ERROR: {MESSAGE} ('A2' with '支持')" in result.output


def test_script_is_prose_too(project: Project) -> None:
    project.script("one", "# %%\n# This works on the A3.\n\nassert True")
    result = project.build()
    assert result.code != 0
    assert MESSAGE in result.output


def test_escape_needs_a_reason(project: Project) -> None:
    project.page(QUOTED.replace(":reason: quotes a report\n\n", ""))
    result = project.build()
    assert result.code != 0
    assert "not-support needs the option :reason:" in result.output


def test_reasons_are_listed_also_of_pages_that_did_not_change(project: Project) -> None:
    project.page(QUOTED)
    for _ in range(2):
        result = project.build()
        assert result.code == 0, result.output
        assert "page.md:3  quotes a report" in result.output


def test_an_escape_of_nothing_is_refused(project: Project) -> None:
    project.page(QUOTED.replace("✔ on", "see the"))
    result = project.build()
    assert result.code != 0
    assert "docs/page.md:3: ERROR: {not-support} without such a statement" in result.output
