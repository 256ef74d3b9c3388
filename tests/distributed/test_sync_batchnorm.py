"""SyncBatchNorm of several processes against BatchNorm of one with the whole batch.

PyTorch has the layer on accelerators only, so the measure is one process.
"""

import pytest

import retrograd as torch
from retrograd.distributed.transports import gloo
from tests.distributed.together import together

pytestmark = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")

PROGRAM = """
import copy
nn = torch.nn
dist.init_process_group("gloo")
EVEN = slice(4 * rank, 4 * rank + 4)
UNEVEN = slice(rank * (rank + 1) // 2, (rank + 1) * (rank + 2) // 2)  # 1, 2, 3 ... rows
def compare(layers, data, rows, dtype):
    torch.manual_seed(2)
    module = nn.Sequential(*layers, nn.Tanh(), nn.Flatten(), nn.LazyLinear(3))
    with torch.no_grad():
        module(data)
    module, data = module.to(dtype), data.to(dtype)
    for layer in module:
        if hasattr(layer, "reset_running_stats"):
            layer.reset_running_stats()
    whole = copy.deepcopy(module)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(module)
    assert sum(type(layer) is nn.SyncBatchNorm for layer in model) == 1
    model = nn.parallel.DistributedDataParallel(model)
    steps = [torch.optim.SGD(each.parameters(), 0.1) for each in (model, whole)]
    for _ in range(3):
        for step in steps:
            step.zero_grad()
        # The mean over processes of sums that are `size` times too large is the sum over all.
        (model(data[rows]).sin().sum() * size / len(data)).backward()
        (whole(data).sin().sum() / len(data)).backward()
        for mine, other in zip(model.parameters(), whole.parameters()):
            torch.testing.assert_close(mine.grad, other.grad, rtol=1e-3, atol=1e-5)
        for step in steps:
            step.step()
        mine, other = model.module.state_dict(), whole.state_dict()
        assert list(mine) == list(other)
        for name in mine:
            torch.testing.assert_close(mine[name], other[name], rtol=1e-3, atol=1e-5)
    model.eval(), whole.eval()
    torch.testing.assert_close(model(data), whole(data), rtol=1e-3, atol=1e-5)
torch.manual_seed(0)
for dtype in (torch.float32, torch.float64):
    for rows in (EVEN, UNEVEN):
        count = 4 * size if rows is EVEN else size * (size + 1) // 2
        flat, images = torch.randn(count, 6) + 20, torch.randn(count, 2, 4, 4)
        for momentum in (0.1, None):
            compare([nn.Linear(6, 5), nn.BatchNorm1d(5, momentum=momentum)], flat, rows, dtype)
        compare([nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3, affine=False)], images, rows, dtype)
        compare([nn.BatchNorm2d(2, track_running_stats=False)], images, rows, dtype)

# The second derivative goes through the exchange, too.
layer = nn.SyncBatchNorm(2).double()
data = torch.randn(3 * size, 2, dtype=torch.float64)
def penalty(layer, values, all_sum):
    values = values.clone().requires_grad_()
    loss = all_sum(layer(values).sin().sum())
    (slope,) = torch.autograd.grad(loss, values, create_graph=True)
    slope.pow(2).sum().backward()
    return values.grad
mine = penalty(layer, data[3 * rank : 3 * rank + 3], lambda loss: loss)
other = penalty(nn.BatchNorm1d(2).double(), data, lambda loss: loss)
torch.testing.assert_close(mine, other[3 * rank : 3 * rank + 3])

# A process without rows takes part.
empty = nn.SyncBatchNorm(2)
values = torch.randn(4, 2)[: 0 if rank else 4].requires_grad_()
empty(values).sum().backward()
assert values.grad.shape == values.shape
print("well")
dist.destroy_process_group()
"""


@pytest.mark.parametrize("size", [2, 4])
def test_the_same_as_one_process_with_the_whole_batch(size: int) -> None:
    assert together(PROGRAM, size) == ["well"] * size


def test_of_one_process() -> None:
    layer, other = torch.nn.SyncBatchNorm(3), torch.nn.BatchNorm1d(3)
    data = torch.randn(5, 3)
    assert torch.equal(layer(data), other(data))
    assert torch.equal(layer.running_var, other.running_var)
    with pytest.raises(ValueError, match="expected at least 2D input"):
        layer(torch.ones(3))
