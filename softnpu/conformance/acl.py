"""Calls an operator of the software NPU through CANN's C interface, with tensors of the CPU.

`Call` copies the tensors' memory to the device, runs `aclnn...GetWorkspaceSize` and `aclnn...`,
and copies the memory back, so that what the operator wrote is found in the same tensors.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools

import torch

from ..limits import DTYPES
from ..operators import operators

TO_DEVICE, TO_HOST = 1, 2
PLAIN_FORMAT = 2  # ACL_FORMAT_ND
NUMBERS = {
    "DataType": ctypes.c_int32, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
    "int8_t": ctypes.c_int8, "uint64_t": ctypes.c_uint64, "bool": ctypes.c_bool,
    "double": ctypes.c_double, "float": ctypes.c_float,
}  # fmt: skip
TORCH_DTYPES = {
    "FLOAT": torch.float32, "FLOAT16": torch.float16, "INT8": torch.int8, "INT32": torch.int32,
    "UINT8": torch.uint8, "INT16": torch.int16, "UINT16": torch.uint16, "UINT32": torch.uint32,
    "INT64": torch.int64, "UINT64": torch.uint64, "DOUBLE": torch.float64, "BOOL": torch.bool,
    "COMPLEX64": torch.complex64, "COMPLEX128": torch.complex128, "BFLOAT16": torch.bfloat16,
    "COMPLEX32": torch.complex32,
}  # fmt: skip
ACL_NUMBERS = {torch_dtype: DTYPES[name] for name, torch_dtype in TORCH_DTYPES.items()}
OF_PYTHON = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
_ARRAYS = {
    "IntArray": (ctypes.c_int64, int),
    "BoolArray": (ctypes.c_bool, bool),
    "FloatArray": (ctypes.c_float, float),
}


class MisfitError(Exception):
    """Values that are no arguments of the operator: another number of them, or other kinds."""


@dataclasses.dataclass(frozen=True)
class AclScalar:
    """A number with the dtype that the C interface is told."""

    value: bool | int | float | complex
    dtype: torch.dtype


@dataclasses.dataclass(frozen=True)
class Described:
    """A tensor that only the first phase sees: dtype and format are numbers of CANN's."""

    shape: tuple[int, ...]
    dtype: int
    format: int = PLAIN_FORMAT


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    runtime, operators_library = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libopapi.so")
    arrays = ("IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList")
    for name in ("Tensor", "Scalar", *arrays):
        getattr(runtime, f"aclCreate{name}").restype = ctypes.c_void_p
    runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
    runtime.aclInit(None)
    runtime.aclrtSetDevice(0)
    return runtime, operators_library


def _int64s(row) -> ctypes.Array:
    return (ctypes.c_int64 * max(len(row), 1))(*row)


class Call(contextlib.ExitStack):
    """One call of an operator; a context that frees what it made.

    Args:
        operator: a name of operators.tsv.
        values: one for each parameter: tensors of the CPU, numbers, lists of them, None.

    Raises:
        MisfitError: the values are no arguments of the operator.
    """

    def __init__(self, operator: str, values: list[object]) -> None:
        super().__init__()
        self.runtime, self.library = _libraries()
        self.operator, self.executor = operator, ctypes.c_void_p()
        self.memory: dict[int, tuple[torch.UntypedStorage, ctypes.c_void_p]] = {}
        self.tensors: list[tuple[torch.Tensor, int]] = []
        types = [type_ for type_, _ in operators()[operator].parameters]
        if len(types) != len(values):
            raise MisfitError(f"{len(values)} values for {len(types)} parameters")
        with contextlib.ExitStack() as undo:
            undo.push(self)
            self.arguments = [self._argument(*pair) for pair in zip(types, values, strict=True)]
            undo.pop_all()

    def prepare(self) -> int:
        """The first phase; returns its code, 0 where the operator accepts the arguments."""
        function = getattr(self.library, f"{self.operator}GetWorkspaceSize")
        size = ctypes.c_uint64()
        return function(*self.arguments, ctypes.byref(size), ctypes.byref(self.executor))

    def run(self) -> int:
        """The second phase; returns its code. The tensors have what the operator wrote."""
        function = getattr(self.library, self.operator)
        code = function(None, ctypes.c_uint64(0), self.executor, None)
        code = code or self.runtime.aclrtSynchronizeDevice()
        for storage, place in self.memory.values():
            pointer, size = ctypes.c_void_p(storage.data_ptr()), ctypes.c_size_t(storage.nbytes())
            self.runtime.aclrtMemcpy(pointer, size, place, size, TO_HOST)
        return code

    def message(self) -> str:
        """What the last refusal or failure says."""
        return (self.runtime.aclGetRecentErrMsg() or b"").decode(errors="replace").strip()

    def shape(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """The shape of an argument after the call, which an operator may have set."""
        handle = next(handle for known, handle in self.tensors if known is tensor)
        sizes, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        self.runtime.aclGetViewShape(
            ctypes.c_void_p(handle), ctypes.byref(sizes), ctypes.byref(rank)
        )
        return tuple(sizes[: rank.value])

    def _argument(self, type_: str, value: object):
        if type_ in NUMBERS:
            if isinstance(value, torch.dtype):
                value = ACL_NUMBERS[value]
            if isinstance(value, AclScalar):
                value = value.value
            if not isinstance(value, (bool, int, float)):
                raise MisfitError(f"a {type(value).__name__} for a {type_}")
            return NUMBERS[type_](value if type_ in ("double", "float") else int(value))
        if type_ == "String":
            return ctypes.c_char_p(None if value is None else str(value).encode())
        return ctypes.c_void_p(None if value is None else self._handle(type_, value))

    def _handle(self, type_: str, value: object) -> int:
        if type_ == "Tensor":
            return self._tensor(value)
        if type_ == "Scalar":
            return self._scalar(value)
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        if type_ in ("TensorList", "ScalarList"):
            make = self._tensor if type_ == "TensorList" else self._scalar
            items = (ctypes.c_void_p * max(len(value), 1))(*map(make, value))
        else:
            c_type, python = _ARRAYS[type_]
            if not all(isinstance(item, (bool, int, float, AclScalar)) for item in value):
                raise MisfitError(f"a list of {type(value[0]).__name__} for a {type_}")
            plain = [item.value if isinstance(item, AclScalar) else item for item in value]
            items = (c_type * max(len(value), 1))(*map(python, plain))
        create = getattr(self.runtime, f"aclCreate{type_}")
        return self._owned(type_, create(items, ctypes.c_uint64(len(value))))

    def _owned(self, kind: str, handle: int | None) -> int:
        if handle is None:
            raise MisfitError(self.message())
        destroy = getattr(self.runtime, f"aclDestroy{kind}")
        # A list owns its members in the C interface: what it destroyed is not destroyed again.
        self.callback(destroy, ctypes.c_void_p(handle))
        return handle

    def _scalar(self, value: object) -> int:
        if type(value) in OF_PYTHON:
            value = AclScalar(value, OF_PYTHON[type(value)])
        if not isinstance(value, AclScalar):
            raise MisfitError(f"a {type(value).__name__} for a Scalar")
        content = torch.tensor([value.value], dtype=value.dtype)
        content = bytes(content.view(torch.uint8).tolist()).ljust(16, b"\0")
        number = ctypes.c_int(ACL_NUMBERS[value.dtype])
        return self._owned("Scalar", self.runtime.aclCreateScalar(content, number))

    def _tensor(self, value: object) -> int | None:
        if value is None:
            return None
        if isinstance(value, Described):
            return self._create(value.shape, value.dtype, None, 0, value.format, self._place(64))
        if not isinstance(value, torch.Tensor):
            raise MisfitError(f"a {type(value).__name__} for a Tensor")
        storage = value.untyped_storage()
        key = storage.data_ptr()
        if key not in self.memory:
            place, size = self._place(storage.nbytes()), ctypes.c_size_t(storage.nbytes())
            self.runtime.aclrtMemcpy(place, size, ctypes.c_void_p(key), size, TO_DEVICE)
            self.memory[key] = storage, place
        place, offset = self.memory[key][1], value.storage_offset()
        handle = self._create(
            tuple(value.shape), ACL_NUMBERS[value.dtype], value.stride(), offset, PLAIN_FORMAT,
            place, storage.nbytes() // value.element_size(),
        )  # fmt: skip
        self.tensors.append((value, handle))
        return handle

    def _place(self, size: int) -> ctypes.c_void_p:
        place = ctypes.c_void_p()
        if code := self.runtime.aclrtMalloc(ctypes.byref(place), ctypes.c_size_t(max(size, 64)), 0):
            raise MemoryError(f"aclrtMalloc returned {code}")
        self.callback(self.runtime.aclrtFree, place)
        return place

    def _create(self, shape, dtype, strides, offset, format_, place, length=None) -> int:
        strides = None if strides is None else _int64s(strides)
        stored = shape if length is None else (length,)
        handle = self.runtime.aclCreateTensor(
            _int64s(shape), ctypes.c_uint64(len(shape)), ctypes.c_int(dtype), strides,
            ctypes.c_int64(offset), ctypes.c_int(format_), _int64s(stored),
            ctypes.c_uint64(len(stored)), place,
        )  # fmt: skip
        return self._owned("Tensor", handle)
