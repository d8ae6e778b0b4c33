"""The record of a sweep: made from the files of its shards, told, and compared with an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.evidence.sweep_records import DTYPES, FORMS
from npudocs.sweep import SweepError, pool
from npudocs.sweep.compare import TOLERANCES
from npudocs.sweep.variants import variants


def content(paths: Sequence[Path], partly: bool = False) -> dict[str, Any]:
    """Return a record's content, from the files of all shards.

    `partly` is for looking at some of the shards, which make no record.

    Raises:
        SweepError: the shards are of different runs, or one is missing or there twice.
    """
    headers, lines = [], []
    for path in paths:
        try:
            header, listed = pool.read(path)
        except (OSError, ValueError) as error:
            raise SweepError(f"{path} is not the file of a shard: {error}") from error
        headers.append(header)
        lines += listed
    if not partly:
        _check_headers(headers)
    return {
        "schema": 3,
        **{
            key: header[key]
            for key in ("kind", "repaired", "where", "commit", "limits")
            if key in header
        },
        "tolerances": {name: list(pair) for name, pair in TOLERANCES.items()},
        "started": header["started"],
        "dtypes": header["choice"]["dtypes"],
        "seconds": round(sum(line["seconds"] for line in lines)),
        "operators": _operators(lines),
    }


def _check_headers(headers: list[dict[str, Any]]) -> None:
    of_run = [{key: value for key, value in one.items() if key != "shard"} for one in headers]
    if any(one != of_run[0] for one in of_run):
        raise SweepError("the shards are of different runs: device, torch, commit or choice differ")
    numbers = sorted(header["shard"][0] for header in headers)
    (count, *others) = {header["shard"][1] for header in headers}
    if others or numbers != [*range(1, count + 1)]:
        raise SweepError(f"of the shards 1 to {count}, there are {numbers}")


def _operators(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda one: DTYPES.index(one["dtype"])):
        name = line["operator"]
        entry = found.setdefault(name, {"family": variants()[name].family, "cells": []})
        entry["cells"] += [{"dtype": line["dtype"], **cell} for cell in line["cells"]]
        if "cpu" in line:
            entry["cpu"] = line["cpu"]
    return {name: found[name] for name in sorted(found, key=str.lower)}


def table(made: dict[str, Any]) -> str:
    """Return the counts by dtype and form, as text."""
    rows = [f"{'':34}{'cells':>7}  status: cells"]
    for dtype in DTYPES:
        for form in FORMS:
            if found := evidence.sweep_counts(made, form, dtype):
                rows.append(f"{dtype:10} {form:22} {sum(found.values()):7}  {_words(found)}")
    return "\n".join(rows)


def differences(
    made: dict[str, Any], known: list[dict[str, Any]], asked: Container[tuple[str, str, str]]
) -> list[str]:
    """Return, in words, what is not as in the known record of this kind, torch_npu and product.

    What is compared is how many samples have each status. "cpu fallback" counts as "same": torch_npu
    says once a process that it takes the host, so who is told of it depends on the order of the jobs.
    A cell is missed where its operator, form and dtype were asked for.

    Raises:
        SweepError: there is no record to compare with.
    """

    def about(one: dict[str, Any]) -> tuple[str, str, str]:
        return one["kind"], one["where"]["torch_npu"], one["where"]["product"]

    record = next((one for one in known if about(one) == about(made)), None)
    if record is None:
        words = " ".join(about(made))
        raise SweepError(f"there is no record of a sweep to compare with: {words}")
    before, now = (
        {(cell.operator, cell.form, cell.dtype): cell for cell in evidence.sweep_cells(one)}
        for one in (record, made)
    )
    found = []
    for key in dict.fromkeys([*before, *now]):
        (operator, form, dtype), old, new = key, before.get(key), now.get(key)
        place = f"{operator} ({form}, {dtype})"
        if new is None:
            if key in asked and (operator, "all", dtype) not in now:
                found.append(f"{place}: was {_words(old.counts)}, is gone")
        elif old is None:
            found.append(f"{place}: is not recorded; it is {new.status!r} now")
        elif _outcomes(old) != _outcomes(new):
            said = f" ({new.told[0]['message']})" if new.told else ""
            found.append(f"{place}: was {_words(old.counts)}, is {_words(new.counts)} now{said}")
    return found


def _outcomes(cell: evidence.SweepCell) -> Counter[str]:
    found = Counter(cell.counts)
    found["same"] += found.pop("cpu fallback", 0)
    return found


def _words(counts: dict[str, int]) -> str:
    return ", ".join(f"{status}: {number}" for status, number in counts.items())
