"""The command line: ``python -m npudocs.upstream {patch,gaps,report,forward}``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from npudocs import evidence
from npudocs.upstream import forward, gaps, patch, report
from npudocs.upstream.house import PageError

BUILD = evidence.ROOT / "build" / "upstream"
HEAD = ("version", "API", "product", "mark", "why")


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m npudocs.upstream", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    for name, words in (
        ("patch", "the missing and the corrected entries, and why each mark is what it is"),
        ("gaps", "public names that have no entry"),
        ("report", "the task's results report, in Chinese and English"),
        ("forward", "the forward formulas that torch_npu lacks: two patches and their texts"),
    ):
        command = commands.add_parser(name, help=words)
        if name == "forward":
            command.add_argument("op_plugin", type=Path, help="a checkout of Ascend/op-plugin")
        if name != "report":
            command.add_argument("checkout", type=Path, help="a checkout of Ascend/pytorch")
        if name != "gaps":
            command.add_argument("--output", type=Path, default=BUILD, help="a folder")
            command.add_argument("--evidence", type=Path, default=evidence.FOLDER)
    options = parser.parse_args(arguments)
    try:
        if options.command == "patch":
            _patch(options)
        elif options.command == "gaps":
            print(gaps.table(gaps.collect(options.checkout)))
        elif options.command == "forward":
            told = forward.write(options.op_plugin, options.checkout, options.output)
            print(*told, sep="\n")
        else:
            print(*report.write(options.output, options.evidence), sep="\n")
    except (PageError, evidence.EvidenceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _patch(options: argparse.Namespace) -> None:
    records, claims = evidence.records(options.evidence), evidence.claims(options.evidence)
    changes = patch.plan(options.checkout, records, claims)
    rows = [HEAD, *patch.explain(changes)]
    # The last column is free text and needs no width.
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for *cells, why in rows:
        print("  ".join([*(f"{c:{w}}" for c, w in zip(cells, widths, strict=True)), why]))
    changed = [change for change in changes if change.before != change.after]
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "forward-ad.patch"
    path.write_bytes(patch.diff(changed).encode("utf-8"))
    words = f"{len(changed)} pages changed, in {path}" if changed else "nothing to change"
    print("", *(change.path for change in changed), words, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
