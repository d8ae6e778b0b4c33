"""NPU memory is out of the host's reach, and an operator stays inside the memory it is given."""

from __future__ import annotations

import signal

import pytest
from programs import run

TOUCHES = {
    "read": "ctypes.c_float.from_address(y.data_ptr()).value",
    "write": "ctypes.c_float.from_address(y.data_ptr()).value = 1.0",
    "past its end": "ctypes.memset(y.data_ptr() + 4 * y.numel(), 0, 1)",
    "in a thread": """
thread = threading.Thread(target=lambda: ctypes.memset(y.data_ptr(), 0, 4))
thread.start(); thread.join()
""",
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_host_code_in_npu_memory_is_stopped_and_named(touch):
    done = run(
        f"""
import ctypes, threading, torch
y = torch.ones(3, device="npu") * 2
assert y.cpu().tolist() == [2, 2, 2]
{TOUCHES[touch]}
print("went on")
""",
        check=False,
    )
    assert done.returncode == -signal.SIGSEGV
    assert "went on" not in done.stdout
    assert "softnpu: host code reached directly into the memory of NPU 0" in done.stderr
    assert "copy the tensor with .cpu() first" in done.stderr
    if touch != "in a thread":
        assert "last NPU operator was aclnnMuls" in done.stderr
    assert 'File "<string>"' in done.stderr  # Python's line, by faulthandler


def test_another_fault_is_not_taken_for_one_in_npu_memory():
    done = run(
        """
        import ctypes, torch
        torch.ones(3, device="npu")
        ctypes.memset(8, 0, 1)
        """,
        check=False,
    )
    assert done.returncode == -signal.SIGSEGV
    assert "host code reached" not in done.stderr


def test_page_locked_memory_is_the_hosts():
    run(
        """
        import ctypes, torch
        y = torch.ones(3, device="npu")
        pinned = torch.zeros(3).pin_memory(device="npu")
        ctypes.c_float.from_address(pinned.data_ptr()).value = 5.0
        assert pinned.npu().tolist() == [5, 0, 0]
        """
    )


# Views that torch would not make, handed to CANN's interface itself.
VIEWS = """
import ctypes, torch
x = torch.ones(8, device="npu")
torch.npu.synchronize()
acl, api = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libopapi.so")
acl.aclCreateTensor.restype = acl.aclGetRecentErrMsg.restype = ctypes.c_void_p
def ints(*numbers):
    return (ctypes.c_int64 * len(numbers))(*numbers)
def tensor(shape, strides, offset=0, storage=8, data=x.data_ptr()):
    return ctypes.c_void_p(acl.aclCreateTensor(
        ints(*shape), ctypes.c_uint64(len(shape)), 0, ints(*strides), ctypes.c_int64(offset), 2,
        ints(storage), ctypes.c_uint64(1), ctypes.c_void_p(data)))
def abs_of(view):
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    code = api.aclnnAbsGetWorkspaceSize(view, view, ctypes.byref(size), ctypes.byref(executor))
    text = acl.aclGetRecentErrMsg()
    if code == 0:
        api.aclnnAbs(None, ctypes.c_uint64(0), executor, None)
    return code, ctypes.string_at(text).decode() if code and text else ""
host = (ctypes.c_float * 8)()
"""


REFUSED = {
    "[9], [1]": "reaches out of its storage of 8 elements",
    "[2], [8]": "reaches out of its storage",
    "[4], [1], 5": "reaches out of its storage",
    "[4], [1], -1": "reaches out of its storage",
    "[2], [-1], 1": "reaches out of its storage",
    "[2, 2], [2**62, 2**62]": "reaches out of its storage",
    "[4], [1], 0, 2**40": "reaches out of the NPU memory there",
    "[8], [1], 0, 8, ctypes.addressof(host)": "is not NPU memory",
    "[8], [1], 0, 8, 0": "is not NPU memory",
    "[8], [1], 0, 8, 64": "is not NPU memory",
}


def test_a_view_that_leaves_its_memory_is_refused():
    run(
        VIEWS
        + "".join(
            f"code, text = abs_of(tensor({view}))\n"
            f"assert code == 161002 and {said!r} in text, ({view!r}, code, text)\n"
            for view, said in REFUSED.items()
        )
        + "assert x.tolist() == [1] * 8"
    )


def test_a_view_inside_its_memory_passes():
    run(
        VIEWS
        + """
x.copy_(-torch.arange(8.0))
assert abs_of(tensor([4], [1], 4)) == (0, "")
assert abs_of(tensor([0], [1], 99, 0, 0)) == (0, "")
assert x.tolist() == [0, -1, -2, -3, 4, 5, 6, 7], x.tolist()
"""
    )
