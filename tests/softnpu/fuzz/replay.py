"""Calls both phases of an operator through the C interface, with arguments that are data.

All tensors of a call lie in one block of device memory, with gaps between them. What is not in
the storage of a tensor must be untouched after the call.
"""

from __future__ import annotations

import ctypes

from specs import ScalarSpec, TensorSpec

from softnpu.operators import Operator

ARENA = 1 << 18
GAP = 64
PATTERN = bytes(range(1, 256)) * (ARENA // 255 + 1)
ITEM_BYTES = {0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1}
ITEM_BYTES |= {16: 8, 17: 16, 27: 2}
C_TYPES = {
    "DataType": ctypes.c_int32, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
    "int8_t": ctypes.c_int8, "uint64_t": ctypes.c_uint64, "bool": ctypes.c_bool,
    "double": ctypes.c_double, "float": ctypes.c_float,
}  # fmt: skip
H2D, D2H = 1, 2

acl = ctypes.CDLL("libascendcl.so")
operators_library = ctypes.CDLL("libopapi.so")
for _name in (
    "Tensor",
    "Scalar",
    "IntArray",
    "FloatArray",
    "BoolArray",
    "TensorList",
    "ScalarList",
):
    getattr(acl, f"aclCreate{_name}").restype = ctypes.c_void_p


class DoesNotFit(Exception):
    """The tensors need more than the arena."""


class TouchedOutside(Exception):
    """Bytes outside of the storages changed."""


class Call:
    """One call: makes its handles, runs the operator, looks at the memory, destroys them."""

    arena: int = 0
    freed: int = 0
    host = ctypes.create_string_buffer(1 << 16)

    def __init__(self) -> None:
        if not Call.arena:
            Call.arena, Call.freed = self._allocate(), self._allocate()
            acl.aclrtFree(ctypes.c_void_p(Call.freed))
        self.before = bytearray(PATTERN[:ARENA])
        self.owned: list[tuple[int, int]] = []  # what the operator may write
        self.used = GAP
        self.handles: list[tuple[str, int | None]] = []
        self.kept: list[object] = []  # ctypes buffers, while the call runs

    @staticmethod
    def _allocate() -> int:
        place = ctypes.c_void_p()
        assert acl.aclrtMalloc(ctypes.byref(place), ctypes.c_size_t(ARENA), 0) == 0
        return place.value

    def _place(self, spec: TensorSpec) -> int | None:
        if spec.place == "null":
            return None
        if spec.place == "host":
            return ctypes.addressof(Call.host)
        if spec.place == "freed":
            return Call.freed
        if spec.place == "shared" and self.owned:
            start = self.owned[-1][0]
        else:
            start = self.used + (spec.place == "unaligned")
            behind = start + len(spec.content)
            if behind + GAP > ARENA:
                raise DoesNotFit
            self.before[start:behind] = spec.content
            self.used = (behind + 2 * GAP) // GAP * GAP
        size = ITEM_BYTES.get(spec.dtype, 16)
        for length in spec.storage:
            size *= max(length, 0)
        self.owned.append((start, start + size))
        return Call.arena + start

    def _tensor(self, spec: TensorSpec | None) -> int | None:
        if spec is None:
            return None
        rows = [
            (ctypes.c_int64 * max(len(row), 1))(*row)
            for row in (spec.shape, spec.strides, spec.storage)
        ]
        self.kept += rows
        return acl.aclCreateTensor(
            rows[0], ctypes.c_uint64(len(spec.shape)), ctypes.c_int(spec.dtype), rows[1],
            ctypes.c_int64(spec.offset), ctypes.c_int(spec.format), rows[2],
            ctypes.c_uint64(len(spec.storage)), ctypes.c_void_p(self._place(spec)),
        )  # fmt: skip

    def _scalar(self, spec: ScalarSpec | None) -> int | None:
        if spec is None:
            return None
        return acl.aclCreateScalar(spec.content.ljust(16, b"\0"), ctypes.c_int(spec.dtype))

    def _handle(self, type_: str, value: object) -> int | None:
        if value is None:
            return None
        if type_ == "Tensor":
            return self._tensor(value)
        if type_ == "Scalar":
            return self._scalar(value)
        item = {
            "IntArray": ctypes.c_int64,
            "FloatArray": ctypes.c_float,
            "BoolArray": ctypes.c_bool,
        }
        if type_ == "TensorList":
            value = [self._tensor(spec) for spec in value]
        elif type_ == "ScalarList":
            value = [self._scalar(spec) for spec in value]
        items = (item.get(type_, ctypes.c_void_p) * max(len(value), 1))(*value)
        return getattr(acl, f"aclCreate{type_}")(items, ctypes.c_uint64(len(value)))

    def _argument(self, type_: str, value: object) -> object:
        if type_ in C_TYPES:
            return C_TYPES[type_](value)
        if type_ == "String":
            return ctypes.c_char_p(None if value is None else value.encode("latin-1"))
        handle = self._handle(type_, value)
        self.handles.append((type_, handle))
        return ctypes.c_void_p(handle)

    def run(self, operator: Operator, values: list[object]) -> int:
        """The code of the first phase that failed, or 0.

        Raises:
            DoesNotFit: nothing was called.
            TouchedOutside: memory of no tensor was written.
        """
        try:
            pairs = zip(operator.parameters, values, strict=True)
            arguments = [self._argument(type_, value) for (type_, _), value in pairs]
            start = (ctypes.c_char * ARENA).from_buffer(self.before)
            arena, size = ctypes.c_void_p(Call.arena), ctypes.c_size_t(ARENA)
            assert acl.aclrtMemcpy(arena, size, start, size, H2D) == 0
            code = self._phases(operator.name, arguments)
            self._check(bytes(self.before))
            return code
        finally:
            for type_, handle in self.handles:
                getattr(acl, f"aclDestroy{type_}")(ctypes.c_void_p(handle))

    def _phases(self, name: str, arguments: list[object]) -> int:
        workspace, executor = ctypes.c_uint64(), ctypes.c_void_p()
        prepare = getattr(operators_library, f"{name}GetWorkspaceSize")
        code = prepare(*arguments, ctypes.byref(workspace), ctypes.byref(executor))
        if code == 0:
            code = getattr(operators_library, name)(None, workspace, executor, None)
        return code

    def _check(self, before: bytes) -> None:
        after = ctypes.create_string_buffer(ARENA)
        size = ctypes.c_size_t(ARENA)
        assert acl.aclrtMemcpy(after, size, ctypes.c_void_p(Call.arena), size, D2H) == 0
        left = bytearray(after.raw)
        for start, behind in self.owned:
            left[start:behind] = before[start:behind]
        if left != before:
            place = next(i for i in range(ARENA) if left[i] != before[i])
            raise TouchedOutside(f"byte {place} of {ARENA}, tensors at {self.owned}")
