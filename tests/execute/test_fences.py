"""Python that is shown but not executed."""

from __future__ import annotations

import pytest
from tinyproject import Project

GOOD = "\n\n```{doctest}\n>>> 1\n1\n```\n"


@pytest.mark.parametrize(
    "fence",
    [
        "```python\nx = 1\n```",
        "```py\nx = 1\n```",
        "```pycon\n>>> 1\n1\n```",
        "```Python3\nx = 1\n```",
        "```ipython\nx = 1\n```",
        "```\n>>> 1\n1\n```",
        "```text\n>>> 1\n1\n```",
        "    >>> 1\n    1",
        "```{code-block} python\nx = 1\n```",
        "```{literalinclude} ../examples/one.py\n:language: python\n```",
        "```{eval-rst}\n.. code-block:: python\n\n   x = 1\n```",
        ":::{doctest}\n>>> 1\n2\n:::",
        "```python2\nprint 1\n```",
        "```{code-block} numpy\nx = 1\n```",
        "```text\nfrom torch import nn\n```",
        "```\nx = torch.ones(3)\nassert x.sum() == 4\n```",
        "```{eval-rst}\nSo::\n\n   def f(x):\n       return x\n```",
        "<pre><code>\n&gt;&gt;&gt; 1 + 1\n3\n</code></pre>",
        '```{raw} html\n<code class="language-python">x = 1</code>\n```',
    ],
)
def test_unexecuted_python_fails(project: Project, fence: str) -> None:
    project.script("one")
    project.page(fence + GOOD)
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md:" in result.output
    assert "{doctest}" in result.output or "plain text" in result.output


def test_unexecuted_python_fails_the_site_too(project: Project) -> None:
    project.page("```python\nx = 1\n```" + GOOD)
    result = project.build()
    assert result.code != 0
    assert "docs/page.md:3: ERROR: this python code is not executed" in result.output


@pytest.mark.parametrize(
    "fence",
    [
        "```bash\nls\n```",
        "```text\nx = 1\n```",
        "```\nx\n```",
        "```text\ntensor([1.])\nUserWarning: import it\n```",
        "```text\nTimes = 3 (of 4)\n```",
        '<p class="note">so</p>',
    ],
)
def test_other_languages_pass(project: Project, fence: str) -> None:
    project.page(fence + GOOD)
    result = project.build("doctest")
    assert result.code == 0, result.output


def test_reason_is_shown_and_listed(project: Project) -> None:
    project.script("one")
    project.page(
        "```{not-executed} python\n:reason: needs a chip\n\nx = 1\n```\n\n"
        "```{not-executed} python\n:reason: run by make\n:file: ../examples/one.py\n```" + GOOD
    )
    result = project.build("doctest")
    assert result.code == 0, result.output
    assert "docs/page.md:3  needs a chip" in result.output
    assert "2 Python fences marked as not executed" in result.output
    assert project.build().code == 0
    page = project.read("html/page.html")
    assert "Not executed: needs a chip" in page
    assert "verifies" in page


def test_marked_without_reason_fails(project: Project) -> None:
    project.page("```{not-executed} python\nx = 1\n```" + GOOD)
    result = project.build("doctest")
    assert result.code != 0
    assert "needs the option :reason:" in result.output


@pytest.mark.parametrize(
    "text", [".. code-block:: python\n#\n#    x = 1", ">>> 1\n# 2", ".. testcode::\n#\n#    x = 1"]
)
def test_code_in_the_text_of_a_script_fails(project: Project, text: str) -> None:
    project.script("one", f"x = 2\n\n# %%\n# Text:\n#\n# {text}\n\nassert x")
    result = project.build()
    assert result.code != 0
    assert "not executed" in result.output
