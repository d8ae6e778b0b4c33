"""The guard of docs/deviations/guard.md, which is there to paste: an operation that loses a tangent is an error."""

import types

import torch
import torch.autograd.forward_ad as fwAD
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

ASKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
CONSTANT = {"_unpack_dual", "detach", "detach_", "bernoulli", "multinomial", "normal"}
GETTERS = (torch.Tensor.data.__get__, torch.Tensor.grad.__get__)


def floating(tree):
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    return [x for x in tensors if x.is_floating_point() or x.is_complex()]


def has_tangent(tree):
    return any(fwAD.unpack_dual(x).tangent is not None for x in floating(tree))


def is_constant(func):
    name = func.__name__
    return name.endswith("_like") or name.startswith("new_") or name in CONSTANT or func in GETTERS


class TangentGuard(TorchFunctionMode):
    """Inside it, an operation that loses the tangents of its inputs raises an error."""

    inside = ()

    def __torch_function__(self, func, classes, args=(), kwargs=None):
        kwargs = kwargs or {}
        if isinstance(func, types.FunctionType) and func not in self.inside:
            # Written in Python: run its body under the guard too, without asking again.
            names = func.__globals__ | dict.fromkeys(ASKS, lambda *_: False)
            parts = (func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
            body = types.FunctionType(*parts)
            body.__kwdefaults__ = func.__kwdefaults__
            outside, self.inside = self.inside, (*self.inside, func)
            try:
                with self:
                    return body(*args, **kwargs)
            finally:
                self.inside = outside
        dual = has_tangent((args, kwargs))  # before the call, which may write into one
        result = func(*args, **kwargs)
        outputs = floating(result)
        if dual and outputs and not is_constant(func) and not has_tangent(outputs):
            raise RuntimeError(f"{func.__name__} lost the tangent")
        return result
