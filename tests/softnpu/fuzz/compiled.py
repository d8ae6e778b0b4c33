"""Compiles the C fuzzer and the leak program together with softnpu's own sources.

A long run outside of the tests, with libFuzzer (Debian: clang-14 and libclang-rt-14-dev)::

    PYTHONPATH=. python tests/softnpu/fuzz/compiled.py fuzz clang-14 build/fuzz
    build/fuzz/fuzz -max_len=1024 -max_total_time=3600 build/fuzz/corpus

or with AFL, which runs the other program: ``compiled.py seeds afl-clang-fast build/fuzz``, then
``afl-fuzz -i SEEDS -o build/fuzz/corpus build/fuzz/seeds @@``. ``FUZZ_TRACE=1`` prints the calls.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dispatch

from softnpu import build, operators

HERE = Path(__file__).parent
COMMON = ("-std=gnu11", "-g", "-Wall", "-Wextra", "-fno-omit-frame-pointer")
INCLUDE = ("-iquote", str(HERE), "-iquote", str(build.HERE / "csrc"))
UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
ADDRESS = ("-O1", "-fsanitize=address", *UNDEFINED)
LEAK = ("-O1", "-fsanitize=leak", *UNDEFINED)
LIBFUZZER = ("-O1", "-fsanitize=fuzzer,address", *UNDEFINED)
PARTS = {
    "seeds": ("seeds", "fuzz", "values", "fake_python", "dlpack"),
    "fuzz": ("fuzz", "values", "fake_python", "dlpack"),  # libFuzzer has its own main
    "leaks": ("leaks", "values", "fake_python", "dlpack"),
}


def can_compile(compiler: str, folder: Path, *flags: str) -> bool:
    """Whether a program with these sanitizers links and runs here."""
    source = folder / "probe.c"
    source.write_text("int main(void) { return 0; }\n", encoding="ascii")
    words = [compiler, *flags, str(source), "-o", str(folder / "probe")]
    linked = subprocess.run(words, capture_output=True, check=False).returncode == 0
    return linked and subprocess.run([folder / "probe"], check=False).returncode == 0


class Harness:
    """Compiles programs in one folder; what they share is compiled once."""

    def __init__(self, folder: Path, compiler: str = "cc") -> None:
        self.folder, self.compiler = folder, compiler
        self.made: dict[tuple[str, ...], str] = {}

    def _object(self, source: Path, *flags: str) -> str:
        key = (str(source), *flags)
        if key not in self.made:
            out = self.folder / f"{len(self.made)}-{source.stem}.o"
            words = [self.compiler, *COMMON, *INCLUDE, *flags, "-c", str(source), "-o", str(out)]
            self._run(words)
            self.made[key] = str(out)
        return self.made[key]

    def _generated(self, name: str, text: str) -> str:
        path = self.folder / f"{name}.c"
        if not path.exists():
            path.write_text(text, encoding="ascii")
        return self._object(path, "-O0")  # no sanitizers: they only pass arguments on

    @staticmethod
    def _run(words: list[str]) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")

    def program(self, name: str, flags: tuple[str, ...], broken: int = 0) -> Path:
        """A program of :data:`PARTS`; ``broken`` is a mistake that is compiled into it."""
        mistake = [f"-DBROKEN_ON_PURPOSE={broken}"] if broken else []
        objects = [self._object(source, *flags) for source in build.SOURCES]
        objects += [self._generated("trampolines", operators.trampolines())]
        if name != "leaks":
            objects += [self._generated("dispatch", dispatch.source(self.compiler))]
        for part in PARTS[name]:
            wrong = mistake if part in ("fuzz", "leaks") else []
            objects.append(self._object(HERE / f"{part}.c", *flags, *wrong))
        out = self.folder / f"{name}{broken or ''}"
        self._run([self.compiler, *flags, *objects, "-ldl", "-lpthread", "-o", str(out)])
        return out


def main() -> None:
    """Compiles for a long run: ``fuzz`` or ``seeds``, compiler, folder."""
    name, compiler, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    print(Harness(folder, compiler).program(name, LIBFUZZER if name == "fuzz" else ADDRESS))


if __name__ == "__main__":
    main()
