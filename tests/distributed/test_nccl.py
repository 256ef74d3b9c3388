"""The backend "nccl", over a module that stands for CuPy and its NCCL on arrays of the host."""

import importlib.util
import sys
import threading
from datetime import timedelta

import numpy as np
import pytest

from retrograd import distributed as dist
from retrograd.distributed.names import ReduceOp
from retrograd.distributed.transports import nccl
from tests.distributed import together
from tests.limits import LIMIT

FAKE = together.ROOT / "tests" / "distributed" / "fake"
SOON = timedelta(seconds=60)


@pytest.fixture
def cupy(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(FAKE))
    yield nccl.library()
    for name in [name for name in sys.modules if name.split(".")[0] == "cupy"]:
        del sys.modules[name]


def of_all(size, run):
    """What ``run(transport)`` returns in each of so many processes, which are threads here."""
    store, found = dist.HashStore(), [None] * size

    def go(rank):
        transport = nccl.Nccl(store, rank, size, SOON)
        ready = transport.ready()
        transport.perform(lambda: found.__setitem__(rank, run(transport)), ready)
        transport.close()

    threads = [threading.Thread(target=go, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    assert all(each is not None for each in found)
    return found


@pytest.mark.parametrize("where", ["device", "host"])
@pytest.mark.parametrize("size", [2, 3])
def test_every_exchange(cupy, size, where):
    given = np.arange(size * size * 3.0, dtype=np.float32).reshape(size, size, 3)

    def placed(array):
        return cupy.asarray(array) if where == "device" else np.array(array)

    def run(transport):
        mine, rank = given[transport.rank], transport.rank
        summed, highest = placed(mine[0]), placed(mine[0])
        transport.allreduce(summed, ReduceOp.SUM, 1)
        transport.allreduce(highest, ReduceOp.MAX, 1)
        at_root, copied = placed(mine[0]), placed(mine[0])
        transport.reduce(at_root, ReduceOp.SUM, size - 1, 1)
        transport.broadcast(copied, size - 1, 1)
        gathered = [placed(np.zeros(3, np.float32)) for _ in range(size)]
        transport.allgather(gathered, placed(mine[0]), 1)
        part = placed(np.zeros(3, np.float32))
        transport.reduce_scatter(part, [placed(each) for each in mine], ReduceOp.SUM, 1)
        swapped = [placed(np.zeros(3, np.float32)) for _ in range(size)]
        transport.alltoall(swapped, [placed(each) for each in mine], 1)
        held = [placed(np.zeros(3, np.float32)) for _ in range(size)]
        transport.gather(held if rank == 0 else None, placed(mine[0]), 0, 1)
        scattered = placed(np.zeros(3, np.float32))
        every = [placed(each) for each in mine]
        transport.scatter(scattered, every if rank == 0 else None, 0, 1)
        uneven = [placed(np.zeros(length, np.float32)) for length in range(size)]
        transport.allgather(uneven, placed(np.full(rank, rank, np.float32)), 1)
        assert [cupy.asnumpy(each).tolist() for each in uneven] == [[r] * r for r in range(size)]
        transport.barrier(1)
        empty = placed(np.zeros(0, np.float32))
        transport.allreduce(empty, ReduceOp.SUM, 1)
        one = summed, highest, at_root, copied, part, scattered
        return [*map(cupy.asnumpy, one)], [
            [*map(cupy.asnumpy, each)] for each in (gathered, swapped, held)
        ]

    for rank, (one, many) in enumerate(of_all(size, run)):
        summed, highest, at_root, copied, part, scattered = one
        assert np.array_equal(summed, given[:, 0].sum(0))
        assert np.array_equal(highest, given[:, 0].max(0))
        assert np.array_equal(at_root, given[:, 0].sum(0) if rank == size - 1 else given[rank, 0])
        assert np.array_equal(copied, given[-1, 0])
        assert np.array_equal(part, given[:, rank].sum(0))
        assert np.array_equal(scattered, given[0, rank])
        gathered, swapped, held = many
        assert np.array_equal(gathered, given[:, 0]) and np.array_equal(swapped, given[:, rank])
        assert rank or np.array_equal(held, given[:, 0])


PROGRAM = f"""
sys.path.insert(0, {str(FAKE)!r})
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=60))
assert dist.get_backend() == "nccl" and dist.is_nccl_available()
t = torch.arange(5.0) + rank
dist.all_reduce(t, dist.ReduceOp.AVG)
assert t.tolist() == [i + (size - 1) / 2 for i in range(5)], t
for dtype in (torch.bfloat16, torch.bool, torch.int64, torch.complex64, torch.float16):
    t = torch.ones(3).to(dtype)
    dist.all_reduce(t)
    assert t.tolist() == torch.full((3,), 1 if dtype is torch.bool else size, dtype=dtype).tolist()
"""
TOGETHER = """
try:
    dist.all_reduce(torch.ones(2).int(), dist.ReduceOp.BXOR)
except RuntimeError as error:
    assert "Cannot use ReduceOp.BXOR with NCCL" in str(error), error
found = [None] * size
dist.all_gather_object(found, {"rank": rank})
assert [each["rank"] for each in found] == list(range(size))
later = dist.irecv(got := torch.zeros(2), (rank - 1) % size)
dist.isend(torch.tensor([rank, 7.0]), (rank + 1) % size).wait()
later.wait()
assert got.tolist() == [(rank - 1) % size, 7]
some = dist.new_group([0, 1])
if rank < 2:
    one = torch.ones(1)
    dist.all_reduce(one, group=some)
    assert one.item() == 2
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
for step in range(2):
    model(torch.ones(1, 3) * rank).sum().backward()
assert model.module.weight.grad.tolist() == [[(size - 1.0)] * 3], model.module.weight.grad
dist.destroy_process_group()
print("well")
"""


@pytest.mark.parametrize("size", [2, 3])
def test_a_program(size):
    assert together.together(PROGRAM + TOGETHER, size) == ["well"] * size


def test_a_process_that_does_not_come_is_named():
    text = PROGRAM + (
        "dist.group.WORLD.set_timeout(datetime.timedelta(seconds=4))\n"
        "if rank: import time; time.sleep(30)\n"
        "dist.all_reduce(t)"
    )
    found = together.begin(text, 2)
    first = together.finish(found[:1])[0]
    found[1].kill()
    together.finish(found[1:])
    assert first.status == 1
    assert "Timed out waiting 4000ms for nccl operation to complete" in first.err
    assert "rank 1: has not begun this exchange" in first.err


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RuntimeError, match=r'NCCL built in.*pip install "retrograd\[cuda\]"'):
        dist.init_process_group("nccl")
    assert not dist.is_initialized()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not dist.is_nccl_available()
