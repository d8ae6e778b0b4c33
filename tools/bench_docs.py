"""``make bench-docs``: processor seconds of a build of the site, and of the parts that none can do without.

The floor of an English build is the same pages unexecuted, plus the scripts and blocks run one after the
other in one process without Sphinx. Everything runs in a copy of the working tree, in one run and twice,
and the faster time counts. Processor seconds are those of all processes.

    python tools/bench_docs.py             # the table
    python tools/bench_docs.py bare ENV    # run scripts and blocks; ENV is an environment.pickle
"""

from __future__ import annotations

import os
import pickle
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 2


def bare(environment: Path) -> None:
    """Run all scripts and blocks in this process."""
    os.environ["MPLBACKEND"] = "Agg"
    sys.path.insert(0, str(ROOT))
    from npudocs.execute.pages import PageRun
    from npudocs.site import state

    env = pickle.loads(environment.read_bytes())
    deaf = SimpleNamespace(start=lambda *words: None, end=lambda *words: None)
    for script in sorted(Path("examples").glob("*.py")):
        runpy.run_path(str(script), run_name="__main__")
    for name, page in env.execute_blocks.items():
        if not name.startswith("gallery/"):
            PageRun(Path.cwd(), page.blocks, state, {}, deaf).run()


def measure(command: list[str], folder: Path, **variables: str) -> float:
    """The processor seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = folder / "bench.log"
    with log.open("w") as output:
        done = subprocess.run(
            command, cwd=folder, stdout=output, stderr=output, env={**os.environ, **variables}
        )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def clear(folder: Path, *names: str) -> None:
    """Remove what a build has made."""
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)


def copy(into: Path) -> Path:
    """A copy of what git tracks, as it is in the working tree."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    return into


def main() -> None:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = copy(Path(scratch) / "site")
        make = ["make", "html", f"PYTHON={sys.executable}"]
        english, both = [*make, "LANGUAGES=en"], [*make, "LANGUAGES=en zh_CN"]
        run = [sys.executable, "-m", "softnpu", "run", str(ROOT / "tools" / "bench_docs.py")]
        bare = [*run, "bare", str(folder / "build/doctrees/environment.pickle")]
        rounds = []
        for _ in range(ROUNDS):
            clear(folder, "build", "docs/gallery")
            unexecuted = measure([*english, "DEVICE=off"], folder)
            executed = measure(bare, folder)
            clear(folder, "build", "docs/gallery")
            fresh, again = measure(english, folder), measure(english, folder)
            # English pages are written again where another language comes, for the links between them.
            measure(both, folder)
            both_again = measure(both, folder)
            clear(folder, "build/zh", "build/doctrees-zh")
            chinese = measure(both, folder)
            rounds.append((unexecuted, executed, fresh, again, chinese, both_again))
    # Other work on the machine makes everything slower, and nothing faster.
    unexecuted, executed, fresh, again, chinese, both_again = map(min, zip(*rounds, strict=True))
    chinese -= again
    floor = unexecuted + executed
    rows = [
        ("the pages unexecuted", unexecuted, ""),
        ("scripts and blocks bare, in one process", executed, ""),
        ("floor: the sum of these", floor, ""),
        ("English, from nothing", fresh, f"{fresh / floor:.2f} of the floor (goal 1.25)"),
        ("English, nothing changed", again, f"{again / fresh:.2f} of fresh (goal 0.15)"),
        ("Chinese on top, from nothing", chinese, f"{chinese / fresh:.2f} (goal 0.5)"),
        ("both, nothing changed", both_again, f"{both_again / fresh:.2f} of fresh English"),
    ]
    for what, seconds, ratio in rows:
        print(f"{what:42} {seconds:6.1f} s  {ratio}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["bare"]:
        bare(Path(sys.argv[2]))
    else:
        main()
