"""The C libraries under the address, undefined-behavior and leak sanitizers.

The programs are in ``fuzz/``: they contain softnpu's sources, compiled with the sanitizers, and a
Python of forty functions in place of the interpreter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from softnpu import build

sys.path.append(str(Path(__file__).parent / "fuzz"))

import compiled
import dispatch

pytestmark = pytest.mark.full

SEEDS = 6000  # inputs, of up to 64 calls each
ROUNDS = 100_000


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return compiled.Harness(tmp_path_factory.mktemp("sanitized"))


def needs(harness: compiled.Harness, flags: tuple[str, ...]) -> None:
    if not compiled.can_compile("cc", harness.folder, *flags):
        pytest.skip(f"the compiler has no runtime for {' '.join(flags)}")


def run(program: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program, *words], capture_output=True, text=True, errors="replace", env=environment,
        timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("stream", ["0", "1"], ids=["at once", "with a backlog"])
def test_hostile_calls_get_an_error_code(harness, stream):
    needs(harness, compiled.ADDRESS)
    program = harness.program("seeds", compiled.ADDRESS)
    first = SEEDS * int(stream)
    done = run(program, str(first), str(SEEDS), SOFTNPU_ASYNC=stream)
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout == f"{SEEDS} inputs\n"


@pytest.mark.parametrize(
    ("broken", "message"),
    [(1, "heap-use-after-free"), (2, "detected memory leaks"), (3, "signed integer overflow")],
)
def test_a_mistake_on_purpose_is_seen(harness, broken, message):
    needs(harness, compiled.ADDRESS)
    done = run(harness.program("seeds", compiled.ADDRESS, broken), "0", "3")
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize("stream", ["0", "1"], ids=["at once", "with a backlog"])
def test_nothing_is_left_of_a_hundred_thousand_of_everything(harness, stream):
    needs(harness, compiled.LEAK)
    done = run(harness.program("leaks", compiled.LEAK), str(ROUNDS), SOFTNPU_ASYNC=stream)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert re.fullmatch(r"100000 rounds, 0 handles and \d+ pages more\n", done.stdout)


def test_a_tensor_that_is_left_is_seen(harness):
    needs(harness, compiled.LEAK)
    program = harness.program("leaks", compiled.LEAK, 1)
    done = run(program, "1000", LSAN_OPTIONS="detect_leaks=0")
    assert done.returncode == 1
    assert "1000 rounds, 899 handles" in done.stdout
    done = run(program, "1000")
    assert "detected memory leaks" in done.stderr and "aclCreateTensor" in done.stderr


def test_every_function_of_the_interpreter_that_is_called_is_there(harness):
    """They are weak symbols: one that the harness lacks would be a call to address 0."""
    header = (build.HERE / "csrc" / "python.h").read_text()
    declared = set(re.findall(r"^PYTHON .*?(Py\w+)", header, re.MULTILINE))
    defined = (compiled.HERE / "fake_python.c").read_text()
    assert {name for name in declared if not re.search(rf"\b{name}\b[(\s=]", defined)} == set()


def test_every_exported_function_is_fuzzed():
    """What the linker exports and the generator did not read would not be called."""
    library = build.cann_home() / build.LIBRARY_FOLDER / "libascendcl.so"
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    table = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[2] for line in table.splitlines()}
    assert exported == set(dispatch.exported())
