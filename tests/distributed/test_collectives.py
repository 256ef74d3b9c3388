"""What processes exchange, against what NumPy says of all their tensors."""

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.together import together

pytestmark = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")


@pytest.mark.parametrize("size", [2, 3, 4])
def test_sums_and_copies_of_all_sizes(size: int) -> None:
    program = """
import numpy as np
dist.init_process_group("gloo")
def of(rank, count): return np.random.default_rng(rank + 7 * count).integers(-9, 9, count)
for count in (0, 1, 2, 3, 7, 100, 40_000, 140_000):
    mine, others = torch.tensor(of(rank, count)).double(), [of(r, count) for r in range(size)]
    summed = mine.clone()
    dist.all_reduce(summed)
    assert np.array_equal(summed, sum(others)), (count, summed)
    for root in range(size):
        got = mine.clone()
        dist.broadcast(got, root)
        assert np.array_equal(got, others[root])
        reduced = mine.clone()
        dist.reduce(reduced, root, dist.ReduceOp.MAX)
        assert np.array_equal(reduced, np.max(others, 0) if rank == root else others[rank])
    gathered = [torch.empty(count, dtype=torch.float64) for _ in range(size)]
    dist.all_gather(gathered, mine)
    assert all(np.array_equal(a, b) for a, b in zip(gathered, others))
    part = torch.empty(count, dtype=torch.float64)
    dist.reduce_scatter_single(part, mine.repeat(size))
    assert np.array_equal(part, sum(others))
    swapped = torch.empty(count * size, dtype=torch.float64)
    dist.all_to_all_single(swapped, mine.repeat(size))
    assert np.array_equal(swapped, np.concatenate(others))
dist.barrier()
dist.destroy_process_group()
print("well")
"""
    assert together(program, size) == ["well"] * size


def test_a_new_group_of_some() -> None:
    program = """
dist.init_process_group("gloo")
some = dist.new_group([0, 2])
t = torch.tensor([rank + 1.0])
if rank != 1:
    dist.all_reduce(t, group=some)
    dist.broadcast(t, 2, group=some)
print(dist.get_rank(some), t.item())
dist.destroy_process_group()
"""
    assert together(program, 3) == ["0 4.0", "-1 2.0", "1 4.0"]


def test_asynchronous_exchanges_and_objects() -> None:
    program = """
dist.init_process_group("gloo")
tensors = [torch.full((1000,), float(rank + i)) for i in range(20)]
works = [dist.all_reduce(t, async_op=True) for t in tensors]
assert all(work.wait() for work in works)
assert [t[0].item() for t in tensors] == [2.0 * i + 1 for i in range(20)]
found = [None] * size
dist.all_gather_object(found, {"rank": rank, "long": "x" * rank * 1000})
assert [each["rank"] for each in found] == [0, 1]
later = dist.irecv(got := torch.zeros(2), 1 - rank)
dist.send(torch.tensor([rank, 7.0]), 1 - rank)
later.wait()
print(got.tolist())
dist.destroy_process_group()
"""
    assert together(program) == ["[1.0, 7.0]", "[0.0, 7.0]"]
