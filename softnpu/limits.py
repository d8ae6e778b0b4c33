"""What each operator accepts on each product, and the C tables that refuse the rest.

`limits.tsv` holds it, one operator a line, as `tools/collect_limits.py` read it from
CANN's public operator documents. In its last column a tensor parameter has its
name, dtypes, ranks and storage formats beside the plain ones:
`x FLOAT,BOOL@A2+A3 1-4 NZ` is FLOAT on every product, BOOL on A2 and A3, rank 1
to 4, plain or NZ. `*` means that the document names no dtypes: any passes.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

from .soc import PRODUCTS as SOC_NAMES

TABLE = Path(__file__).with_name("limits.tsv")
PRODUCTS = tuple(SOC_NAMES)

# The dtypes' names in the documents, with the numbers of CANN's aclDataType.
DTYPES = {
    "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6, "UINT16": 7,
    "UINT32": 8, "INT64": 9, "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "COMPLEX64": 16,
    "COMPLEX128": 17, "BFLOAT16": 27, "INT4": 29, "COMPLEX32": 33, "HIFLOAT8": 34,
    "FLOAT8_E5M2": 35, "FLOAT8_E4M3FN": 36, "FLOAT8_E8M0": 37, "FLOAT4_E2M1": 40,
    "FLOAT4_E1M2": 41,
}  # fmt: skip

# The storage formats that are no plain order of the dimensions, with aclFormat's numbers.
# torch_npu picks a plain one by the number of dimensions, so plain ones stand for each other.
FORMATS = {"NC1HWC0": 3, "FRACTAL_Z": 4, "NZ": 29, "NDC1HWC0": 32, "FRACTAL_Z_3D": 33}

ALL_RANKS = frozenset(range(9))  # CANN's tensors have up to 8 dimensions


class Limit(NamedTuple):
    """What one tensor parameter accepts; no dtypes for a product means any dtype."""

    dtypes: tuple[frozenset[str], ...]  # one set for each of PRODUCTS
    ranks: frozenset[int] = ALL_RANKS
    formats: frozenset[str] = frozenset()


class Limits(NamedTuple):
    """What one operator accepts, and how that is known."""

    operator: str
    known: str  # "document", or "document, in part" where a note could not be read
    products: tuple[str, ...]
    document: str
    parameters: dict[str, Limit]


def rank_text(ranks: frozenset[int]) -> str:
    """``"0-2,4"`` for the ranks 0, 1, 2 and 4."""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and parts[-1][-1] == rank - 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _ranks(text: str) -> frozenset[int]:
    ranks: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        ranks.update(range(int(first), int(last or first) + 1))
    return frozenset(ranks)


def limit_text(name: str, limit: Limit) -> str:
    """A parameter as the table writes it; ``parse_limit`` reads it."""
    words = []
    for dtype in DTYPES:
        having = [
            product
            for product, dtypes in zip(PRODUCTS, limit.dtypes, strict=True)
            if dtype in dtypes
        ]
        if len(having) == len(PRODUCTS):
            words.append(dtype)
        elif having:
            words.append(f"{dtype}@{'+'.join(having)}")
    fields = [name, ",".join(words) or "*", rank_text(limit.ranks)]
    return " ".join([*fields, *([",".join(sorted(limit.formats))] if limit.formats else [])])


def parse_limit(text: str) -> tuple[str, Limit]:
    """A parameter's name and limit from the text that ``limit_text`` makes."""
    name, dtypes, ranks, *formats = text.split(" ")
    sets: list[set[str]] = [set() for _ in PRODUCTS]
    for word in dtypes.split(",") if dtypes != "*" else []:
        dtype, _, having = word.partition("@")
        for product in having.split("+") if having else PRODUCTS:
            sets[PRODUCTS.index(product)].add(dtype)
    private = frozenset(formats[0].split(",")) if formats else frozenset()
    return name, Limit(tuple(map(frozenset, sets)), _ranks(ranks), private)


@functools.cache
def limits() -> dict[str, Limits]:
    """The limits of every operator whose document is known, by its name."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(
        [line for line in lines if not line.startswith("#")], delimiter="\t", quoting=csv.QUOTE_NONE
    )
    return {row["operator"]: _read(row) for row in rows}


def _read(row: dict[str, str]) -> Limits:
    parameters = dict(parse_limit(text) for text in row["limits"].split("; ") if text)
    products = tuple(row["products"].split("+")) if row["products"] else ()
    return Limits(row["operator"], row["known"], products, row["document"], parameters)


def c_limits(operator: str, names: list[str]) -> tuple[str, str]:
    """The C definition of an operator's limits and the expression that points to it.

    Args:
        operator: the operator's name.
        names: the names of its parameters, in order.
    """
    found = limits().get(operator)
    if found is None:
        return "", "0"
    each = ", ".join(_c_limit(name, found.parameters.get(name)) for name in names)
    # A first parameter without "Optional" in its name is what the operator works on.
    required = int(names[0] in found.parameters and not names[0].endswith("Optional"))
    products = sum(1 << PRODUCTS.index(product) for product in found.products)
    definition = (
        f"static const softnpu_limit {operator}_limit[] = {{{each}}};\n"
        f"static const softnpu_limits {operator}_limits = "
        f'{{"{found.document}", {products}, {required}, {operator}_limit}};'
    )
    return definition, f"&{operator}_limits"


def _c_limit(name: str, limit: Limit | None) -> str:
    if limit is None:
        return f'{{"{name}", {{0}}, 0, 0}}'
    masks = ", ".join(_mask(DTYPES[dtype] for dtype in dtypes) for dtypes in limit.dtypes)
    formats = _mask(FORMATS[name] for name in limit.formats)
    return f'{{"{name}", {{{masks}}}, {_mask(limit.ranks)}, {formats}}}'


def _mask(numbers) -> str:
    return f"{sum(1 << number for number in numbers):#x}"
