"""What a torch_npu user sees of the device: availability, memory, streams, events, errors."""

from __future__ import annotations

import pytest
import torch
from programs import run


def test_the_device_is_there_and_says_that_it_is_software():
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    torch.npu.set_device(0)
    for _ in range(2):
        assert "softnpu" in torch.npu.get_device_name()
    assert "softnpu" in torch.npu.get_device_properties(0).name


def test_asking_for_the_chip_before_the_first_use_does_no_harm():
    result = run(
        """
        import torch
        import torch_npu

        for _ in range(3):
            torch_npu._C._npu_get_soc_version()
        assert torch.ones(2, device="npu").sum().item() == 2
        assert "softnpu" in torch.npu.get_device_name()
        print("ran")
        """
    )
    assert result.stdout.strip() == "ran"


def test_tensors_travel_both_ways():
    values = torch.arange(6.0).reshape(2, 3)
    there = values.npu()
    assert there.device == torch.device("npu", 0)
    assert torch.equal(there.cpu(), values)
    assert torch.equal(values.to("npu", non_blocking=True).cpu(), values)
    assert torch.equal(there.t().contiguous().cpu(), values.t())
    assert torch.equal(values.pin_memory().npu().cpu(), values)
    assert torch.zeros(0, 3, device="npu").cpu().shape == (0, 3)


def test_an_operator_reads_a_view_from_where_it_begins():
    whole = torch.arange(6.0).npu()
    assert (whole[2:] * 2).tolist() == [4.0, 6.0, 8.0, 10.0]
    assert (whole.half()[3:] + 1).tolist() == [4.0, 5.0, 6.0]
    assert (whole.reshape(2, 3)[1:, 1:] * 2).tolist() == [[8.0, 10.0]]


def test_printing_shows_values_and_device():
    assert repr(torch.tensor([1.0, -2.5], device="npu")) == (
        "tensor([ 1.0000, -2.5000], device='npu:0')"
    )
    assert repr(torch.arange(3, device="npu")) == "tensor([0, 1, 2], device='npu:0')"


def test_memory_is_counted_and_given_back():
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    block = torch.empty(1 << 20, device="npu")
    assert torch.npu.memory_allocated() - before >= 4 << 20
    assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
    free, total = torch.npu.mem_get_info()
    assert total == 16 << 30
    assert total - free >= 4 << 20
    del block
    assert torch.npu.memory_allocated() == before
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] > free


def test_too_large_a_tensor_is_out_of_memory_and_the_device_goes_on():
    with pytest.raises(torch.OutOfMemoryError, match="16.00 GiB total capacity"):
        torch.empty(5 << 30, device="npu")
    assert torch.ones(2, device="npu").sum().item() == 2


def test_streams_and_events():
    stream = torch.npu.Stream()
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    with torch.npu.stream(stream):
        start.record()
        result = torch.ones(3, device="npu") * 2
        end.record()
    torch.npu.current_stream().wait_stream(stream)
    torch.npu.current_stream().wait_event(end)
    stream.synchronize()
    end.synchronize()
    torch.npu.synchronize()
    assert end.query() and stream.query()
    assert start.elapsed_time(end) >= 0
    result.record_stream(stream)
    assert result.tolist() == [2, 2, 2]


def test_random_numbers_follow_the_seed():
    torch.manual_seed(7)
    first = torch.randn(4, device="npu")
    state = torch.npu.get_rng_state()
    second = torch.randn(4, device="npu")
    torch.manual_seed(7)
    assert torch.equal(torch.randn(4, device="npu").cpu(), first.cpu())
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.randn(4, device="npu").cpu(), second.cpu())
    assert not torch.equal(first.cpu(), second.cpu())


MISSING = """
import torch
from softnpu import kernels
kernels.kernels().pop("aclnnErfinv")
x = torch.zeros(2, device="npu")
try:
    torch.erfinv(x)
    torch.npu.synchronize()
except RuntimeError as error:
    assert "softnpu has no kernel for the operator aclnnErfinv" in str(error), error
else:
    raise SystemExit("no error")
assert (x + 1).tolist() == [1, 1]
"""


@pytest.mark.parametrize("queue", ["0", "1"])
def test_an_operator_without_a_kernel_is_named_and_the_device_goes_on(queue):
    run(MISSING, TASK_QUEUE_ENABLE=queue)


def test_an_uncaught_missing_operator_ends_the_process_with_its_name():
    done = run(
        """
        import torch
        from softnpu import kernels
        kernels.kernels().pop("aclnnErfinv")
        torch.erfinv(torch.zeros(2, device="npu"))
        """,
        check=False,
    )
    assert done.returncode == 1
    assert "no kernel for the operator aclnnErfinv" in done.stderr


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("torch.erfinv(self)", "returned Tensor. A kernel writes into its outputs"),
        ("[(2,)]", "returned list. A kernel writes into its outputs"),
        ("{'result': (2,)}", "{'result': (2,)}. A kernel writes into its outputs"),
    ],
)
def test_a_kernel_that_returns_a_result_is_told_what_to_do(returned, words):
    done = run(
        f"""
        import torch
        from softnpu import kernels
        def aclnnErfinv(self, out):
            return {returned}
        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        torch.erfinv(torch.zeros(2, device="npu"))
        """,
        check=False,
    )
    assert done.returncode == 1
    assert "TypeError: the kernel aclnnErfinv returned" in done.stderr
    assert words in done.stderr
    assert "{'parameter': shape}; its parameters are self, out." in done.stderr


def test_a_kernel_that_raises_shows_its_traceback_and_the_device_goes_on():
    run(
        """
        import torch
        from softnpu import kernels
        def aclnnErfinv(self, out):
            raise ValueError("broken on purpose")
        kernels.kernels()["aclnnErfinv"] = aclnnErfinv
        x = torch.zeros(2, device="npu")
        try:
            torch.erfinv(x)
        except RuntimeError as error:
            text = str(error)
            assert "softnpu: aclnnErfinv: the kernel raised" in text, text
            assert "ValueError: broken on purpose" in text, text
        else:
            raise SystemExit("no error")
        assert (x + 1).tolist() == [1, 1]
        """
    )


def test_a_dtype_that_a_kernel_cannot_do_is_an_error_never_a_number():
    with pytest.raises(RuntimeError):
        torch.linalg.cholesky(torch.eye(2, dtype=torch.float16, device="npu"))
    assert torch.ones(2, device="npu").tolist() == [1, 1]


def test_two_devices():
    run(
        """
        import torch
        assert torch.npu.device_count() == 2
        x = torch.ones(2, device="npu:1")
        assert (x * 2).device.index == 1
        assert x.to("npu:0").device.index == 0
        assert x.to("npu:0").tolist() == [1, 1]
        """,
        SOFTNPU_DEVICES="2",
    )


def test_threads_and_the_end_of_the_interpreter():
    done = run(
        """
        import threading, torch
        x = torch.ones(64, device="npu")
        def work():
            for _ in range(50):
                y = x * 2 + 1
            assert y.sum().item() == 192
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        z = x + 1  # left in flight
        print("end")
        """,
        TASK_QUEUE_ENABLE="1",
    )
    assert "end" in done.stdout
    assert "Error" not in done.stderr


def test_a_broken_kernel_file_is_not_taken_for_a_missing_kernel():
    done = run(
        """
        from softnpu import kernels
        def broken():
            raise SyntaxError("in a kernel file")
        kernels.kernels = broken
        import torch
        torch.ones(2, device="npu")
        """,
        check=False,
    )
    assert done.returncode == 1
    assert "softnpu: cannot start" in done.stderr
    assert "in a kernel file" in done.stderr


def test_launches_are_counted():
    result = run(
        """
        import ctypes, torch
        count = ctypes.CDLL("libascendcl.so").softnpu_launches
        x = torch.ones(2, device="npu")
        before = count()
        y = x * 2 + x
        assert count() == before + 2
        y.cpu(), y.shape, torch.ones(2) * 2
        print(count() - before)
        """
    )
    assert result.stdout == "2\n", result.stderr
