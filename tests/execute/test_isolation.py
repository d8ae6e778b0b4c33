"""What breaks a page, script or test costs itself only, and is named with file and line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tinyproject import Project

from npudocs.execute import isolate
from npudocs.execute.isolate import Report, Task
from npudocs.execute.results import Result

PAGE = """
    ```{testsetup}
    import os
    ```

    ```{doctest}
    >>> a = 1
    ```

    ```{doctest}
    >>> os._exit(0)
    ```

    ```{doctest}
    >>> a
    1
    ```

    ```{testcode}
    print(a + 1)
    ```

    ```{testoutput}
    3
    ```

    ```{doctest}
    :skipif: True
    :reason: needs two devices

    >>> 1
    1
    ```
    """


def test_a_page_that_ends_its_process_is_red_and_the_rest_of_it_is_run(project: Project) -> None:
    project.page(PAGE)
    project.write("docs/next.md", "# Next\n\n```{doctest}\n>>> 1\n1\n```\n")
    for builder in ("doctest", "html"):
        result = project.build(builder)
        assert result.code != 0
        assert "docs/page.md:12: ERROR: block 2 ends its process" in result.output
        assert "the process ended with exit code 0" in result.output
        outcomes = {part: outcome for part, _, outcome in project.outcomes()}
        assert [outcomes[f"block {number}"] for number in range(1, 6)] == [
            *("passed", "crashed", "passed", "failed", "skipped")
        ]
        assert project.outcomes("docs/next.md") == [("block 1", 4, "passed")]


@pytest.mark.parametrize(
    ("code", "outcome", "line", "words"),
    [
        ("import os\nos._exit(0)", "crashed", 13, "exit code 0"),
        ("import os\nos.abort()", "crashed", 13, "SIGABRT\nFatal Python error: Aborted"),
        ("import sys\nsys.exit(3)", "failed", 13, "SystemExit: 3"),
        ("while True: pass", "timeout", 12, "no result after 2 s"),
    ],
)
def test_a_script_that_breaks_is_named(
    project: Project, code: str, outcome: str, line: int, words: str
) -> None:
    project.script("one", code)
    project.script("two")
    result = project.build("html", "-D", "execute_limit=2")
    assert result.code != 0
    assert f"examples/one.py:{line}: ERROR" in result.output
    broken, fine = (project.units()[f"examples/{name}.py"]["results"][0] for name in ("one", "two"))
    assert (broken["outcome"], broken["line"], fine["outcome"]) == (outcome, line, "passed")
    assert result.output.count(f"examples/one.py:{line}: ERROR") == 1
    assert "2 scripts: 1 failed, 1 passed" in result.output
    assert words in broken["message"]


TESTS = """
    import os
    import unittest

    class TestAll(unittest.TestCase):
        def test_item1_level(self):
            pass

        def test_item2_crash(self):
            os.abort()

        def test_make_dual_bfloat16(self):
            self.assertEqual(1, 2)

        @unittest.skip("not here")
        def test_skipped(self):
            pass

        def test_subtests(self):
            for number in range(3):
                with self.subTest(number):
                    self.assertEqual(number, 1)

        def test_raises(self):
            raise KeyError("so")

        @unittest.expectedFailure
        def test_unexpected_success(self):
            pass

        def test_subtest_fails_before_a_skip(self):
            with self.subTest(1):
                self.fail("so")
            self.skipTest("not here")

        def test_zzz_opens_a_level(self):
            import torch.autograd.forward_ad as fwAD
            fwAD.enter_dual_level()
    """


def test_methods_of_a_test_file(project: Project) -> None:
    project.write("tests/test_a.py", TESTS)
    project.write("tests/test_b.py", "import nothing_of_that_name")
    result = project.build("execute")
    assert result.code != 0
    found = {one["part"]: one for one in project.units()["tests/test_a.py"]["results"]}
    outcomes = {part: one["outcome"] for part, one in found.items()}
    assert outcomes == {
        "test_item1_level": "passed",
        "test_item2_crash": "crashed",
        "test_make_dual_bfloat16": "failed",
        "test_skipped": "skipped",
        "test_subtests": "failed",
        "test_subtest_fails_before_a_skip": "failed",
        "test_raises": "failed",
        "test_unexpected_success": "failed",
        "test_zzz_opens_a_level": "failed",
    }
    failed = found["test_make_dual_bfloat16"]
    assert (failed["line"], failed["message"]) == (13, "AssertionError: 1 != 2")
    assert found["test_skipped"]["message"] == "not here"
    (other,) = project.units()["tests/test_b.py"]["results"]
    assert (other["part"], other["outcome"], other["line"]) == ("", "failed", 1)
    assert "No module named 'nothing_of_that_name'" in other["message"]


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("", 1, "this file has no test"),
        ("def test_a(x):\n    assert x == 2\n", 2, "test_a does not run"),
        ("class A:\n    def test_a(self):\n        assert 0\n", 3, "test_a does not run"),
        (
            "class A(T):\n    def test_a(self): assert 0\n    def test_a(self): pass\n",
            3,
            "two tests are called test_a",
        ),
        (
            "class A(T):\n    def test_a(self): assert 0\nclass B(T):\n    def test_a(self): pass\n",
            3,
            "two tests are called test_a",
        ),
        (
            "class A(T):\n    def test_a(self): assert 0\n"
            "def load_tests(*_):\n    return __import__('unittest').TestSuite()\n",
            3,
            "test_a does not run",
        ),
        (
            "import unittest\nclass A(T):\n    @unittest.expectedFailure\n"
            "    def test_a(self):\n        assert 0\n",
            4,
            "it fails as expected",
        ),
    ],
)
def test_a_test_that_does_not_run_is_red(
    project: Project, code: str, line: int, words: str
) -> None:
    project.write("tests/test_a.py", f"from unittest import TestCase as T\n{code}")
    assert project.build("execute").code != 0
    (one,) = project.units()["tests/test_a.py"]["results"]
    assert (one["outcome"], one["line"]) == ("failed", line)
    assert words in one["message"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="unittest says nothing before Python 3.11")
@pytest.mark.parametrize("body", ["yield", "return 1 == 2"])
def test_a_test_that_returns_something_is_red(project: Project, body: str) -> None:
    code = "import unittest\nclass A(unittest.TestCase):\n    {}def test_a(self):\n        {}\n"
    for how in ("", "async "):
        project.write("tests/test_a.py", code.format(how, body if not how else "assert 1 == 2"))
        assert project.build("execute").code != 0
        (one,) = project.units()["tests/test_a.py"]["results"]
        assert one["outcome"] == "failed", one


def _step(part: str, work: object) -> object:
    def run(report: Report) -> str:
        report.start(part, 7)
        work()
        report.end(Result(part, 7, "passed"))
        return part

    return run


def test_a_child_that_outlives_its_process_is_ended_with_it(tmp_path: Path) -> None:
    def fork_and_die() -> None:
        if child := os.fork():
            (tmp_path / "child").write_text(str(child))
            os._exit(5)
        time.sleep(60)

    began = time.monotonic()
    ((_, ended),) = isolate.run([Task("a", _step("one", fork_and_die))], limit=30)
    assert (ended.broke.outcome, ended.broke.line) == ("crashed", 7)
    assert "exit code 5" in ended.broke.message
    assert time.monotonic() - began < 20
    child = Path("/proc", (tmp_path / "child").read_text())
    _wait_for(lambda: not child.exists() or "zombie" in (child / "status").read_text(), 10)


def test_a_step_that_hangs_is_ended() -> None:
    task = Task("a", _step("one", lambda: time.sleep(60)))
    ((_, ended),) = isolate.run([task], limit=0.2)
    assert (ended.broke.outcome, ended.broke.line) == ("timeout", 7)
    assert ended.broke.message.startswith("no result after 0.2 s")


def test_what_a_function_returns_comes_back_and_its_state_does_not() -> None:
    def change() -> int:
        os.environ["LEFT_BEHIND"] = "1"
        return 3

    assert isolate.call(change) == 3
    assert "LEFT_BEHIND" not in os.environ
    with pytest.raises(ChildProcessError, match="exit code 1"):
        isolate.call(lambda: os._exit(1))
    with pytest.raises(ChildProcessError, match="^unset it$"):
        isolate.call(lambda: _raise(ValueError("unset it")))


def _raise(error: Exception) -> None:
    raise error


def test_ctrl_c_names_what_ran_and_leaves_no_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, time\n"
        "from npudocs.execute import isolate\n"
        "def work(report):\n"
        "    report.start('block 1', 42)\n"
        "    print(os.getpid(), file=open(sys.argv[1] + '.new', 'w'))\n"
        "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "    time.sleep(600)\n"
        "list(isolate.run([isolate.Task('docs/page.md', work)], limit=600))\n"
    )
    told = tmp_path / "pid"
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, str(program), str(told)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    _wait_for(told.is_file)
    time.sleep(0.1)  # the message about the step is on its way
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "interrupted while this ran: docs/page.md:42" in errors
    child = Path("/proc", told.read_text().strip())
    _wait_for(lambda: not child.exists())


def _wait_for(condition: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
