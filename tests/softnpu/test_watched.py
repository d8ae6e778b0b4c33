"""Kernels with a fault, watched as test_kernels.py watches all: each fault is seen and named."""

from __future__ import annotations

import ctypes

import pytest
import torch
from programs import run
from watched import watched

from softnpu.kernels import kernels
from softnpu.kernels._tools import write

KERNELS = {name: getattr(found, "__wrapped__", found) for name, found in kernels().items()}


def _abs():
    return {"self": torch.randn(3, 4), "out": torch.zeros(3, 8)[:, ::2]}


def _cumsum():
    return {"self": torch.randn(3, 4), "dim": 1, "dtype": 0, "out": torch.zeros(4, 6).t()[::2]}


def _mm():
    inputs = {"self": torch.randn(2, 3), "mat2": torch.randn(4, 3).t()}
    return inputs | {"out": torch.zeros(2, 8)[:, ::2], "cubeMathType": 0}


def _mul_inplace():
    return {"selfRef": torch.randn(3, 8)[:, ::2], "other": torch.randn(3, 4)}


def _sort():
    inputs = {"self": torch.randn(3, 4), "stable": True, "dim": 1, "descending": False}
    outputs = torch.zeros(3, 8)[:, ::2], torch.zeros(3, 4, dtype=torch.int64)
    return inputs | {"valuesOut": outputs[0], "indicesOut": outputs[1]}


def _foreach():
    lists = {name: (torch.randn(3), torch.randn(2)) for name in ("x1", "x2")}
    return lists | {"alpha": torch.tensor([2.0]), "out": (torch.zeros(6)[::2], torch.zeros(2))}


# A call of a kernel: its arguments, an input, and an output with gaps.
CALLS = {
    "aclnnAbs": (_abs, "self", "out"),
    "aclnnCumsum": (_cumsum, "self", "out"),
    "aclnnMm": (_mm, "mat2", "out"),
    "aclnnInplaceMul": (_mul_inplace, "other", "selfRef"),
    "aclnnSort": (_sort, "self", "valuesOut"),
    "aclnnForeachAddList": (_foreach, "x2", "out"),
}


def _end(tensor: torch.Tensor) -> int:
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr() + (last + 1) * tensor.element_size()


def _put_byte(address: int) -> None:
    byte = ctypes.c_ubyte.from_address(address)
    byte.value ^= 1


def _destroy(taken: torch.Tensor, out: torch.Tensor) -> None:
    taken.zero_()


def _flip_a_bit(taken: torch.Tensor, out: torch.Tensor) -> None:
    _put_byte(taken.data_ptr())


def _past_the_end(taken: torch.Tensor, out: torch.Tensor) -> None:
    _put_byte(_end(out))


def _before_the_start(taken: torch.Tensor, out: torch.Tensor) -> None:
    _put_byte(out.data_ptr() - 1)


def _into_a_gap(taken: torch.Tensor, out: torch.Tensor) -> None:
    _put_byte(out.data_ptr() + min(out.stride()) * out.element_size() - 1)


def _resize(taken: torch.Tensor, out: torch.Tensor) -> None:
    out.resize_(1)


def _beyond_its_memory(taken: torch.Tensor, out: torch.Tensor) -> None:
    _put_byte(_end(taken))


FAULTS = {
    _destroy: r"changed its input {input}",
    _flip_a_bit: r"changed its input {input}",
    _past_the_end: r"wrote 1 byte behind {output}",
    _before_the_start: r"wrote 1 byte before {output}",
    _into_a_gap: r"wrote 1 byte between the elements of {output}",
    _resize: r"gave {output} another shape, dtype or memory",
    _beyond_its_memory: r"wrote 1 byte behind {input}",
}


def _first(given: object) -> torch.Tensor:
    return given[0] if isinstance(given, tuple) else given


def _call(name: str) -> tuple[list[object], int, int]:
    """The arguments of a call, and where in them are the input and the output."""
    make, input_, output = CALLS[name]
    torch.manual_seed(0)
    made = make()
    return list(made.values()), list(made).index(input_), list(made).index(output)


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_without_a_fault_is_not_disturbed(name):
    arguments, _, out = _call(name)
    mine, _, _ = _call(name)
    KERNELS[name](*arguments)
    watched(name, KERNELS[name])(*mine)
    assert torch.equal(_first(mine[out]), _first(arguments[out]))
    assert _first(mine[out]).any()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_a_fault_is_seen(name, fault):
    arguments, taken, out = _call(name)

    def mutant(*arguments):
        KERNELS[name](*arguments)
        fault(_first(arguments[taken]), _first(arguments[out]))

    _, input_, output = CALLS[name]
    wanted = FAULTS[fault].format(input=input_, output=output)
    with pytest.raises(AssertionError, match=f"^{name} .*{wanted}"):
        watched(name, mutant)(*arguments)


def test_the_bits_of_a_nan_are_compared():
    given = torch.tensor([0x7FC00000], dtype=torch.int32).view(torch.float32)

    def mutant(self, out):
        out.copy_(self)
        self.view(torch.int32).fill_(0x7FC00001)

    with pytest.raises(AssertionError, match="aclnnAbs changed its input self"):
        watched("aclnnAbs", mutant)(given, torch.zeros(1))


def test_an_output_that_is_not_written_does_not_keep_what_was_right_before():
    out = torch.ones(3)
    watched("aclnnAbs", lambda self, out: None)(torch.ones(3), out)
    assert not torch.equal(out, torch.ones(3))


def test_what_a_kernel_did_before_it_raised_is_seen():
    def mutant(self, out):
        self.zero_()
        raise ValueError

    with pytest.raises(AssertionError, match="aclnnAbs changed its input self"):
        watched("aclnnAbs", mutant)(torch.ones(3), torch.ones(3))


@pytest.mark.parametrize("direct", [True, False])
def test_a_fault_is_seen_on_the_npu(direct):
    # Both ways from csrc/kernel.c into Python: a pointwise function with out=, and a kernel.
    program = """
    import sys; sys.path.insert(0, "tests/softnpu")
    import torch
    from softnpu.kernels import kernels
    from softnpu.kernels._tools import POINTWISE
    from watched import watched

    def destroy(self, out):
        out.fill_(1)
        self.zero_()

    kernels()["aclnnAbs"] = watched("aclnnAbs", destroy)
    known = POINTWISE.pop("aclnnAbs")
    if DIRECT:
        function = watched("aclnnAbs", destroy)
        POINTWISE["aclnnAbs"] = known._replace(kernel=kernels()["aclnnAbs"], function=function)
    torch.ones(3).npu().abs()
    """
    done = run(program.replace("DIRECT", str(direct)), check=False)
    assert done.returncode == 1
    assert "AssertionError: aclnnAbs changed its input self" in done.stderr


# What `write` does of dtypes.
SAME_OR_HELD = [
    (torch.float32, torch.float32), (torch.float32, torch.float64), (torch.float16, torch.float32),
    (torch.bfloat16, torch.float32), (torch.int32, torch.int64), (torch.bool, torch.int8),
    (torch.float32, torch.complex64), (torch.int64, torch.float32),
    (torch.float32, torch.float16), (torch.float32, torch.bfloat16),
]  # fmt: skip
REFUSED = [
    (torch.float64, torch.float32), (torch.float64, torch.float16), (torch.int64, torch.int32),
    (torch.float32, torch.int32), (torch.complex64, torch.float32), (torch.int8, torch.bool),
    (torch.bfloat16, torch.float16), (torch.complex128, torch.complex64),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), SAME_OR_HELD)
def test_a_result_that_the_output_holds_is_written(given, wanted):
    out = torch.zeros(3, dtype=wanted)
    write(out, torch.ones(3, dtype=given))
    assert torch.equal(out, torch.ones(3, dtype=wanted))


@pytest.mark.parametrize(("given", "wanted"), REFUSED)
def test_a_result_that_the_output_does_not_hold_is_refused(given, wanted):
    out = torch.zeros(3, dtype=wanted)
    inputs = torch.ones(3, dtype=wanted), 2
    with pytest.raises(RuntimeError, match=f"the output's dtype is {wanted}, the result's {given}"):
        write(out, torch.ones(3, dtype=given), *inputs)
    assert not out.any()


@pytest.mark.parametrize("name", ["aclnnAbs", "aclnnSqrt", "aclnnExp", "aclnnGelu"])
def test_a_kernel_that_computes_in_another_dtype_and_does_not_convert_is_refused(name):
    def mutant(self, out):
        write(out, self.double(), self)

    with pytest.raises(RuntimeError, match="the output's dtype is torch.float32, the result's"):
        watched(name, mutant)(torch.ones(3), torch.zeros(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, out: torch.add(x, y, out=out),
        lambda x, y, out: torch.mul(x, y, out=out),
        lambda x, y, out: torch.div(x, y, rounding_mode="floor", out=out),
        lambda x, y, out: torch.cat([x, y], out=out),
        lambda x, y, out: out.copy_(x).mul_(y),
        lambda x, y, out: out.copy_(x).div_(y, rounding_mode="trunc"),
        lambda x, y, out: out.copy_(x).add_(y),
    ],
)
@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("int64", "int32")])
def test_an_output_whose_dtype_the_caller_chose_is_converted_as_torch_does(function, dtypes):
    wide, narrow = (getattr(torch, name) for name in dtypes)
    x, y = torch.arange(1, 7, dtype=narrow), torch.arange(3, 9, dtype=wide)
    results = []
    for device in ("cpu", "npu"):
        out = torch.empty(6, dtype=narrow, device=device)
        out = torch.empty(12, dtype=narrow, device=device) if "cat" in str(function) else out
        try:
            results.append(function(x.to(device), y.to(device), out).cpu())
        except RuntimeError as error:
            assert device == "npu" and "EZ1001: " in str(error)  # noqa: PT017 - CANN takes no such dtype
            return
    assert torch.equal(*results)
