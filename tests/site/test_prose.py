"""Support in prose fails the build; what only sounds like it does not."""

from __future__ import annotations

import pytest
from tinyproject import Project

MESSAGE = "this states support in prose"


@pytest.mark.parametrize(
    "text",
    [
        "make_dual is supported on the A2.",
        "It does not work on Atlas products.",
        "`float16` is unsupported by Ascend910B4.",
        "Ascend chips support it.",
        "Ascend 950DT: ✘",
        "昇腾 支持 fp32",
        "| API | A3 |\n| --- | --- |\n| make_dual | ✔ |",
        "- works on a chip",
        "## Supported on A5\n\nText.",
    ],
)
def test_statement_of_support(project: Project, text: str) -> None:
    project.page(f"Words.\n\n{text}\n")
    result = project.build()
    assert result.code != 0
    assert MESSAGE in result.output and "docs/page.md:" in result.output


@pytest.mark.parametrize(
    "text",
    [
        "The A2 calls another operator.\n\nThis is supported by a proof.",
        "| chip | text |\n| --- | --- |\n| A2 | one |\n| none | supports |",
        "It works on the software NPU.",
        "```text\nmake_dual is supported on A2\n```",
    ],
)
def test_no_statement(project: Project, text: str) -> None:
    project.page(text + "\n")
    result = project.build()
    assert result.code == 0, result.output


def test_script_is_prose_too(project: Project) -> None:
    project.script("one", "# %%\n# This works on the A3.\n\nassert True")
    result = project.build()
    assert result.code != 0
    assert MESSAGE in result.output
