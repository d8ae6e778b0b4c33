"""Two devices: copies between them, what is current, memory, streams, seeds, errors."""

from __future__ import annotations

import sys

import pytest
from programs import command, run

TWO = {"SOFTNPU_DEVICES": "2"}


def test_copies_between_devices():
    run(
        """
        import torch

        contiguous = [lambda x: x, lambda x: x[2:4], lambda x: x[0, 2:3], lambda x: x[:0]]
        strided = [lambda x: x.t(), lambda x: x[1::2, ::3], lambda x: x[:, 1]]
        for dtype in (torch.float32, torch.int64, torch.bool, torch.float16, torch.bfloat16):
            whole = torch.arange(48).reshape(6, 8).to(dtype)
            for source, target in [("npu:0", "npu:1"), ("npu:1", "npu:0")]:
                for non_blocking in (False, True):
                    for view in contiguous:
                        moved = view(whole.to(source)).to(target, non_blocking=non_blocking)
                        assert moved.device == torch.device(target)
                        assert torch.equal(moved.cpu(), view(whole))
                        into, expected = torch.zeros_like(whole, device=target), whole * 0
                        view(into).copy_(view(whole.to(source)), non_blocking)
                        view(expected).copy_(view(whole))
                        assert torch.equal(into.cpu(), expected)
                    for view in strided:
                        moved = view(whole.to(source)).contiguous().to(target)
                        assert torch.equal(moved.cpu(), view(whole))

        x = torch.ones(3, device="npu:1", requires_grad=True)
        y = torch.full((3,), 2.0, device="npu:0")
        (x.to("npu:0") * y).sum().backward()
        assert x.grad.device.index == 1 and x.grad.tolist() == [2, 2, 2]
        """,
        **TWO,
    )


def test_copies_that_torch_npu_leaves_to_the_older_operators_are_refused():
    run(
        """
        import torch

        x, there = torch.ones(4, 6, device="npu:0"), torch.zeros(4, 6, device="npu:1")
        calls = {
            "strided source": lambda: x[:, ::2].to("npu:1"),
            "expanded source": lambda: x[:, :1].expand(4, 6).to("npu:1"),
            "strided target": lambda: there[:, ::2].copy_(x[:, :3].contiguous()),
            "another dtype": lambda: x.to("npu:1", torch.float16),
        }
        for name, call in calls.items():
            try:
                call()
            except RuntimeError as error:
                assert "softnpu has no kernel for the older operator" in str(error), (name, error)
            else:
                raise SystemExit(f"{name}: no error")
        assert there.tolist() == [[0] * 6] * 4
        assert (x + 1).tolist() == [[2] * 6] * 4
        """,
        **TWO,
    )


def test_the_current_device():
    run(
        """
        import torch

        assert torch.npu.device_count() == 2
        assert torch.accelerator.device_count() == 2
        assert torch.npu.current_device() == 0
        with torch.npu.device(1):
            assert torch.npu.current_device() == 1
            assert torch.ones(2, device="npu").device.index == 1
            assert torch.ones(2).npu().device.index == 1
            with torch.npu.device(0):
                assert torch.npu.current_device() == 0
            assert torch.npu.current_device() == 1
        assert torch.npu.current_device() == 0
        try:
            with torch.npu.device(1):
                raise KeyError
        except KeyError:
            assert torch.npu.current_device() == 0
        there = torch.ones(2, device="npu:1")
        assert (there * 2).device.index == 1
        assert torch.npu.current_device() == 0  # an operator elsewhere changes nothing
        with torch.npu.device_of(there):
            assert torch.npu.current_device() == 1
        torch.npu.set_device(1)
        assert torch.zeros(2, device="npu").device.index == 1
        assert torch.accelerator.current_device_index() == 1
        torch.npu.set_device("npu:0")
        assert torch.npu.current_device() == 0

        for wrong in (2, 16):
            try:
                torch.npu.set_device(wrong)
            except (RuntimeError, AssertionError) as error:
                assert f"no device {wrong}, there are 2 (SOFTNPU_DEVICES)" in str(error), error
            else:
                raise SystemExit("no error")
            try:
                torch.ones(2, device=f"npu:{wrong}")
            except (RuntimeError, AssertionError) as error:
                print(error)
            else:
                raise SystemExit("no error")
        assert torch.npu.current_device() == 0
        assert torch.ones(2, device="npu").tolist() == [1, 1]

        names = {torch.npu.get_device_name(device) for device in range(2)}
        assert len(names) == 1 and "softnpu" in names.pop()
        for device in range(2):
            properties = torch.npu.get_device_properties(device)
            assert "softnpu" in properties.name
            assert properties.total_memory == 16 << 30
        """,
        **TWO,
    )


def test_memory_is_counted_for_each_device():
    run(
        """
        import torch

        first = torch.empty(1 << 20, device="npu:0")
        free = [torch.npu.mem_get_info(device)[0] for device in range(2)]
        counted = [torch.npu.memory_allocated(device) for device in range(2)]
        second = torch.empty(8 << 20, device="npu:1")
        assert torch.npu.memory_allocated(0) == counted[0]
        assert torch.npu.memory_allocated(1) - counted[1] >= 32 << 20
        assert torch.npu.mem_get_info(0)[0] == free[0]
        assert free[1] - torch.npu.mem_get_info(1)[0] >= 32 << 20
        half = torch.empty(3 << 30, dtype=torch.int8, device="npu:0")
        other = torch.empty(3 << 30, dtype=torch.int8, device="npu:1")  # each has its own 4 GiB
        try:
            torch.empty(3 << 30, dtype=torch.int8, device="npu:1")
        except torch.OutOfMemoryError as error:
            assert "NPU 1; 4.00 GiB total capacity" in str(error), error
        else:
            raise SystemExit("no error")
        del half, other, second
        torch.npu.empty_cache()
        assert torch.npu.mem_get_info(1)[0] >= free[1]
        assert torch.npu.memory_allocated(1) == counted[1]
        """,
        SOFTNPU_MEMORY="4",
        **TWO,
    )


def test_devices_do_not_mix_where_torch_npu_checks():
    run(
        """
        import torch

        x, y = torch.ones(2, 2, device="npu:0"), torch.ones(2, 2, device="npu:1")
        calls = {
            "matmul": lambda: x @ y,
            "bmm": lambda: torch.bmm(x[None], y[None]),
            "addmm": lambda: torch.addmm(y, x, x),
            "cat": lambda: torch.cat([x, y]),
            "linear": lambda: torch.nn.Linear(2, 2, device="npu:1")(x),
            "layer_norm": lambda: torch.nn.functional.layer_norm(x, (2,), y[0], y[0]),
            "the CPU": lambda: x + torch.ones(2, 2),
        }
        for name, call in calls.items():
            try:
                call()
            except RuntimeError as error:
                message = "Expected all tensors to be on the same device"
                assert message in str(error), (name, error)
            else:
                raise SystemExit(f"{name}: no error")
        assert x.tolist() == y.tolist() == [[1, 1], [1, 1]]
        assert (x + torch.tensor(2.0)).tolist() == [[3, 3], [3, 3]]  # a CPU scalar may
        """,
        **TWO,
    )


def test_streams_and_events_of_each_device():
    run(
        """
        import torch

        streams = [torch.npu.Stream(device) for device in range(2)]
        assert [stream.device.index for stream in streams] == [0, 1]
        assert torch.npu.current_stream(1).device.index == 1
        x = torch.arange(4.0, device="npu:0")
        done = torch.npu.Event()
        with torch.npu.stream(streams[0]):
            streams[0].wait_stream(torch.npu.default_stream())
            y = x * 2
            done.record()
        with torch.npu.stream(streams[1]):
            assert torch.npu.current_device() == 1
            streams[1].wait_event(done)
            streams[1].wait_stream(streams[0])
            z = y.to("npu:1", non_blocking=True) + 1
            back = torch.npu.Event()
            back.record(streams[1])
        assert torch.npu.current_device() == 0
        torch.npu.current_stream().wait_event(back)
        back.synchronize()
        assert back.query() and done.query() and streams[1].query()
        torch.npu.synchronize(1)
        assert z.tolist() == [1, 3, 5, 7] and z.device.index == 1
        z.record_stream(streams[1])
        """,
        **TWO,
    )


def test_seeds_of_each_device():
    run(
        """
        import torch

        def draw(device):
            return torch.rand(4, device=f"npu:{device}").cpu()

        torch.npu.manual_seed_all(5)
        first = draw(0), draw(1)
        torch.npu.manual_seed_all(5)
        assert torch.equal(draw(1), first[1]) and torch.equal(draw(0), first[0])
        with torch.npu.device(1):
            torch.npu.manual_seed(6)
        assert not torch.equal(draw(1), first[1])
        torch.npu.manual_seed(5)  # of the current device only
        assert torch.equal(draw(0), first[0])
        assert torch.npu.initial_seed() == 5
        torch.manual_seed(5)
        assert torch.equal(draw(1), first[1])
        state = torch.npu.get_rng_state(1)
        kept = draw(1)
        draw(0)
        torch.npu.set_rng_state(state, 1)
        assert torch.equal(draw(1), kept)
        assert len(torch.npu.get_rng_state_all()) == 2
        generator = torch.Generator("npu:1").manual_seed(5)
        assert torch.equal(torch.rand(4, device="npu:1", generator=generator).cpu(), first[1])
        """,
        **TWO,
    )


def test_replicas_by_hand_give_the_gradient_of_the_whole_batch():
    run(
        """
        import copy
        import torch

        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        x, y = torch.randn(6, 4), torch.randn(6, 2)
        replicas = [copy.deepcopy(model).to(f"npu:{device}") for device in range(2)]
        losses = []
        for device, replica in enumerate(replicas):
            part = slice(3 * device, 3 * device + 3)
            output = replica(x[part].to(f"npu:{device}"))
            losses.append((output - y[part].to(f"npu:{device}")).square().sum().to("npu:0"))
        torch.stack(losses).sum().backward()
        (model(x) - y).square().sum().backward()
        for whole, *parts in zip(model.parameters(), *(r.parameters() for r in replicas)):
            total = parts[0].grad + parts[1].grad.to("npu:0")
            torch.testing.assert_close(total.cpu(), whole.grad)
        """,
        **TWO,
    )


@pytest.mark.parametrize("count", ["0", "17", "x", "-1", "1.5"])
def test_a_number_of_devices_that_cannot_be_is_refused(count):
    done = command(
        [sys.executable, "-c", "import softnpu; softnpu.activate()"],
        check=False,
        SOFTNPU_DEVICES=count,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(f"SOFTNPU_DEVICES={count!r} is not a number from 1 to 16.")


# What CANN's document and its runtime's code say of lists for a machine with four devices.
@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ("2,3", 2),
        ("1", 1),
        ("0,1,2,5", 3),  # up to the first that is no device
        ("1, 2,3", 1),  # up to the first other character
        ("1x,2", 1),
        ("0,,1", 1),
        ("4", 0),
        ("x", 0),
        ("", 0),
        ("3,1", 0),  # not in ascending order
        ("1,1", 0),
    ],
)
def test_the_visible_devices_are_those_that_cann_would_show(chosen, count):
    done = run(
        """
        import torch
        count = torch.npu.device_count()
        assert torch.npu.is_available() == (count > 0)
        print(count)
        for number in range(count):
            assert torch.ones(2, device=f"npu:{number}").sum().item() == 2
        try:
            torch.ones(2, device=f"npu:{count}")
        except RuntimeError as error:
            print(error)
        """,
        SOFTNPU_DEVICES="4",
        ASCEND_RT_VISIBLE_DEVICES=chosen,
    )
    assert done.stdout.startswith(f"{count}\n")
    if count == 0:
        assert f"ASCEND_RT_VISIBLE_DEVICES={chosen} leaves no device (softnpu)" in done.stdout


def test_a_thread_without_a_device_takes_the_default_one():
    # torch_npu's own acl_default.json names device 0.
    run(
        """
        import threading
        import torch

        torch.npu.init()
        torch.npu.empty_cache()
        torch.npu.synchronize()
        assert torch.npu.current_device() == 0
        threads = [threading.Thread(target=torch.npu.synchronize) for _ in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
        torch.npu.set_device(1)
        assert torch.ones(2, device="npu").device.index == 1
        """,
        **TWO,
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"defaultDevice": {"default_device": "1"}}', 1),
        ('{"dump": {}}', -1),
        ('{"defaultDevice": {"default_device": "01"}}', ValueError),
        ("no JSON", ValueError),
    ],
)
def test_the_file_for_aclInit_names_the_default_device(tmp_path, text, found):
    path = tmp_path / "acl.json"
    path.write_text(text)
    code = f"""
        import ctypes, os, torch
        library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD)
        library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        device = ctypes.c_int(-1)
        code, message = library.aclInit({str(path)!r}.encode()), library.aclGetRecentErrMsg()
        print(code, library.aclrtGetDevice(ctypes.byref(device)), device.value)
        print((message or b"").decode())
    """
    done = run(code, **TWO)
    if found is ValueError:
        assert done.stdout.startswith("361001 ") and "softnpu: cannot start" in done.stdout
    else:
        assert done.stdout.startswith("0 0 1\n" if found == 1 else "0 107002 -1\n")
