"""Runs the cases of one operator: the reference, the kernel, and the comparison of both."""

from __future__ import annotations

import contextlib
import copy
import random
import re
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy
import torch

from ..operators import operators
from . import atk
from .acl import Call, MisfitError
from .cases import (
    MOST_ELEMENTS,
    MOST_WHOLE,
    UnknownDataError,
    Value,
    cut,
    elements,
    inputs,
    read_folder,
)
from .compare import difference, own_errors

SECONDS = 10  # for one case
# Operators that draw numbers: softnpu follows the seed, but does not have the chip's sequence.
_RANDOM = re.compile(
    r"Normal(?!iz)|Uniform|Random|Bernoulli|GenMask|Multinomial|Randperm|RReluWithNoise$|^aclnnDropout$"
)


class Outcome(NamedTuple):
    """What became of a case: ``passed``, ``failed``, ``refused`` or ``not run``, and why."""

    kind: str
    why: str = ""


class _TooLongError(BaseException):
    """A case takes longer than SECONDS."""


class _NotRunError(Exception):
    """The case cannot be run here; says why."""


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def in_place_name(operator: str) -> str:
    """``aclnnInplaceAdd`` of ``aclnnAdd``: they share a document."""
    return operator.replace("aclnn", "aclnnInplace", 1)


class Suite:
    """The cases of an operator and its references.

    Args:
        folder: a ``tests/st/aclnn...`` of a checkout; the operator has its name.
        note: called between a case's reference and its kernel.
        in_place: runs the cases on the operator that writes into its first input.
    """

    def __init__(
        self, folder: Path, note: Callable[[], None] = lambda: None, in_place: bool = False
    ) -> None:
        self.operator, self.note = in_place_name(folder.name) if in_place else folder.name, note
        self.in_place = in_place
        self.cases = read_folder(folder)
        self.broken = ""
        atk.REGISTRY.clear()
        assets = folder.parents[1] / "assets"
        for path in sorted(folder.glob("executor_*.py")):
            try:
                sys.path[:0] = [str(folder), str(assets)]
                # "__main__" is another name, so that what a file does as a program is not done.
                code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
                with atk.libraries():
                    module = sys.modules[path.stem] = types.ModuleType(path.stem)
                    module.__file__ = str(path)
                    exec(code, module.__dict__)
            except BaseException as error:
                self.broken = f"the reference does not load: {_text(error)}"
            finally:
                del sys.path[:2]

    def run(self, index: int) -> Outcome:
        """The outcome of one case; a cut case that does not pass runs whole, if it is small."""
        case = self.cases[index]
        outcome = self._guarded(case, index, cut)
        total = elements(case)
        if outcome.kind in ("passed", "refused") or total <= MOST_ELEMENTS:
            return outcome
        if total <= MOST_WHOLE:
            return self._guarded(case, index, dict)
        # What a cut breaks, such as a number that a shape decides, is no failure of the kernel.
        return Outcome("not run", f"too large; cut: {outcome.why}")

    def _guarded(self, case: dict, seed: int, change) -> Outcome:
        try:
            with _time_limit():
                return self._run(change(case), seed)
        except _NotRunError as error:
            return Outcome("not run", str(error))
        except UnknownDataError as error:
            return Outcome("not run", f"the stand-in does not know {error}")
        except _TooLongError:
            return Outcome("not run", f"longer than {SECONDS} s")
        except MemoryError:
            return Outcome("not run", "out of memory")
        except Exception as error:
            return Outcome("not run", f"the stand-in raises {_text(error)}")

    def _run(self, case: dict, seed: int) -> Outcome:
        if self.broken:
            raise _NotRunError(self.broken)
        if _RANDOM.search(self.operator) or case["standard"].get("acc") == "random_bm":
            raise _NotRunError("random numbers are compared by their distribution")
        made = inputs(case, seed)
        if any(v.name == "format" and "HWC" in str(v.value) for v in made):
            raise _NotRunError("channels last, a format that torch_npu does not give")
        dataset = atk.InputDataset(made)
        settings = atk.Settings(**{k: v for k, v in case.items() if k != "inputs"})
        task = atk.Settings(case_config=settings, name=case["name"], device_id=0)
        task.backend = "cpu"
        golden = _reference(case, task, copy.deepcopy(dataset), made, seed)
        first = next((v.value for v in made if isinstance(v.value, torch.Tensor)), None)
        if self.in_place and (
            first is None or len(golden) != 1 or not isinstance(golden[0], torch.Tensor)
            or first.shape != golden[0].shape
            or golden[0].dtype not in (first.dtype, torch.bool)
        ):  # fmt: skip
            raise _NotRunError("the result does not fit into the first input")
        task.described = _described(golden)
        for type_ in (mappings := _mappings(case)):
            try:
                outcome = self._compare(case, task, type_, dataset, made, golden, seed)
                break
            except _NotRunError:
                if type_ is mappings[-1]:
                    raise
        if outcome.kind != "failed":
            return outcome
        # CANN's standard compares with a reference of higher precision. Where theirs computes in
        # half precision, it is run in float32 as well.
        task.backend = "cpu"
        try:
            golden = _reference(case, task, atk.moved(dataset, _single), made, seed)
            wider = self._compare(case, task, type_, dataset, made, golden, seed)
        except _NotRunError:
            return outcome
        return outcome if wider.kind != "passed" else wider

    def _compare(self, case: dict, task, type_: type, dataset, made, golden, seed) -> Outcome:
        """Runs the kernel and compares what it wrote with the reference's result."""
        task.output_info_list = copy.deepcopy(task.described)  # some change it
        try:
            outputs, call = self._called(case, task, type_, copy.deepcopy(dataset), made, seed)
        except _NotRunError as error:
            if "same device" not in str(error):
                raise
            # The framework gives what makes the arguments tensors of the NPU; some rely on it.
            on_npu = atk.moved(copy.deepcopy(dataset), lambda tensor: tensor.npu())
            outputs, call = self._called(case, task, type_, on_npu, made, seed)
        with call:
            self.note()
            if call.prepare():
                return Outcome("refused", call.message())
            if call.run():
                return Outcome("failed", call.message())
            results = [_resized(call, value) for value in outputs()]
        return _compared(results, golden, case["standard"])

    def _called(self, case: dict, task, type_: type, dataset, made: list, seed: int):
        """The prepared call and a function that gives what it wrote."""
        _seed(seed)
        task.backend = "pyaclnn"
        reference = _api(case, task)
        reference.device = task.backend
        _attempt("the reference's change of the inputs", reference.init_by_input_data, dataset)
        backend = atk.Backend(made)
        api = _attempt("the mapping of the arguments", type_, task, backend)
        arguments, packages = _attempt(
            "the mapping of the arguments", api.init_by_input_data, dataset
        )
        parameters = operators()[self.operator].parameters
        wanted = len(parameters)
        lists = parameters[-1][0] == "TensorList"
        if lists and len(arguments) != wanted and len(arguments) == wanted - 1 + len(packages):
            # The outputs of a reference that are one list of the operator.
            arguments = [*arguments[: wanted - 1], atk.Array(packages)]
        if len(arguments) == wanted + len(packages) and packages:  # in place, without a mapping
            arguments = arguments[:wanted]
            packages = arguments[: len(packages)]
        try:
            call = Call(self.operator, [atk.value_of(argument) for argument in arguments])
        except (MisfitError, OverflowError, KeyError) as error:
            raise _NotRunError(f"the arguments do not fit: {error}") from None
        return (lambda: _flat(_attempt("what follows the call", api.after_call, packages))), call


def _mappings(case: dict) -> list[type]:
    """The classes that may make the arguments: the one named, or the only one there is, or the usual."""
    named = atk.REGISTRY.get(case.get("aclnn_api_type"))
    if named is not None:
        return [named]
    made = [t for t in atk.REGISTRY.values() if issubclass(t, atk.AclnnBaseApi)]
    return [*(made if len(made) == 1 else []), atk.AclnnBaseApi]


def _text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    numpy.random.seed(seed % 2**32)


def _attempt(what: str, function, *arguments: object) -> object:
    try:
        return function(*arguments)
    except _TooLongError:
        raise
    except BaseException as error:
        raise _NotRunError(f"{what} raises {_text(error)}") from None


def _api(case: dict, task) -> atk.BaseApi:
    name = case.get("api_type")
    type_ = atk.REGISTRY.get(name)
    if type_ is None:
        if name != "function" or not str(case["name"]).startswith("torch."):
            raise _NotRunError(f"there is no reference {name}")
        type_ = atk.FunctionApi
    return _attempt("the reference", type_, task)


def _reference(
    case: dict, task, dataset: atk.InputDataset, made: list[Value], seed: int
) -> list[torch.Tensor | None]:
    _seed(seed)
    api = _api(case, task)
    _attempt("the reference's change of the inputs", api.init_by_input_data, dataset)
    for value in made:  # what the framework alone reads, such as a format
        if not value.passed:
            dataset.kwargs.pop(value.name, None)
    torch.use_deterministic_algorithms(False)
    golden = _attempt("the reference", api, dataset, True)
    # A reference may call torch.npu, or leave a setting that the kernels would see.
    torch.use_deterministic_algorithms(False)
    return _nested(golden)


def _nested(golden: object) -> list:
    """The outputs of a reference: tensors, lists of them, None."""
    if isinstance(golden, torch.Tensor):
        return [golden.detach().cpu()]
    if isinstance(golden, (bool, int, float, numpy.generic, numpy.ndarray)):
        return [torch.as_tensor(golden)]
    if golden is None:
        raise _NotRunError("the reference returns nothing")
    made: list = []
    for item in golden:
        if isinstance(item, (list, tuple)):
            made.append([part.detach().cpu() for part in item])
        elif item is None:
            made.append(None)
        else:
            made.append(torch.as_tensor(item).detach().cpu())
    return made


def _described(golden: list) -> list:
    if all(isinstance(item, torch.Tensor) for item in golden):
        return [atk.OutputData(item.shape, item.dtype) for item in golden]
    return [
        None if item is None
        else [atk.OutputData(part.shape, part.dtype) for part in item] if isinstance(item, list)
        else atk.OutputData(item.shape, item.dtype)
        for item in golden
    ]  # fmt: skip


def _flat(values: object) -> list:
    if values is None or isinstance(values, torch.Tensor):
        return [values]
    return [part for value in values for part in _flat(value)]


def _resized(call: Call, value: torch.Tensor | None) -> torch.Tensor | None:
    """An output in the shape that the operator set."""
    if value is None or not any(known is value for known, _ in call.tensors):
        return value
    shape = call.shape(value)
    if shape == tuple(value.shape):
        return value
    return value.flatten()[: torch.Size(shape).numel()].reshape(shape)


def _compared(results: list, golden: list, standard: dict) -> Outcome:
    golden, own = _flat(golden), own_errors(standard)
    if len(results) != len(golden):
        return Outcome("not run", f"{len(results)} outputs, the reference has {len(golden)}")
    pairs = [
        (mine, true)
        for mine, true in zip(results, golden, strict=True)
        if mine is not None and true is not None
    ]
    if not pairs:
        return Outcome("not run", "there is no output to compare")
    named = standard.get("acc")
    theirs = atk.COMPARISONS.get(named) if isinstance(named, str) else None
    for number, (mine, true) in enumerate(pairs):
        if theirs is not None:
            right = theirs().compute_accuracy_result(mine, true, "").result
            why = "" if right else "differs by their own comparison"
        else:
            why = difference(mine, true, own)
        if why:
            return Outcome("failed", f"output {number}: {why}")
    return Outcome("passed")
