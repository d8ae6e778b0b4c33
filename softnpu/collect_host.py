"""The part of `collect_limits.py` that reads CANN's host code, the C++ that checks arguments.

The documents leave out dtypes and products that the host code accepts. Where it says
more than a document, both count.
"""

from __future__ import annotations

import re
from pathlib import Path

from .limits import DTYPES, PRODUCTS, Limits, parse_limit

REPOSITORIES = ("ops-math", "ops-nn", "ops-cv", "ops-transformer")

# How CANN's host code names the architectures of the products.
ARCHITECTURE = {
    "A2": re.compile(r"DAV_2201|910_?[Bb]|910_93"),
    "A3": re.compile(r"DAV_2201|910_?[Bb]|910_93"),
    "950DT": re.compile(r"DAV_3510|RegBase|Regbase|REGBASE|ASCEND950|[Aa]scend950"),
}
# Lists of dtypes for chips that are not emulated.
OTHER_CHIPS = re.compile(r"910_(?!B|93)|910A|910$|310")

# Where a document is wrong, by operator and parameter: what CANN's host code accepts.
CORRECTIONS = {
    ("aclnnMinDim", "indices"): "INT32,INT64 0-8",  # checked by nothing, and torch needs int64
    ("aclnnLogSpace", "result"): "FLOAT,FLOAT16,BFLOAT16 0-8",  # its shape has one dimension
    ("aclnnEmbeddingBag", "maxIndices"): "INT32,INT64 0-2",  # two in the mode for maxima
}
# Documented for the 950DT only, and called on every product, which the host code serves.
EVERYWHERE = {
    "aclnnAddV3", "aclnnNormalFloatFloat", "aclnnNormalFloatTensor", "aclnnNormalTensorFloat",
    "aclnnNormalTensorTensor",
}  # fmt: skip


def host_sources(folder: Path) -> dict[str, Path]:
    """The C++ source of the first phase of each operator that has one."""
    return places(folder, "op_api/acl*.cpp", r"aclnnStatus\s+(acl\w+?)GetWorkspaceSize\s*\(")


def places(folder: Path, pattern: str, name: str) -> dict[str, Path]:
    """The first file in which each operator's name is found by a regular expression."""
    found: dict[str, Path] = {}
    for repository in REPOSITORIES:
        for path in sorted((folder / repository).rglob(pattern)):
            if not {"experimental", "tests", "examples"} & set(path.parts):
                text = path.read_text(encoding="utf-8", errors="replace")
                for operator in re.findall(name, text, re.MULTILINE):
                    found.setdefault(operator, path)
    return found


def accepted_dtypes(source: str) -> dict[str, frozenset[str]]:
    """The dtypes that the host code accepts for each parameter that it checks by name."""
    constants = {
        name: frozenset(re.findall(r"DT_(\w+)", values.replace("DT_BF16", "DT_BFLOAT16")))
        for name, values in re.findall(r"(\w+)\s*=\s*\{([^{};]*DT_[^{};]*)\}", source)
    }
    found: dict[str, frozenset[str]] = {}
    check = r"OP_CHECK_DTYPE_NOT_SUPPORT\(\s*(\w+)\s*,\s*(\w+)\s*,"
    for parameter, listed in re.findall(check, source):
        for name in [listed] if listed in constants else _constant_names(source, listed):
            if name in constants and not OTHER_CHIPS.search(name):
                found[parameter] = found.get(parameter, frozenset()) | constants[name]
    return {name: dtypes & DTYPES.keys() for name, dtypes in found.items()}


def _constant_names(source: str, listed: str) -> list[str]:
    """The constants that a variable can be set to, in place or by a function."""
    constant = r"\b[A-Z][A-Z0-9_]{4,}\b"
    value = re.search(rf"\b{listed}\s*=\s*([^;]+);", source)
    if not value:
        return []
    if names := re.findall(constant, value[1]):
        return names
    function = re.search(r"(\w+)\(", value[1])
    body = function and re.search(
        rf"\b{function[1]}\s*\([^)]*\)\s*(?:const)?\s*\{{(.*?)^\}}",
        source,
        re.DOTALL | re.MULTILINE,
    )
    return re.findall(constant, body[1]) if body else []


def with_host_code(limits: Limits, source: str) -> Limits:
    """Limits without what the host code contradicts.

    A product whose architecture the host code serves is added, and so are dtypes that
    it accepts; a lower bound of ranks counts only where it checks one.
    """
    accepted = accepted_dtypes(source)
    products = tuple(
        product
        for product in PRODUCTS
        if product in limits.products
        or ARCHITECTURE[product].search(source)
        or limits.operator in EVERYWHERE
    )
    parameters = {}
    for name, limit in limits.parameters.items():
        if correction := CORRECTIONS.get((limits.operator, name)):
            limit = parse_limit(f"{name} {correction}")[1]
        elif not re.search(rf"OP_CHECK_(?:MIN_DIM|WRONG_DIMENSION)\({name}\b", source):
            limit = limit._replace(ranks=frozenset(range(max(limit.ranks) + 1)))
        more = accepted.get(name, frozenset())
        dtypes = tuple(known | more if known else known for known in limit.dtypes)
        parameters[name] = limit._replace(dtypes=dtypes)
    wider = any(parameters[name].dtypes != limits.parameters[name].dtypes for name in parameters)
    by_code = " + host code" if wider or products != limits.products else ""
    return limits._replace(known=limits.known + by_code, products=products, parameters=parameters)
