"""What CANN's documents do not accept is refused, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys

import pytest
import torch
from programs import command, run

from softnpu import SoftNpuError, info, soc
from softnpu.kernels import definition, kernels
from softnpu.limits import (
    DTYPES,
    FORMATS,
    PRODUCTS,
    Limits,
    limit_text,
    limits,
    parse_limit,
)
from softnpu.operators import operators

INVALID, NULL = 161002, 161001
PLAIN_FORMAT = 2
C_TYPES = {
    "DataType": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "int8_t": ctypes.c_int8,
    "uint64_t": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
}


class First:
    """The first phases of the operators, called through their C interface."""

    def __init__(self) -> None:
        self.memory = torch.zeros(64, device="npu")
        mode = os.RTLD_NOLOAD | os.RTLD_LAZY
        self.runtime = ctypes.CDLL("libascendcl.so", mode=mode)
        self.operators = ctypes.CDLL("libopapi.so", mode=mode)
        for name in ("aclCreateTensor", "aclCreateTensorList", "aclGetRecentErrMsg"):
            getattr(self.runtime, name).restype = ctypes.c_void_p

    def tensor(self, dtype: str, rank: int, storage_format: int = PLAIN_FORMAT) -> int:
        """A handle of a tensor with one element."""
        ones = (ctypes.c_int64 * max(rank, 1))(*[1] * rank)
        return self.runtime.aclCreateTensor(
            ones, ctypes.c_uint64(rank), DTYPES[dtype], ones, ctypes.c_int64(0), storage_format,
            ones, ctypes.c_uint64(rank), ctypes.c_void_p(self.memory.data_ptr()),
        )  # fmt: skip

    def list_of(self, tensor: int) -> int:
        """A handle of a list with that tensor."""
        return self.runtime.aclCreateTensorList((ctypes.c_void_p * 1)(tensor), ctypes.c_uint64(1))

    def call(self, operator: str, handles: dict[str, int | None]) -> int:
        """Calls the first phase with the given tensors and zeros; returns its code."""
        arguments = []
        for type_, name in operators()[operator].parameters:
            if type_ in C_TYPES:
                arguments.append(C_TYPES[type_](0))
            else:
                arguments.append(ctypes.c_void_p(handles.get(name)))
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        function = getattr(self.operators, f"{operator}GetWorkspaceSize")
        code = function(*arguments, ctypes.byref(size), ctypes.byref(executor))
        if executor:
            self.runtime.aclDestroyAclOpExecutor(executor)
        return code

    def message(self) -> str:
        """The message of the last refusal."""
        return ctypes.string_at(self.runtime.aclGetRecentErrMsg()).decode()

    @contextlib.contextmanager
    def product(self, name: str):
        """The checks of another product, for a while."""
        self._configure(PRODUCTS.index(name))
        try:
            yield
        finally:
            self._configure(PRODUCTS.index(soc.product(soc.soc_name())))

    def _configure(self, product: int) -> None:
        memory = ctypes.c_uint64(soc.memory_bytes())
        self.runtime.softnpu_configure(soc.soc_name().encode(), product, memory)


@pytest.fixture(scope="module")
def first() -> First:
    return First()


TENSORS = ("Tensor", "TensorList")


def test_every_operator_and_tensor_parameter_of_the_limits_exists():
    for found in limits().values():
        tensors = [
            name for type_, name in operators()[found.operator].parameters if type_ in TENSORS
        ]
        assert set(found.parameters) <= set(tensors), found.operator
        assert set(found.products) <= set(PRODUCTS), found.operator
        assert re.fullmatch(r"ops-\w+:[\w/&.]+\.md", found.document), found.operator
        for name, limit in found.parameters.items():
            assert limit.ranks, found.operator
            assert parse_limit(limit_text(name, limit)) == (name, limit)


def with_kernel() -> list[Limits]:
    """The limits that can be reached: without a kernel, an operator ends before."""
    return [found for name, found in limits().items() if name in kernels()]


def test_the_limits_reach_nearly_every_operator():
    known = [name for name in operators() if name in limits()]
    assert len(known) >= 0.99 * len(operators())


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_dtype_and_rank_is_accepted_or_refused_as_the_table_says(first, product):
    """Against the table as Python reads it: a wrong mask in C, or its use, is found here."""
    refused, accepted = set(), set()
    with first.product(product):
        for found in with_kernel():
            if product not in found.products:
                assert first.call(found.operator, {}) == INVALID, found.operator
                assert first.message().startswith("EZ1001: "), found.operator
                continue
            for name, limit in found.parameters.items():
                dtypes = limit.dtypes[PRODUCTS.index(product)] or frozenset(DTYPES)
                some_rank, some_dtype = min(limit.ranks), min(dtypes)
                for dtype in DTYPES:
                    passed = _passes(first, found, product, {name: (dtype, some_rank)})
                    assert passed == (dtype in dtypes), (found.operator, name, dtype)
                    (accepted if dtype in dtypes else refused).add(dtype)
                for rank in range(11):
                    passed = _passes(first, found, product, {name: (some_dtype, rank)})
                    assert passed == (rank in limit.ranks), (found.operator, name, rank)
    assert refused == accepted == frozenset(DTYPES)


def _passes(first: First, found: Limits, product: str, given: dict[str, tuple[str, int]]) -> bool:
    """Whether the limits have an operator's own tensors, but for the given dtype and rank."""
    handles, made = {}, []
    at = PRODUCTS.index(product)
    types = {name: type_ for type_, name in operators()[found.operator].parameters}
    for name, limit in found.parameters.items():
        dtype, rank = given.get(name) or (
            min(limit.dtypes[at] or DTYPES),
            min(limit.ranks),
        )
        tensor = first.tensor(dtype, rank)
        is_list = types[name] == "TensorList"
        handles[name] = first.list_of(tensor) if is_list else tensor
        made.append((is_list, handles[name]))
    code = first.call(found.operator, handles)
    for is_list, handle in made:
        destroy = "aclDestroyTensorList" if is_list else "aclDestroyTensor"
        getattr(first.runtime, destroy)(ctypes.c_void_p(handle))
    return code != INVALID


def test_a_null_tensor_is_refused_where_it_is_what_the_operator_works_on(first):
    assert first.call("aclnnAbs", {"out": first.tensor("FLOAT", 1)}) == NULL
    assert re.match(r"EZ1001: .* aclnnAbs: self must not be null\. Source: ops-", first.message())


def test_a_private_format_is_refused_but_where_the_document_names_it(first):
    private = {"x2": first.tensor("INT8", 4, FORMATS["NZ"]), "x1": first.tensor("INT8", 2)}
    assert first.call("aclnnQuantMatmulV4", private) != INVALID
    private = {name: first.tensor("FLOAT", 2, FORMATS["NZ"]) for name in ("self", "out")}
    assert first.call("aclnnAbs", private) == INVALID
    assert "self has the private storage format 29" in first.message()


F64 = torch.float64
ABOUT_MM = (
    r"error code is 161002[^$]*\nEZ1001: \[PID: \d+\] \d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} "
    r"\(softnpu\) aclnnMm: self not implemented for DT_DOUBLE, should be in dtype support list "
    r"\[DT_FLOAT,DT_FLOAT16,DT_BFLOAT16\] on A2\. Source: ops-nn:matmul/\S+/aclnnMm\.md"
)
REFUSED = {
    "a dtype": (lambda: torch.mm(_npu(2, 2, dtype=F64), _npu(2, 2, dtype=F64)), ABOUT_MM),
    "complex numbers": (
        lambda: torch.softmax(_npu(2).cfloat(), 0),
        "not implemented for DT_COMPLEX64",
    ),
    "too many dimensions": (lambda: _npu(*[1] * 9).abs(), "aclnnAbs: self has 9 dimensions"),
    "a member of a list": (
        lambda: torch.cat([_npu(2).to(torch.complex128)] * 2),
        "aclnnCat: tensors not implemented for DT_COMPLEX128",
    ),
    "an index": (
        lambda: torch.gather(_npu(4), 0, _npu(4).to(torch.int16)),
        "aclnnGather: index not implemented for DT_INT16",
    ),
}


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype).npu()


@pytest.mark.parametrize("case", REFUSED)
def test_torch_npu_gets_cann_s_code_and_a_message_that_names_the_reason(case):
    call, message = REFUSED[case]
    with pytest.raises(RuntimeError, match=message):
        call()


def test_what_the_documents_have_passes():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert (_npu(2, 2).to(dtype) @ _npu(2, 2).to(dtype)).sum() == 8
    assert torch.cat([_npu(2).cfloat()] * 2).shape == (4,)
    index = [None, torch.tensor([0], device="npu")]
    assert _npu(3, 2)[:, index[1]].shape == (3, 1)  # torch_npu fills the gap with a float tensor


def test_an_operator_is_refused_on_the_products_it_is_not_for():
    program = "import torch; torch.linalg.qr(torch.eye(3).npu())"
    done = run(program, check=False, SOFTNPU_SOC="950DT")
    assert "aclnnLinalgQr: not supported on 950DT" in done.stderr


def test_info_of_an_operator_has_what_a_kernel_begins_with():
    text = info.operator_text("lerps")
    assert "kernel       yes\n" in text
    assert "def aclnnLerps(self: Tensor, end: Tensor, weight: Scalar, out: Tensor):\n" in text
    text = info.operator_text("quantize")
    assert "kernel       none" in text
    wanted = (
        "x: Tensor, scales: Tensor, zeroPoints: Tensor, dtype: DataType, axis: int32_t, out: Tensor"
    )
    assert f"    @kernel\n    def aclnnQuantize({wanted}):\n" in text


def test_the_definition_that_info_shows_is_one():
    for name in operators():
        compile(f"{definition(name)}\n    pass", name, "exec")


def test_info_says_how_the_limits_are_known_and_ends_quietly_with_its_reader():
    text = info.text()
    document, none = (
        re.search(r"(\d+) +CANN's document\n", text),
        re.search(r"(\d+) +none found", text),
    )
    assert int(document[1]) > 500
    assert int(none[1]) == len(operators()) - len(limits())
    assert re.search(r"aclnnMatmul +CANN's document, in part +kernel", text)
    piped = command(["sh", "-c", f"{sys.executable} -m softnpu info | head -n 1"])
    assert piped.stdout.startswith("softnpu")
    assert "Error" not in piped.stderr  # torch_npu warns beside a CUDA build


def test_info_of_one_operator_says_what_it_accepts():
    lines = info.operator_text("addmm").splitlines()
    assert lines[0] == "aclnnAddmm"
    assert lines[lines.index("mat1") + 1].split() == ["FLOAT,", "FLOAT16,", "BFLOAT16"]
    assert "kernel       yes" in lines
    assert info.operator_text("aclStft") == info.operator_text("ACLSTFT ")
    assert info.operator_text("aclnnAddmmGetWorkspaceSize").splitlines() == lines
    assert "none: an error names it" in info.operator_text("Quantize")
    assert "none found" in info.operator_text("InterleaveRope")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sqrt2", r"there is no operator 'sqrt2'. Near it: .*aclnnSqrt"),
        ("Logits", r"Near it: .*aclnnBinaryCrossEntropyWithLogits"),
        ("\t?", r"python -m softnpu info lists them"),
    ],
)
def test_info_of_an_unknown_operator_names_the_nearest(name, told):
    with pytest.raises(SoftNpuError, match=told):
        info.operator_text(name)
