"""Arguments of operators as plain data: recorded from real calls, then changed at random."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

# aclDataType of the dtypes, and some that nobody knows or that torch cannot hold.
ACL_DTYPES = {
    torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4,
    torch.int16: 6, torch.uint16: 7, torch.uint32: 8, torch.int64: 9, torch.uint64: 10,
    torch.float64: 11, torch.bool: 12, torch.complex64: 16, torch.complex128: 17,
    torch.bfloat16: 27,
}  # fmt: skip
ODD_DTYPES = (5, 13, 28, 29, 33, 40, 1000, -1, 2**31 - 1)
WHOLE = (0, 1, -1, 2, 3, 5, 17, 255, -7, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
REAL = (0.0, 1.0, -1.0, 0.5, 1e30, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
TEXTS = (None, "", "mean", "zeros", "no such mode", "x" * 5000, "%s%n", "ä")


@dataclass
class TensorSpec:
    """What aclCreateTensor is given, and the bytes behind it."""

    dtype: int
    shape: list[int]
    strides: list[int]
    content: bytes = field(repr=False)  # of the storage
    storage: list[int]
    offset: int = 0
    format: int = 2
    place: str = "own"  # null, host, freed, or with the tensor before it


class ScalarSpec(NamedTuple):
    """What aclCreateScalar is given."""

    dtype: int
    content: bytes


def tensor_spec(tensor: torch.Tensor) -> TensorSpec:
    """The view that a kernel got, with as much of its storage as it reaches."""
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    length = reach + 1 if tensor.numel() else 0
    flat = tensor.as_strided((length,), (1,)).contiguous()
    content = flat.view(torch.uint8).numpy().tobytes() if length else b""
    return TensorSpec(
        ACL_DTYPES[tensor.dtype], list(tensor.shape), list(tensor.stride()), content, [length]
    )


def scalar_spec(value: complex | float | int | bool) -> ScalarSpec:
    """A number as torch_npu hands it over."""
    dtype = {bool: torch.bool, int: torch.int64, float: torch.float64}.get(
        type(value), torch.complex128
    )
    return ScalarSpec(
        ACL_DTYPES[dtype], torch.tensor([value], dtype=dtype).view(torch.uint8).numpy().tobytes()
    )


def recorded(type_: str, value: object) -> object:
    """An argument of a kernel, kept; ``type_`` as operators.tsv writes it."""
    if value is None:
        return None
    if type_ == "Tensor":
        return tensor_spec(value)
    if type_ == "Scalar":
        return scalar_spec(value)
    if type_ == "TensorList":
        return [recorded("Tensor", item) for item in value]
    if type_ == "ScalarList":
        return [scalar_spec(item) for item in value]
    return list(value) if isinstance(value, tuple) else value


def _some_tensor(rng: random.Random) -> TensorSpec:
    dtype = rng.choice(list(ACL_DTYPES))
    shape = [rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))]
    low, high = rng.choice(((0, 2), (0, 3), (-4, 4), (0, 200)))
    values = torch.tensor([rng.randint(low, high) for _ in range(torch.Size(shape).numel())])
    values = values.abs() if not dtype.is_signed else values
    return tensor_spec(values.to(torch.int64).to(dtype).reshape(shape))


def random_argument(type_: str, rng: random.Random) -> object:
    """An argument of a type, from nothing."""
    if type_.endswith(("List", "Array")):
        if rng.random() < 0.1:
            return None
        member = {"TensorList": "Tensor", "ScalarList": "Scalar", "FloatArray": "double"}
        member |= {"BoolArray": "bool", "IntArray": "int64_t"}
        return [random_argument(member[type_], rng) for _ in range(rng.randint(0, 4))]
    if type_ == "Tensor":
        return None if rng.random() < 0.1 else _some_tensor(rng)
    if type_ == "Scalar":
        kinds = (None, rng.choice((0, 1, 2, -1)), rng.choice(REAL), True, 1 + 2j)
        value = rng.choice(kinds)
        return None if value is None else scalar_spec(value)
    if type_ in ("double", "float"):
        return rng.choice(REAL)
    if type_ == "bool":
        return rng.random() < 0.5
    if type_ == "String":
        return rng.choice(TEXTS)
    if type_ == "DataType":
        return rng.choice((*ACL_DTYPES.values(), *ODD_DTYPES))
    return rng.choice(WHOLE[:7]) if rng.random() < 0.8 else rng.choice(WHOLE)


def _other_content(spec: TensorSpec, rng: random.Random) -> TensorSpec:
    """Other bytes: an index then points anywhere, a number is not one."""
    size = len(spec.content)
    item = rng.choice((1, 4, 8))
    kinds = {
        "ones": b"\xff" * size,
        "small": (rng.randint(0, 9).to_bytes(item, "little") * (size // item + 1))[:size],
        "minus": ((2 ** (8 * item) - rng.randint(1, 5)).to_bytes(item, "little") * (size + 1))[
            :size
        ],
        "any": rng.randbytes(size),
    }
    return replace(spec, content=rng.choice(list(kinds.values())))


def _other_shape(spec: TensorSpec, rng: random.Random) -> TensorSpec:
    """Sizes that differ; the storage grows with them, so that only the operator can refuse."""
    shape = [min(size, 16) for size in spec.shape]
    if shape and rng.random() < 0.7:
        i = rng.randrange(len(shape))
        shape[i] = max(0, rng.choice((0, 1, shape[i] + 1, shape[i] - 1, 2 * shape[i], 7)))
    elif shape and rng.random() < 0.5:
        del shape[rng.randrange(len(shape))]
    else:
        shape.insert(rng.randint(0, len(shape)), rng.choice((0, 1, 2)))
    strides, length = [], 1
    for size in reversed(shape):
        strides.insert(0, length)
        length *= size
    item = len(spec.content) // max(spec.storage[0], 1) or 8
    content = (spec.content * (length * item // max(len(spec.content), 1) + 1))[: length * item]
    content = content.ljust(length * item, b"\x01")
    return replace(spec, shape=shape, strides=strides, content=content, storage=[length])


def changed_tensor(spec: TensorSpec | None, rng: random.Random) -> TensorSpec | None:
    """A tensor with one thing changed."""
    if spec is None or rng.random() < 0.05:
        return _some_tensor(rng)
    how = rng.randrange(10)
    if how == 0:
        return None
    if how == 1:
        odd = rng.random() < 0.2
        return replace(spec, dtype=rng.choice(ODD_DTYPES if odd else list(ACL_DTYPES.values())))
    if how in (2, 3):
        return _other_content(spec, rng)
    if how in (4, 5, 6):
        return _other_shape(spec, rng)
    if how == 7 and spec.shape:
        strides = list(spec.strides)
        strides[rng.randrange(len(strides))] = rng.choice((0, 1, 2, *WHOLE))
        return replace(spec, strides=strides)
    if how == 8:
        name = rng.choice(("offset", "storage", "format", "shape"))
        value = rng.choice(WHOLE)
        if name == "shape":
            value = [*spec.shape[1:], value] if spec.shape else [value]
            return replace(spec, shape=value, strides=[*spec.strides, 1][: len(value)])
        return replace(spec, **{name: [value] if name == "storage" else value % 2**31})
    return replace(spec, place=rng.choice(("null", "host", "freed", "shared", "unaligned")))


def changed(type_: str, value: object, rng: random.Random) -> object:
    """An argument with one thing changed."""
    if type_ == "Tensor":
        return changed_tensor(value, rng)
    if isinstance(value, list) and rng.random() < 0.8:
        items = list(value)
        member = {"TensorList": "Tensor", "ScalarList": "Scalar"}.get(type_, type_)
        if items and rng.random() < 0.6:
            i = rng.randrange(len(items))
            items[i] = changed(member, items[i], rng) if member != type_ else rng.choice(WHOLE)
        elif items and rng.random() < 0.5:
            del items[rng.randrange(len(items))]
        elif items:
            items.append(items[-1])
        return items
    return random_argument(type_, rng)
