"""The C signatures of the `aclnn` operators, and the C code made from them.

`operators.tsv` names each operator, its parameters before the two result
pointers of the first phase, and the public CANN document they were read from.
Where torch_npu's own call differs from the document, the call is the truth.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

from .limits import c_limits

TABLE = Path(__file__).with_name("operators.tsv")
# Operators that torch_npu calls without asking whether they are there, and whose parameters are
# not in the table: they exist to say that they have no kernel. One that torch_npu asks about
# first must not exist: it takes another way then.
UNKNOWN = Path(__file__).with_name("unknown_operators.tsv")

# A parameter's type, as the table writes it: the letter that csrc/convert.c
# switches on, the C type of the trampoline's parameter, and the slot it goes to.
TYPES = {
    "Tensor": ("T", "void *", "pointer"),
    "TensorList": ("L", "void *", "pointer"),
    "Scalar": ("S", "void *", "pointer"),
    "ScalarList": ("Z", "void *", "pointer"),
    "IntArray": ("I", "void *", "pointer"),
    "BoolArray": ("B", "void *", "pointer"),
    "FloatArray": ("F", "void *", "pointer"),
    "String": ("s", "void *", "pointer"),
    "DataType": ("i", "int32_t ", "integer"),
    "int64_t": ("i", "int64_t ", "integer"),
    "int32_t": ("i", "int32_t ", "integer"),
    "int8_t": ("i", "int8_t ", "integer"),
    "uint64_t": ("i", "uint64_t ", "integer"),
    "bool": ("b", "bool ", "integer"),
    "double": ("d", "double ", "real"),
    "float": ("d", "float ", "real"),
}


class Operator(NamedTuple):
    """One operator: its name, its ``(type, name)`` parameters, its CANN document."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    document: str


@functools.cache
def operators() -> dict[str, Operator]:
    """All known operators by name, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["operator"]: _operator(row) for row in rows}


def unknown() -> list[str]:
    """The names of operators that torch_npu calls and nothing else is known of."""
    return UNKNOWN.read_text(encoding="utf-8").split()[1:]


def _operator(row: dict[str, str]) -> Operator:
    parameters = tuple(tuple(text.rsplit(" ", 1)) for text in row["parameters"].split(", ") if text)
    return Operator(row["operator"], parameters, row["document"] or "")


# The same for every operator, so they share it: one function is compiled, not 800.
_SECOND_PHASE = (
    "int run(void *workspace, uint64_t size, void *executor, void *stream) {",
    "    (void)workspace, (void)size;",
    "    return softnpu_execute(executor, stream);",
    "}",
)


def trampolines() -> str:
    """The C source of `libopapi.so`: both phases of every operator, and their table."""
    limits, table = [], []
    for operator in operators().values():
        kinds = "".join(TYPES[type_][0] for type_, _ in operator.parameters)
        definition, pointer = c_limits(operator.name, [name for _, name in operator.parameters])
        limits.append(definition)
        table.append(f'{{"{operator.name}", "{kinds}", {pointer}}},')
    lines = ['#include "older.h"', '#include "operator.h"', *limits, *_SECOND_PHASE]
    for name in unknown():  # whatever its parameters, none is looked at
        lines += [f"EXPORT int {name}GetWorkspaceSize(void) {{"]
        lines += [f'    return softnpu_no_kernel("{name}");', "}"]
        lines += [f'EXPORT int {name}(void) {{ return softnpu_no_kernel("{name}"); }}']
    lines += ["static const softnpu_operator table[] = {", *table, "};"]
    lines += ["__attribute__((constructor)) static void give_operators(void) {"]
    lines += [f"    softnpu_take_operators(table, {len(table)});", "}"]
    for index, operator in enumerate(operators().values()):
        lines += _trampoline(index, operator)
    return "\n".join(lines) + "\n"


def _trampoline(index: int, operator: Operator) -> list[str]:
    types = [TYPES[type_] for type_, _ in operator.parameters]
    arguments = "".join(f"{c_type}a{i}, " for i, (_, c_type, _) in enumerate(types))
    slots = ", ".join(f"{{.{slot} = a{i}}}" for i, (_, _, slot) in enumerate(types))
    return [
        f"EXPORT int {operator.name}GetWorkspaceSize({arguments}uint64_t *size, void **executor) {{",
        f"    const softnpu_slot slots[] = {{{slots}}};",
        f"    return softnpu_prepare(table, {index}, slots, size, executor);",
        "}",
        f"EXPORT int {operator.name}(void *workspace, uint64_t size, void *executor, void *stream)",
        '    __attribute__((alias("run")));',
    ]
