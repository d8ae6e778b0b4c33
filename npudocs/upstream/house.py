"""The published pages: how an entry is written, where the forward-AD entries of a page stand, and what they say.

The format is that of the pages in ``docs/zh/api/native_api`` of Ascend/pytorch. Where products have
different dtypes, the limit is a list with a line for each group of products. A page of another form is a
`PageError`, never a guess. Lines are those between ``\\n``; a ``\\r`` before one, a byte order mark and a missing
final newline stay where they are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from npudocs.upstream.rule import APIS, BY_NAME, MODULE, Api, Support

PAGES = "docs/zh/api/native_api"
SECTION = "## Forward-mode Automatic Differentiation"
OPEN, CLOSE = '<div style="margin-left: 2em">', "</div>"
TABLE = ("| 硬件 | 是否支持 |", "| ---- | :----: |")
TERMS = {
    "A2": "<term>Atlas A2 训练系列产品</term>",
    "A3": "<term>Atlas A3 训练系列产品</term>",
    "950DT": "<term>Ascend 950DT</term>",
}
MARKS = {True: "✔", False: "✘"}
LIMIT = "**限制与说明**："
CLASS = "<code><i>class</i></code> "
HEADING = re.compile(rf"### (?:{re.escape(CLASS)})?{re.escape(MODULE)}\.(\w+)")
SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}
LONG = {short: name for name, short in SHORT.items()}
ORDER = ("bf16", "fp16", "fp32", "fp64", "uint8", "int8", "int16", "int32", "int64", "bool")
_ONLY = re.compile(
    r"(?:- (?P<terms>.+)：)?(?P<names>`\w+`(?:(?:和|，|、)`\w+`)*)仅支持(?P<dtypes>\w+(?:，\w+)*)"
)

# Product → (parameters, dtypes), as the limit of an entry names them.
Limits = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


class PageError(ValueError):
    """A page is not as expected; the message names the file and what was expected."""


@dataclasses.dataclass(frozen=True)
class Published:
    """One entry of a page: its last line, the lines of its table and of its limit, and what both say.

    `limit` is empty where there is none, and begins where one belongs.
    """

    last: int
    table: slice
    limit: slice
    limits: Limits
    cells: dict[str, Support]


@dataclasses.dataclass(frozen=True)
class PublishedPage:
    """One page of one version, split into lines; `path` is relative to the checkout."""

    path: str
    version: str
    lines: list[str]
    section: int
    entries: dict[str, Published]


def row(product: str, supported: bool) -> str:
    """Return a product's row of the table."""
    return f"| {TERMS[product]} | {MARKS[supported]} |"


def rows(cells: Mapping[str, Support]) -> list[str]:
    """Return the rows of the table, one a product."""
    return [row(product, cells[product].supported) for product in TERMS]


def entry(api: Api, release: str, cells: Mapping[str, Support]) -> list[str]:
    """Return the lines of a whole entry, from its heading to the closing tag."""
    heading = f"### {CLASS if api.is_class else ''}{api.full}"
    page = f"https://pytorch.org/docs/{release}/generated/{api.full}.html"
    link = f"**原生文档**：[{api.full}]({page})"
    limit = limits(api, cells)
    above = [heading, "", OPEN, "", link, "", "**支持情况**：", "", *TABLE]
    return [*above, *rows(cells), *([""] if limit else []), *limit, "", CLOSE]


def limits(api: Api, cells: Mapping[str, Support]) -> list[str]:
    """Return the lines of the limit; none where no product with ✔ (or, without one, no product) has a limit."""
    if not api.tensors:
        return []
    counted = [p for p in TERMS if cells[p].supported] or list(TERMS)
    groups: dict[tuple[str, ...], list[str]] = {}
    for product in counted:
        if cells[product].dtypes:
            groups.setdefault(_sorted(cells[product].dtypes), []).append(product)
    names = "和".join(f"`{name}`" for name in api.tensors)
    if not groups:
        return []
    if list(groups.values()) == [counted]:
        return [f"{LIMIT} {names}仅支持{'，'.join(*groups)}"]
    lines = [LIMIT, ""]
    for dtypes, products in groups.items():
        terms = "、".join(TERMS[product] for product in products)
        lines.append(f"- {terms}：{names}仅支持{'，'.join(dtypes)}")
    return lines


def _sorted(dtypes: Iterable[str]) -> tuple[str, ...]:
    """The short names of dtypes, in the order of the pages."""
    short = {SHORT.get(name, name) for name in dtypes}
    return (*(name for name in ORDER if name in short), *sorted(short - {*ORDER}))


def read_limits(lines: list[str]) -> Limits | None:
    """Return what the lines of a limit say; None where they have another form."""
    text = lines[0].removeprefix(LIMIT).strip()
    found: Limits = {}
    for line in [text] if text else lines[2:]:
        match = _ONLY.fullmatch(line)
        # The products are named where each has a line of its own.
        if not match or bool(match["terms"]) == bool(text):
            return None
        terms = match["terms"].split("、") if match["terms"] else [*TERMS.values()]
        if not {*terms} <= {*TERMS.values()}:
            return None
        names = tuple(re.findall(r"`(\w+)`", match["names"]))
        dtypes = tuple(LONG.get(name, name) for name in _sorted(match["dtypes"].split("，")))
        found |= {product: (names, dtypes) for product, term in TERMS.items() if term in terms}
    return found if found and lines[1:2] == ([] if text else [""]) else None


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
    starts = [index for index, line in enumerate(bare) if line == SECTION]
    if len(starts) != 1:
        message = f"expected the heading {SECTION!r} once, found it {len(starts)} times"
        raise PageError(f"{path}: {message}")
    end = next((i for i in range(starts[0] + 1, len(bare)) if bare[i].startswith("## ")), len(bare))
    heads = [i for i in range(starts[0] + 1, end) if bare[i].startswith("### ")]
    entries: dict[str, Published] = {}
    for first, after in zip(heads, [*heads[1:], end], strict=True):
        match = HEADING.fullmatch(bare[first])
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
    if bare[last] != CLOSE or OPEN not in bare[first:last]:
        raise _error(path, last, f"{CLOSE!r} as the last line of {name}", bare[last])
    heads = [i for i in range(first, last) if tuple(bare[i : i + 2]) == TABLE]
    if len(heads) != 1:
        raise _error(path, first, f"one table {TABLE[0]!r} for {name}", f"{len(heads)}")
    table = slice(heads[0] + 2, heads[0] + 2 + len(TERMS))
    marks: dict[str, bool] = {}
    for index, product in enumerate(TERMS, table.start):
        known = {row(product, mark): mark for mark in (True, False)}
        if bare[index] not in known:
            raise _error(path, index, " or ".join(map(repr, known)), bare[index])
        marks[product] = known[bare[index]]
    limit, limits = slice(table.stop, table.stop), {}
    start = next((i for i in range(first, last) if bare[i].startswith(LIMIT)), None)
    if start is not None:
        limit = slice(start, max(i for i in range(start, last) if bare[i]) + 1)
        limits = read_limits(bare[limit])
        if limits is None:
            expected = f"a limit of {name} of the form '`parameter`仅支持fp32'"
            raise _error(path, start, expected, bare[start])
    cells = {p: Support(mark, limits[p][1] if p in limits else None) for p, mark in marks.items()}
    return Published(last, table, limit, limits, cells)


def _error(path: str, index: int, expected: str, found: str) -> PageError:
    return PageError(f"{path}:{index + 1}: expected {expected}, found {found}")
