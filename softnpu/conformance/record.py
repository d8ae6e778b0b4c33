"""What the runs gave: ``conformance.tsv``, an operator a line, and the causes of its failures.

The counts are written by ``python -m softnpu.conformance``; the causes are kept by hand in
``conformance_causes.tsv``.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

from .formulas import FORMULAS

PACKAGE = Path(__file__).parents[1]
TABLE = PACKAGE / "conformance.tsv"
CAUSES = PACKAGE / "conformance_causes.tsv"
COLUMNS = (
    "operator", "repository", "cases", "passed", "failed", "refused", "not_run",
    "refusals_kept", "refusals_missed", "why",
)  # fmt: skip


class Row(NamedTuple):
    """An operator's counts of CANN's cases and of the refusals of CANN's host tests.

    ``cases`` is how many the repository has; the following four are how those that ran ended.
    ``refused`` are cases whose dtypes or ranks CANN's document does not name for the product;
    ``refusals_kept`` are calls that CANN's host tests expect to be refused and softnpu refuses,
    too; ``why`` tells what failed and what was not run, the most frequent first.
    """

    operator: str
    repository: str
    cases: int = 0
    passed: int = 0
    failed: int = 0
    refused: int = 0
    not_run: int = 0
    refusals_kept: int = 0
    refusals_missed: int = 0
    why: str = ""

    @property
    def verified(self) -> bool:
        """Whether cases of CANN ran and were compared with their reference."""
        return self.passed + self.failed > 0


@functools.cache
def table() -> tuple[dict[str, str], dict[str, Row]]:
    """The commits of the repositories, and the rows by operator; empty without the file."""
    if not TABLE.is_file():
        return {}, {}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    commits = dict(line[2:].split(" ") for line in lines if line.startswith("# "))
    rows = csv.DictReader(
        [line for line in lines if not line.startswith("#")], delimiter="\t", quoting=csv.QUOTE_NONE
    )
    return commits, {row["operator"]: _row(row) for row in rows}


def _row(row: dict[str, str]) -> Row:
    numbers = {name: int(row[name]) for name in COLUMNS[2:-1]}
    return Row(row["operator"], row["repository"], **numbers, why=row["why"] or "")


@functools.cache
def causes() -> dict[str, str]:
    """Why the cases of an operator fail, in a sentence, by its name."""
    with CAUSES.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["operator"]: row["cause"] for row in rows}


def lines(operator: str) -> list[str]:
    """What ``softnpu info`` says of an operator's kernel, in lines."""
    row = table()[1].get(operator)
    if operator in FORMULAS:
        return ["verified     by the formula of its document, in conformance/formulas.py"]
    if row is None or not row.verified:
        why = f" ({row.why})" if row and row.why else ""
        return [f"verified     no: none of CANN's cases was compared with its reference{why}"]
    ran = row.passed + row.failed + row.refused + row.not_run
    text = f"verified     CANN's cases, {ran} of {row.cases}: {row.passed} passed"
    for name in ("failed", "refused", "not_run"):
        if count := getattr(row, name):
            text += f", {count} {name.replace('_', ' ')}"
    cause = causes().get(operator)
    return [text, *([f"    {cause}"] if cause else [])]


def summary() -> dict[str, object]:
    """What the documentation shows: sums by repository, operators with failures, and the unverified."""
    commits, rows = table()
    repositories = []
    for name in sorted({row.repository for row in rows.values()}):
        some = [row for row in rows.values() if row.repository == name]
        sums = {column: sum(getattr(row, column) for row in some) for column in COLUMNS[2:-1]}
        repositories.append(
            {"name": name, "commit": commits.get(name, ""), "operators": len(some),
             "verified": sum(row.verified for row in some), **sums}
        )  # fmt: skip
    failing = [row for row in rows.values() if row.failed]
    return {
        "repositories": repositories,
        "failing": [(row, causes().get(row.operator, "")) for row in failing],
        "formulas": len(FORMULAS),
        "unverified": [
            row.operator
            for row in rows.values()
            if not row.verified and row.operator not in FORMULAS
        ],
    }


def write(commits: dict[str, str], rows: list[Row]) -> None:
    """Writes the table, sorted by operator."""
    lines = [f"# {name} {commit}" for name, commit in sorted(commits.items())]
    lines.append("\t".join(COLUMNS))
    lines += ["\t".join(map(str, row)) for row in sorted(rows)]
    part = TABLE.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    part.replace(TABLE)
