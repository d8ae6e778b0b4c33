"""A stand-in for `atk`, the framework of CANN's system tests, which is not public.

The references (``executor_*.py``) import it; `install` puts it where their imports find it. It
has what they use: a registry, the classes they derive from, and the conversion of inputs to the
arguments of the C function. Where they change the arguments after the base class made them, they
change them here as they do there.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib.util
import logging
import random
import sys
import types
from collections.abc import Iterator

import torch

from .acl import AclScalar
from .cases import Value

REGISTRY: dict[str, type] = {}  # what an executor registered
COMPARISONS: dict[str, type] = {}
LIBRARIES = {
    "tensorflow": ("tensorflow.python", "tensorflow.python.ops"),
    "torchvision": ("torchvision.ops",),
    "onnx": (),
    "onnxruntime": (),
    "einops": (),
}  # that references import, and not all of them use


class InputDataset:
    """The inputs of a case: those without a name are positional."""

    def __init__(self, values: list[Value] = ()) -> None:
        self.args = [plain(v.value) for v in values if not v.name]
        self.kwargs = {v.name: plain(v.value) for v in values if v.name}


def plain(value: object) -> object:
    """A value as a reference wants it: numbers without the dtype that the C function is told."""
    if isinstance(value, AclScalar):
        return value.value
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def moved(dataset: InputDataset, change) -> InputDataset:
    """The inputs with each tensor changed."""

    def each(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return change(value)
        return type(value)(map(each, value)) if type(value) in (list, tuple) else value

    dataset.args = [each(value) for value in dataset.args]
    dataset.kwargs = {name: each(value) for name, value in dataset.kwargs.items()}
    return dataset


class OutputData:
    """An output as the framework describes it: a shape and a dtype."""

    def __init__(self, shape=(), dtype="torch.float32", **_: object) -> None:
        self.shape, self.dtype = list(shape), str(dtype)

    def empty(self) -> torch.Tensor:
        return torch.zeros(self.shape, dtype=getattr(torch, self.dtype.removeprefix("torch.")))


class Settings(types.SimpleNamespace):
    """Names of settings; one that a case does not have is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class TensorStruct:
    """A tensor as an argument of the C function; without one, a null pointer."""

    def __init__(self, tensor: torch.Tensor | None = None, *_: object) -> None:
        self.tensor = None if tensor is None else tensor.cpu()  # a reference may use torch_npu

    def __call__(self) -> TensorStruct:
        return self

    @property
    def pytensor(self) -> torch.Tensor | None:
        return self.tensor


@dataclasses.dataclass
class Array:
    """A list of numbers or tensors as an argument of the C function."""

    items: list[object]


class AclTensor(ctypes.Structure):
    """What pointers of the references point to; only null pointers are made of it."""


class Backend:
    """Converts inputs and outputs to arguments of the C function."""

    def __init__(self, values: list[Value]) -> None:
        self.by_name = {value.name: value.value for value in values if value.name}
        self.by_index = [value.value for value in values if not value.name]
        self.hidden = {value.name for value in values if not value.passed}

    def convert_input_data(self, value: object, index=None, name=None, **_: object) -> list:
        if name in self.hidden:  # what the framework alone reads, such as a format
            return []
        described = self.by_name.get(name) if name is not None else None
        if index is not None and name is None and index < len(self.by_index):
            described = self.by_index[index]
        if _is_scalar(described) and _same(plain(described), value):
            value = described
        return [_argument(value)]

    def convert_output_data(self, output: object, index=None, **_: object) -> list:
        if isinstance(output, (list, tuple)):
            return [Array([TensorStruct(item.empty()) for item in output])]
        return [TensorStruct() if output is None else TensorStruct(output.empty())]

    def torch_tensor_to_acl(self, tensor: torch.Tensor, *_: object, **__: object) -> TensorStruct:
        return TensorStruct(tensor)

    def acl_tensor_to_torch(self, package: object) -> object:
        return value_of(package)

    acl_tensorlist_to_torch = acl_tensor_to_torch

    def aclnn_x_get_workspace_size(self) -> None:
        """The operator runs after the arguments are made, not here."""

    aclnn_x = aclnn_x_get_workspace_size


def _is_scalar(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_scalar, value))
    return isinstance(value, AclScalar)


def _same(one: object, other: object) -> bool:
    if isinstance(other, torch.Tensor) or type(one) is not type(other):
        return False
    return one is other or one == other or one != one


def _argument(value: object) -> object:
    if isinstance(value, torch.Tensor) or value is None:
        return TensorStruct(value)
    if isinstance(value, (list, tuple)):
        return Array([_argument(item) for item in value])
    for python, c_type in ((bool, ctypes.c_bool), (int, ctypes.c_int64), (float, ctypes.c_double)):
        if type(value) is python:
            return c_type(value)
    return value


def value_of(argument: object) -> object:
    """An argument of the C function as `acl.Call` takes it."""
    if isinstance(argument, TensorStruct):
        return argument.tensor
    if isinstance(argument, Array):
        return [value_of(item) for item in argument.items]
    if isinstance(argument, ctypes._Pointer):
        return None
    if isinstance(argument, ctypes._SimpleCData):
        return argument.value
    return argument


class BaseApi:
    """A reference: called with the inputs it returns the outputs, on the CPU."""

    device, device_id, output, change_flag, name = "cpu", 0, None, None, None

    def __init__(self, task_result=None, *_: object) -> None:
        self.task_result = task_result
        self.api_name = task_result.case_config.name

    def init_by_input_data(self, input_data: InputDataset) -> None:
        """Changes the inputs before the call; a reference may override it."""

    def change_data_dtype(self, data: object, given: torch.dtype, wanted: torch.dtype) -> object:
        """The data with the tensors of one dtype converted; notes whether there were any."""
        if isinstance(data, torch.Tensor) and data.dtype is given:
            self.change_flag = True
            return data.to(wanted)
        if isinstance(data, dict):
            return {k: self.change_data_dtype(v, given, wanted) for k, v in data.items()}
        if type(data) in (list, tuple):
            return type(data)(self.change_data_dtype(v, given, wanted) for v in data)
        return data

    def __call__(self, input_data: InputDataset, with_output: bool = False) -> object:
        function = torch
        for part in self.api_name.split(".")[1:]:
            function = getattr(function, part)
        if isinstance(function, type):  # a module such as torch.nn.GELU
            function = function()
        return function(*input_data.args, **input_data.kwargs)

    def get_format(self, *_: object, **__: object) -> int:
        return AclFormat.ACL_FORMAT_ND


class FunctionApi(BaseApi):
    """The base of references that call a function of torch."""


class AclnnBaseApi(BaseApi):
    """The call of an operator: makes the arguments, and gives back what it wrote."""

    def __init__(self, task_result=None, backend: Backend | None = None) -> None:
        super().__init__(task_result)
        self.backend, self.device = backend, "pyaclnn"

    def init_by_input_data(self, input_data: InputDataset) -> tuple[list, list]:
        arguments: list[object] = []
        for index, value in enumerate(input_data.args):
            self.get_format(input_data, index, None)  # some look at the inputs there
            arguments += self.backend.convert_input_data(value, index=index)
        for name, value in input_data.kwargs.items():
            self.get_format(input_data, None, name)
            arguments += self.backend.convert_input_data(value, name=name)
        outputs: list[object] = []
        for index, output in enumerate(self.task_result.output_info_list):
            outputs += self.backend.convert_output_data(output, index)
        arguments += outputs
        return arguments, outputs

    def __call__(self) -> None:
        """The operator runs after the arguments are made, not here."""

    def after_call(self, output_packages: list) -> list:
        return [self.acl_tensor_to_torch(package) for package in output_packages]

    def acl_tensor_to_torch(self, package: object) -> object:
        return value_of(package)

    acl_tensorlist_to_torch = acl_tensor_to_torch

    def torch_tensor_to_acl(self, tensor: torch.Tensor, *_: object) -> TensorStruct:
        return TensorStruct(tensor)


class _Constants(type):
    """A class whose every attribute is a name: of a format, of a dtype."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class AclFormat(metaclass=_Constants):
    """Formats; the stand-in gives every tensor the plain one."""


class AclDataType(metaclass=_Constants):
    """Dtypes of the C interface, by name."""


class OpsDataset:
    """What the references use of the framework's data sets."""

    @staticmethod
    def seed_everything(seed: int = 0) -> None:
        random.seed(seed)
        torch.manual_seed(seed)
        sys.modules["numpy"].random.seed(seed)


class Logger:
    """The framework's log, which nobody reads."""

    def get_logger(self) -> logging.Logger:
        log = logging.getLogger("softnpu.conformance")
        log.disabled = True
        return log


class _Missing(types.ModuleType):
    """A library that is not installed: it can be imported, and its use says so."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModuleNotFoundError(f"the reference needs {self.__name__}, which is not installed")


def _register(known: dict[str, type]):
    def register(name: str):
        def note(made: type) -> type:
            known[name] = made
            return made

        return note

    return register


def install() -> None:
    """Makes ``import atk...`` find this stand-in."""
    names = {
        "register": _register(REGISTRY),
        "ACCURACY_REGISTRY": types.SimpleNamespace(register=_register(COMPARISONS)),
        "InputDataset": InputDataset, "TaskResult": Settings, "AccuracyConfig": Settings,
        "TaskType": AclDataType, "OutputData": OutputData, "BaseApi": BaseApi,
        "AclnnBaseApi": AclnnBaseApi, "KernelBaseApi": AclnnBaseApi, "FunctionApi": FunctionApi,
        "OpsDataset": OpsDataset, "Logger": Logger, "BaseAccuracyCompare": object,
        "AclFormat": AclFormat, "AclDataType": AclDataType, "AclTensor": AclTensor,
        "AclTensorStruct": TensorStruct, "AclTensorlistStruct": Array, "TensorPtr": TensorStruct,
        "AclTensorList": Array, "AclIntArray": Array, "Int64": ctypes.c_int64,
        "get_output_data_infos": lambda *_: [],
        **{name: Settings() for name in ("aclnn", "ascendcl", "nnopbase")},
    }  # fmt: skip
    for name in (
        "atk", "atk.configs", "atk.configs.dataset_config", "atk.configs.results_config",
        "atk.configs.base_config", "atk.tasks", "atk.tasks.api_execute", "atk.common",
        "atk.common.log", "atk.common.utils", "atk.tasks.api_execute.base_api",
        "atk.tasks.api_execute.aclnn_base_api", "atk.tasks.api_execute.function_api",
        "atk.tasks.api_execute.kernel_base_api", "atk.tasks.dataset", "atk.tasks.backends",
        "atk.tasks.dataset.base_dataset", "atk.tasks.backends.lib_interface",
        "atk.tasks.backends.lib_interface.acl_wrapper", "atk.tasks.post_process",
        "atk.tasks.post_process.base_compare",
    ):  # fmt: skip
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        module.__dict__.update(names)


@contextlib.contextmanager
def libraries() -> Iterator[None]:
    """While a reference loads, a library that is not installed can be imported."""
    names = [
        name
        for library, parts in LIBRARIES.items()
        if library not in sys.modules and importlib.util.find_spec(library) is None
        for name in (library, *parts)
    ]
    for name in names:
        sys.modules[name] = _Missing(name)
        sys.modules[name].__path__ = []
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
