"""The recorder on small projects, with a stand-in for torch: what is recorded, and what survives."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from npudocs.recording.__main__ import record

from npudocs import evidence
from npudocs.recording import RecordingError, __main__, checks, messages, writing
from npudocs.recording.supervisor import Supervisor

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_worker.py")))
API = "torch.autograd.forward_ad.make_dual"


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


# --- the record


@pytest.fixture
def repository(project: Project) -> Project:
    """A project that is a git repository, with one API page and one script."""
    project.write("docs/api/make_dual.md", f"```{{py:function}} {API}(tensor)\n```\n")
    project.write(
        "examples/1.py", f'"""T\n\n.. verifies::\n   :apis: {API}\n   :items: 1, 2\n"""\n'
    )
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(project.root), *identity, *words]
        subprocess.run(command, check=True, capture_output=True)
    return project


def test_a_run_is_recorded(repository: Project, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    path = record(repository.root, folder, worker=STAND_IN)
    assert path == folder / "records/software/torch_npu-2.13.0-Ascend910B1.json"
    (found,) = evidence.records(folder)
    assert evidence.problems(folder) == []
    assert (found.where["product"], len(found.commit)) == ("A2", 40)
    (entry,) = found.entries
    assert (entry.apis, entry.items, entry.dtype, entry.outcome) == ((API,), (1, 2), "", "passed")
    assert not entry.stale(repository.root)

    # Another run takes the place of the first, and its texts that of the first's.
    script = repository.write("examples/1.py", "raise ValueError(__file__)")
    assert entry.stale(repository.root)
    assert record(repository.root, folder, worker=STAND_IN) == path
    (found,) = evidence.records(folder)
    assert found.commit.endswith("+changes")
    assert found.entries[0].message == "ValueError: examples/1.py\nat examples/1.py:1"
    (source,) = (folder / "sources").iterdir()
    assert source.read_bytes() == script.read_bytes()


def test_what_is_recorded_is_no_longer_unrecorded(repository: Project, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    about = {"version": "2.13.0", "torch_npu": "2.13.0", "reason": "aborts", "seen": "2026-11-30"}
    listed = [{**about, "product": product} for product in ("A2", "A3")]
    writing.update_unrecorded(folder, [], listed)
    record(repository.root, folder, worker=STAND_IN)
    assert [one.product for one in evidence.unrecorded(folder)] == ["A3"]


def test_a_check_that_is_edited_during_the_run_makes_no_record(
    repository: Project, tmp_path: Path
) -> None:
    repository.write("examples/1.py", "open(__file__, 'a').write('#')")
    with pytest.raises(RecordingError, match=r"examples/1\.py was edited during the run"):
        record(repository.root, tmp_path / "evidence", worker=STAND_IN)
    assert not (tmp_path / "evidence").exists()


def test_a_run_that_is_stopped_writes_nothing(
    repository: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(result: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "_say", stop)
    with pytest.raises(KeyboardInterrupt):
        record(repository.root, tmp_path / "evidence", worker=STAND_IN)
    assert not (tmp_path / "evidence").exists()


def test_without_a_repository_there_is_no_record(project: Project, tmp_path: Path) -> None:
    project.write("examples/1.py", "")
    with pytest.raises(RecordingError, match="git cannot tell it"):
        record(project.root, tmp_path / "evidence", worker=STAND_IN)


def test_nothing_of_the_machine_is_recorded(
    repository: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path("/", "home", "walter")
    monkeypatch.setattr(messages.socket, "gethostname", lambda: "lab-seven.example.org")
    monkeypatch.setattr(messages, "_user", lambda: "walter")
    monkeypatch.setattr(Path, "home", lambda: home)
    leaks = """
        import sys
        raise ValueError(
            "HOMES/walter/x.py lab-seven walter@lab-seven.example.org HOMES/eve/data /scratch/a/b.c "
            f"{__file__} {sys.prefix} {sys.executable} (PID:4711) 0x7fdeadbeef"
        )
    """
    repository.write("examples/1.py", leaks.replace("HOMES", str(home.parent)))
    path = record(repository.root, tmp_path / "evidence", worker=STAND_IN)
    text = path.read_text(encoding="utf-8")
    for private in ("walter", "lab-seven", "eve", "scratch", str(tmp_path), sys.prefix, "4711"):
        assert private not in text
    message = json.loads(text)["entries"][0]["message"]
    assert "x.py" in message and "b.c" in message and "examples/1.py" in message
    assert message.endswith("at examples/1.py:2")


def test_a_child_that_outlives_the_worker_does_not_hold_up_the_run(project: Project) -> None:
    code = "import os, time\nif os.fork():\n    os._exit(4)\ntime.sleep(60)"
    project.write("examples/1.py", code)
    project.write("examples/2.py", "")
    assert [result[0] for result in project.run().values()] == ["crashed", "passed"]


# --- words and names


def test_pages_are_read_as_the_site_reads_them() -> None:
    conf = (evidence.ROOT / "conf.py").read_text(encoding="utf-8")
    assert f"myst_enable_extensions = {json.dumps(checks.MYST)}" in conf
    assert all(f'"{name}"' in conf for name in ("myst_parser", "sphinx_design"))


def test_messages_keep_what_is_no_path() -> None:
    scrub = messages.Scrubber(Path("/srv/project"))
    same = "1/2 of a/b at https://example.org/x/y, aten::_make_dual <time>/x 'npu:0' and/or"
    assert scrub(same) == same
    assert scrub('File "/srv/project/docs/a.md", line 3') == 'File "docs/a.md", line 3'
    assert scrub("/usr/lib/libc.so.6 in /etc/passwd/") == "<path>/libc.so.6 in <path>"
    assert len(messages.shorten("x" * 5000)) == messages.LIMIT


def test_stacks_of_torch_are_left_out() -> None:
    text = "it failed\nException raised from f at a.cpp:1\nframe #0: f (0x1)\n\nlast"
    assert messages.without_frames(text) == "it failed\nlast"


def test_code_and_stacks_are_left_out_of_a_doctests_words() -> None:
    expected = "Expected:\n    Traceback (most recent call last):\n    ...\n    ValueError: no\n"
    stack = '      File "a.md", line 3, in f\n        f()\n        ^^^\n'
    got = f"Got:\n    Traceback (most recent call last):\n{stack}    ValueError: so\n"
    text = f"Code:\n    f(\n\n    )\n{expected}{got}"
    assert messages.essential(text) == f"{expected}Got:\n    ValueError: so\n"
    error = 'Traceback (most recent call last):\n  File "a.md", line 1\n    f()\nValueError: no'
    assert messages.essential(f"Code:\n    f()\nUnexpected error:\n{error}") == (
        "Unexpected error:\nValueError: no"
    )


def test_what_a_script_says_it_verifies() -> None:
    text = '"""\nT\n\n.. verifies::\n   :apis: torch.a,\n      torch.b\n   :items: 3, 5\n"""\n'
    assert checks.verified(text) == (("torch.a", "torch.b"), (3, 5))
    assert checks.verified('"""T"""\n') == ((), ())


@pytest.mark.parametrize(
    ("method", "apis", "items", "dtype"),
    [
        ("test_item7_float16", ("x.file",), (7,), "float16"),
        ("test_make_dual_bfloat16", ("x.make_dual",), (), "bfloat16"),
        ("test_dual_level_complex64", ("x.dual_level",), (), "complex64"),
        ("test_enter_dual_level_float32", ("x.enter_dual_level",), (), "float32"),
        ("test_item1_level_is_free", ("x.file",), (1,), ""),
    ],
)
def test_what_the_name_of_a_test_says(
    method: str, apis: tuple[str, ...], items: tuple[int, ...], dtype: str
) -> None:
    names = {name: f"x.{name}" for name in ("dual_level", "enter_dual_level", "make_dual")}
    unit = checks.Unit("tests", "tests/npu/test_file.py", ("x.file",))
    assert checks.of_method(method, unit, names) == {"apis": apis, "items": items, "dtype": dtype}


def test_apis_of_one_name_are_told_apart(tmp_path: Path) -> None:
    project = Project(tmp_path)
    names = {
        "make_dual": API,
        "func_jvp": "torch.func.jvp",
        "functional_jvp": "torch.autograd.functional.jvp",
        "Function_jvp": "torch.autograd.Function.jvp",
        "gradcheck": "torch.autograd.gradcheck.gradcheck",
    }
    for name, api in names.items():
        kind = "method" if name == "Function_jvp" else "function"
        project.write(f"docs/api/{name}.md", f"```{{py:{kind}}} {api}(x)\n```\n")
    assert checks.api_names(tmp_path) == names
    for name, api in names.items():
        assert checks.named_apis(f"test_{name}_float16", names) == (api,)
    assert checks.named_apis("test_jvp_float16", names) == ()
    both = tuple(sorted((names["func_jvp"], names["functional_jvp"])))
    assert checks.named_apis("test_func_jvp_and_functional_jvp", names) == both
    project.write("docs/api/other.md", "```{py:function} torch.other.func.jvp(x)\n```\n")
    with pytest.raises(ValueError, match=r"other.md: tests call both torch.other.func.jvp and"):
        checks.api_names(tmp_path)


@pytest.mark.parametrize(
    ("soc", "product"),
    [("Ascend910B4-1", "A2"), ("Ascend910_9362", "A3"), ("Ascend950PR_9589", "950DT")],
)
def test_the_product_of_a_chip(soc: str, product: str) -> None:
    assert writing.product(soc) == product


def test_a_chip_without_a_product_makes_no_record() -> None:
    with pytest.raises(RecordingError, match="'Ascend310P3' belongs to no product"):
        writing.product("Ascend310P3")
