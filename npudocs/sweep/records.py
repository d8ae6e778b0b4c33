"""The record of a sweep: made from the files of its shards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from npudocs import evidence
from npudocs.evidence.sweep_records import DTYPES, FORMS
from npudocs.sweep import SweepError


def merged(
    shards: Iterable[list[dict[str, Any]]], families: dict[str, str], partly: bool = False
) -> dict[str, Any]:
    """Return the operators of a record, from the lines of all shards, headers first.

    `partly` is for looking at some of the shards, which make no record.

    Raises:
        SweepError: the shards are of different runs, or one is missing or there twice.
    """
    headers, lines = [], []
    for header, *listed in shards:
        headers.append(header)
        lines += listed
    if not partly:
        _check_headers(headers)
    found: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda one: DTYPES.index(one["dtype"])):
        name = line["operator"]
        entry = found.setdefault(name, {"family": families[name], "cells": []})
        entry["cells"] += [{"dtype": line["dtype"], **cell} for cell in line["cells"]]
        if "cpu" in line:
            entry["cpu"] = line["cpu"]
    return {name: found[name] for name in sorted(found, key=str.lower)}


def _check_headers(headers: list[dict[str, Any]]) -> None:
    if not headers:
        raise SweepError("there is nothing to merge")
    base = {key: value for key, value in headers[0].items() if key != "shard"}
    if any({k: v for k, v in one.items() if k != "shard"} != base for one in headers):
        raise SweepError("the shards are of different runs: device, torch, commit or choice differ")
    numbers = sorted(header["shard"][0] for header in headers)
    count = headers[0]["shard"][1]
    if any(header["shard"][1] != count for header in headers) or numbers != [*range(1, count + 1)]:
        raise SweepError(f"of the shards 1 to {count}, there are {numbers}")


def content(header: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a record's content with its digest."""
    from npudocs.sweep.compare import TOLERANCES  # with torch, which a wrong word need not wait for

    made = {
        "schema": 2,
        **{key: header[key] for key in ("kind", "where", "commit", "limits")},
        "tolerances": {name: list(pair) for name, pair in TOLERANCES.items()},
        **fields,
    }
    return {**made, "digest": evidence.digest(made)}


def table(made: dict[str, Any]) -> str:
    """Return the counts by dtype and form, as text."""
    rows = [f"{'':34}{'cells':>7}  status: cells"]
    for dtype in DTYPES:
        for form in FORMS:
            if found := evidence.sweep_counts(made, form, dtype):
                words = ", ".join(f"{status}: {number}" for status, number in found.items())
                rows.append(f"{dtype:10} {form:22} {sum(found.values()):7}  {words}")
    return "\n".join(rows)
