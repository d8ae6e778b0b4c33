"""The data behind the pages of deviations: ``evidence/deviations.json``, and the upstream report made from it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema

NAME, SCHEMA = "deviations.json", "deviations.schema.json"
FOLDER = Path(__file__).parents[1] / "evidence"
Key = tuple[str, str, str]


class DeviationError(ValueError):
    """``evidence/deviations.json`` is not to be trusted; the message says where and why."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A place in the source of torch or torch_npu."""

    repository: str
    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.repository}, `{self.path}`: `{self.name}`"


@dataclasses.dataclass(frozen=True)
class Family:
    """One cause, shared by its deviations."""

    title: str
    cause: str
    sources: tuple[Source, ...]
    fix: str
    repository: str


@dataclasses.dataclass(frozen=True)
class Deviation:
    """What one operator does otherwise on the NPU."""

    name: str
    operator: str
    status: str
    family: Family
    cause: str
    sources: tuple[Source, ...]
    confirmed: str
    notice: str
    workaround: str
    title: str
    expected: str
    fix: str
    keys: tuple[Key, ...]


def load(folder: Path = FOLDER) -> list[Deviation]:
    """All deviations, in the order of the file.

    Raises:
        DeviationError: the file is not what the schema says, or says something twice.
    """
    path = folder / NAME
    if not path.is_file():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DeviationError(f"evidence/{NAME}: is not JSON: {error}") from error
    rules = json.loads((FOLDER / SCHEMA).read_text(encoding="utf-8"))
    found = jsonschema.Draft202012Validator(rules).iter_errors(content)
    for problem in sorted(found, key=lambda error: error.json_path):
        raise DeviationError(f"evidence/{NAME}: {problem.json_path[2:]}: {problem.message}")
    families = {
        name: Family(**{**family, "sources": _sources(family)})
        for name, family in content["families"].items()
    }
    made = [_deviation(entry, families) for entry in content["deviations"]]
    _once(made)
    return made


def _deviation(entry: dict[str, Any], families: dict[str, Family]) -> Deviation:
    if entry["family"] not in families:
        message = f"family: {entry['family']!r} is no family of this file"
        raise DeviationError(f"evidence/{NAME}: {entry['name']}: {message}")
    family = families[entry["family"]]
    keys = tuple((one["operator"], one["form"], one["status"]) for one in entry["explains"])
    fields = {name: entry[name] for name in entry if name not in ("explains", "report")}
    report = {"fix": family.fix, **entry["report"]}
    return Deviation(
        **{**fields, **report, "family": family, "sources": _sources(entry), "keys": keys}
    )


def _sources(entry: dict[str, Any]) -> tuple[Source, ...]:
    return tuple(Source(**source) for source in entry["sources"])


def _once(deviations: Iterable[Deviation]) -> None:
    names: set[str] = set()
    keys: dict[Key, str] = {}
    for one in deviations:
        if one.name in names:
            raise DeviationError(f"evidence/{NAME}: {one.name} stands here twice")
        names.add(one.name)
        for key in one.keys:
            if key in keys:
                message = f"{' / '.join(key)} is explained by {keys[key]} too"
                raise DeviationError(f"evidence/{NAME}: {one.name}: {message}")
            keys[key] = one.name


def compare(deviations: Iterable[Deviation], rows: Iterable[Key]) -> tuple[list[Key], list[Key]]:
    """The rows (operator, form, status) that no deviation explains, and explanations without a row."""
    explained = {key for one in deviations for key in one.keys}
    seen = set(rows)
    return sorted(seen - explained), sorted(explained - seen)


def report(deviation: Deviation, steps: str, actual: str) -> str:
    """The text of an upstream report."""
    where = "\n".join(f"- {source}" for source in (*deviation.sources, *deviation.family.sources))
    return f"""\
Title: {deviation.title}
Repository: {deviation.family.repository}

## Environment

- torch: <version>
- torch_npu: <version>
- CANN: <version>
- product: <name>

## Steps

```python
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

device = torch.accelerator.current_accelerator()
{steps.strip()}
```

## Expected

{deviation.expected}

## Actual

```text
{actual.strip()}
```

## Cause

{deviation.cause} {deviation.family.cause}

{where}

## Suggested fix

{deviation.fix}
"""
