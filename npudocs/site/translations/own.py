"""Finds the texts that npudocs shows: in its code, its templates and scripts, and in data files."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog

SOURCES = Path(__file__).with_name("sources.json")
CALLS = {"say": (0,), "say_number": (0, 1)}
# In a template or a script of a page: say("..."), with either quote.
_SAY = re.compile(r"""\bsay\((?P<quote>["'])(?P<text>.+?)(?P=quote)""")
_LETTER = re.compile(r"[A-Za-z]")
# An address beside the texts of a dictionary.
_ADDRESS = re.compile(r"[\w.-]+/[\w./-]+")


def catalogs(root: Path) -> dict[str, Catalog]:
    """The templates of the catalogs ``npudocs`` and ``data`` of the project in `root`."""
    found = json.loads(SOURCES.read_text(encoding="utf-8"))
    places = {"npudocs": [*_code(root)], "data": []}
    for name, listed in places.items():
        for place in found[name]:
            path, _, inside = place.partition(":")
            if (root / path).is_file():
                read = _constant if path.endswith(".py") else _json
                listed += [(text, path, line) for text, line in read(root / path, inside)]
    return {name: _catalog(listed) for name, listed in places.items()}


def _catalog(listed: list[tuple[str, str, int]]) -> Catalog:
    made = Catalog(charset="utf-8")
    for text, path, line in listed:
        if _LETTER.search(text) and not _ADDRESS.fullmatch(text):
            made.add(text, locations=[(path, line)])
    return made


def _code(root: Path) -> Iterator[tuple[str, str, int]]:
    for path in sorted((root / "npudocs").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            name = node.func.id if _calls(node) else ""
            for text in (t for n in CALLS.get(name, ()) for t in _texts(node.args[n])):
                yield text, path.relative_to(root).as_posix(), node.lineno
            # ``map(say, (...))``, and the heads of a table, which `markup.table` says.
            listed = node.args[1:2] if _maps(node) else node.args[:1] if _draws(node) else []
            for text in (t for argument in listed for t in _texts(argument)):
                yield text, path.relative_to(root).as_posix(), node.lineno
    pages = [*(root / "npudocs").rglob("*.html*"), *(root / "docs" / "_static").rglob("*.js")]
    for path in sorted(pages):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for match in _SAY.finditer(line):
                yield match["text"], path.relative_to(root).as_posix(), number


def _calls(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS


def _maps(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node).startswith("map(say, ")


def _draws(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "markup.table"


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts of an argument: one, one of two, or all of a tuple or list."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _texts(element)


def _constant(path: Path, name: str) -> Iterator[tuple[str, int]]:
    """The texts in a tuple, or the values of a dictionary, that a module defines; ``.keys`` adds the keys."""
    name, _, keys = name.partition(".")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        named = [t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
        if name in named:
            for text in _leaves(ast.literal_eval(node.value), bool(keys)):
                yield text, node.lineno
            return
    raise LookupError(f"{path.name} defines no {name}, which {SOURCES.name} names")


def _leaves(value: Any, keys: bool) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*(value if keys else ()), *value.values()]
    for one in [value] if isinstance(value, str) else value:
        if isinstance(one, str):
            yield one
        else:
            yield from _leaves(one, keys)


def _json(path: Path, inside: str) -> Iterator[tuple[str, int]]:
    """The texts at a place in a JSON file; ``*`` stands for every key or element."""
    found = [json.loads(path.read_text(encoding="utf-8"))]
    for key in inside.split("."):
        step: list[Any] = []
        for value in found:
            if key == "*":
                step += value.values() if isinstance(value, dict) else value
            elif isinstance(value, dict) and key in value:
                step.append(value[key])
        found = step
    for text in found:
        if isinstance(text, str) and text:
            yield text, 0
