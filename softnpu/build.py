"""Compiles the C libraries on first use and keeps them in a cache folder."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import limits, operators
from .errors import SoftNpuError

HERE = Path(__file__).parent
SOURCES = sorted((HERE / "csrc").glob("*.c"))
PRELOAD_SOURCE = HERE / "csrc" / "preload" / "beside_cuda.c"

# Libraries that torch_npu links or opens by name and that need no content of
# their own: a symbol looked up in one of them is found in libascendcl.so.
EMPTY_LIBRARIES = (
    "libhccl.so",
    "libhcomm.so",
    "libacl_op_compiler.so",
    "libge_runner.so",
    "libgraph.so",
    "libacl_tdt_channel.so",
    "libascend_ml.so",
    "libruntime.so",
)
PRELOAD = "libsoftnpu_beside_cuda.so"  # see csrc/preload/beside_cuda.c
LIBRARY_FOLDER = "lib64"
LIBRARIES = ("libascendcl.so", "libopapi.so", *EMPTY_LIBRARIES)
# torch_npu checks that a CANN home has these folders.
CANN_FOLDERS = ("runtime", "compiler", "opp")
FLAGS = ("-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")


def cann_home() -> Path:
    """The folder that stands for a CANN install; compiles its libraries where it has to.

    The folder's name is a hash of the sources, so an edited source or another
    machine never meets an old library. It appears whole or not at all.

    Raises:
        SoftNpuError: no C compiler, a compiler error, or no usable cache folder.
    """
    folder = cache_root() / build_key()
    if not _is_whole(folder):
        _build(folder)
    return folder


def cache_root() -> Path:
    """Where builds are kept: ``SOFTNPU_CACHE``, or ``softnpu`` in the user's cache folder."""
    if chosen := os.environ.get("SOFTNPU_CACHE"):
        return Path(chosen).absolute()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute() / "softnpu"
    try:
        return Path.home() / ".cache" / "softnpu"
    except RuntimeError as error:  # as in a container whose user is only a number
        raise SoftNpuError(
            "softnpu found no home folder for its libraries. Name a folder in SOFTNPU_CACHE."
        ) from error


@functools.cache
def build_key() -> str:
    """A hash of everything that decides what the libraries are."""
    digest = hashlib.sha256(repr((platform.machine(), FLAGS, _compiler_words())).encode())
    headers = sorted((HERE / "csrc").glob("*.h"))
    generators = (HERE / "operators.py", HERE / "limits.py")
    tables = (operators.TABLE, operators.UNKNOWN, limits.TABLE)
    for path in (*SOURCES, PRELOAD_SOURCE, *headers, *tables, *generators):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compiler_words() -> list[str]:
    return os.environ.get("CC", "").split() or ["cc"]


def _is_whole(folder: Path) -> bool:
    """Whether the folder holds the bytes that were compiled (a full disk truncates files)."""
    try:
        return (folder / "sha256").read_text(encoding="ascii") == _digest(folder)
    except OSError:
        return False


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (*LIBRARIES, PRELOAD):
        digest.update((folder / LIBRARY_FOLDER / name).read_bytes())
    return digest.hexdigest()


def _build(folder: Path) -> None:
    compiler = _compiler_words()
    if shutil.which(compiler[0]) is None:
        raise SoftNpuError(
            f"softnpu needs a C compiler and found no {compiler[0]!r}. Install one "
            "(Debian, Ubuntu: apt-get install gcc libc6-dev) or name yours in CC."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as name:
            home = Path(name) / "home"
            for part in (LIBRARY_FOLDER, *CANN_FOLDERS):
                (home / part).mkdir(parents=True)
            _compile_all(compiler, Path(name), home / LIBRARY_FOLDER)
            (home / "sha256").write_text(_digest(home), encoding="ascii")
            _publish(home, folder)
    except OSError as error:
        raise SoftNpuError(
            f"softnpu cannot keep its libraries in {folder.parent}: {error.strerror}. "
            "Free or repair that folder, or name another in SOFTNPU_CACHE."
        ) from error


def _publish(scratch: Path, folder: Path) -> None:
    """Moves a finished build into place, whoever else builds the same at the same time."""
    if folder.is_dir() and not _is_whole(folder):
        shutil.rmtree(folder)
    try:
        scratch.rename(folder)
    except OSError:
        if not _is_whole(folder):
            raise


def _compile_all(compiler: list[str], scratch: Path, folder: Path) -> None:
    """Makes the libraries in a folder: compiles each source on a processor of its own, then links."""
    base = [*compiler, *FLAGS, "-iquote", HERE / "csrc"]
    trampolines = scratch / "trampolines.c"
    trampolines.write_text(operators.trampolines(), encoding="ascii")
    empty = scratch / "empty.c"
    empty.write_text("typedef int empty;\n", encoding="ascii")

    def compiled(source: Path) -> Path:
        made = scratch / f"{source.stem}.o"
        # -O0: the trampolines only copy arguments, and compiling 800 of them takes longest.
        level = ["-O0"] if source == trampolines else []
        _run([*base, *level, "-c", source, "-o", made])
        return made

    def linked(name: str, *rest: object) -> None:
        _run([*base, "-shared", f"-Wl,-soname,{name}", *rest, "-o", folder / name])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        first, last, nothing, *rest = pool.map(
            compiled, (trampolines, PRELOAD_SOURCE, empty, *SOURCES)
        )
        linked("libascendcl.so", *rest)
        link = [f"-L{folder}", "-Wl,--no-as-needed", "-lascendcl", "-Wl,-rpath,$ORIGIN"]
        steps = [(PRELOAD, last, "-ldl"), ("libopapi.so", first, *link)]
        steps += [(name, nothing, *link) for name in EMPTY_LIBRARIES]
        list(pool.map(lambda step: linked(*step), steps))


def _run(command: list[object]) -> None:
    """Runs the compiler; the last word of the command is the file it has to make."""
    words = [str(word) for word in command]
    try:
        # What a compiler prints need not be text in this locale.
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise SoftNpuError(
            f"The C compiler {words[0]} cannot be started: {error.strerror}."
        ) from error
    if done.returncode:
        raise SoftNpuError(f"The C compiler failed: {' '.join(words)}\n{done.stderr.strip()}")
    made = Path(words[-1])
    if not made.is_file() or made.read_bytes()[:4] != b"\x7fELF":
        raise SoftNpuError(
            f"The C compiler reported success and made no library or object: {' '.join(words)}"
        )
