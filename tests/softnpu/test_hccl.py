"""Collectives are not emulated: every rank gets an error that says so, and none waits."""

from __future__ import annotations

import sys

import pytest
import torch
from programs import command, run

TRY = """
import os
import torch
import torch.distributed as dist

MESSAGE = "softnpu does not emulate HCCL (collective communication between NPUs)"

def refused(what, call):
    try:
        call()
    except RuntimeError as error:
        assert MESSAGE in str(error), (what, error)
        assert 'init_process_group("gloo")' in str(error), (what, error)
    else:
        raise SystemExit(f"{what}: no error")

def start(rank, ranks, backend="hccl"):
    file = os.environ["RENDEZVOUS"] + backend
    dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=ranks)
"""


def test_one_process_is_told_by_every_collective(tmp_path):
    run(
        TRY
        + """
start(0, 1)
x = torch.ones(2, device="npu")
refused("all_reduce", lambda: dist.all_reduce(x))
refused("broadcast", lambda: dist.broadcast(x, 0))
refused("reduce", lambda: dist.reduce(x, 0))
refused("all_gather", lambda: dist.all_gather([x], x))
refused("reduce_scatter", lambda: dist.reduce_scatter(x, [x]))
refused("scatter", lambda: dist.scatter(x, [x], 0))
refused("all_to_all_single", lambda: dist.all_to_all_single(x, x))
refused("all_gather_object", lambda: dist.all_gather_object([None], 1))
refused("barrier", lambda: dist.barrier())
model = torch.nn.Linear(2, 2).npu()
refused("DDP", lambda: torch.nn.parallel.DistributedDataParallel(model))
assert (x + 1).tolist() == [2, 2]
dist.destroy_process_group()
""",
        RENDEZVOUS=str(tmp_path / "store"),
    )


def test_an_uncaught_collective_ends_the_process_with_the_message(tmp_path):
    done = run(
        TRY + "start(0, 1)\ndist.all_reduce(torch.ones(2, device='npu'))\n",
        check=False,
        RENDEZVOUS=str(tmp_path / "store"),
    )
    assert done.returncode == 1
    assert "softnpu does not emulate HCCL" in done.stderr


@pytest.mark.full
def test_two_processes_are_both_told_and_gloo_works(tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text(
        TRY
        + """
def main(rank):
    start(rank, 2)
    x = torch.full((2,), float(rank + 1), device="npu")
    refused("all_reduce", lambda: dist.all_reduce(x))
    refused("broadcast", lambda: dist.broadcast(x, 0))
    refused("point to point", lambda: (dist.recv if rank else dist.send)(x, 1 - rank))
    dist.destroy_process_group()
    start(rank, 2, "gloo")
    here = x.cpu()
    dist.all_reduce(here)
    assert here.npu().tolist() == [3, 3]
    dist.destroy_process_group()
    print(f"rank {rank} ended", flush=True)

if __name__ == "__main__":
    torch.multiprocessing.spawn(main, nprocs=2)
"""
    )
    done = command(
        [sys.executable, "-m", "softnpu", "run", str(script)], RENDEZVOUS=str(tmp_path / "store")
    )
    assert "rank 0 ended" in done.stdout
    assert "rank 1 ended" in done.stdout


@pytest.mark.skipif(
    torch.version.cuda is not None,
    reason="a CUDA build of torch scatters by CUDA's streams, and ends the process without a GPU",
)
def test_data_parallel_is_told_too():
    run(
        TRY
        + """
model = torch.nn.DataParallel(torch.nn.Linear(2, 2).npu(), device_ids=[0, 1])
refused("DataParallel", lambda: model(torch.ones(4, 2, device="npu")))
""",
        SOFTNPU_DEVICES="2",
    )
