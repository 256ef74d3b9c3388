"""DistributedDataParallel of a module on a device: one whose arrays NumPy cannot read."""

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.together import together

pytestmark = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")

PROGRAM = """
from retrograd.backend.device import register
from tests.strict.arrays import STRICT
register(STRICT)
import warnings
warnings.simplefilter("ignore")  # all parameters are used where unused ones are looked for
nn = torch.nn
dist.init_process_group("gloo")
def trained(where, **options):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 300), nn.BatchNorm1d(300), nn.Tanh(), nn.Linear(300, 300),
                           nn.Linear(300, 2)).double().to(where)
    model = nn.parallel.DistributedDataParallel(module, **options)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for number in range(4):
        optimizer.zero_grad()
        data = (torch.arange(12.0).reshape(4, 3) * (rank + 1) + number).sin().double()
        if "device_ids" not in options:
            data = data.to(where)
        model(data).square().mean().backward()
        optimizer.step()
    assert all(each.device.type == where.partition(":")[0] for each in model.parameters())
    t = torch.ones(3).to(where)
    dist.all_reduce(t)
    assert t.tolist() == [size] * 3 and t.device.type == where.partition(":")[0]
    return [p.detach().cpu().double() for p in model.parameters()]
expected = trained("cpu")
for options in ({}, {"device_ids": [0]}, {"gradient_as_bucket_view": True},
                {"find_unused_parameters": True}, {"device_ids": ["privateuseone:0"]}):
    found = trained("privateuseone", **options)
    for mine, other in zip(found, expected):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
dist.destroy_process_group()
print("well")
"""


def test_a_module_on_a_device_trains_as_on_the_cpu():
    assert together(PROGRAM) == ["well"] * 2
