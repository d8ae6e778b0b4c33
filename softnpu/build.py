"""Compiles the C libraries on first use and keeps them in a cache folder."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import operators
from .errors import SoftNpuError

HERE = Path(__file__).parent
SOURCES = sorted((HERE / "csrc").glob("*.c"))
PRELOAD_SOURCE = HERE / "csrc" / "preload" / "beside_cuda.c"

# Libraries that torch_npu links or opens by name and that need no content of
# their own: a symbol looked up in one of them is found in libascendcl.so.
EMPTY_LIBRARIES = (
    "libhccl.so",
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
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")


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
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softnpu"


@functools.cache
def build_key() -> str:
    """A hash of everything that decides what the libraries are."""
    digest = hashlib.sha256(repr((platform.machine(), FLAGS, _compiler_words())).encode())
    headers = sorted((HERE / "csrc").glob("*.h"))
    generator = HERE / "operators.py"
    for path in (*SOURCES, PRELOAD_SOURCE, *headers, operators.TABLE, generator):
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
            scratch = Path(name) / "home"
            for part in (LIBRARY_FOLDER, *CANN_FOLDERS):
                (scratch / part).mkdir(parents=True)
            _compile_all(compiler, scratch / LIBRARY_FOLDER)
            (scratch / "sha256").write_text(_digest(scratch), encoding="ascii")
            _publish(scratch, folder)
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


def _compile_all(compiler: list[str], folder: Path) -> None:
    header = f"-I{HERE / 'csrc'}"
    base = [*compiler, *FLAGS, header]
    _run([*base, "-Wl,-soname,libascendcl.so", *map(str, SOURCES), "-o", folder / "libascendcl.so"])
    trampolines = folder / "trampolines.c"
    trampolines.write_text(operators.trampolines(), encoding="ascii")
    empty = folder / "empty.c"
    empty.write_text("typedef int empty;\n", encoding="ascii")
    link = [f"-L{folder}", "-Wl,--no-as-needed", "-lascendcl", "-Wl,-rpath,$ORIGIN"]
    for name in LIBRARIES[1:]:
        source = trampolines if name == "libopapi.so" else empty
        # -O0: the trampolines only copy arguments, and compiling 1,600 of them takes longest.
        _run([*base, "-O0", f"-Wl,-soname,{name}", source, *link, "-o", folder / name])
    _run([*base, PRELOAD_SOURCE, "-ldl", "-o", folder / PRELOAD])


def _run(command: list[object]) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SoftNpuError(f"The C compiler failed: {' '.join(words)}\n{done.stderr.strip()}")
