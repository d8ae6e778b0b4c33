"""A published page: where its forward-AD entries stand, and what they say.

Lines are those between ``\\n``; a ``\\r`` before one, a byte order mark and a missing final newline stay
where they are. A page of another form is a `PageError`, never a guess.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from npudocs.upstream import house
from npudocs.upstream.rule import APIS, BY_NAME, Support

PAGES = "docs/zh/api/native_api"


class PageError(ValueError):
    """A page is not as expected; the message names the file and what was expected."""


@dataclasses.dataclass(frozen=True)
class Published:
    """One entry of a page: its place (first to last line), its rows, its limit and what both say."""

    name: str
    first: int
    last: int
    rows: dict[str, int]
    limit: tuple[int, int] | None
    limits: house.Limits
    cells: dict[str, Support]


@dataclasses.dataclass(frozen=True)
class PublishedPage:
    """One page of one version, split into lines; `path` is relative to the checkout."""

    path: str
    version: str
    lines: list[str]
    section: int
    entries: dict[str, Published]


def release(version: str) -> str:
    """Return major and minor of a version, as the links to the native pages name it."""
    return version.rpartition(".")[0]


def find(checkout: Path, file: str) -> list[tuple[str, str]]:
    """Return the versions that have this page, in order, each with its path.

    Raises:
        PageError: the folder of the pages is not there.
    """
    found = []
    for folder in (checkout / PAGES).glob("pytorch_*"):
        if match := re.fullmatch(r"pytorch_(\d+)-(\d+)-(\d+)", folder.name):
            numbers = tuple(int(part) for part in match.groups())
            found.append((numbers, f"{PAGES}/{folder.name}/{file}"))
    if not found:
        raise PageError(
            f"{checkout}: expected a checkout of Ascend/pytorch with {PAGES}/pytorch_X-Y-Z/{file}"
        )
    return [(".".join(map(str, numbers)), path) for numbers, path in sorted(found)]


def load(checkout: Path, path: str) -> str:
    """Return the text of a page, byte for byte."""
    try:
        return (checkout / path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PageError(f"{path}: expected this page, it is not there") from None
    except UnicodeDecodeError as error:
        raise PageError(f"{path}: expected UTF-8: {error}") from None


def read(path: str, version: str, text: str) -> PublishedPage:
    """Return the forward-AD part of a page.

    Raises:
        PageError: it has not the house format.
    """
    lines = text.split("\n")
    bare = [line.rstrip("\r") for line in lines]
    starts = [index for index, line in enumerate(bare) if line == house.SECTION]
    if len(starts) != 1:
        message = f"expected the heading {house.SECTION!r} once, found it {len(starts)} times"
        raise PageError(f"{path}: {message}")
    end = next((i for i in range(starts[0] + 1, len(bare)) if bare[i].startswith("## ")), len(bare))
    heads = [i for i in range(starts[0] + 1, end) if bare[i].startswith("### ")]
    entries: dict[str, Published] = {}
    for first, after in zip(heads, [*heads[1:], end], strict=True):
        match = house.HEADING.fullmatch(bare[first])
        if not match or match[1] not in BY_NAME:
            names = ", ".join(BY_NAME)
            raise _error(path, first, f"the heading of an entry of {names}", bare[first])
        if match[1] in entries:
            raise _error(path, first, f"one entry of {match[1]}", "a second one")
        entries[match[1]] = _entry(path, match[1], bare, first, after)
    native = [api.name for api in APIS if api.name in entries]
    if native != list(entries):
        raise _error(path, starts[0], f"the entries in the order {native}", f"{list(entries)}")
    return PublishedPage(path, version, lines, starts[0], entries)


def _entry(path: str, name: str, bare: list[str], first: int, after: int) -> Published:
    last = max(i for i in range(first, after) if bare[i])
    inside = range(first + 1, last)
    if bare[last] != house.CLOSE or house.OPEN not in bare[first:last]:
        raise _error(path, last, f"{house.CLOSE!r} as the last line of {name}", bare[last])
    heads = [i for i in inside if tuple(bare[i : i + 2]) == house.TABLE]
    if len(heads) != 1:
        raise _error(path, first, f"one table {house.TABLE[0]!r} for {name}", f"{len(heads)}")
    rows = {product: heads[0] + 2 + place for place, product in enumerate(house.TERMS)}
    marks: dict[str, bool] = {}
    for product, index in rows.items():
        known = {house.row(product, mark): mark for mark in (True, False)}
        if bare[index] not in known:
            raise _error(path, index, " or ".join(map(repr, known)), bare[index])
        marks[product] = known[bare[index]]
    start = next((i for i in inside if bare[i].startswith(house.LIMIT)), None)
    limit = None
    said: house.Limits | None = {}
    if start is not None:
        limit = (start, max(i for i in range(start, last) if bare[i]) + 1)
        said = house.read_limits(bare[slice(*limit)])
        if said is None:
            expected = f"a limit of {name} of the form '`parameter`仅支持fp32'"
            raise _error(path, start, expected, bare[start])
    cells = {p: Support(mark, said[p][1] if p in said else None) for p, mark in marks.items()}
    return Published(name, first, last, rows, limit, said, cells)


def _error(path: str, index: int, expected: str, found: str) -> PageError:
    return PageError(f"{path}:{index + 1}: expected {expected}, found {found}")
