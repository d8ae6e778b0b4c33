"""The command line: ``python -m npudocs.upstream {patch,gaps,report}``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from npudocs import evidence
from npudocs.upstream import gaps, patch, report
from npudocs.upstream.page import PageError

BUILD = evidence.ROOT / "build" / "upstream"


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (PageError, evidence.EvidenceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m npudocs.upstream", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    add = commands.add_parser("patch", help="the missing and the corrected entries")
    add.add_argument("checkout", type=Path, help="a checkout of Ascend/pytorch")
    add.add_argument("--output", type=Path, default=BUILD / "forward-ad.patch")
    add.add_argument("--apply", action="store_true", help="edit the checkout, write no patch")
    add.add_argument("--explain", action="store_true", help="print why each mark is what it is")
    add.add_argument("--evidence", type=Path, default=evidence.FOLDER)
    add.set_defaults(run=_patch)
    add = commands.add_parser("gaps", help="public names that have no entry")
    add.add_argument("checkout", type=Path, help="a checkout of Ascend/pytorch")
    add.add_argument("--json", action="store_true")
    add.set_defaults(run=_gaps)
    add = commands.add_parser("report", help="the task's results report, in Chinese and English")
    add.add_argument("--output", type=Path, default=BUILD)
    add.add_argument("--evidence", type=Path, default=evidence.FOLDER)
    add.set_defaults(run=_report)
    return parser


def _patch(options: argparse.Namespace) -> int:
    records, claims = evidence.records(options.evidence), evidence.claims(options.evidence)
    changes = patch.plan(options.checkout, records, claims)
    if options.explain:
        _print_rows([("version", "API", "product", "mark", "why"), *patch.explain(changes)])
    changed = [change for change in changes if change.before != change.after]
    if options.apply:
        patch.apply(options.checkout, changed)
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_bytes(patch.diff(changed).encode("utf-8"))
    done = "written" if options.apply else f"in {options.output}"
    words = f"{len(changed)} pages changed, {done}" if changed else "nothing to change"
    print("\n".join([*(change.path for change in changed), words]))
    return 0


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    # The last column is free text and needs no width.
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[-1]]))
    print()


def _gaps(options: argparse.Namespace) -> int:
    found = gaps.collect(options.checkout)
    if options.json:
        print(json.dumps([dataclasses.asdict(gap) for gap in found], indent=1, ensure_ascii=False))
    else:
        print(gaps.table(found))
    return 0


def _report(options: argparse.Namespace) -> int:
    for path in report.write(options.output, options.evidence):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
