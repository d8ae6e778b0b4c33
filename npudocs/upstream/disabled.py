"""The tests of ``TestFwdGradients`` that torch_npu disables: ``python -m npudocs.upstream.disabled``.

``groups CHECKOUT`` counts them by method, dtype and reason, as a checkout of Ascend/pytorch lists them.
``run CHECKOUT`` performs what each of them checks and writes ``evidence/upstream_disabled.json``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from npudocs import evidence

LIST = "test/unsupported_test_cases/.pytorch-disabled-tests.json"
CLASS = "TestFwdGradients"
METHODS = ("test_forward_mode_AD", "test_inplace_forward_mode_AD", "test_fn_fwgrad_bwgrad")
DTYPES = ("float64", "complex128")
_NAME = re.compile(
    rf"(?P<method>{'|'.join(METHODS)})_(?P<op>[\w-]+)_(?:npu|privateuse1)_(?P<dtype>{'|'.join(DTYPES)})"
    rf" \(__main__\.{CLASS}(?:PRIVATEUSE1|NPU)?\)"
)


class ListError(ValueError):
    """The list is not as expected; the message names the file and what was expected."""


@dataclasses.dataclass(frozen=True, order=True)
class Case:
    """One disabled test: its method, the operator and the dtype, and what the list says of it."""

    method: str
    op: str
    dtype: str
    reason: str = ""


def read(checkout: Path) -> list[Case]:
    """The disabled tests of the class, in order.

    Raises:
        ListError: the checkout has no such list, or it has another form.
    """
    try:
        listed = json.loads((checkout / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ListError(f"{LIST}: expected this file in a checkout of Ascend/pytorch") from None
    except ValueError as error:
        raise ListError(f"{LIST}: expected JSON: {error}") from None
    if not isinstance(listed, dict):
        raise ListError(f"{LIST}: expected an object with the name of a test as each key")
    return sorted(_case(name, said) for name, said in listed.items() if f".{CLASS}" in name)


def _case(name: str, said: Any) -> Case:
    match = _NAME.fullmatch(name)
    if not match:
        raise ListError(f"{LIST}: expected test_METHOD_OPERATOR_npu_DTYPE of {CLASS}, found {name}")
    match said:
        case [str(reason), [*products]] if all(isinstance(p, str) for p in products):
            words = [reason, *(f"only on {product}" for product in products if product)]
            return Case(**match.groupdict(), reason=", ".join(filter(None, words)))
    raise ListError(f"{LIST}: expected [reason, [product, ...]] for {name}, found {said}")


def groups(cases: list[Case]) -> Counter[tuple[str, str, str]]:
    """How many cases a method, dtype and reason have."""
    return Counter((case.method, case.dtype, case.reason) for case in cases)


def commit(checkout: Path) -> str:
    """The commit of a checkout; empty where it is not one of git."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options, read(options.checkout))
    except ListError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m npudocs.upstream.disabled", description=__doc__
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    add = commands.add_parser("groups", help="count the disabled tests")
    add.add_argument("checkout", type=Path, help="a checkout of Ascend/pytorch")
    add.set_defaults(run=_groups)
    add = commands.add_parser("run", help="perform what the disabled tests check")
    add.add_argument("checkout", type=Path, help="a checkout of Ascend/pytorch")
    add.add_argument("--limit", type=int, metavar="N", help="only N cases, spread over all")
    output = evidence.FOLDER / "upstream_disabled.json"
    add.add_argument("--output", type=Path, default=output)
    add.set_defaults(run=_run)
    return parser


def _groups(options: argparse.Namespace, cases: list[Case]) -> None:
    for (method, dtype, reason), number in sorted(groups(cases).items()):
        print(f"{number:5} {method} {dtype}: {reason or 'no reason'}")
    print(f"{len(cases):5} in all")


def _run(options: argparse.Namespace, cases: list[Case]) -> None:
    # The processes of the run import this module, and not all of them need torch.
    from npudocs.upstream import disabled_run

    chosen = (
        cases[:: max(len(cases) // options.limit, 1)][: options.limit] if options.limit else cases
    )
    content = disabled_run.run(chosen, len(cases), commit(options.checkout))
    options.output.write_text(disabled_run.as_text(content), encoding="utf-8")
    for outcome, number in sorted(Counter(c["outcome"] for c in content["cases"]).items()):
        print(f"{number:5} {outcome}")


if __name__ == "__main__":
    sys.exit(main())
