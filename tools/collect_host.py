"""The part of `collect_limits.py` that reads CANN's host code, the C++ that checks arguments.

The documents leave out dtypes and products that the host code accepts. Where it says
more than a document, both count.
"""

from __future__ import annotations

import re
from pathlib import Path

from softnpu.limits import DTYPES, PRODUCTS, Limits, parse_limit

REPOSITORIES = ("ops-math", "ops-nn", "ops-cv", "ops-transformer")

# How CANN's host code names the architectures of the products.
ARCHITECTURE = {
    "A2": re.compile(r"DAV_2201|910_?[Bb]|910_93"),
    "A3": re.compile(r"DAV_2201|910_?[Bb]|910_93"),
    "950DT": re.compile(r"DAV_3510|RegBase|Regbase|REGBASE|ASCEND950|[Aa]scend950|910_95"),
}
# The names of lists of dtypes for chips that are not emulated, and for the 950DT alone.
OTHER_CHIPS = re.compile(r"910_(?!B|9[35])|910A|910$|310")
ONLY_950DT = re.compile(r"950|910_95|REGBASE|3510|A5")

_ALL = "FLOAT,FLOAT16,INT8,INT32,UINT8,INT16,INT64,DOUBLE,BOOL,COMPLEX64,COMPLEX128,BFLOAT16 0-8"
# Where a document is wrong, by operator and parameter: what CANN's host code accepts.
CORRECTIONS = {
    # The host checks the operands alone; the document's row has no BFLOAT16, its notes do.
    ("aclnnDivMods", "out"): _ALL,
    ("aclnnInplaceDivMod", "selfRef"): _ALL,
    ("aclnnMinDim", "indices"): "INT32,INT64 0-8",  # checked by nothing, and torch needs int64
    ("aclnnLogSpace", "result"): "FLOAT,FLOAT16,BFLOAT16 0-8",  # its shape has one dimension
    ("aclnnEmbeddingBag", "maxIndices"): "INT32,INT64 0-2",  # two in the mode for maxima
    # Two with batchSizes, as the document's own notes say beside its 3.
    ("aclnnLSTM", "input"): "FLOAT,FLOAT16 2-3",
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


Dtypes = tuple[frozenset[str], ...]  # one set for each of PRODUCTS, as in a Limit


def accepted_dtypes(source: str) -> dict[str, Dtypes]:
    """The dtypes that the host code accepts for each parameter that it checks by name."""
    constants = {
        name: frozenset(re.findall(r"DT_(\w+)", values.replace("DT_BF16", "DT_BFLOAT16")))
        for name, values in re.findall(r"(\w+)\s*=\s*\{([^{};]*DT_[^{};]*)\}", source)
    }
    found: dict[str, Dtypes] = {}
    macro = r"OP_CHECK_DTYPE_NOT_SUPPORT\(\s*(\w+)\s*,\s*(\w+)\s*,"
    function = r"CheckType\(\s*(\w+)->GetDataType\(\)\s*,\s*(\w+)\s*\)"
    for parameter, listed in re.findall(macro, source) + re.findall(function, source):
        for name in [listed] if listed in constants else _constant_names(source, listed):
            if name in constants and not OTHER_CHIPS.search(name):
                dtypes = constants[name] & DTYPES.keys()
                known = found.get(parameter, (frozenset(),) * len(PRODUCTS))
                found[parameter] = tuple(
                    old if ONLY_950DT.search(name) and product != "950DT" else old | dtypes
                    for product, old in zip(PRODUCTS, known, strict=True)
                )
    return found


def _wider(documented: dict[str, Dtypes], accepted: dict[str, Dtypes]) -> dict[str, Dtypes]:
    """The documented dtypes, each with what the host code accepts more.

    Parameters for which a document has the same list get the same more: the host code
    compares an output with its input, instead of checking it by name.
    """
    result = {}
    for name, dtypes in documented.items():
        alike = [
            accepted[other]
            for other, its in documented.items()
            if its == dtypes and other in accepted
        ]
        result[name] = tuple(
            known.union(*(more[i] for more in alike)) if known else known
            for i, known in enumerate(dtypes)
        )
    return result


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
    documented = {name: limit.dtypes for name, limit in limits.parameters.items()}
    wider = _wider(documented, accepted_dtypes(source))
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
            parameters[name] = parse_limit(f"{name} {correction}")[1]
            continue
        limit = limit._replace(dtypes=wider[name])
        if not re.search(rf"OP_CHECK_(?:MIN_DIM|WRONG_DIMENSION)\({name}\b", source):
            limit = limit._replace(ranks=frozenset(range(max(limit.ranks) + 1)))
        parameters[name] = limit
    changed = products != limits.products or any(
        parameters[name].dtypes != dtypes for name, dtypes in documented.items()
    )
    by_code = " + host code" if changed else ""
    return limits._replace(known=limits.known + by_code, products=products, parameters=parameters)
