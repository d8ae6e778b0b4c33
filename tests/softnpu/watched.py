"""Kernels that are watched: a call may change the elements of its outputs, and no other byte.

A watched kernel runs on copies of its tensors. Tensors that share memory share it in the copy too,
and each such piece of memory lies between two guards. Afterwards every byte that belongs to no
output must be as before: the inputs, bit by bit, what lies between the elements of an output, and
the guards. Then the outputs are copied to where they belong.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import NamedTuple

import torch

from softnpu.operators import operators

GUARD = 4096  # bytes before and behind each piece of memory

# What a parameter that is written is called ...
READ_AND_WRITTEN = re.compile(r"\w+Ref")
WRITTEN = re.compile(
    r"out|output|outGelu|result|\w+Out(Optional)?|grad(Input|Weight|Bias|Target|In)|(input|grid)Grad"
)
GRADIENT_OF_AN_OUTPUT = re.compile(r"gradOut")
# ... but for these.
READ = {
    "aclnnSigmoidBackward": {"output"}, "aclnnTanhBackward": {"output"},
    "aclnnSoftmaxBackward": {"output"}, "aclnnLogSoftmaxBackward": {"output"},
}  # fmt: skip
ALSO_WRITTEN = {
    "aclnnAmpUpdateScale": {"updatedScale", "updatedGrowthTracker"},
    "aclnnBatchNorm": {"saveMean", "saveInvstd"},
    "aclnnBatchNormReduce": {"sum", "squareSum"},
    "aclnnBatchNormReduceBackward": {"sumDy", "sumDyXmu"},
    "aclnnBatchNormStats": {"mean", "invstd"},
    "DynamicRNN": {"outputs"}, "DynamicRNNGrad": {"outputs"},
    "DynamicRNNV2": {"outputs"}, "DynamicRNNV2Grad": {"outputs"},
    "aclnnEmbeddingBag": {"offset2bag", "bagSize", "maxIndices"},
    "aclnnGRU": {"hy"}, "aclnnLSTM": {"hy", "cy"},
    "aclnnGeluV2": {"y"},
    "aclnnLinalgQr": {"Q", "R"}, "aclnnSvd": {"sigma", "u", "v"},
    "aclnnLogSigmoidForward": {"buffer"},
    "aclnnMaxDim": {"indices"}, "aclnnMinDim": {"indices"},
    "aclnnMaxPool2dWithIndices": {"indices"}, "aclnnMaxPool2dWithMask": {"indices"},
    "aclnnMaxPool3dWithArgmax": {"indices"},
    "aclnnMultilabelMarginLoss": {"isTarget"},
    "aclnnNpuFormatCast": {"dstTensor"},
    "aclnnSyncBatchNormGatherStats": {"batchMean", "batchInvstd"},
}  # fmt: skip
ALSO_READ_AND_WRITTEN = {
    "aclnnBatchNorm": {"runningMean", "runningVar"},
    "aclnnSyncBatchNormGatherStats": {"mean", "variance"},
    "aclnnForeachNonFiniteCheckAndUnscale": {"scaledGrads", "foundInf"},
    "aclnnRReluWithNoise": {"noise"}, "aclnnInplaceRReluWithNoise": {"noise"},
}  # fmt: skip


class Argument(NamedTuple):
    """A tensor of a call, the name of its parameter, and what the kernel does with it."""

    tensor: torch.Tensor
    name: str
    written: bool
    read: bool


def outputs(operator: str) -> tuple[set[str], set[str]]:
    """The parameters that an operator writes: those that are only written, and those also read."""
    names = [name for type_, name in operators()[operator].parameters if type_.startswith("Tensor")]
    both = {name for name in names if READ_AND_WRITTEN.fullmatch(name)}
    if "Inplace" in operator and not both:
        both = {names[0]}
    both |= ALSO_READ_AND_WRITTEN.get(operator, set())
    written = {n for n in names if WRITTEN.fullmatch(n) and not GRADIENT_OF_AN_OUTPUT.fullmatch(n)}
    written |= ALSO_WRITTEN.get(operator, set())
    return written - READ.get(operator, set()) - both, both


def watched(name: str, kernel: Callable[..., object]) -> Callable[..., object]:
    """The kernel of an operator, or the function of a `Pointwise`, which gets ``out=`` besides.

    It raises AssertionError where it changes what is not its own.
    """
    parameters = [parameter for _, parameter in operators()[name].parameters]

    @functools.wraps(kernel)
    def run(*arguments: object, **keywords: object) -> object:
        names = [*parameters[: len(arguments)], *keywords]
        written = ({"out"}, set()) if keywords else outputs(name)
        pieces, moved = _move(names, written, (*arguments, *keywords.values()))
        count, raised = len(arguments), True
        try:
            result = kernel(*moved[:count], **dict(zip(keywords, moved[count:], strict=True)))
            raised = False
        finally:
            found = [fault for piece in pieces for fault in piece.settle(raised)]
            assert not found, f"{name} {'; '.join(found)}"
        return result

    return run


def _move(
    parameters: list[str], written: tuple[set[str], set[str]], arguments: tuple[object, ...]
) -> tuple[list[_Piece], list[object]]:
    """The pieces of memory, and the arguments with their tensors in them."""
    found = []
    for name, given in zip(parameters, arguments, strict=True):
        tensors = given if isinstance(given, (tuple, list)) else (given,)
        how = name in written[0], name in written[1]
        found += [Argument(t, name, any(how), not how[0]) for t in tensors if _has_memory(t)]
    pieces: list[_Piece] = []
    for argument in sorted(found, key=lambda argument: argument.tensor.data_ptr()):
        start, end = _extent(argument.tensor)
        if not pieces or start >= pieces[-1].end:
            pieces.append(_Piece(start))
        pieces[-1].end = max(pieces[-1].end, end)
        pieces[-1].arguments.append(argument)
    places: dict[int, torch.Tensor] = {}
    for piece in pieces:
        places |= piece.copies()

    def moved(given: object) -> object:
        if isinstance(given, (tuple, list)):
            return type(given)(moved(member) for member in given)
        return places.get(id(given), given)

    return pieces, [moved(given) for given in arguments]


def _has_memory(given: object) -> bool:
    return isinstance(given, torch.Tensor) and given.numel() > 0


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of a tensor's first byte and of the one behind its last."""
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()


class _Piece:
    """Memory without a break that tensors of a call lie in, and the copy that the kernel gets."""

    def __init__(self, start: int):
        self.start, self.end = start, start
        self.arguments: list[Argument] = []

    def copies(self) -> dict[int, torch.Tensor]:
        """The tensors in the copy, by the identity of those of the call."""
        size = self.end - self.start
        self.memory = bytearray(n * 37 % 256 for n in range(64)) * ((size + 2 * GUARD) // 64 + 2)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        # As far from a multiple of 64 as it was: sums follow the alignment.
        self.offset = GUARD + (self.start - address - GUARD) % 64
        self.shift = address + self.offset - self.start
        ctypes.memmove(self.start + self.shift, self.start, size)
        # An output that no input shares memory with holds nothing that could be right already.
        if not any(argument.read for argument in self.arguments):
            for argument in self.arguments:
                self._bytes_of(self.memory, argument.tensor).fill_(0x5A)
        self.before = bytearray(self.memory)
        self.made = [self._view(self.memory, a.tensor, a.tensor.dtype) for a in self.arguments]
        self.kept = [_describe(tensor) for tensor in self.made]
        return {id(a.tensor): made for a, made in zip(self.arguments, self.made, strict=True)}

    def _view(self, memory: bytearray, like: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        start, end = _extent(like)
        offset, count = self.offset + start - self.start, (end - start) // dtype.itemsize
        flat = torch.frombuffer(memory, dtype=dtype, offset=offset, count=count)
        return flat.as_strided(like.shape, like.stride())

    def _bytes_of(self, memory: bytearray, like: torch.Tensor) -> torch.Tensor:
        start, end = _extent(like)
        size = like.element_size()
        flat = torch.frombuffer(
            memory, dtype=torch.uint8, offset=self.offset + start - self.start, count=end - start
        )
        return flat.as_strided((*like.shape, size), (*(s * size for s in like.stride()), 1))

    def settle(self, raised: bool) -> list[str]:
        """Copies what was written to where it belongs; what else has changed, in words."""
        found = []
        for argument, made, kept in zip(self.arguments, self.made, self.kept, strict=True):
            if _describe(made) != kept:
                found.append(f"gave {argument.name} another shape, dtype or memory")
        allowed = bytearray(len(self.memory))
        for argument in self.arguments:
            if argument.written:
                self._bytes_of(allowed, argument.tensor).fill_(1)
        before, after, mine = (
            torch.frombuffer(memory, dtype=torch.uint8)
            for memory in (self.before, self.memory, allowed)
        )
        wrong = (before != after) & (mine == 0)
        if wrong.any():
            found += self._named(wrong)
        touched = self.memory != self.before or not raised
        if touched and any(argument.written for argument in self.arguments):
            ctypes.memmove(self.start, self.start + self.shift, self.end - self.start)
        return found

    def _named(self, wrong: torch.Tensor) -> list[str]:
        """The inputs that were changed; where none was, what was written beside the outputs."""
        marks = bytearray(wrong.to(torch.uint8).numpy().tobytes())
        hit = [
            f"changed its input {argument.name}"
            for argument in self.arguments
            if not argument.written and self._bytes_of(marks, argument.tensor).any()
        ]
        at = wrong.nonzero().flatten() - self.offset
        names = ", ".join(dict.fromkeys(argument.name for argument in self.arguments))
        sides = {
            "before": at < 0,
            "behind": at >= self.end - self.start,
            "between the elements of": (at >= 0) & (at < self.end - self.start),
        }
        sides = {side: int(there.sum()) for side, there in sides.items()}
        return hit or [
            f"wrote {n} byte{'s' * (n > 1)} {side} {names}" for side, n in sides.items() if n
        ]


def _describe(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()
