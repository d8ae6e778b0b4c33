"""``forward``: the forward formulas that torch_npu lacks, as a patch for each of two projects.

``evidence/derivatives.json`` has all the knowledge: for each entry of op-plugin's ``derivatives.yaml`` without a
forward formula the lines to add, or the reason why there are none; and what to replace in torch_npu's generator, which
lets a missing formula pass in silence. Everything else of the files stays as it is, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npudocs import evidence
from npudocs.upstream import page
from npudocs.upstream.page import PageError
from npudocs.upstream.patch import PageChange, diff

DATA = evidence.FOLDER / "derivatives.json"
TEMPLATES = Path(__file__).with_name("templates")
FILE = "op_plugin/config/derivatives.yaml"
_ENTRY = re.compile(r"^- name: ([\w.]+)\((?:.*(?:\n|\Z)(?!- name: ))*", re.MULTILINE)
_VERSION = re.compile(r"^  version: ", re.MULTILINE)
_RETURNS = re.compile(r"-> \(?(.*?)\)?\s*$", re.MULTILINE)
# What YAML would not read as one plain text.
_QUOTED = re.compile(r"^[\[\]{}&*!|>%@`'\"?,#]|: | #")


def load() -> dict[str, Any]:
    """Return the data: ``generator``, ``entries`` with their lines, and ``without`` with reasons."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def has_formula(entry: str) -> bool:
    """Return whether an entry of ``derivatives.yaml`` says how a result's tangent is computed."""
    match = _RETURNS.search(entry)
    named = re.findall(r"Tensor (\w+)", match[1]) if match else []
    outputs = "|".join([r"result\d*", *named])
    return bool(re.search(rf"^  (?:{outputs})\b.*: ", entry, re.MULTILINE))


def missing(text: str) -> list[str]:
    """Return the names of the entries without a forward formula, in order, each once."""
    return [*dict.fromkeys(m[1] for m in _ENTRY.finditer(text) if not has_formula(m[0]))]


def add(text: str, entries: dict[str, Any]) -> str:
    """Return the text of ``derivatives.yaml`` with the formulas; an entry that has one keeps it."""

    def extended(match: re.Match[str]) -> str:
        name, entry = match[1], match[0]
        place = _VERSION.search(entry)
        if name not in entries or has_formula(entry):
            return entry
        if not place:
            raise PageError(f"{FILE}: expected a version in the entry of {name}")
        end = "\r\n" if "\r\n" in entry else "\n"
        lines = [f"  {key}: {_scalar(value)}{end}" for key, value in entries[name]["lines"].items()]
        return entry[: place.start()] + "".join(lines) + entry[place.start() :]

    return _ENTRY.sub(extended, text)


def _scalar(formula: str) -> str:
    """Return a formula as YAML reads it, in quotes only where it needs them."""
    return "'" + formula.replace("'", "''") + "'" if _QUOTED.search(formula) else formula


def plan(op_plugin: Path, pytorch: Path) -> dict[str, list[PageChange]]:
    """Return the changed files of ``op-plugin`` and of ``pytorch``; none of a project that needs none.

    Raises:
        PageError: a checkout is another one, or the generator has another form.
    """
    data = load()
    formulas = page.load(op_plugin, FILE)
    if not _ENTRY.search(formulas):
        raise PageError(f"{FILE}: expected entries '- name: ...', as op-plugin writes them")
    generator = [*_generator(pytorch, data["generator"])]
    table = PageChange(FILE, "", formulas, add(formulas, data["entries"]), {})
    changes = {"op-plugin": [table], "pytorch": generator}
    return {name: [c for c in all_ if c.before != c.after] for name, all_ in changes.items()}


def _generator(pytorch: Path, steps: list[dict[str, str]]) -> Iterator[PageChange]:
    for file in dict.fromkeys(step["file"] for step in steps):
        before = after = page.load(pytorch, file)
        end = "\r\n" if "\r\n" in before else "\n"
        for step in steps:
            old, new = (step[side].replace("\n", end) for side in ("before", "after"))
            if step["file"] != file or new in after:
                continue
            if after.count(old) != 1:
                raise PageError(f"{file}: expected once, found {after.count(old)} times: {old}")
            after = after.replace(old, new)
        yield PageChange(file, "", before, after, {})


def write(op_plugin: Path, pytorch: Path, output: Path) -> list[str]:
    """Write two patches and the texts of the issue and of the pull requests; return what to tell."""
    changes, data = plan(op_plugin, pytorch), load()
    (table,) = changes["op-plugin"] or [PageChange(FILE, "", "", page.load(op_plugin, FILE), {})]
    left = missing(table.after)
    numbers = {
        "formulas": len(missing(table.before)) - len(left) if table.before else 0,
        "left": len(left),
        "reasons": "\n".join(f"- `{n}`" for n in left),
    }
    output.mkdir(parents=True, exist_ok=True)
    told = []
    for project, changed in changes.items():
        path = output / f"forward-{project}.patch"
        path.write_bytes(diff(changed).encode("utf-8"))
        told.append(str(path))
    for source in sorted(TEMPLATES.glob("forward_*.md")):
        path = output / source.name.replace("_", "-")
        text = source.read_text(encoding="utf-8")
        for name, value in numbers.items():
            text = text.replace(f"@{name}@", str(value))
        path.write_text(text, encoding="utf-8")
        told.append(str(path))
    unknown = [name for name in left if name not in data["without"]]
    return [*told, f"{numbers['formulas']} entries get a formula, {len(left)} stay without",
            *(f"no formula and no reason for {name}: add it to {DATA.name}" for name in unknown)]
