"""A link to a name that nobody knows says what to do."""

from __future__ import annotations

import pytest
from tinyproject import Project


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "See {py:func}`torch.func.jvp`.",
            "add a line for it to docs/inventory.txt: NAME KIND PATH",
        ),
        ("See {py:class}`torch.Tensr`.", "correct it (torch.Tensor is there)"),
        ("See {py:func}`numpy.add`.", "correct it, or describe it on a page"),
    ],
)
def test_an_unknown_name_says_what_to_do(project: Project, text: str, said: str) -> None:
    project.page(text)
    result = project.build()
    assert result.code != 0
    (line,) = (line for line in result.output.splitlines() if "no page and no inventory" in line)
    assert "docs/page.md:3: ERROR: no page and no inventory has the name" in line and said in line
    assert "reference target not found" not in result.output


def test_known_names_and_other_domains_are_as_ever(project: Project) -> None:
    project.page("See {py:class}`torch.Tensor`.")
    assert project.build().code == 0
    project.page("See {term}`nothing`.")
    result = project.build()
    assert (
        result.code != 0
        and "nothing" in result.output
        and "no page and no inventory" not in result.output
    )
