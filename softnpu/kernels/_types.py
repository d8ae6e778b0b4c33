"""What a kernel's parameters are in Python, by the name they have in ``operators.tsv``."""

from __future__ import annotations

import torch

Tensor = torch.Tensor
Scalar = bool | int | float | complex
TensorList = tuple[torch.Tensor | None, ...]
ScalarList = tuple[Scalar, ...]
IntArray = tuple[int, ...]
BoolArray = tuple[bool, ...]
FloatArray = tuple[float, ...]
String = str
DataType = int  # an aclDataType of acl_base.h
int8_t = int32_t = int64_t = uint64_t = int
double = float
