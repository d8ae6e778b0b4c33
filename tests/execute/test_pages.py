"""``make doctest`` on tiny projects: what is executed, counted, and said where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tinyproject import OFF, SILICON, Project


def test_both_styles_run_and_are_counted(project: Project) -> None:
    project.page("""
        ```{doctest}
        >>> x = 1 + 1
        >>> x
        2
        ```

        ```{testcode}
        for _ in range(2):
            print(x)
        ```

        ```{testoutput}
        2
        2
        ```
        """)
    result = project.build("doctest")
    assert result.code == 0, result.output
    assert "2 passed, 0 failed, 0 skipped" in result.output.splitlines()
    assert project.outcomes() == [("block 1", 4, "passed"), ("block 2", 10, "passed")]


def test_wrong_output_fails_with_the_line_of_the_statement(project: Project) -> None:
    project.page("""
        ```{doctest}
        >>> x = 1

        >>> x + 1
        3
        ```
        """)
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md:6: ERROR" in result.output
    assert "Expected:\n    3\nGot:\n    2\n" in result.output
    assert "0 passed, 1 failed, 0 skipped" in result.output.splitlines()
    assert project.outcomes() == [("block 1", 6, "failed")]


def test_testcode_that_raises_names_its_own_line(project: Project) -> None:
    project.page("""
        Some text.

        ```{testcode}
        x = 0
        if True:
            1 / x
        ```
        """)
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md:8: ERROR" in result.output
    assert 'File "docs/page.md", line 8, in <module>' in result.output
    assert "ZeroDivisionError" in result.output


def test_testcode_with_wrong_output_names_its_first_line(project: Project) -> None:
    project.page("""
        ```{testcode}
        :hide:

        print(1)
        ```

        ```{testoutput}
        2
        ```
        """)
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md:6: ERROR" in result.output


def test_lines_hold_in_nested_directives_and_rst(project: Project) -> None:
    project.write(
        "docs/nested.md",
        """\
        # Nested

        ````{note}
        Text.

        ```{doctest}
        >>> 1
        2
        ```
        ````
        """,
    )
    project.write(
        "docs/plain.rst",
        """\
        Plain
        =====

        .. testcode::

           a = 1
           raise KeyError(a)

        >>> 5
        6
        """,
    )
    result = project.build("doctest")
    for place in ("docs/nested.md:7", "docs/plain.rst:7", "docs/plain.rst:9"):
        assert f"{place}: ERROR" in result.output


def test_syntax_error_names_its_line(project: Project) -> None:
    project.page("""
        ```{testcode}
        x = 1
        y = = 2
        ```
        """)
    result = project.build("doctest")
    assert result.code != 0
    assert "SyntaxError" in result.output
    assert 'File "docs/page.md", line 5' in result.output


def test_wrong_expected_error_text_fails(project: Project) -> None:
    page = """
        ```{{doctest}}
        >>> int("a")
        Traceback (most recent call last):
        ...
        ValueError: {text}
        ```
        """
    project.page(page.format(text="invalid literal for int() with base 10: 'a'"))
    assert project.build("doctest").code == 0
    project.page(page.format(text="another text"))
    assert project.build("doctest").code != 0


def test_skip_is_counted_with_page_line_and_reason(project: Project) -> None:
    project.page("""
        ```{doctest}
        :skipif: True
        :reason: needs two devices

        >>> 1
        2
        ```

        ```{testcode}
        :skipif: torch.tensor(1).item() == 1
        :reason: another reason

        print(1)
        ```

        ```{testoutput}
        2
        ```

        ```{doctest}
        :reason: not stable

        >>> 3  # doctest: +SKIP
        4
        ```
        """)
    project.write("docs/good.md", "# Good\n\n```{doctest}\n>>> 1\n1\n```\n")
    result = project.build("doctest")
    assert result.code == 0, result.output
    assert "1 passed, 0 failed, 3 skipped" in result.output.splitlines()
    assert "docs/page.md:7  needs two devices" in result.output
    assert "2 pages: 1 passed, 1 skipped" in result.output


def test_condition_that_does_not_hold_does_not_skip(project: Project) -> None:
    project.page("""
        ```{doctest}
        :skipif: False
        :reason: never

        >>> 1
        1
        ```
        """)
    assert "1 passed, 0 failed, 0 skipped" in project.build("doctest").output


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```{doctest}\n:skipif: False\n\n>>> 1\n1\n```", "a skip needs a reason"),
        ("```{testcode}\n:skipif: True\n\nx = 1\n```", "a skip needs a reason"),
        ("```{doctest}\n>>> 1  # doctest: +SKIP\n```", "needs a reason"),
        ("```{doctest}\n:reason: r\n\n>>> 1  # doctest: +SKIP\n>>> 2\n2\n```", "split the block"),
        ("```{testcode}\nprint(1)\n```\n\n```{testoutput}\n:options: +SKIP\n\n2\n```", "a reason"),
        ("```{testoutput}\n1\n```", "follows no testcode"),
        ("```{doctest}\nx = 1\n```", "no line that begins with '>>>'"),
        ("```{doctest}\n>>>1\n1\n```", "malformed"),
        ("```{doctest}\n:pyversion: ==3\n\n>>> 1\n1\n```", "pyversion"),
    ],
)
def test_block_that_hides_something_fails(project: Project, block: str, message: str) -> None:
    project.write("docs/page.md", f"# Page\n\n{block}\n\n```{{doctest}}\n>>> 1\n1\n```\n")
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md" in result.output
    assert message in result.output


def test_nothing_executed_is_a_failure(project: Project) -> None:
    result = project.build("doctest")
    assert result.code != 0
    assert "no block was executed" in result.output


def test_names_live_on_within_a_page_and_not_beyond(project: Project) -> None:
    project.write("docs/a.md", "# A\n\n```{doctest}\n>>> left = 1\n```\n")
    project.write("docs/b.md", "# B\n\n```{doctest}\n>>> left\n1\n```\n")
    result = project.build("doctest")
    assert "docs/b.md:4: ERROR" in result.output
    assert "NameError" in result.output


def test_groups_and_setup(project: Project) -> None:
    project.page("""
        ```{testsetup} *
        base = 10
        ```

        ```{doctest} one
        >>> import torch
        >>> x = base
        >>> torch.set_default_dtype(torch.float64)
        ```

        ```{doctest} two
        >>> import torch
        >>> "x" in globals(), base, torch.get_default_dtype()
        (False, 10, torch.float32)
        ```
        """)
    result = project.build("doctest")
    assert result.code == 0, result.output
    parts = {part for part, _, _ in project.outcomes() if part.startswith("block")}
    assert parts == {"block 1 of one", "block 2 of two"}


def test_failing_setup_is_a_failure(project: Project) -> None:
    project.page("""
        ```{testsetup}
        1 / 0
        ```

        ```{doctest}
        >>> 1
        1
        ```
        """)
    result = project.build("doctest")
    assert result.code != 0
    assert "1 passed, 1 failed, 0 skipped" in result.output.splitlines()


def test_level_left_open_fails_its_page_only(project: Project) -> None:
    project.write(
        "docs/a.md",
        """\
        # A

        ```{doctest}
        >>> import torch.autograd.forward_ad as fwAD
        >>> level = fwAD.enter_dual_level()
        ```
        """,
    )
    project.write(
        "docs/b.md",
        """\
        # B

        ```{doctest}
        >>> import torch.autograd.forward_ad as fwAD
        >>> level = fwAD.enter_dual_level()
        ```

        ```{doctest}
        >>> fwAD.exit_dual_level()
        ```
        """,
    )
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/a.md:4: ERROR: This block leaves behind" in result.output
    assert "forward-AD level 0 open" in result.output
    assert {outcome for _, _, outcome in project.outcomes("docs/b.md")} == {"passed"}


def test_torch_state_is_reset_and_seeded_between_pages(project: Project) -> None:
    project.write(
        "docs/a.md",
        """\
        # A

        ```{doctest}
        >>> import torch
        >>> first = torch.rand(1).item()
        >>> torch.set_default_dtype(torch.float64)
        >>> _ = torch.set_grad_enabled(False)
        ```
        """,
    )
    project.write(
        "docs/b.md",
        """\
        # B

        ```{doctest}
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> seeded = torch.rand(1).item()
        >>> torch.get_default_dtype(), torch.is_grad_enabled()
        (torch.float32, True)
        ```
        """,
    )
    result = project.build("doctest")
    assert result.code == 0, result.output


def test_device_off_is_refused(project: Project) -> None:
    project.device(OFF)
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    result = project.build("doctest")
    assert result.code != 0
    assert "without DEVICE=off" in result.output


def test_red_build_stays_red(project: Project) -> None:
    project.page("```{code-block} python\nx = 1\n```\n\n{ref}`nowhere`\n")
    for _ in range(2):
        result = project.build()
        assert result.code != 0
        assert "is not executed" in result.output
        assert "undefined label" in result.output


def test_what_changed_runs_again(project: Project) -> None:
    page = "```{{doctest}}\n{options}>>> 1 + 1\n{shown}\n```"
    project.page(page.format(options="", shown="2"))
    assert project.build().code == 0
    # The output alone is another one, and then the condition.
    project.page(page.format(options="", shown="3"))
    for _ in range(2):
        assert project.build().code != 0
        assert project.outcomes() == [("block 1", 4, "failed")]
        assert "1 failed" in project.read("html/page.html")
    project.page(page.format(options=":skipif: True\n:reason: not today\n\n", shown="3"))
    assert project.build().code == 0
    assert [outcome for *_, outcome in project.outcomes()] == ["skipped"]
    assert "Not executed: 1 skipped" in project.read("html/page.html")
    project.page(page.format(options=":skipif: False\n:reason: not today\n\n", shown="3"))
    assert project.build().code != 0


def test_what_changed_in_the_output_of_a_script_runs_again(project: Project) -> None:
    page = "```{testcode}\nprint(1)\n```\n\n```{testoutput}\n1\n```\n"
    project.page(page)
    assert project.build("execute").code == 0
    project.page(page.replace("\n1\n", "\n2\n"))
    assert project.build("execute").code != 0


def test_what_failed_runs_again(project: Project) -> None:
    name = str(project.root / "input.txt")
    project.page(f"```{{doctest}}\n>>> open({name!r}).read()\n'1'\n```")
    assert project.build("execute").code != 0
    project.write("input.txt", "1")
    assert project.build("execute").code == 0


def test_a_block_that_is_skipped_in_part_runs_nevertheless(project: Project) -> None:
    project.page("```{doctest}\n:reason: r\n\n>>> 1  # doctest: +SKIP\n>>> 2\n3\n```")
    assert project.build("doctest").code != 0
    assert project.outcomes() == [("block 1", 7, "failed")]


def test_what_is_written_past_python_is_compared(project: Project) -> None:
    code = "import os, subprocess\nprint(1)\n_ = os.write(1, b'2\\n')\n"
    code += "_ = subprocess.run(['echo', '3'], check=True)"
    page = f"```{{testcode}}\n{code}\n```\n\n```{{testoutput}}\n1\n2\n3\n```\n"
    project.page(page)
    assert project.build("doctest").code == 0
    project.page(page.replace("\n3\n", "\n4\n"))
    result = project.build("doctest")
    assert result.code != 0
    assert "Got:\n    1\n    2\n    3\n" in result.output


def test_a_build_in_which_warnings_may_be_is_red_nevertheless(project: Project) -> None:
    project.strict = ()
    project.page("```{doctest}\n>>> 1\n2\n```")
    assert project.build("doctest").code != 0


def test_a_page_that_did_not_change_runs_again_on_another_device(project: Project) -> None:
    project.page("```{doctest}\n>>> 1 + 1\n2\n```")
    assert "1 executed in" in project.build("execute").output
    assert "0 executed in" in project.build("execute").output
    project.device(SILICON)
    assert "1 executed in" in project.build("execute").output


def test_what_passed_under_other_code_of_the_runner_runs_again(project: Project) -> None:
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    assert project.build("execute").code == 0
    path = project.root / "build/executed.json"
    for old, words in (("", "0 executed"), ('"code": "', "1 executed")):
        text = path.read_text()
        path.write_text(text.replace(old, f"{old}0") if old else text)
        result = project.build("execute")
        assert f"1 pages: 1 passed; {words}" in result.output, result.output


def test_python_without_assertions_is_refused(project: Project) -> None:
    project.page("```{testcode}\nassert 1 == 2\n```\n")
    command = [sys.executable, "-O", "-m", "sphinx", "-b", "doctest", "-c", str(project.root)]
    command += [str(project.root / "docs"), str(project.root / "build/doctest")]
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("npudocs: PYTHONOPTIMIZE is set"), done.stderr


@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_a_limit_that_leaves_no_time_is_refused(project: Project, seconds: str) -> None:
    project.page("```{doctest}\n>>> 1\n1\n```\n")
    result = project.build("execute", "-D", f"execute_limit={seconds}")
    assert result.code != 0
    assert f"execute_limit is {seconds}: a block needs some seconds" in result.output


def test_a_wide_space_and_a_number_for_true_are_another_output(project: Project) -> None:
    project.page("```{doctest}\n>>> print('a  b')\na b\n>>> 1 == 1\n1\n```")
    project.build("doctest")
    message = project.units()["docs/page.md"]["results"][0]["message"]
    assert message.count("Expected:") == 2
