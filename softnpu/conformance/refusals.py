"""CANN's host tests in C++ that say which calls are refused, read and run here.

A test of the usual form describes tensors, gives them to an operator and compares the code of
the first phase. The descriptions are translated to Python and evaluated; a test of another form
is left out. A test that sets another platform than those softnpu emulates is left out, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import torch

from ..kernels import kernels
from ..limits import DTYPES
from ..operators import operators
from ..soc import product as product_of
from ..soc import soc_name
from .acl import AclScalar, Call, Described, MisfitError

CODES = {"ACL_SUCCESS": False, "ACLNN_SUCCESS": False}  # else: refused
PLATFORMS = {"ASCEND910B": "A2", "ASCEND910_93": "A3", "ASCEND950": "950DT"}
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29,
           "NCDHW": 30, "NDC1HWC0": 32, "FRACTAL_Z_3D": 33, "NC": 35, "NCL": 47, "NDHWC": 27,
           "HWCN": 16, "UNDEFINED": -1}  # fmt: skip
ACL = {f"ACL_{name}": number for name, number in DTYPES.items()} | {
    "ACL_BF16": 27, "ACL_DT_UNDEFINED": -1, "ACL_STRING": 13,
    **{f"ACL_FORMAT_{name}": number for name, number in FORMATS.items()},
}  # fmt: skip


class UnusualTestError(Exception):
    """A test of another form."""


class _Tensor:
    """``TensorDesc``: a shape, a dtype and a format; what else is said of it does not matter."""

    def __init__(self, shape=(), dtype=0, format_=2, *_: object) -> None:
        self.described = Described(tuple(shape), dtype, format_)

    def __getattr__(self, name: str):
        if name in ("ValueRange", "Value", "Precision", "ValidCount", "FormatWithoutCheck"):
            return lambda *_: self
        raise UnusualTestError(name)


class _List:
    def __init__(self, items=(), repeated=None, *_: object) -> None:
        if isinstance(items, int):
            items = [repeated] * items
        self.items = list(items)

    def __getattr__(self, name: str):
        if name in ("ValueRange", "Precision"):
            return lambda *_: self
        raise UnusualTestError(name)


def _scalar(value=0, dtype=None) -> AclScalar:
    by_number = {0: torch.float32, 1: torch.float16, 2: torch.int8, 3: torch.int32, 4: torch.uint8,
                 6: torch.int16, 9: torch.int64, 11: torch.float64, 12: torch.bool,
                 16: torch.complex64, 17: torch.complex128, 27: torch.bfloat16}  # fmt: skip
    if dtype is None:
        dtype = 12 if isinstance(value, bool) else 9 if isinstance(value, int) else 0
    if dtype not in by_number:
        raise UnusualTestError(f"a scalar of {dtype}")
    return AclScalar(value, by_number[dtype])


def _same(*arguments: object) -> object:
    return arguments[0] if len(arguments) == 1 else list(arguments)


NAMES = {
    "TensorDesc": _Tensor, "TensorListDesc": _List, "ScalarDesc": _scalar,
    "ScalarListDesc": _List, "IntArrayDesc": _List, "BoolArrayDesc": _List,
    "FloatArrayDesc": _List, "INPUT": lambda *a: list(a), "OUTPUT": lambda *a: list(a),
    "OP_API_UT": lambda name, inputs, outputs=(): (name, inputs, list(outputs)),
    "__builtins__": {}, "range_": range, "scalar_copy": _same, **ACL,
}  # fmt: skip

_TEST = re.compile(r"^TEST_F\s*\(\s*\w+\s*,\s*(\w+)\s*\)\s*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_ASSIGN = re.compile(r"^(?:const\s+)?([\w:<>]+(?:\s*\*)?)\s+(\w+)\s*(=|\{|\()\s*(.*)$", re.DOTALL)
_EXPECT = re.compile(r"(?:EXPECT|ASSERT)_(EQ|NE)\s*\(\s*\w+\s*,\s*(\w+)\s*\)")
_OTHER_PLATFORM = re.compile(r"310|ascend910_(?!93)|ascend910A|9[15]0_?95|ascend950", re.IGNORECASE)
_CASTS = re.compile(
    r"\(\s*(?:const\s+)?acl\w+\s*\*\s*\)\s*|static_cast<[^>]*>|std::|op::|\bu?int\d+_t\s*(?=\{)"
)
_TYPED = re.compile(r"\b(?:vector|initializer_list|array)\s*<[^<>]*>\s*")


def python(text: str, names: set[str]) -> str:
    """A C++ expression as a Python one."""
    text = _TYPED.sub("", _CASTS.sub("", text))
    text = text.replace("{", "[").replace("}", "]")
    text = re.sub(r"\bnullptr\b|\bNULL\b", "None", text)
    text = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", text))
    text = re.sub(r"(?<=[\d.])[fFlLuU]+\b", "", text)
    text = re.sub(r"\((?:bool|int|float|double|u?int\d+_t|char\s*\*|const char\s*\*)\)", "", text)
    return re.sub(r"\baclnn\w+\b", lambda m: m[0] if m[0] in names else repr(m[0]), text)


def tests(text: str) -> Iterator[tuple[str, str]]:
    """The names and bodies of the tests of a file, without comments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    for match in _TEST.finditer(text):
        yield match[1], match[2]


def read_test(body: str) -> tuple[str, list[object], bool]:
    """The operator, its described arguments, and whether the call is to be refused.

    Raises:
        UnusualTestError: the test has another form.
    """
    names = dict(NAMES)
    call = None
    for statement in body.split(";"):
        statement = statement.strip()
        if not statement:
            continue
        if found := re.search(r"SetPlatformSocVersion\(\s*(?:op::)?SocVersion::(\w+)", statement):
            if PLATFORMS.get(found[1]) != product_of(soc_name()):
                raise UnusualTestError(f"the platform {found[1]}")
            continue
        if re.search(r"\b(for|if|while|switch)\b", statement):
            raise UnusualTestError("a statement that is no description")
        if found := _EXPECT.search(statement):
            if call is None:
                raise UnusualTestError("an expectation before the call")
            refused = CODES.get(found[2], found[2].startswith(("ACLNN_ERR", "ACL_ERROR")))
            if found[2] not in CODES and not refused:
                raise UnusualTestError(f"the code {found[2]}")
            return call[0], [*call[1], *call[2]], refused != (found[1] == "NE")
        found = _ASSIGN.match(statement)
        if "TestGetWorkspaceSize(nullptr" in statement:
            raise UnusualTestError("no place for the size of the workspace")
        if not found or "TestGetWorkspaceSize" in statement or found[2] == "workspaceSize":
            continue
        type_, name, opening, rest = found.groups()
        if opening == "(" and type_ != "auto":
            rest = f"{type_.rpartition('::')[2]}({rest}"
        elif opening != "=":
            rest = opening + rest
        try:
            value = eval(python(rest, set(names)), names)
        except UnusualTestError:
            raise
        except Exception as error:
            raise UnusualTestError(f"{type(error).__name__}: {statement[:80]}") from None
        names[name] = value
        if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], str):
            call = value
    raise UnusualTestError("no expectation")


def _plain(value: object) -> object:
    if isinstance(value, _Tensor):
        return value.described
    if isinstance(value, _List):
        return [_plain(item) for item in value.items]
    return value


def run_file(path: Path) -> Iterator[tuple[str, str]]:
    """For each test of an operator with a kernel its outcome, and ``operator NUL why``.

    ``kept`` and ``missed`` are tests that expect a refusal; ``not read`` are of another form;
    ``accepted`` and ``too strict`` are tests that expect none.
    """
    for name, body in tests(path.read_text(encoding="utf-8", errors="replace")):
        operator = ""
        try:
            if _OTHER_PLATFORM.search(name):
                raise UnusualTestError("another platform by its name")
            operator, values, refused = read_test(body)
            if operator not in kernels():
                continue
            outcome, why = _run(operator, [_plain(v) for v in values], refused)
        except UnusualTestError as error:
            named = re.search(r"OP_API_UT\(\s*(\w+)", body)
            if not named or named[1] not in kernels():
                continue
            operator, outcome, why = named[1], "not read", str(error)
        yield outcome, f"{operator}\0{name}: {why}"


def _run(operator: str, values: list[object], refused: bool) -> tuple[str, str]:
    count = len(operators()[operator].parameters)
    if len(values) != count:
        raise UnusualTestError(f"{len(values)} values for {count} parameters")
    try:
        call = Call(operator, values)
    except (MisfitError, OverflowError, KeyError, ValueError, TypeError) as error:
        raise UnusualTestError(f"{type(error).__name__}: {error}") from None
    with call:
        code = call.prepare()
        said = call.message() if code else ""
        if not code and refused:
            code, said = call.run(), call.message()
    if refused:
        return ("kept", "") if code else ("missed", "accepted")
    return ("too strict", said) if code else ("accepted", "")
