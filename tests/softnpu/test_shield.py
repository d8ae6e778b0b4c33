"""No state of the caller reaches the torch calls that a kernel makes.

A probe stands in for one kernel and reports the state it finds: where a new
tensor lands, and whether autograd or a mode sees what it does.
"""

from __future__ import annotations

import pytest
from programs import run

pytestmark = pytest.mark.full

PROBE = """
import torch
from softnpu import kernels

seen = []
kernels.kernels()

def aclnnErfinv(self, out):
    made = torch.ones(2) * torch.ones(2)
    seen.append((str(made.device), made.requires_grad, type(made).__name__, made.dtype))
    out.copy_(torch.special.erfinv(self))

kernels._kernels["aclnnErfinv"] = aclnnErfinv

x = torch.tensor([0.0, 0.5], device="npu")
expected = torch.special.erfinv(torch.tensor([0.0, 0.5]))

def call(x):
    return torch.erfinv(x)

def check(result):
    assert torch.equal(result.detach().cpu(), expected), result
    assert seen == [("cpu", False, "Tensor", torch.float32)] * len(seen) and seen, seen
"""

STATES = {
    "default device": """
torch.set_default_device("npu")
result = call(x)
torch.set_default_device(None)
""",
    "device context": """
with torch.device("npu"):
    result = call(x)
""",
    "inference mode": """
with torch.inference_mode():
    result = call(x)
""",
    "default dtype and autocast": """
with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("npu", dtype=torch.float16):
    result = call(x)
""",
    "gradient of gradient": """
result = call(x.clone().requires_grad_())
""",
    "jvp": """
result, tangent = torch.func.jvp(call, (x,), (torch.ones_like(x),))
assert tangent is not None
""",
    "vmap": """
result = torch.vmap(call)(x.reshape(2, 1)).reshape(2)
""",
    "grad of a vmap of a jvp": """
one = torch.tensor([1.0], device="npu")
def slope(v):
    return torch.func.jvp(call, (v,), (one,))[1].sum()
torch.vmap(torch.func.grad(slope))(x.reshape(2, 1))
result = call(x)
""",
    "dispatch mode": """
from torch.utils._python_dispatch import TorchDispatchMode
class Watch(TorchDispatchMode):
    calls = []
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append(function._schema.name)
        return function(*args, **(kwargs or {}))
with Watch():
    result = call(x)
assert Watch.calls == ["aten::erfinv"], Watch.calls
""",
    "function mode": """
from torch.overrides import TorchFunctionMode
class Watch(TorchFunctionMode):
    calls = []
    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls.append(function.__name__)
        return function(*args, **(kwargs or {}))
with Watch():
    result = call(x)
assert Watch.calls == ["erfinv"], Watch.calls
""",
    "dual level": """
import torch.autograd.forward_ad as fwAD
with fwAD.dual_level():
    result, tangent = fwAD.unpack_dual(call(fwAD.make_dual(x, torch.ones_like(x))))
    assert tangent.device.type == "npu"
""",
    "fake tensors around real ones": """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    assert call(torch.empty(2, device="npu")).shape == (2,)
result = call(x)
""",
    "a thread of its own": """
import threading
results = []
with torch.device("npu"):
    thread = threading.Thread(target=lambda: results.append(call(x)))
    thread.start()
    thread.join()
result = results[0]
""",
}


@pytest.mark.parametrize("queue", ["0", "1"])
def test_no_state_of_the_caller_reaches_a_kernel(queue):
    # One process for all states: what a state leaves behind would show in the next.
    program = PROBE + "".join(f"# {name}\n{code}\ncheck(result)\n" for name, code in STATES.items())
    run(program, TASK_QUEUE_ENABLE=queue)
