"""A case of CANN's system tests: its description, cut to size, and the inputs made from it.

A description has a name, a type (tensor, scalar, attr, and lists of them), a dtype, a shape and
the range of its values: a number, two bounds, ``inf`` or ``nan``, or a normal distribution.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import NamedTuple

import torch

from .acl import AclScalar

MOST_ELEMENTS = 1 << 16  # of all tensors of a case; a larger one is cut to that
MOST_WHOLE = 1 << 20  # a cut case that does not pass runs whole up to here
DTYPES = {
    "fp16": torch.float16, "fp32": torch.float32, "fp64": torch.float64, "bf16": torch.bfloat16,
    "float": torch.float32, "float16": torch.float16, "float32": torch.float32,
    "float64": torch.float64, "double": torch.float64, "bfloat16": torch.bfloat16,
    "int": torch.int64, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32,
    "int64": torch.int64, "uint8": torch.uint8, "uint16": torch.uint16, "uint32": torch.uint32,
    "uint64": torch.uint64, "bool": torch.bool, "attr_bool": torch.bool,
    "int64_t": torch.int64, "int32_t": torch.int32, "int8_t": torch.int8,
    "complex64": torch.complex64, "complex128": torch.complex128, "complex32": torch.complex32,
}  # fmt: skip
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
NOT_PASSED = "non_param"  # a dtype: for the reference only


class UnknownDataError(Exception):
    """A description that this file does not know."""


class Value(NamedTuple):
    """An input of a case: what the reference gets, and whether the operator gets it too."""

    name: str
    value: object
    passed: bool


def read_folder(folder: Path) -> list[dict]:
    """The cases of the ``atk_*.json`` of a folder."""
    made: list[dict] = []
    for path in sorted(folder.glob("atk_*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        made += data if isinstance(data, list) else data.get("cases", [data])
    return made


def _tensors(inputs: list) -> list[dict]:
    flat = [item for entry in inputs for item in (entry if isinstance(entry, list) else [entry])]
    return [item for item in flat if str(item["type"]).startswith("tensor")]


def elements(case: dict, most: float = math.inf) -> int:
    """How many elements its tensors have, where no dimension is longer than ``most``."""
    shapes = [item.get("shape") or [] for item in _tensors(case["inputs"])]
    return sum(math.prod(min(size, most) for size in shape) for shape in shapes)


def cut(case: dict) -> dict:
    """The case with every longer dimension cut to one length, so that it has few elements.

    Equal dimensions stay equal. A number among the attributes that is the length of a dimension,
    such as a normalized shape, is cut as the dimension is; so is the bound of an index.
    """
    if elements(case) <= MOST_ELEMENTS:
        return case
    most = next(
        most for most in range(4096, 0, -1) if elements(case, most) <= MOST_ELEMENTS or most == 1
    )
    lengths = {size for item in _tensors(case["inputs"]) for size in item.get("shape") or []}

    def smaller(item: dict) -> dict:
        if item["type"].startswith("tensor"):
            item = item | {"shape": [min(size, most) for size in item.get("shape") or []]}
            if "int" in item["dtype"] and isinstance(item["range_values"], list):
                bounds = [min(b, most - 1) if isinstance(b, int) and b + 1 in lengths else b
                          for b in item["range_values"]]  # fmt: skip
                item["range_values"] = bounds
        elif isinstance(item["range_values"], int) and item["range_values"] in lengths:
            item = item | {"range_values": min(item["range_values"], most)}
        return item

    inputs = [
        [smaller(item) for item in entry] if isinstance(entry, list) else smaller(entry)
        for entry in case["inputs"]
    ]
    return case | {"inputs": inputs}


def inputs(case: dict, seed: int) -> list[Value]:
    """The inputs in order; the same for the same seed.

    Raises:
        UnknownDataError: a description is not known.
    """
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    return [_value(entry, rng, generator) for entry in case["inputs"]]


def _value(entry: dict | list, rng: random.Random, generator: torch.Generator) -> Value:
    first = entry[0] if isinstance(entry, list) else entry
    if isinstance(entry, list):
        made = [_one(item, rng, generator) for item in entry]
        value = tuple(made) if "tuple" in first["type"] else made
    else:
        value = _one(entry, rng, generator)
        if first["type"] in ("tensors", "scalars", "attrs", "tensor_tuple", "attr_tuple"):
            value = [value]
    return Value(first["name"], value, first["dtype"] != NOT_PASSED)


def _one(item: dict, rng: random.Random, generator: torch.Generator) -> object:
    range_ = item["range_values"]
    if item["type"].startswith("tensor"):
        absent = range_ in ("null", ["null"]) and not item.get("required", True)
        return None if absent else _tensor(item, rng, generator)
    value = _number(item, rng)
    if item["type"].startswith("scalar") and value is not None:
        dtype = _dtype(item)  # the reference gets the number that the dtype holds
        return AclScalar(torch.tensor(value).to(dtype).item(), dtype)
    return value


def _dtype(item: dict) -> torch.dtype:
    if item["dtype"] not in DTYPES:
        raise UnknownDataError(f"the dtype {item['dtype']}")
    return DTYPES[item["dtype"]]


def _number(item: dict, rng: random.Random) -> object:
    range_, dtype = item["range_values"], item["dtype"]
    if isinstance(range_, dict):
        return _python(rng.gauss(_of(range_["mean"], rng), _of(range_["std"], rng)), item)
    if isinstance(range_, list):
        if len(range_) == 2 and _bounds(range_) and dtype not in ("bool", "attr_bool"):
            low, high = _limits(range_, _dtype(item))
            whole = not _dtype(item).is_floating_point and not _dtype(item).is_complex
            return rng.randint(int(low), int(high)) if whole else rng.uniform(low, high)
        range_ = rng.choice(range_) if range_ else None
    if range_ is None or range_ == "null":
        return None
    if dtype == "torch_dtype":
        return getattr(torch, str(range_).removeprefix("torch."))
    if dtype in ("string", NOT_PASSED):
        return range_
    return _python(range_, item)


def _python(value: object, item: dict) -> object:
    if isinstance(value, str):
        if item["dtype"] in ("bool", "attr_bool"):
            return value.lower() not in ("false", "0", "")
        try:
            value = float(value)
        except ValueError as error:
            raise UnknownDataError(f"the value {value!r}") from error
    dtype = _dtype(item)
    if dtype is torch.bool:
        return bool(value)
    if dtype.is_complex:
        return complex(value)
    if dtype.is_floating_point:
        return float(value)
    return int(value) if math.isfinite(value) else value


def _of(value: object, rng: random.Random) -> float:
    return rng.uniform(*value) if isinstance(value, list) else value


def _bounds(range_: list) -> bool:
    return all(isinstance(v, (int, float)) or v in SPECIAL for v in range_)


def _limits(range_: list, dtype: torch.dtype) -> tuple[float, float]:
    """Two finite bounds; an infinite one is the largest number of the dtype."""
    real = dtype.to_real() if dtype.is_complex else dtype
    if real is torch.bool:
        least, largest = -(2**31), 2**31
    else:
        info = torch.finfo(real) if real.is_floating_point else torch.iinfo(real)
        least, largest = info.min, info.max
    low, high = sorted(min(max(SPECIAL.get(v, v), least), largest) for v in range_)
    return low, high


def _tensor(item: dict, rng: random.Random, generator: torch.Generator) -> torch.Tensor:
    dtype, shape, range_ = _dtype(item), item.get("shape") or [], item["range_values"]
    if isinstance(range_, str) and range_.startswith("("):
        range_ = [float(part) for part in range_.strip("()").split(",")]
    if isinstance(range_, dict):
        if range_.get("name") != "nd":
            raise UnknownDataError(f"the distribution {range_}")
        mean, std = _of(range_["mean"], rng), abs(_of(range_["std"], rng))
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * std + mean
    elif isinstance(range_, list) and len(range_) == 2 and _bounds(range_):
        drawn = _uniform(*_limits(range_, dtype), dtype, shape, generator)
    elif isinstance(range_, list) and len(range_) > 1 and len(range_) == math.prod(shape):
        return torch.tensor(range_).reshape(shape).to(dtype)
    elif isinstance(range_, list) and len(range_) > 2 and _bounds(range_):
        drawn = torch.tensor(rng.choices(range_, k=math.prod(shape))).reshape(shape)
    elif range_ in (None, "default", "null", ["null"]):
        drawn = _uniform(*_limits([-5, 5], dtype), dtype, shape, generator)
    else:
        value = range_[0] if isinstance(range_, list) else range_
        drawn = _full(SPECIAL.get(value, value), dtype, shape)
    return drawn.to(dtype)  # for bool whether it is not 0


def _full(value: object, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    if isinstance(value, str):
        raise UnknownDataError(f"the values {value!r}")
    if isinstance(value, float) and not math.isfinite(value) and not dtype.is_floating_point:
        if dtype is torch.bool or dtype.is_complex:
            return torch.full(shape, value)
        info = torch.iinfo(dtype)  # what an integer has in the place of an infinity
        value = info.max if value == math.inf else info.min if value == -math.inf else 0
        return torch.full(shape, value, dtype=dtype)
    return torch.full(shape, value)


def _uniform(
    low: float, high: float, dtype: torch.dtype, shape: list[int], generator: torch.Generator
) -> torch.Tensor:
    if not dtype.is_floating_point and not dtype.is_complex:
        low, high = max(int(low), -(2**63)), min(int(high), 2**63 - 2)
        return torch.randint(low, high + 1, shape, generator=generator, dtype=torch.int64)
    unit = torch.rand(shape, generator=generator, dtype=torch.float64)
    drawn = low * (1 - unit) + high * unit
    if dtype.is_complex:
        other = torch.rand(shape, generator=generator, dtype=torch.float64)
        return torch.complex(drawn, low * (1 - other) + high * other)
    return drawn
