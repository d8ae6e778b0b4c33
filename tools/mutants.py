"""``make mutants``: break the project in many small ways, and see that a check notices each.

The kinds stand in ``mutants.toml``: what is broken, where, and which check has to notice. A mutant is
one change at one place of a real file, in a clone beside this one. Two processes judge, each in a clone
of its own and each mutant in a fork of it, so that nothing is imported or built twice:

``build``    pages, scripts and test files are read and run as ``make check`` does it, of the project as it
             is but for the mutant; records are compared with the run (``python -m npudocs.evidence check``)
``pytest``   what runs pages and kernels is judged by the tests that the kind names

    python -m tools.mutants [KIND ...]     # the table; build/mutants.json lists every mutant

What was judged is kept, in ``build/mutants-LANE.jsonl``, and not judged again until the mutant changes, its test, or
what it goes through (`mutant_kinds.THROUGH`): a run that was interrupted goes on where it was. ``--fresh`` judges all:
about a quarter of an hour on two idle cores, by the times of its parts.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.mutant_kinds import BUILT, ROOT, Kind, Mutant, chosen, kinds, table

# Seconds that the judge of one mutant may take, and one block or script in it.
LIMIT, STEP = 90, 20
LANES = ("build", "pytest")
# What the process of the second lane has imported before it is forked.
WARM = (
    "matplotlib.pyplot",
    "myst_parser.sphinx_",
    "sphinx.builders.html",
    "sphinx_gallery.gen_gallery",
    "torch._dynamo",
    "torch.testing._internal.common_utils",
)


def forked(judge: Callable[[], tuple[str, str]], limit: float = LIMIT) -> tuple[str, str]:
    """What a judge returns in a fork of this process: who saw it and in which words, or that it broke."""
    with tempfile.NamedTemporaryFile() as answer, tempfile.TemporaryFile() as output:
        if not (child := os.fork()):
            os.setsid()
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            try:
                words = judge()
            except BaseException as error:
                # A traceback is no message: nobody has said what is wrong.
                words = ("", f"a traceback: {type(error).__name__}: {error}")
            Path(answer.name).write_text(json.dumps(words), encoding="utf-8")
            os._exit(0)
        end = time.monotonic() + limit
        while not (done := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < end:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not done:
            os.waitpid(child, 0)
            return "the limit of time", f"no result after {limit} s"
        text = Path(answer.name).read_text(encoding="utf-8")
        if not text:
            output.seek(0)
            return "the end of its process", output.read().decode(errors="replace")[-300:]
        by, words = json.loads(text)
        return by, words


class Build:
    """The project as Sphinx knows it after everything ran; a mutant is what changed since."""

    limit = LIMIT

    def __init__(self, wanted: list[Kind]) -> None:
        import matplotlib

        matplotlib.use("Agg")
        here = Path.cwd()
        self.words, self.known, self.gallery, self.times = io.StringIO(), set(), {}, {}
        if {kind.judge for kind in wanted} != {"translations"}:
            self._run(here)
        if any(kind.judge == "translations" for kind in wanted):
            make = ["make", "-s", "catalogs", f"PYTHON={sys.executable}"]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
            said = forked(lambda: ("", "\n".join(self.translations())))[1]
            self.known |= set(said.splitlines())

    def _run(self, here: Path) -> None:
        """Run everything once, as it is."""
        from sphinx.application import Sphinx

        self.app = Sphinx(
            here / "docs",
            here,
            here / "build/execute",
            here / "build/doctrees",
            "execute",
            confoverrides={"nitpicky": True, "execute_limit": STEP},
            status=None,
            warning=self.words,
            keep_going=True,
        )
        self.app.build()
        if self.words.getvalue():
            sys.exit(f"mutants: the project is red without them:\n{self.words.getvalue()}")
        shutil.copy2("build/executed.json", "build/before.json")
        self.known = set(self.evidence("build/before.json"))
        self.gallery = {p: p.read_bytes() for p in Path("docs/gallery").rglob("*") if p.is_file()}
        self.times = {path: path.stat().st_mtime_ns for path in self.gallery}

    def evidence(self, results: str) -> list[str]:
        """What the check of the evidence says."""
        from npudocs.evidence import __main__ as evidence

        said: list[str] = []
        for more in ([], ["--against", results]):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                evidence.main(["check", *more])
            said += errors.getvalue().splitlines()
        return said

    @staticmethod
    def translations() -> list[str]:
        """What ``make translations`` says, of the texts as they were before."""
        from tools.translations import __main__ as translations

        with contextlib.redirect_stderr(io.StringIO()) as errors:
            translations.main(["check"])
        return errors.getvalue().split("\n")[:-1]

    def judge(self, kind: Kind, mutant: Mutant) -> tuple[str, str]:
        """Build again, in a fork; and ask the evidence where the kind says so."""
        if kind.judge == "translations":
            said = [line for line in self.translations() if line not in self.known]
            return ("make translations", said[0]) if said else ("", "")
        if kind.judge == "records":
            said = [line for line in self.evidence("build/before.json") if line not in self.known]
            return ("the evidence", said[0]) if said else ("", "")
        app = self.app
        self.words.seek(0)
        self.words.truncate()
        if mutant.file.startswith("examples/"):
            from sphinx_gallery import gen_gallery

            from npudocs.execute import scripts

            scripts._begin(app)
            gen_gallery.generate_gallery_rst(app)
        app.build()
        if mutant.file.endswith(".md"):
            docname = app.env.path2doc(Path(mutant.file).resolve())
            app.env.resolve_references(app.env.get_doctree(docname), docname, app.builder)
        said = re.sub(r"\x1b\[[\d;]*m", "", self.words.getvalue()).strip()
        if said:
            return self._by(said), said[:600]
        if kind.recorded:
            new = [line for line in self.evidence("build/executed.json") if line not in self.known]
            return ("what was recorded", new[0]) if new else ("", "")
        return "", ""

    @staticmethod
    def _by(said: str) -> str:
        for pattern, name in table()["by"].items():
            if re.search(pattern, said):
                return name
        return "Sphinx, which reads the page"

    def restore(self) -> None:
        """Put back the pages that a script's fork has made."""
        for path, time_ in self.times.items():
            if not path.is_file() or path.stat().st_mtime_ns != time_:
                path.write_bytes(self.gallery[path])
                os.utime(path, ns=(time_, time_))


class Tests:
    """The tests of a process that has imported what is not broken here, and that they need."""

    def __init__(self, wanted: list[Mutant]) -> None:
        for name in WARM:
            importlib.import_module(name)
        if mine := [
            name for name in sys.modules if name.startswith(("npudocs", "softnpu.kernels."))
        ]:
            sys.exit(f"mutants: what is broken here is imported already: {', '.join(mine)}")
        # Without mutants they must pass, all of them.
        files, operators = set(), set()
        for mutant in wanted:
            words = shlex.split(mutant.judge)
            if "-k" in words:
                operators.add(words[-1])
            else:
                files.update(words)
        calls = [" ".join(sorted(files))] if files else []
        if operators:
            calls.append(f"tests/softnpu/test_kernels.py -k '{' or '.join(sorted(operators))}'")
        began = time.monotonic()
        for words in calls:
            by, said = forked(lambda words=words: self._pytest(words), 15 * LIMIT)
            if by:
                sys.exit(f"mutants: the project is red without them: {by}: {said}")

        # On a busy machine, too, none of them takes as long as all together.
        self.limit = max(LIMIT, time.monotonic() - began)

    def judge(self, kind: Kind, mutant: Mutant) -> tuple[str, str]:
        """Run the tests of this kind, up to the first that fails."""
        return self._pytest(mutant.judge)

    @staticmethod
    def _pytest(words: str) -> tuple[str, str]:
        import pytest

        class First:
            seen = ("", "")

            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed and not self.seen[0]:
                    last = str(report.longrepr).strip().splitlines()
                    errors = [line for line in last if line.startswith("E ")] or last[-1:]
                    self.seen = (report.nodeid.partition("[")[0], errors[0][:300])

        first = First()
        options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
        code = pytest.main([*shlex.split(words), *options], plugins=[first])
        if code and not first.seen[0]:
            return "the start of the tests", f"pytest ended with {int(code)}"
        return first.seen

    def restore(self) -> None:
        """Do nothing: tests write into folders of their own."""


def verdicts(name: str) -> Path:
    """The file that keeps what a lane has judged, one mutant in a line."""
    return ROOT / "build" / f"mutants-{name}.jsonl"


def judged() -> dict[str, Mutant]:
    """What is kept, by the keys of the mutants; the last where there are several."""
    found = {}
    for path in map(verdicts, LANES):
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        for line in lines:
            # The lane of builds may print something else.
            if line.startswith("{"):
                mutant = Mutant(**json.loads(line))
                found[mutant.key] = mutant
    return found


def lane(name: str, todo: set[str]) -> None:
    """Judge the mutants of one lane that have these keys, in this clone; print a line of JSON for each."""
    wanted = [kind for kind in kinds([]) if (kind.judge in BUILT) == (name == "build")]
    left = [(kind, one) for kind in wanted for one in chosen(kind) if one.key in todo]
    if not left:
        return
    wanted, mutants = [kind for kind, _ in left], [mutant for _, mutant in left]
    judges = Build(wanted) if name == "build" else Tests(mutants)
    for kind, mutant in left:
        path = Path(mutant.file)
        text, times = path.read_bytes(), path.stat()
        path.write_text(mutant.text, encoding="utf-8")
        began = time.perf_counter()
        try:
            mutant.by, mutant.seen = forked(
                lambda k=kind, m=mutant: judges.judge(k, m), judges.limit
            )
        finally:
            path.write_bytes(text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            judges.restore()
        mutant.seconds = round(time.perf_counter() - began, 2)
        print(json.dumps(dataclasses.asdict(mutant) | {"text": ""}), flush=True)


def clone(into: Path) -> None:
    """A clone of the project as it lies here, with its history: records name commits."""
    subprocess.run(["git", "clone", "-q", "--shared", ROOT, into], check=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
        else:
            (into / name).unlink(missing_ok=True)


def report(wanted: list[Kind], found: list[Mutant]) -> int:
    """Print the table and what nobody saw; return the exit code."""
    bad = 0
    print(f"{'kind':44} {'made':>4} {'seen':>4}  by what")
    for kind in wanted:
        mine = [mutant for mutant in found if mutant.kind == kind.name]
        missed = [mutant for mutant in mine if not mutant.by]
        counts = Counter(mutant.by for mutant in mine if mutant.by)
        by = ", ".join(f"{name} ({number})" for name, number in counts.most_common(3))
        print(f"{kind.name:44} {len(mine):4} {len(mine) - len(missed):4}  {by}")
        for mutant in missed:
            why = next((one["why"] for one in kind.explained if explains(one, mutant)), "")
            bad += not why
            words = f"explained: {why}" if why else f"NOT SEEN {mutant.seen}"
            change = f"{mutant.before!r} to {mutant.after!r}"
            print(f"    {mutant.file}:{mutant.line}: {change}: {words}")
        bad += (kind.sites or len(kind.edits)) - len(mine)
    seen = sum(bool(mutant.by) for mutant in found)
    counts = f"{len(found)} mutants of {len(wanted)} kinds, {seen} seen"
    print(f"{counts}; every one: build/mutants.json")
    if bad:
        print(f"mutants: {bad} were not seen, and nothing explains it", file=sys.stderr)
    return bool(bad)


def explains(one: dict[str, str], mutant: Mutant) -> bool:
    """Whether an explanation is of this mutant."""
    return one["file"] == mutant.file and one["text"] in mutant.lines


def main() -> int:
    """Run both lanes, and report."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--fresh", action="store_true", help="judge again what was judged before")
    parser.add_argument("--lane", choices=LANES, help=argparse.SUPPRESS)
    parser.add_argument("--todo", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lane:
        lane(options.lane, {*options.todo.read_text(encoding="utf-8").split()})
        return 0
    wanted = kinds(options.kinds)
    began, failed = time.monotonic(), []
    keys = [mutant.key for kind in wanted for mutant in chosen(kind)]
    (ROOT / "build").mkdir(exist_ok=True)
    known = {} if options.fresh else judged()
    with tempfile.TemporaryDirectory(prefix="mutants") as scratch:
        left = [key for key in keys if key not in known]
        todo = Path(scratch, "todo")
        todo.write_text("\n".join(left), encoding="utf-8")
        running = []
        for name in LANES if left else ():
            folder = Path(scratch, name)
            clone(folder)
            command = [sys.executable, "-m", "softnpu", "run", "-m", "tools.mutants"]
            command += ["--lane", name, "--todo", str(todo)]
            with verdicts(name).open("a") as output:
                running.append(subprocess.Popen(command, cwd=folder, stdout=output))
        failed = [process.wait() for process in running]
    known = judged()
    found = [known[key] for key in keys if key in known]
    listed = [{k: v for k, v in dataclasses.asdict(one).items() if k != "text"} for one in found]
    (ROOT / "build/mutants.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    code = report(wanted, found)
    print(f"{time.monotonic() - began:.0f} s, {len(keys) - len(left)} judged before")
    return code or any(failed)


if __name__ == "__main__":
    sys.exit(main())
