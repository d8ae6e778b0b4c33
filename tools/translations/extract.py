"""What babel lacks to find npudocs' words: texts in JSON files, and constants. ``babel.cfg`` says where they are."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from babel.messages.extract import extract_python

Found = Iterator[tuple[int, str | None, Any, list[str]]]
# An address beside the texts of a dictionary.
_ADDRESS = re.compile(r"[\w.-]+/[\w./-]+")


def constants(file: IO[bytes], keywords: Any, tags: Any, options: Mapping[str, str]) -> Found:
    """The texts of a module that babel itself finds, and those of the constants that `options` name."""
    yield from extract_python(file, keywords, tags, options)
    file.seek(0)
    wanted = dict.fromkeys(options.get("keys", "").split(), True)
    wanted |= dict.fromkeys(options.get("names", "").split(), False)
    for node in ast.parse(file.read()).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for name in {getattr(target, "id", "") for target in targets} & {*wanted}:
            for text in _leaves(ast.literal_eval(node.value), wanted.pop(name)):
                yield node.lineno, None, text, []
    if wanted:
        raise LookupError(f"{file.name} defines no {', '.join(wanted)}, which babel.cfg names")


def _leaves(value: Any, keys: bool) -> Iterator[str]:
    """All texts in a value that have words."""
    if isinstance(value, str):
        if re.search("[A-Za-z]", value) and not _ADDRESS.fullmatch(value):
            yield value
        return
    if isinstance(value, dict):
        value = [*(value if keys else ()), *value.values()]
    for one in value:
        yield from _leaves(one, keys)


def json_texts(file: IO[bytes], keywords: Any, tags: Any, options: Mapping[str, str]) -> Found:
    """The texts at the places of a JSON file that `options` name."""
    content = json.load(file)
    for place in options["places"].split():
        found = [content]
        for key in place.split("."):
            if key == "*":
                found = [
                    v for one in found for v in (one.values() if hasattr(one, "values") else one)
                ]
            else:
                found = [one[key] for one in found if key in one]
        for text in filter(None, found):
            yield 1, None, text, []
