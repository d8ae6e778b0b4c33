"""The command line: ``python -m softnpu.conformance CHECKOUT...``."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from .. import SoftNpuError, activate
from ..operators import operators
from . import record

WHY_LENGTH = 160
MOST_ENDS = 5  # of a process, in the cases of an operator; then the rest is left out


def main() -> int:
    """Runs what the checkouts have; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m softnpu.conformance",
        description="Runs CANN's own operator tests on the software NPU. The code of the CHECKOUTs "
        "is executed, in a process of its own but with your rights: give it checkouts you trust.",
    )
    parser.add_argument(
        "checkouts", nargs="+", type=Path, metavar="CHECKOUT",
        help="a checkout of ops-math, ops-nn, ops-cv or ops-transformer; its folder has that name",
    )  # fmt: skip
    parser.add_argument(
        "--operator", action="append", default=[], metavar="NAME",
        help="only this one, such as aclnnAdd; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--cases", type=int, default=0, help="at most so many of each operator (0: all)"
    )
    parser.add_argument(
        "--commit", action="append", default=[], metavar="NAME=COMMIT",
        help="of a checkout that is no git checkout",
    )  # fmt: skip
    parser.add_argument("--record", action="store_true", help="write softnpu/conformance.tsv")
    options = parser.parse_args()
    try:
        if activate() == "silicon":
            raise SoftNpuError("this machine has an Ascend device: set SOFTNPU_FORCE=1")
        return _run(options)
    except SoftNpuError as error:
        print(f"softnpu: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    from .run import in_place_name

    given = dict(text.split("=", 1) for text in options.commit)
    jobs, repositories, commits = [], {}, {}
    for checkout in options.checkouts:
        found = find(checkout, options.operator)
        if options.record:
            commits[checkout.name] = given.get(checkout.name) or _commit(checkout)
        jobs += found
        repositories |= {path: checkout.name for _, path in found}
    rows: dict[str, Counter] = defaultdict(Counter)
    reasons: dict[str, Counter] = defaultdict(Counter)
    homes: dict[str, str] = {}
    for kind, path, number, outcome, why in results(jobs, options.cases):
        operator = Path(path).name
        if kind == "in place":
            operator = in_place_name(operator)
        if outcome == "end":
            if kind != "refusals":
                rows[operator]["cases"] += number
                homes.setdefault(operator, repositories[path])
            continue
        if kind == "refusals":
            operator, _, why = why.rpartition("\0")
            if options.operator and operator not in options.operator:
                continue
        homes.setdefault(operator, repositories[path])
        rows[operator][outcome] += 1
        if outcome in ("failed", "not run"):
            reasons[operator][f"{outcome}: {_short(why)}"] += 1
        if (options.operator and outcome not in ("passed", "kept")) or outcome == "missed":
            print(f"{operator} {kind} {number}: {outcome}: {why[:300]}")
    made = [_row(name, homes[name], rows[name], reasons[name]) for name in sorted(rows)]
    for row in made:
        print(*row[:-1], row.why, sep="\t")
    _print_totals(made)
    if options.record:
        old_commits, old = record.table()
        names = {row.operator for row in made}
        kept = [
            row
            for row in old.values()
            if row.operator not in names and (options.operator or row.repository not in commits)
        ]
        record.write(old_commits | commits, [*kept, *_with_kernels(made, kept)])
    return 0


def _with_kernels(made: list[record.Row], kept: list[record.Row]) -> list[record.Row]:
    """The rows, and one for each kernel that no repository has cases of."""
    from ..kernels import kernels

    names = {row.operator for row in (*made, *kept)}
    documents = {
        name: operator.document.partition(":")[0] for name, operator in operators().items()
    }
    return [
        *made,
        *(record.Row(n, documents[n] or "-", why="no cases") for n in kernels() if n not in names),
    ]


def _row(name: str, repository: str, counts: Counter, reasons: Counter) -> record.Row:
    why = "; ".join(f"{count} {text}" for text, count in reasons.most_common(2))
    return record.Row(
        name, repository, counts["cases"], counts["passed"], counts["failed"], counts["refused"], counts["not run"],
        counts["kept"], counts["missed"], why[:WHY_LENGTH].replace("\t", " "),
    )  # fmt: skip


def _print_totals(rows: list[record.Row]) -> None:
    by: dict[str, list[record.Row]] = defaultdict(list)
    for row in rows:
        by[row.repository].append(row)
    for name, some in sorted(by.items()):
        sums = {c: sum(getattr(row, c) for row in some) for c in record.COLUMNS[2:-1]}
        print(name, f"{len(some)} operators", *(f"{c} {n}" for c, n in sums.items()), sep="\t")


def _short(why: str) -> str:
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "N", " ".join(why.split()))[:100]


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--show-toplevel", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.split()
    if done.returncode or len(lines) != 2 or Path(lines[0]) != checkout.resolve():
        raise SoftNpuError(
            f"{checkout} is no git checkout of its own: say its commit with "
            f"--commit {checkout.name}=COMMIT"
        )
    return lines[1]


def find(checkout: Path, only: list[str]) -> list[tuple[str, str]]:
    """The jobs of a checkout: folders of cases and files of host tests, of operators with a kernel.

    Raises:
        SoftNpuError: there is nothing of the kind, or the operator is not known.
    """
    from ..kernels import kernels
    from .run import in_place_name

    have = set(kernels())
    for operator in only:
        if operator not in have:
            raise SoftNpuError(f"there is no kernel {operator}; python -m softnpu info lists them")
    folders = sorted({p.parent for p in checkout.glob("**/tests/st/aclnn*/atk_*.json")})
    files = sorted(checkout.glob("**/tests/ut/**/op_api/**/test_aclnn_*.cpp"))
    if not folders and not files:
        raise SoftNpuError(
            f"{checkout} has no tests of operators (tests/st/aclnn*/atk_*.json): "
            "is it a checkout of ops-math, ops-nn, ops-cv or ops-transformer?"
        )
    wanted = set(only) or have
    folders = [p for p in folders if "experimental" not in p.parts]
    jobs = [("cases", str(p)) for p in folders if p.name in wanted]
    # An operator that writes into its first input has the document of the other, and its cases.
    own = {p.name for p in folders}
    others = [(in_place_name(p.name), p) for p in folders]
    jobs += [("in place", str(p)) for name, p in others if name in wanted and name not in own]
    for path in files:
        named = set(
            re.findall(r"OP_API_UT\(\s*(\w+)", path.read_text(encoding="utf-8", errors="replace"))
        )
        if named & wanted and "experimental" not in path.parts:
            jobs.append(("refusals", str(path)))
    return jobs


def results(jobs: list[tuple[str, str]], most: int) -> Iterator[tuple[str, str, int, str, str]]:
    """The lines of the child processes: kind, path, number, outcome, why.

    A child that ends in the middle of a case is told of as a failure, and another goes on.
    """
    from .cases import read_folder

    left, ended = [(kind, path, 0) for kind, path in jobs], Counter()
    while left:
        child = subprocess.Popen(
            [sys.executable, "-m", "softnpu.conformance.child", str(most)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        child.stdin.write(json.dumps(left))
        child.stdin.close()
        in_kernel = False
        for line in child.stdout:
            kind, path, number, outcome, why = (*json.loads(line), "", "", "", "")[:5]
            in_kernel = kind == "kernel"
            if outcome == "end":
                yield kind, path, int(why or 0), outcome, ""
                left.pop(0)
            elif not in_kernel:
                left[0] = (kind, path, number + 1)
                yield kind, path, number, outcome, why
        code = child.wait()
        if left:
            kind, path, first = left.pop(0)
            ended[path] += 1
            if in_kernel:
                yield kind, path, first, "failed", f"the kernel ends the process with {code}"
            else:
                yield kind, path, first, "not run", f"the reference ends the process with {code}"
            # Each time costs a start; what a reference destroys it destroys in every case.
            if ended[path] < MOST_ENDS:
                left.insert(0, (kind, path, first + 1))
            elif kind != "refusals":
                yield kind, path, len(read_folder(Path(path))), "end", ""


if __name__ == "__main__":
    sys.exit(main())
