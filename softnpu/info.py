"""What ``python -m softnpu info`` prints."""

from __future__ import annotations

import difflib
import importlib.metadata
import platform
from collections import Counter
from collections.abc import Iterable

from . import activation, build, soc
from .conformance import record
from .conformance.formulas import FORMULAS
from .errors import SoftNpuError
from .kernels import definition, kernels
from .limits import Limit, limit_text, limits
from .operators import operators


def text() -> str:
    """What is emulated here, in lines for a person."""
    kind = activation.activate()
    if kind == "silicon":
        return "An Ascend device is present: softnpu steps aside. Set SOFTNPU_FORCE=1 to use it."
    name = soc.soc_name()
    have = kernels()
    sources = {operator: _source(operator) for operator in operators()}
    lines = [
        f"softnpu             a software NPU, not a chip; sources {activation.fingerprint()}",
        f"emulated SoC        {name} ({soc.product(name)}); choose with SOFTNPU_SOC",
        f"emulated memory     {soc.memory_bytes() / (1 << 30):g} GiB; choose with SOFTNPU_MEMORY",
        f"libraries           {build.cann_home()}",
        f"Python, machine     {platform.python_version()}, {platform.machine()}",
        *(f"{package:<20}{_version(package)}" for package in ("torch", "torch_npu")),
        f"operators           {len(sources)} known, {len(have)} with a kernel",
        f"their kernels       {_verified(have)} compared with CANN's own cases or its formula, the others unverified",
        "their limits        what each accepts is known from:",
        *(f"    {count:<4} {source}" for source, count in Counter(sources.values()).most_common()),
        "an operator         its limits, and whether it has a kernel:",
        *(
            f"    {operator:<44}{source:<40}{'kernel' if operator in have else 'no kernel'}"
            for operator, source in sorted(sources.items())
        ),
    ]
    return "\n".join(lines)


def operator_text(name: str) -> str:
    """What one operator accepts, in lines for a person.

    Args:
        name: the operator's, with or without ``aclnn``, in any case.

    Raises:
        SoftNpuError: there is no such operator; names the nearest ones.
    """
    activation.activate()
    short = {operator.lower().removeprefix("aclnn"): operator for operator in operators()}
    wanted = name.strip().lower().removeprefix("aclnn").removesuffix("getworkspacesize")
    if wanted not in short:
        near = [operator for operator in short if wanted in operator]
        near = near or difflib.get_close_matches(wanted, short, n=8)
        names = ", ".join(short[operator] for operator in near[:20])
        raise SoftNpuError(
            f"there is no operator {name!r}. "
            + (f"Near it: {names}." if names else "python -m softnpu info lists them.")
        )
    operator = short[wanted]
    found = limits().get(operator)
    return "\n".join(
        [
            operator,
            f"kernel       {'yes' if operator in kernels() else 'none: an error names it'}",
            *(record.lines(operator) if operator in kernels() else ()),
            "parameters   of the C function, as a kernel has them:",
            *(f"    {line}" for line in definition(operator).splitlines()),
            f"limits       {_source(operator)}",
            *([f"document     {found.document}"] if found else []),
            *([f"products     {', '.join(found.products)}"] if found else []),
            *(
                line
                for item in (found.parameters.items() if found else ())
                for line in _limit(*item)
            ),
        ]
    )


def _limit(name: str, limit: Limit) -> list[str]:
    _, dtypes, ranks, *formats = limit_text(name, limit).split(" ")
    plain = "any dtype" if dtypes == "*" else dtypes.replace(",", ", ").replace("@", " on ")
    extra = f", format {formats[0]} too" if formats else ""
    return [name, f"    {plain}", f"    rank {ranks}{extra}"]


def _verified(have: Iterable[str]) -> int:
    rows = record.table()[1]
    return sum(name in FORMULAS or (name in rows and rows[name].verified) for name in have)


def _source(operator: str) -> str:
    found = limits().get(operator)
    return f"CANN's {found.known}" if found else "none found"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
