"""Views with any strides: the NPU gives what the CPU gives, and writes nowhere else.

Both devices get the same storage and the same view of it. After the call the results are
compared, and the whole storages: elements around and between those of the view are canaries.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from programs import ROOT

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / "build" / "hypothesis"))
# The same examples at every run.
settings.register_profile(
    "softnpu",
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("softnpu")

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)


class Layout(NamedTuple):
    """A view of a storage of its own: ``storage.as_strided(shape, strides, offset)``."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    length: int  # of the storage
    dtype: torch.dtype
    seed: int

    def storage(self) -> torch.Tensor:
        # Small whole numbers: sums and products are exact in every order of summation.
        generator = torch.Generator().manual_seed(self.seed)
        low = -3 if self.dtype.is_signed else 0
        return torch.randint(low, 4, (self.length,), generator=generator).to(self.dtype)

    def view_of(self, storage: torch.Tensor) -> torch.Tensor:
        return storage.as_strided(self.shape, self.strides, self.offset)


SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def _layout(draw, shape, strides, dtypes) -> Layout:
    span = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size)
    offset = draw(st.integers(0, 5))
    length = offset + max(span, 0) + 1 + draw(st.integers(0, 5))
    return Layout(
        shape,
        tuple(strides),
        offset,
        length,
        draw(st.sampled_from(dtypes)),
        draw(st.integers(0, 99)),
    )


@st.composite
def read(draw, shapes=SHAPES, dtypes=DTYPES) -> Layout:
    """A view to read: its strides may be 0 (expanded) or let elements overlap."""
    shape = draw(shapes)
    return _layout(draw, shape, [draw(st.integers(0, 7)) for _ in shape], dtypes)


@st.composite
def written(draw, shapes=SHAPES, dtypes=DTYPES) -> Layout:
    """A view to write: dimensions in any order, gaps between elements, no element twice."""
    shape = draw(shapes)
    strides = [0] * len(shape)
    stride = draw(st.integers(1, 3))
    for dimension in draw(st.permutations(range(len(shape)))):
        strides[dimension] = stride
        stride = stride * max(shape[dimension], 1) + draw(st.integers(0, 2))
    return _layout(draw, shape, strides, dtypes)


@st.composite
def broadcast(draw, first, *others):
    """Layouts of shapes that broadcast to the shape of the first."""
    whole = draw(first)
    rest = []
    for strategy in others:
        kept = draw(st.integers(0, len(whole.shape)))
        shape = tuple(
            1 if draw(st.booleans()) else n for n in whole.shape[len(whole.shape) - kept :]
        )
        rest.append(draw(strategy(st.just(shape))))
    return (whole, *rest)


def run(device: str, function, layouts) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The results and, after the call, the storages."""
    storages = [layout.storage().to(device) for layout in layouts]
    views = [layout.view_of(storage) for layout, storage in zip(layouts, storages, strict=True)]
    result = function(*views)
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    return [tensor.cpu() for tensor in results], [storage.cpu() for storage in storages]


def agree(function, *layouts: Layout) -> None:
    wanted, storages = run("cpu", function, layouts)
    try:
        results, after = run("npu", function, layouts)
    except RuntimeError as error:
        if "EZ1001: " in str(error):  # a dtype that the operator does not take; hypothesis counts
            reject()  # these, and fails where they are most
        raise
    for mine, true in zip(results, wanted, strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=0, equal_nan=True)
    for mine, true in zip(after, storages, strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=0, equal_nan=True)


@given(read(), st.sampled_from([torch.abs, torch.sign, torch.logical_not, torch.clone]))
def test_unary(layout, function):
    if function is torch.abs and layout.dtype is torch.bool:
        function = torch.logical_not  # torch has no abs of bool
    agree(function, layout)


@given(
    read(dtypes=(torch.float32,)),
    st.sampled_from([torch.exp, torch.sin, torch.sqrt, torch.reciprocal, torch.nn.functional.silu]),
)
def test_unary_of_floats(layout, function):
    # A CPU kernel rounds by whether its loop is vectorized, which depends on the strides.
    wanted, _ = run("cpu", function, [layout])
    results, _ = run("npu", function, [layout])
    torch.testing.assert_close(results, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)


@given(
    broadcast(read(), read),
    st.sampled_from([torch.add, torch.mul, torch.maximum, torch.eq, torch.lt]),
)
def test_binary_with_broadcast_and_promotion(layouts, function):
    agree(function, *layouts)


@given(
    read(),
    st.sampled_from([torch.sum, torch.amax, torch.any, torch.argmin]),
    st.booleans(),
    st.data(),
)
def test_reduction(layout, function, keepdim, data):
    rank = len(layout.shape)
    dim = data.draw(st.integers(-rank, rank - 1)) if rank else 0
    no_elements = rank and layout.shape[dim] == 0
    if no_elements or (layout.dtype is torch.bool and function is torch.argmin):
        function = torch.any  # the others have no answer then
    agree(lambda x: function(x, dim, keepdim=keepdim), layout)


@given(broadcast(written(), read))
def test_copy_into_a_view(layouts):
    agree(lambda to, source: to.copy_(source), *layouts)


@given(broadcast(written(), read), st.booleans())
def test_copy_between_host_and_device(layouts, to_device):
    to, source = layouts
    wanted, storages = run("cpu", lambda x, y: x.copy_(y), layouts)
    there = to.storage().to("npu" if to_device else "cpu")
    here = source.storage().to("cpu" if to_device else "npu")
    to.view_of(there).copy_(source.view_of(here))
    assert torch.equal(to.view_of(there).cpu(), wanted[0])
    assert torch.equal(there.cpu(), storages[0])


def _in_place(name: str):
    return lambda x, y: getattr(x, name)(y)


@given(
    broadcast(
        written(dtypes=FLOATS),
        lambda shape: read(shape, dtypes=(*FLOATS, torch.int8, torch.bool)),
    ),
    st.sampled_from(["add_", "mul_", "sub_", "copy_", "maximum", "eq_"]),
)
def test_in_place(layouts, name):
    if name == "sub_" and layouts[1].dtype is torch.bool:
        name = "add_"  # torch has no subtraction of bool
    agree(_in_place(name), *layouts)


@given(written(), st.sampled_from(["zero_", "fill_", "neg_", "relu_"]))
def test_in_place_alone(layout, name):
    if layout.dtype is torch.bool and name in ("neg_", "relu_"):
        name = "zero_"
    agree(lambda x: x.fill_(2) if name == "fill_" else getattr(x, name)(), layout)


@given(
    broadcast(written(), read, lambda shape: read(shape, dtypes=(torch.bool,))),
    st.integers(-3, 3),
)
def test_masked_fill_and_where(layouts, value):
    whole, other, mask = layouts
    agree(lambda x, m: x.masked_fill_(m, abs(value)), whole, mask)
    agree(lambda x, y, m: torch.where(m, x, y), whole, other, mask)


@given(st.data())
def test_out_is_a_view(data):
    out = data.draw(written(dtypes=(torch.float32,)))
    _, first, second = data.draw(
        broadcast(st.just(out), *[lambda shape: read(shape, dtypes=(torch.float32,))] * 2)
    )
    if torch.broadcast_shapes(first.shape, second.shape) != out.shape:
        first = data.draw(read(st.just(out.shape), dtypes=(torch.float32,)))
    agree(lambda o, x, y: torch.add(x, y, out=o), out, first, second)


@given(st.data())
def test_out_overlaps_an_input(data):
    """An input in the same storage, some elements further: torch_npu refuses less than the CPU."""
    out = data.draw(written(dtypes=(torch.float32,)))
    last = sum((n - 1) * stride for n, stride in zip(out.shape, out.strides, strict=True))
    source = out._replace(offset=data.draw(st.integers(0, out.length - 1 - max(last, 0))))

    def function(o):
        storage = o.as_strided((out.length,), (1,), 0)
        return torch.mul(source.view_of(storage), 2, out=o)

    def run_or_refuse(device):
        try:
            return run(device, function, [out])
        except RuntimeError as error:
            if "single memory location" not in str(error):
                raise
            return None

    wanted, mine = run_or_refuse("cpu"), run_or_refuse("npu")
    if mine is None:
        assert wanted is None
        return
    if (
        wanted is not None and source.offset == out.offset
    ):  # else torch leaves open what an element reads
        assert torch.equal(mine[0][0], wanted[0][0])
    canaries = torch.ones(out.length, dtype=torch.bool)
    out.view_of(canaries).fill_(False)
    assert torch.equal(mine[1][0][canaries], out.storage()[canaries])


@given(st.data())
def test_index(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    source = data.draw(read(st.just(shape)))
    index = data.draw(read(st.lists(st.integers(0, 3), max_size=2).map(tuple), (torch.int64,)))
    agree(lambda x, i: x[i.remainder(shape[0])], source, index)
    row = data.draw(read(st.tuples(st.integers(0, 4)), (torch.int64,)))
    agree(lambda x, i: x.index_select(-1, i.remainder(shape[-1])), source, row)
    mask = data.draw(read(st.just(shape), (torch.bool,)))
    agree(lambda x, m: x[m], source, mask)


@given(st.data())
def test_index_put(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    to = data.draw(written(st.just(shape)))
    index = data.draw(st.integers(0, shape[0] - 1))
    source = data.draw(read(st.just(shape[1:]), (to.dtype,)))

    def function(x, y):
        x[torch.tensor([index], device=x.device)] = y
        return x

    agree(function, to, source)


@given(st.data())
def test_matmul(data):
    batch, rows, inner, columns = data.draw(st.tuples(*[st.integers(1, 4)] * 4))
    dtypes = (data.draw(st.sampled_from((torch.float32, torch.float16))),)
    first = data.draw(read(st.sampled_from([(rows, inner), (batch, rows, inner)]), dtypes))
    second = data.draw(read(st.sampled_from([(inner, columns), (batch, inner, columns)]), dtypes))
    agree(torch.matmul, first, second)


@given(st.data())
def test_cat(data):
    rank = data.draw(st.integers(1, 3))
    dim = data.draw(st.integers(0, rank - 1))
    shape = data.draw(st.tuples(*[st.integers(0, 3)] * rank))
    dtypes = (data.draw(st.sampled_from(DTYPES)),)
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    parts = [
        data.draw(read(st.just((*shape[:dim], size, *shape[dim + 1 :])), dtypes)) for size in sizes
    ]
    agree(lambda *tensors: torch.cat(tensors, dim), *parts)


def test_a_write_beside_the_view_would_be_seen():
    layout = Layout((2,), (2,), 1, 5, torch.float32, 0)

    def function(x):
        if x.device.type == "npu":
            x.as_strided((1,), (1,), 0).add_(1)
        return x

    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 5"):
        agree(function, layout)
