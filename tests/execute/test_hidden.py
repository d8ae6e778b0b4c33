"""What looks executed or compared and is not: each input is red, with its place and what to do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tinyproject import Project

FINE = "\n```{doctest}\n>>> 1\n1\n```\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("```{doctest}\n>>> 1\n1\n\nProse.\n", 3, "this fence has no end"),
        (
            "```{doctest}\n>>> 1\n1\n\nProse.\n\n```{doctest}\n>>> 2\n2\n```\n",
            3,
            "begins in line 9",
        ),
        ("````{note}\n```{doctest}\n>>> 1\n1\n````\n", 4, "this fence has no end"),
        ("```testcode\nx = 1\n```\n", 3, "there is no fence testcode: did you mean {testcode}?"),
        ("```{docktest}\n>>> 1\n1\n```\n", 3, "did you mean {doctest}?"),
        ("```{testcod}\nx = 1\n```\n", 3, "did you mean {testcode}?"),
        (":::{testouput}\n1\n:::\n", 3, "did you mean {testoutput}?"),
        ("```{doctest}\n>>> 1\n1\n\nSome prose.\n```\n", 3, "'Some prose.' stands in this session"),
        (
            "```{testcode}\nraise KeyError\n```\n\n"
            "```{testoutput}\nTraceback (most recent call last):\nKeyError\n```\n",
            7,
            "a traceback is compared in a {doctest}",
        ),
        (
            "```{doctest}\n>>> 1 / 0  # doctest: +IGNORE_EXCEPTION_DETAIL\n"
            "Traceback (most recent call last):\nZeroDivisionError: so\n```\n",
            3,
            "IGNORE_EXCEPTION_DETAIL hides",
        ),
        (
            "```{doctest}\n:options: +IGNORE_EXCEPTION_DETAIL\n\n>>> 1 / 0\n"
            "Traceback (most recent call last):\nZeroDivisionError: so\n```\n",
            3,
            "IGNORE_EXCEPTION_DETAIL hides",
        ),
        ("```{testcode}\nprint(1)\n```\n\n```{testoutput}\n...\n```\n", 3, "alone is like any"),
        ("```{doctest}\n:skipif: True\n:reason:\n\n>>> 1\n1\n```\n", 3, "words for the reader"),
        ("```{doctest}\n:skipif: 1\n:reason: -.1\n\n>>> 1\n2\n```\n", 3, "words for the reader"),
        ("```{testcode}\nprint(1)\n```\n\n```{testoutput}\n......\n```\n", 3, "alone is like any"),
        (
            "```{doctest}\n>>> 1 / 0\nTraceback (most recent call last):\n"
            "ZeroDivisionError: ...\n```\n",
            3,
            "alone is like any",
        ),
        ("```{testcode}\ndef f():\n    assert 1 == 2\n    yield\nf()\n```\n", 5, "never ran"),
        ("```{testcode}\nif __name__ == 'f':\n    assert 0\n```\n", 5, "never ran"),
    ],
)
def test_it_is_red_in_doctest_and_html(project: Project, text: str, line: int, words: str) -> None:
    project.write("docs/page.md", f"# Page\n\n{text}{FINE if 'no end' not in words else ''}")
    project.write("docs/other.md", f"# Other\n{FINE}")
    for builder in ("doctest", "html"):
        result = project.build(builder)
        assert result.code != 0
        assert f"docs/page.md:{line}" in result.output, result.output
        assert words in result.output


FAILING = "def f():\n    assert 1 == 2\n"
UNHEARD = {
    "a thread": (
        f"import threading\n{FAILING}t = threading.Thread(target=f)\nt.start()\nt.join()",
        "AssertionError",
    ),
    "the end of an object": (
        "class K:\n    def __del__(self):\n        raise KeyError('so')\nK()\n",
        "KeyError: 'so'",
    ),
    "another process": (
        "import subprocess, sys\n_ = subprocess.run([sys.executable, '-c', 'assert 1 == 2'])",
        "AssertionError",
    ),
    "a coroutine": ("async def f():\n    return 1\nf()\n", "was never awaited"),
    "a thread that runs": (
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(9,), daemon=True)\n"
        "t.start()",
        "the thread Thread-",
    ),
}


def test_an_error_that_nobody_hears_is_red(project: Project) -> None:
    test = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    for number, (code, _) in enumerate(UNHEARD.values()):
        project.write(f"docs/p{number}.md", f"# Page\n\n```{{testcode}}\n{code}\n```\n")
        project.script(f"s{number}", code)
        body = "\n".join(f"        {line}" for line in code.splitlines())
        project.write(f"tests/test_{number}.py", f"{test}{body}\n")
    # pytest has hooks of its own for such errors, which a build does not have.
    command = [sys.executable, "-m", "sphinx", "-b", "execute", "-c", str(project.root)]
    command += [str(project.root / "docs"), str(project.root / "build/execute")]
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for number, (_, words) in enumerate(UNHEARD.values()):
        for file in (f"docs/p{number}.md", f"examples/s{number}.py", f"tests/test_{number}.py"):
            (one,) = project.units()[file]["results"]
            assert one["outcome"] == "failed", (file, one)
            # What failed in a line of a script, or did not run, is said before.
            said = (words, "never ran", "its error was hidden")
            assert any(one_of in one["message"] for one_of in said), (file, one)


def test_a_malformed_session_has_one_message(project: Project) -> None:
    project.page("```{doctest}\n>>>\u00a01\n2\n```\n" + FINE)
    result = project.build("doctest")
    assert result.code != 0
    assert "malformed" in result.output and "ends its process" not in result.output


def test_assertions_of_a_thread_and_of_an_included_page_are_seen(project: Project) -> None:
    project.write("docs/part.txt", "```{testcode}\nassert 2 > 1\n```\n")
    project.page(
        "```{include} part.txt\n```\n\n```{testcode}\nimport threading\ndef f():\n    assert (\n"
        "        2 > 1\n    )\nt = threading.Thread(target=f)\nt.start()\nt.join()\n```\n"
    )
    result = project.build("doctest")
    assert result.code == 0, result.output


def test_fences_in_fences_pass(project: Project) -> None:
    project.page("````{note}\n```{doctest}\n>>> 1\n1\n```\n````\n\n~~~text\n```\n~~~\n")
    result = project.build("doctest")
    assert result.code == 0, result.output


def test_a_function_of_a_session_has_its_own_source(project: Project) -> None:
    project.page("""
        ```{doctest}
        >>> def first(x):
        ...     return x + 1
        ```

        Prose, and a second one.

        ```{doctest}
        >>> import inspect
        >>> def second(x):
        ...     return x + 2
        >>> print(inspect.getsource(second))
        def second(x):
            return x + 2
        <BLANKLINE>
        >>> print(inspect.getsource(first))
        def first(x):
            return x + 1
        <BLANKLINE>
        ```
        """)
    result = project.build("doctest")
    assert result.code == 0, result.output


LOGGER = """
    ```{doctest}
    >>> import logging, sys
    >>> logger = logging.getLogger("page")
    >>> logger.addHandler(logging.StreamHandler(sys.stdout))
    >>> logger.warning("one")
    one
    ```

    ```{doctest}
    >>> logger.warning("two")
    OUTPUT
    ```
    """


def test_a_logger_of_one_block_prints_in_the_next(project: Project) -> None:
    project.page(LOGGER.replace("OUTPUT", "two"))
    assert project.build("doctest").code == 0
    project.page(LOGGER.replace("    OUTPUT\n", ""))
    result = project.build("doctest")
    assert result.code != 0
    assert "docs/page.md:12: ERROR" in result.output and "Got:\n    two" in result.output


def test_a_skipped_block_says_so_on_the_page(project: Project) -> None:
    project.page(
        "```{doctest}\n:skipif: True\n:reason: needs two devices\n\n>>> 1\n1\n```\n" + FINE
    )
    assert project.build().code == 0
    page = project.read("html/page.html")
    assert page.count("Skipped here: needs two devices") == 1


@pytest.mark.parametrize("kind", ["page", "script"])
def test_a_file_that_is_left_behind_is_named(project: Project, kind: str) -> None:
    code = "from pathlib import Path\n_ = Path({}).write_text('x')\n"
    code += "gone = Path({} + '.tmp')\n_ = gone.write_text('x')\ngone.unlink()"
    name = str(project.root / "left.txt")
    code = code.format(repr(name), repr(name))
    if kind == "page":
        project.page("```{testcode}\n" + code + "\n```\n")
    else:
        project.script("one", code)
    result = project.build()
    assert result.code != 0
    assert "the file left.txt" in result.output and "left.txt.tmp" not in result.output


def test_state_of_one_page_does_not_reach_the_next(project: Project) -> None:
    project.write(
        "docs/a.md",
        """\
        # A

        ```{testcode}
        import os, sys, warnings
        import torch
        torch.add = None
        torch.autograd.set_detect_anomaly(True)
        torch.set_float32_matmul_precision("medium")
        torch.set_num_threads(1)
        torch.set_autocast_enabled("cpu", True)
        warnings.simplefilter("error")
        os.chdir("/")
        os.environ["LEFT"] = "x"
        sys.path.insert(0, "left")
        ```
        """,
    )
    project.write(
        "docs/b.md",
        """\
        # B

        ```{doctest}
        >>> import os, sys, warnings
        >>> import torch
        >>> torch.add is None, torch.is_anomaly_enabled(), torch.is_autocast_enabled("cpu")
        (False, False, False)
        >>> torch.get_float32_matmul_precision()
        'highest'
        >>> "LEFT" in os.environ, "left" in sys.path, os.getcwd() == "/"
        (False, False, False)
        ```
        """,
    )
    result = project.build("doctest", "-D", "execute_jobs=1")
    assert result.code == 0, result.output


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("docs/page.md", "# Páge\n\n".encode("latin-1"), "docs/page.md:1"),
        ("docs/page.md", b"\xef\xbb\xbf# Page\n\n", "docs/page.md:1"),
        (
            "examples/one.py",
            b'\xef\xbb\xbf"""T\n=\n"""\n',
            "examples/one.py:1: begins with a byte order",
        ),
        (
            "examples/one.py",
            '"""T\n=\n"""\n# é\n'.encode("latin-1"),
            "examples/one.py:4: is not in UTF-8",
        ),
        ("examples/one.py", b"x = 1\n", "examples/one.py:1: has no text"),
        ("examples/one.py", b'"""T\n=\n"""\nx = = 1\n', "examples/one.py:4: SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(
    project: Project, name: str, data: bytes, place: str
) -> None:
    (project.root / name).parent.mkdir(exist_ok=True)
    (project.root / name).write_bytes(data + (FINE.encode() if name.endswith("md") else b""))
    result = project.build()
    assert result.code != 0
    assert place in result.output
    assert "Traceback" not in result.output and "Extension error" not in result.output


def test_a_page_that_was_removed_goes(project: Project) -> None:
    project.page(FINE)
    assert project.build().code == 0
    assert (project.root / "build/html/page.html").is_file()
    (project.root / "docs/page.md").unlink()
    assert project.build().code == 0
    assert not (project.root / "build/html/page.html").exists()
    assert (project.root / "build/html/search.html").is_file()


def test_a_second_build_waits_and_says_for_whom(project: Project) -> None:
    (project.root / "build").mkdir()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys, time\n"
            "file = open(sys.argv[1], 'a+')\n"
            "fcntl.flock(file, fcntl.LOCK_EX)\n"
            "file.write('4711')\nfile.flush()\nprint('held', flush=True)\ntime.sleep(2)\n"
            "print(time.time())\n",
            str(project.root / "build/.lock"),
        ],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    result = project.build()
    released = float(holder.communicate(timeout=5)[0])
    assert result.code == 0, result.output
    # What a build that holds the lock writes into it, and so no earlier.
    assert (project.root / "build/.lock").stat().st_mtime > released - 0.5
    assert "waiting for the build of process 4711" in result.output


def test_a_page_that_does_not_use_the_device_says_so(project: Project) -> None:
    state = project.root / "counting.py"
    state.write_text("count = 0\ndef used():\n    return count\n")
    conf = project.root / "conf.py"
    text = conf.read_text().replace('"tinystate"', '"counting"')
    conf.write_text(f"import sys\nsys.path.insert(0, {str(project.root)!r})\n{text}")
    project.page(FINE)
    sys.modules.pop("counting", None)
    assert project.build().code == 0
    assert "Executed on the host; the device was not used" in project.read("html/page.html")
    project.script("one")
    result = project.build()
    assert result.code != 0
    assert "examples/one.py:1: ERROR: claims to run on the device" in result.output
    project.script("one", "import counting\ncounting.count += 1")
    assert project.build().code == 0
    test = "import unittest\n\nclass TestOne(unittest.TestCase):\n    def test_one(self):\n        {}\n"
    project.write("tests/test_a.py", test.format("pass"))
    result = project.build("execute")
    assert result.code != 0
    assert "tests/test_a.py:1: ERROR: claims to run on the device" in result.output
    project.write("tests/test_a.py", test.format("import counting; counting.count += 1"))
    assert project.build("execute").code == 0


@pytest.mark.full
@pytest.mark.parametrize(
    "moment", ["reading sources.*[1-9]0%", "writing output.*[ 1-9]0%", "dumping search index"]
)
def test_an_interrupted_build_does_not_make_the_next_one_red(project: Project, moment: str) -> None:
    for number in range(40):
        project.write(f"docs/p{number}.md", f"# P{number}\n{FINE}")
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "-c", str(project.root)]
    command += [str(project.root / "docs"), str(project.root / "build/html")]
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if re.search(moment, line):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    search = project.read("html/searchindex.js")
    for number in range(40):
        assert f'"p{number}"' in search and (project.root / f"build/html/p{number}.html").is_file()
