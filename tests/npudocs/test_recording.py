"""Runs of small projects, with a stand-in for torch: what is found, and what survives."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from npudocs.recording import RecordingError, checks, worker
from npudocs.recording.supervisor import Supervisor

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_worker.py")))
ROOT = Path(__file__).parents[2]


class Project:
    """A folder with checks in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        """Write one file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def run(self, timeout: float = 60) -> dict[tuple[str, str], tuple[str, str]]:
        """Run all checks; outcome and message by file and part."""
        run = Supervisor(self.root, checks.units(self.root), timeout, STAND_IN)
        run.run()
        return {key: (result.outcome, result.message) for key, result in run.results.items()}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without checks."""
    made = Project(tmp_path / "project")
    made.write("docs/index.md", "# Home\n")
    return made


def test_a_crash_and_a_hang_are_results_and_the_rest_is_run(project: Project) -> None:
    project.write("examples/1.py", "print('fine')")
    project.write(
        "examples/2.py",
        "import os, sys\nprint('last words', file=sys.stderr, flush=True)\nos.abort()",
    )
    project.write("examples/3.py", "x = 1\nraise ValueError('no')")
    project.write("examples/4.py", "import time\nprint('waiting', flush=True)\ntime.sleep(99)")
    project.write("examples/5.py", "import sys\nsys.exit(3)")
    project.write("examples/6.py", "import os\nos._exit(7)")
    found = {file[9]: result for (file, _), result in project.run(timeout=4).items()}
    assert found["1"] == ("passed", "")
    assert found["2"] == (
        "crashed",
        "the process was ended by signal SIGABRT\nlast words\n"
        "Fatal Python error: Aborted\nat examples/2.py:3",
    )
    assert found["3"] == ("failed", "ValueError: no\nat examples/3.py:2")
    assert found["4"] == ("timeout", "no result after 4 s\nwaiting")
    assert found["5"] == ("failed", "SystemExit: 3\nat examples/5.py:2")
    assert found["6"] == ("crashed", "the process ended with exit code 7\n")


PAGE = """
    # Page

    ```{testsetup}
    import os
    ```

    ```{doctest}
    >>> a = 1
    ```

    ```{doctest}
    >>> os._exit(3)
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


def test_blocks_after_a_crash_still_find_what_those_before_it_made(project: Project) -> None:
    project.write("docs/page.md", PAGE)
    found = {part: result for (_, part), result in project.run().items()}
    assert [found[f"block {n}"][0] for n in range(1, 6)] == [
        *("passed", "crashed", "passed", "failed", "skipped")
    ]
    assert found["block 2"][1].startswith("the process ended with exit code 3")
    assert found["block 4"][1] == "Expected:\n    3\nGot:\n    2\nat docs/page.md:21"
    assert found["block 5"][1] == "needs two devices"


def test_a_set_up_block_is_a_result_only_where_it_breaks(project: Project) -> None:
    page = """
        ```{testsetup}
        raise RuntimeError("set-up")
        ```

        ```{doctest}
        >>> 1
        1
        ```
    """
    project.write("docs/page.md", page)
    assert [(p, r[0]) for (_, p), r in project.run().items()] == [
        ("testsetup 1", "failed"),
        ("block 1", "passed"),
    ]


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
"""


def test_methods_of_a_test_file(project: Project) -> None:
    project.write("tests/npu/test_a.py", TESTS)
    project.write("tests/npu/test_b.py", "import nothing_of_that_name")
    found = {(file[-4], part): result for (file, part), result in project.run().items()}
    assert found["a", "test_item1_level"] == ("passed", "")
    assert found["a", "test_item2_crash"][0] == "crashed"
    assert found["a", "test_make_dual_bfloat16"] == (
        "failed",
        "AssertionError: 1 != 2\nat tests/npu/test_a.py:12",
    )
    assert found["a", "test_skipped"] == ("skipped", "not here")
    assert found["a", "test_subtests"][0] == "failed"
    assert found["b", ""] == (
        "failed",
        "ModuleNotFoundError: No module named 'nothing_of_that_name'\nat tests/npu/test_b.py:1",
    )


def test_a_level_left_open_fails_its_script(project: Project) -> None:
    project.write("examples/1.py", "from npudocs import torch_state\ntorch_state.level = 0")
    project.write("examples/2.py", "")
    assert [result[0] for result in project.run().values()] == ["failed", "passed"]


@pytest.mark.parametrize(
    ("mood", "words"),
    [("no device", "there is none"), ("dies", "no check could start: .*SIGABRT\nno driver\nFatal")],
)
def test_without_a_device_there_is_no_record(
    project: Project, monkeypatch: pytest.MonkeyPatch, mood: str, words: str
) -> None:
    project.write("examples/1.py", "")
    monkeypatch.setenv("STAND_IN", mood)
    with pytest.raises(RecordingError, match=words):
        project.run()


def test_a_device_that_a_check_broke_costs_only_the_rest(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("examples/1.py", "")
    project.write("examples/2.py", "import os\nos._exit(1)")
    project.write("examples/3.py", "")
    monkeypatch.setenv("STAND_IN", f"once {project.root / 'flag'}")
    found = list(project.run().values())
    assert [outcome for outcome, _ in found] == ["passed", "crashed", "crashed"]
    assert found[2][1].startswith("not run, since no process starts: the process ended with")


def test_a_child_that_outlives_the_worker_does_not_hold_up_the_run(project: Project) -> None:
    code = "import os, time\nif os.fork():\n    os._exit(4)\ntime.sleep(60)"
    project.write("examples/1.py", code)
    project.write("examples/2.py", "")
    assert [result[0] for result in project.run().values()] == ["crashed", "passed"]


# --- words and names


def test_pages_are_read_as_the_site_reads_them() -> None:
    conf = (ROOT / "conf.py").read_text(encoding="utf-8")
    assert f"myst_enable_extensions = {json.dumps(checks.MYST)}" in conf
    assert all(f'"{name}"' in conf for name in ("myst_parser", "sphinx_design"))


def test_code_and_stacks_are_left_out_of_a_doctests_words() -> None:
    expected = "Expected:\n    Traceback (most recent call last):\n    ...\n    ValueError: no\n"
    stack = '      File "a.md", line 3, in f\n        f()\n        ^^^\n'
    got = f"Got:\n    Traceback (most recent call last):\n{stack}    ValueError: so\n"
    text = f"Code:\n    f(\n\n    )\n{expected}{got}"
    assert worker.essential(text) == f"{expected}Got:\n    ValueError: so\n"
    error = 'Traceback (most recent call last):\n  File "a.md", line 1\n    f()\nValueError: no'
    assert worker.essential(f"Code:\n    f()\nUnexpected error:\n{error}") == (
        "Unexpected error:\nValueError: no"
    )


def test_what_a_script_says_it_verifies() -> None:
    text = '"""\nT\n\n.. verifies::\n   :apis: torch.a,\n      torch.b\n   :items: 3, 5\n"""\n'
    assert checks.verified(text) == (("torch.a", "torch.b"), (3, 5))
    assert checks.verified('"""T"""\n') == ((), ())
