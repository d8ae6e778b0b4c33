"""Several processes: forks, spawned workers, data loaders, tensors that cannot be shared."""

from __future__ import annotations

import sys

import pytest
from programs import command, run, start

pytestmark = pytest.mark.full


@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_fork_before_the_first_use_works_and_one_after_it_is_refused(queue):
    done = start(
        """
        import multiprocessing
        import torch

        def fork(work):
            process = multiprocessing.get_context("fork").Process(target=work)
            process.start()
            process.join(60)
            if process.is_alive():
                process.kill()
                raise SystemExit("the child hangs")
            return process.exitcode

        def use():
            assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]

        assert fork(use) == 0
        use()
        assert fork(use) == 1
        assert fork(lambda: torch.ones(2).npu()) == 1
        assert fork(torch.npu.synchronize) == 1
        assert fork(lambda: torch.ones(2) + 1) == 0  # the CPU's tensors are fine
        use()
        """,
        TASK_QUEUE_ENABLE=queue,
    )
    assert done.stderr.count("RuntimeError: Cannot re-initialize NPU in forked subprocess") == 3


WORKERS = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset


def worker(rank, here, queue):
    there = here.npu() * (rank + 1)
    assert "softnpu" in torch.npu.get_device_name()
    queue.put(there.cpu().tolist())


def share(queue, x):
    queue.put(x)


def main():
    multiprocessing = torch.multiprocessing.get_context("spawn")
    queue = multiprocessing.SimpleQueue()
    here = torch.arange(3.0)
    here.npu()  # the parent has used the device
    torch.multiprocessing.spawn(worker, (here, queue), nprocs=2)
    assert sorted(queue.get() for _ in range(2)) == [[0, 1, 2], [0, 2, 4]]

    data = TensorDataset(torch.arange(12.0).reshape(6, 2))
    for context in ("fork", "spawn"):
        loader = DataLoader(data, 2, num_workers=2, multiprocessing_context=context)
        rows = [row for (x,) in loader for row in (x.npu() * 2).tolist()]
        assert rows == [[4.0 * i, 4.0 * i + 2] for i in range(6)], rows
    print("end")


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("way", ["run", "activate"])
def test_spawned_processes_and_data_loader_workers(tmp_path, way):
    script = tmp_path / "workers.py"
    if way == "run":
        script.write_text(WORKERS)
        done = command([sys.executable, "-m", "softnpu", "run", str(script)], PYTHONPATH="")
    else:
        script.write_text("import softnpu; softnpu.activate()\n" + WORKERS)
        done = command([sys.executable, str(script)])
    assert done.stdout.endswith("end\n")


def test_an_npu_tensor_cannot_be_sent_to_another_process():
    run(
        """
        import torch
        import torch.multiprocessing  # registers how tensors are sent
        from multiprocessing.reduction import ForkingPickler

        x = torch.ones(2, device="npu")
        for _ in range(2):
            try:
                ForkingPickler.dumps(x)
            except RuntimeError as error:
                assert "does not emulate NPU memory shared between processes" in str(error), error
            else:
                raise SystemExit("no error")
        assert (x + 1).tolist() == [2, 2]
        ForkingPickler.dumps(x.cpu())
        """
    )
