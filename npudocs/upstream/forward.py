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

import jinja2

from npudocs import evidence
from npudocs.upstream.house import PageError
from npudocs.upstream.patch import PageChange, diff

DATA = evidence.FOLDER / "derivatives.json"
TEMPLATES = Path(__file__).with_name("templates")
FILE = "op_plugin/config/derivatives.yaml"
_ENTRY = re.compile(r"^- name: (([\w.]+)\(.*\)) ->.*(?:\n(?!- name: ).*)*", re.MULTILINE)
_VERSION = re.compile(r"^  version: ", re.MULTILINE)
_RETURNS = re.compile(r"-> \(?(.*?)\)?\s*$", re.MULTILINE)
# What YAML would not read as one plain text.
_QUOTED = re.compile(r"^[\[\]{}&*!|>%@`'\"?,#]|: | #")


def load() -> dict[str, Any]:
    """Return the data: ``generator``, ``entries`` with their lines, and ``without``, each with a reason."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def has_formula(entry: str) -> bool:
    """Return whether an entry of ``derivatives.yaml`` says how a result's tangent is computed."""
    match = _RETURNS.search(entry)
    named = re.findall(r"Tensor (\w+)", match[1]) if match else []
    outputs = "|".join([r"result\d*", *named])
    return bool(re.search(rf"^  (?:{outputs})\b.*: ", entry, re.MULTILINE))


def missing(text: str) -> list[str]:
    """Return the names of the entries without a forward formula, in order, each once."""
    return [*dict.fromkeys(m[2] for m in _ENTRY.finditer(text) if not has_formula(m[0]))]


def add(text: str, entries: dict[str, Any]) -> str:
    """Return the text of ``derivatives.yaml`` with the formulas; an entry that has one keeps it."""

    def extended(match: re.Match[str]) -> str:
        entry, signature, name = match[0], match[1], match[2]
        # Two entries of one name have the formula of their signature.
        known = entries.get(signature) or entries.get(name)
        place = _VERSION.search(entry)
        if not known or has_formula(entry):
            return entry
        if not place:
            raise PageError(f"{FILE}: expected a version in the entry of {name}")
        lines = (f"  {key}: {_scalar(text)}\n" for key, text in known["lines"].items())
        return entry[: place.start()] + _ended("".join(lines), entry) + entry[place.start() :]

    return _ENTRY.sub(extended, text)


def _scalar(formula: str) -> str:
    """Return a formula as YAML reads it, in quotes only where it needs them."""
    return "'" + formula.replace("'", "''") + "'" if _QUOTED.search(formula) else formula


def plan(op_plugin: Path, pytorch: Path) -> dict[str, list[PageChange]]:
    """Return every file of ``op-plugin`` and of ``pytorch`` that is looked at, before and after.

    Raises:
        PageError: a folder is no checkout of its project, or a file has another form.
    """
    data = load()
    before = _read(op_plugin, "op-plugin", FILE)
    if not _ENTRY.search(before):
        raise PageError(f"{FILE}: expected entries that begin with '- name: '")
    formulas = PageChange(FILE, "", before, add(before, data["entries"]), {})
    return {"op-plugin": [formulas], "pytorch": [*_generator(pytorch, data["generator"])]}


def _generator(pytorch: Path, steps: list[dict[str, str]]) -> Iterator[PageChange]:
    for file in dict.fromkeys(step["file"] for step in steps):
        before = after = _read(pytorch, "pytorch", file)
        for step in (step for step in steps if step["file"] == file):
            old, new = (_ended(step[side], before) for side in ("before", "after"))
            if new in after:
                continue
            if after.count(old) != 1:
                raise PageError(f"{file}: expected once, found {after.count(old)} times: {old}")
            after = after.replace(old, new)
        yield PageChange(file, "", before, after, {})


def _ended(text: str, like: str) -> str:
    """Return a text with the line ends of another one."""
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def _read(checkout: Path, project: str, path: str) -> str:
    try:
        return (checkout / path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        expected = f"expected a checkout of Ascend/{project} with {path}"
        raise PageError(f"{checkout}: {expected}") from None


def write(op_plugin: Path, pytorch: Path, output: Path) -> list[str]:
    """Write a patch for each project, the issue and the pull requests; return what to tell.

    Raises:
        PageError: as `plan`.
    """
    changes, without = plan(op_plugin, pytorch), load()["without"]
    (formulas,) = changes["op-plugin"]
    left = missing(formulas.after)
    files = {
        f"forward-{project}.patch": diff(
            [change for change in found if change.before != change.after]
        )
        for project, found in changes.items()
    }
    kept = [{**g, "entries": [n for n in g["entries"] if n in left]} for g in without]
    facts = {
        "added": [name for name in missing(formulas.before) if name not in left],
        "left": left,
        "without": [group for group in kept if group["entries"]],
    }
    for source in sorted(TEMPLATES.glob("forward-*.md.j2")):
        template = jinja2.Template(
            source.read_text(encoding="utf-8"),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=True,
        )
        files[source.name.removesuffix(".j2")] = template.render(**facts)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_bytes(text.encode("utf-8"))
    unknown = [name for name in left if not any(name in group["entries"] for group in kept)]
    return [
        *(str(output / name) for name in files),
        f"{len(facts['added'])} entries get a formula, {len(left)} stay without one",
        *(f"neither a formula nor a reason, add one to {DATA.name}: {name}" for name in unknown),
    ]
