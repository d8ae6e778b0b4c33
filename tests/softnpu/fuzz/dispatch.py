"""Writes the C code that calls every exported function of softnpu with fuzzed arguments.

The functions and their parameters are read from the preprocessed sources, so that a new one
is called without a line here; what a parameter gets is decided by its type and name.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from softnpu import build
from softnpu.operators import TYPES, operators

# An exported definition: its result, its name, its parameters.
EXPORTED = re.compile(
    r'__attribute__\(\(visibility\("default"\)\)\)\s+'
    r"(?P<result>[\w\s]+?[\s*]+)(?P<name>\w+)\((?P<parameters>[^()]*)\)\s*\{"
)

# Called by fuzz.c, which knows how their arguments belong together, or not to be called:
# what begins with softnpu_ is for bridge.py and the trampolines, who check first.
BY_HAND = {
    "aclrtMemcpy",
    "aclrtMemcpyAsync",
    "aclrtMemset",
    "aclrtMemsetAsync",
    "aclCreateTensor",
    "aclGetViewShape",
    "aclInit",
    # Of an older operator: descriptions and buffers come in arrays of the caller's own, whose
    # length is another argument, and what makes them is called with their kind in mind.
    "aclCreateTensorDesc",
    "aclCreateDataBuffer",
    "aclopCreateAttr",
    "aclopCompileAndExecute",
    "aclopCompileAndExecuteV2",
}

# What makes a handle: through its first parameter, or, where it returns a pointer, as result.
MAKES = {
    "aclrtMalloc": "BLOCK",
    "aclrtMallocAlign32": "BLOCK",
    "aclrtMallocHost": "PINNED",
    "aclrtCreateStream": "STREAM",
    "aclrtCreateStreamWithConfig": "STREAM",
    "aclrtCreateEventWithFlag": "EVENT",
    "aclrtCreateEventExWithFlag": "EVENT",
    "aclrtGetCurrentContext": "CONTEXT",
    "aclCreateScalar": "SCALAR",
    "aclCreateIntArray": "INT_ARRAY",
    "aclCreateFloatArray": "FLOAT_ARRAY",
    "aclCreateBoolArray": "BOOL_ARRAY",
    "aclCreateTensorList": "TENSOR_LIST",
    "aclCreateScalarList": "SCALAR_LIST",
}
ENDS = {
    "aclrtFree": "BLOCK",
    "aclrtFreeHost": "PINNED",
    "aclrtDestroyStream": "STREAM",
    "aclrtDestroyStreamForce": "STREAM",
    "aclrtDestroyEvent": "EVENT",
    "aclDestroyTensor": "TENSOR",
    "aclDestroyScalar": "SCALAR",
    "aclDestroyIntArray": "INT_ARRAY",
    "aclDestroyFloatArray": "FLOAT_ARRAY",
    "aclDestroyBoolArray": "BOOL_ARRAY",
    "aclDestroyTensorList": "TENSOR_LIST",
    "aclDestroyScalarList": "SCALAR_LIST",
    "aclDestroyAclOpExecutor": "EXECUTOR",
}
MEMBERS = {"TENSOR_LIST": "TENSOR", "SCALAR_LIST": "SCALAR"}
# The order in which everything is destroyed after an input.
LAST_TO_FIRST = (
    "aclDestroyAclOpExecutor",
    "aclDestroyTensorList",
    "aclDestroyScalarList",
    *(name for name in ENDS if not name.endswith(("List", "Executor", "Force"))),
)
HANDLES = {"T": "TENSOR", "S": "SCALAR", "L": "TENSOR_LIST", "Z": "SCALAR_LIST"}
HANDLES |= {"I": "INT_ARRAY", "B": "BOOL_ARRAY", "F": "FLOAT_ARRAY"}


def exported(compiler: str = "cc") -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """All exported functions: name to result type and ``(type, name)`` parameters."""
    found = {}
    for source in build.SOURCES:
        words = [compiler, "-E", "-P", str(source)]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for match in EXPORTED.finditer(text):
            result = match["result"].strip().replace("aclError", "int")
            found[match["name"]] = result, _parameters(match["parameters"])
    return found


def _parameters(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        if part.strip() in ("void", "", "..."):
            continue
        type_, name = re.fullmatch(r"\s*(.*?)(\w+)\s*", part, re.DOTALL).groups()
        pairs.append((" ".join(type_.split()), name))
    return pairs


def _kind_of_handle(function: str, name: str) -> str:
    if function in ENDS:
        return ENDS[function]
    for word, kind in (("Event", "EVENT"), ("Stream", "STREAM"), ("Context", "CONTEXT")):
        if word in function and name != "on_stream":
            return kind
    return "STREAM" if "stream" in name else "BLOCK"


def _argument(function: str, type_: str, name: str) -> tuple[str, str]:
    """The C type of a parameter without its library's own names, and what it gets."""
    if "char" in type_ and "const" in type_ and type_.endswith("*"):
        return "const char *", "any_text()"
    handle = re.fullmatch(r"(const )?(void|softnpu_\w+) ?\*", type_)
    if handle:
        return "void *", f"any_handle({_kind_of_handle(function, name)})"
    if type_.endswith("*"):
        return "void *", "any_out()"
    if type_ in ("double", "float"):
        return type_, "any_real()"
    if type_ in ("size_t", "uint64_t") and name in ("size", "length"):
        return type_, "any_size()"
    return type_, f"({type_})any_integer()"


def _call(function: str, result: str, parameters: list[tuple[str, str]]) -> list[str]:
    pairs = [_argument(function, *parameter) for parameter in parameters]
    kind = MAKES.get(function)
    lines = [f"static void call_{function}(void) {{"]
    if kind and result.endswith("*") and kind != "SCALAR":
        pairs = [("void *", "items"), ("uint64_t", "length")]
        lines += ["    uint64_t length;"]
        lines += [f"    void *items = fuzz_items({MEMBERS.get(kind, 'KINDS')}, &length);"]
    elif kind == "SCALAR":
        pairs = [("void *", "any_out()"), ("int", "any_dtype()")]
    elif function == "aclGetCompileopt":  # with the length of its buffer
        pairs[2] = ("size_t", "any_size() % (OUT_BYTES + 1)")
    names = [f"a{i}" for i in range(len(pairs))]
    lines += [
        f"    {type_} {name} = {value};" for (type_, value), name in zip(pairs, names, strict=True)
    ]
    casts = [
        f"(intptr_t){name}" if "*" in type_ else f"(int64_t){name}"
        for (type_, _), name in zip(pairs, names, strict=True)
    ]
    lines += [f'    called("{function}", {len(pairs)}, (int64_t[]){{{", ".join([*casts, "0"])}}});']
    call = f"{function}({', '.join(names)})"
    if kind and result.endswith("*"):
        lines += [f"    made({kind}, {call}, 0);"]
    elif kind:
        lines += [f"    if ({call} == 0) {{", "        if (!a0) {"]
        lines += [f'            violation("{function} made nothing and said success", a0);']
        size = "a1" if kind in ("BLOCK", "PINNED") else "0"
        lines += ["        }", f"        made({kind}, *(void **)a0, {size});", "    }"]
    elif function in ENDS:
        lines += [f"    if ({call} == 0) {{", f"        ended({ENDS[function]}, a0);", "    }"]
    else:
        lines += [f"    (void){call};" if result != "void" else f"    {call};"]
    return [*lines, "}"]


def _prototype(function: str, result: str, parameters: list[tuple[str, str]]) -> str:
    types = [_argument(function, *parameter)[0] for parameter in parameters]
    plain = "void *" if result.endswith("*") else result + " "
    return f"{plain}{function}({', '.join(types) or 'void'});"


def _operator_call(number: int, kinds: tuple[str, ...], c_types: tuple[str, ...]) -> list[str]:
    """The first phase for all operators with these parameters."""
    values = []
    for letter, c_type in zip(kinds, c_types, strict=True):
        if letter in HANDLES:
            values.append(f"any_handle({HANDLES[letter]})")
        elif letter == "s":
            values.append("(void *)any_text()")
        elif letter == "d":
            values.append(f"({c_type.strip()})any_real()")
        else:
            values.append(f"({c_type.strip()})any_integer()")
    types = "".join(f"{c_type}, " for c_type in c_types)
    names = [f"a{i}" for i in range(len(values))]
    lines = [f"static int phase_{number}(const char *name, void (*function)(void), void **made) {{"]
    lines += [f"    {t}{n} = {v};" for t, n, v in zip(c_types, names, values, strict=True)]
    lines += ["    void *size = any_out(), *result = below(16) ? made : NULL;"]
    words = [
        f"(int64_t){n}" if letter != "d" else "0" for n, letter in zip(names, kinds, strict=True)
    ]
    lines += [f"    called(name, {len(words)}, (int64_t[]){{{', '.join([*words, '0'])}}});"]
    lines += [
        f"    int (*phase)({types}void *, void **) = (int (*)({types}void *, void **))function;"
    ]
    lines += [f"    return phase({''.join(n + ', ' for n in names)}size, result);", "}"]
    return lines


def _operators() -> list[str]:
    signatures: dict[tuple, int] = {}
    lines, table = [], []
    for operator in operators().values():
        types = [TYPES[type_] for type_, _ in operator.parameters]
        key = tuple(t[0] for t in types), tuple(t[1] for t in types)
        if key not in signatures:
            signatures[key] = len(signatures)
            lines += _operator_call(signatures[key], *key)
        name = operator.name
        lines += [f"void {name}GetWorkspaceSize(void);"]
        lines += [f"int {name}(void *, uint64_t, void *, void *);"]
        table += [f'    {{"{name}", phase_{signatures[key]}, {name}GetWorkspaceSize, {name}}},']
    return [*lines, "const fuzzed_operator operators[] = {", *table, "    {0},", "};"]


def source(compiler: str = "cc") -> str:
    """The C source of the whole dispatch."""
    functions = {
        name: rest
        for name, rest in exported(compiler).items()
        if name not in BY_HAND and not name.startswith("softnpu_")
    }
    lines = ['#include "fuzz.h"']
    for name, (result, parameters) in functions.items():
        lines += [_prototype(name, result, parameters), *_call(name, result, parameters)]
    for title, names in (
        ("fuzz_function", sorted(functions)),
        ("fuzz_making", sorted(set(MAKES) & set(functions))),
    ):
        calls = ", ".join(f"call_{name}" for name in names)
        lines += [
            f"void {title}(unsigned which) {{",
            f"    static void (*const calls[])(void) = {{{calls}}};",
            "    calls[which % (sizeof calls / sizeof *calls)]();",
            "}",
        ]
    lines += _operators()
    lines += ["void fuzz_destroy_all(void) {"]
    for name in LAST_TO_FIRST:
        lines += [
            f"    for (void *left; (left = live_handle({ENDS[name]}, 0));) {{",
            f"        {name}(left);",
            f"        ended({ENDS[name]}, left);",
            "    }",
        ]
    return "\n".join([*lines, "}", ""])


def files() -> list[Path]:
    """The C files beside this one."""
    return sorted(Path(__file__).parent.glob("*.c"))
