"""DistributedDataParallel against one process with the whole batch, and where it breaks."""

import pytest

import retrograd as torch
from retrograd.distributed.transports import gloo
from retrograd.nn.parallel.buckets import assigned
from tests.distributed.together import begin, finish, together

pytestmark = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")

WHOLE = """
nn = torch.nn
dist.init_process_group("gloo")
for kind in ("small", "large", "convolution", "doubles"):
    torch.manual_seed(1)
    if kind == "convolution":
        module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
        data = torch.randn(4 * size, 2, 6, 6)
    else:
        wide = 400 if kind == "large" else 5
        module = nn.Sequential(nn.Linear(6, wide), nn.Tanh(), nn.Linear(wide, wide), nn.Tanh(),
                               nn.Linear(wide, 3))
        data = torch.randn(4 * size, 6)
    target = torch.randn(4 * size, 3)
    if kind == "doubles":
        module, data, target = module.double(), data.double(), target.double()
    whole = __import__("copy").deepcopy(module)
    model = nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=kind == "small")
    steps = [torch.optim.SGD(each.parameters(), 0.1) for each in (model, whole)]
    for _ in range(4):
        losses = []
        for each, step, rows in (model, steps[0], slice(4 * rank, 4 * rank + 4)), (
            whole, steps[1], slice(None)
        ):
            step.zero_grad()
            (each(data[rows]) - target[rows]).pow(2).mean().backward()
            step.step()
        for mine, all_of_it in zip(model.parameters(), whole.parameters()):
            torch.testing.assert_close(mine.grad, all_of_it.grad, rtol=1e-4, atol=1e-6)
            torch.testing.assert_close(mine, all_of_it, rtol=1e-4, atol=1e-6)
            every = [torch.empty_like(mine) for _ in range(size)]
            dist.all_gather(every, mine.detach())
            assert all(torch.equal(each, every[0]) for each in every)
dist.destroy_process_group()
print("well")
"""


@pytest.mark.parametrize("size", [2, 4])
def test_the_same_as_one_process_with_the_whole_batch(size: int) -> None:
    assert together(WHOLE, size) == ["well"] * size


def test_missing_gradients_name_the_parameters_and_their_lines(tmp_path) -> None:
    module = tmp_path / "model.py"
    module.write_text(
        "import retrograd.nn as nn\n"
        "class Model(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.used = nn.Linear(2, 1)\n"
        "        self.spare = nn.Sequential(nn.Linear(2, 1))\n"
        "    def forward(self, value):\n"
        "        return self.used(value)\n"
    )
    program = f"""
sys.path.insert(0, {str(tmp_path)!r})
from model import Model
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(Model())
model(torch.ones(1, 2)).sum().backward()
try:
    model(torch.ones(1, 2))
except RuntimeError as error:
    print(error.__notes__[0])
dist.barrier()
"""
    for rank, told in enumerate(together(program)):
        assert f"rank {rank}: the last backward" in told
        assert f"spare.0.weight  made at {module}:6" in told
        assert "used.weight" not in told


def test_shapes_that_differ_are_an_error_everywhere() -> None:
    program = """
dist.init_process_group("gloo")
try:
    torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2 + rank // 2))
except RuntimeError as error:
    print(error, error.__notes__[0])
dist.barrier()
"""
    first, second, third = together(program, 3)
    assert "[0]: params[0]" in first and "in process 2" in first
    assert "[1]: params[0]" in second and "in process 2" in second
    assert "[2]: params[0] in this process with sizes [3, 3]" in third and "weight" in third


def test_a_process_that_dies_in_backward_ends_the_others() -> None:
    program = """
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=500))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
for step in range(5):
    if rank == 1 and step == 3:
        os._exit(7)
    model(torch.ones(1, 3)).sum().backward()
"""
    alive, dead = finish(begin(program, 2), 250.0)  # long before the timeout
    assert dead.status == 7
    assert alive.status == 1
    assert "averaged the gradients of bucket 0 (weight, bias)" in alive.err or (
        "Rank 1" in alive.err
    ), alive.err
    assert "ank 1" in alive.err, alive.err


def test_a_hook_that_raises_says_so_everywhere() -> None:
    program = """
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=500))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
def hook(state, bucket):
    if rank:
        raise ValueError("no")
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])
model.register_comm_hook(None, hook)
model(torch.ones(1, 3)).sum().backward()
"""
    first, second = finish(begin(program, 2), 250.0)
    assert "ValueError: no" in second.err
    assert first.status == 1 and "ank 1" in first.err, first.err


def test_hooks_go_with_the_wrapper() -> None:
    torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    try:
        module = torch.nn.Linear(2, 1)
        model = torch.nn.parallel.DistributedDataParallel(module)
        model(torch.ones(1, 2)).sum().backward()
        assert len(module.weight._post_accumulate_grad_hooks) == 1
        del model
        assert len(module.weight._post_accumulate_grad_hooks) == 0
    finally:
        torch.distributed.destroy_process_group()


def test_the_buckets_of_parameters() -> None:
    sizes = [(3, "float32"), (300, "float32"), (2, "float64"), (5, "float32"), (1, "float64")]
    tensors = [torch.zeros(n, dtype=getattr(torch, kind)) for n, kind in sizes]
    nothing_sparse = [False] * 5
    assert assigned(range(5), tensors, [1 << 40], nothing_sparse) == [[0, 1, 3], [2, 4]]
    assert assigned(range(5), tensors, [16], nothing_sparse) == [[0, 1], [2], [3], [4]]
    assert assigned([4, 3, 2, 1, 0], tensors, [20, 1 << 40], [True] + [False] * 4) == [
        [4, 2],
        [3],
        [1],
        [0],
    ]


def test_what_is_not_supported_is_named() -> None:
    torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    try:
        for name in ("mixed_precision", "device_mesh", "skip_all_reduce_unused_params"):
            with pytest.raises(NotImplementedError, match=name):
                torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1), **{name: True})
    finally:
        torch.distributed.destroy_process_group()


def test_joined_processes_have_the_means_for_their_share_of_the_states() -> None:
    program = """
from retrograd.distributed.algorithms.join import Join
from retrograd.distributed.optim import ZeroRedundancyOptimizer
torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
whole = __import__("copy").deepcopy(module)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(module)
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
def batch(rank, number): return torch.ones(1, 3) * (rank + 1) + number
with Join([model, optimizer]):
    for number in range(2 + rank):
        optimizer.zero_grad()
        model(batch(rank, number)).pow(2).sum().backward()
        optimizer.step()
alone = torch.optim.Adam(whole.parameters(), lr=0.1)
for number in range(1 + size):
    alone.zero_grad()
    for other in range(size):
        if number < 2 + other:
            (whole(batch(other, number)).pow(2).sum() / size).backward()
    alone.step()
for mine, other in zip(module.parameters(), whole.parameters()):
    torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
print("well")
dist.destroy_process_group()
"""
    assert together(program, 2) == ["well"] * 2
    assert together(program, 3) == ["well"] * 3
