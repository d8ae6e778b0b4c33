"""The house format of an entry: its fixed words, how it is written, and how a limit is read.

The format is that of the pages in ``docs/zh/api/native_api`` of Ascend/pytorch. Where products have
different dtypes, the limit is a list with a line for each group of products.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from npudocs.upstream.rule import MODULE, Api, Support

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


def row(product: str, supported: bool) -> str:
    """Return a product's row of the table."""
    return f"| {TERMS[product]} | {MARKS[supported]} |"


def entry(api: Api, release: str, cells: Mapping[str, Support]) -> list[str]:
    """Return the lines of a whole entry, from its heading to the closing tag."""
    heading = f"### {CLASS if api.is_class else ''}{api.full}"
    page = f"https://pytorch.org/docs/{release}/generated/{api.full}.html"
    link = f"**原生文档**：[{api.full}]({page})"
    lines = [heading, "", OPEN, "", link, "", "**支持情况**：", "", *TABLE]
    lines += [row(product, cells[product].supported) for product in TERMS]
    if limit := limits(api, cells):
        lines += ["", *limit]
    return [*lines, "", CLOSE]


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
