"""ZeroRedundancyOptimizer on both libraries: the same steps, states and errors."""

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.both import assert_alike

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
]

PROGRAM = """
Zero = part("distributed.optim").ZeroRedundancyOptimizer
def kept(state):
    return [[number, sorted(each), [each[key] for key in sorted(each)]]
            for number, each in state["state"].items()], [
            [group["lr"], group["params"]] for group in state["param_groups"]]
def run(model, optimizer, steps):
    for number in steps:
        optimizer.zero_grad()
        (model(batch(number)) - rank).pow(2).mean().backward()
        optimizer.step()
        tell([p for p in model.parameters()])
@case
def steps():
    for name, options in (("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.1}),
                          ("AdamW", {"lr": 0.1}), ("RMSprop", {"lr": 0.1})):
        model = DDP(net())
        optimizer = Zero(model.parameters(), getattr(torch.optim, name), **options)
        run(model, optimizer, range(4))
@case
def states():
    model = DDP(net())
    optimizer = Zero(model.parameters(), torch.optim.Adam, lr=0.1)
    run(model, optimizer, range(2))
    try:
        optimizer.state_dict()
    except RuntimeError as error:
        tell(str(error))
    optimizer.consolidate_state_dict(0)
    state = [optimizer.state_dict() if rank == 0 else None]
    if rank == 0:
        tell(kept(state[0]))
    dist.broadcast_object_list(state, 0)
    torch.manual_seed(5)
    other = DDP(net())
    other.load_state_dict(model.state_dict())
    again = Zero(other.parameters(), torch.optim.Adam, lr=0.9)
    again.load_state_dict(state[0])
    tell(again.param_groups[0]["lr"])
    run(other, again, range(2, 4))
    tell([len(each) for each in again.optim.state.values()])
@case
def groups_and_schedules():
    model = DDP(net())
    first, second = list(model.module[0].parameters()), list(model.module[2].parameters())
    optimizer = Zero([{"params": first, "lr": 0.3}, {"params": second}], torch.optim.SGD, lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for number in range(3):
        run(model, optimizer, [number])
        schedule.step()
        tell([group["lr"] for group in optimizer.param_groups])
@case
def wrong():
    for params in (torch.ones(1), 3, [], [3], [{"lr": 1}],
                   [torch.ones(1, requires_grad=True),
                    torch.ones(1, requires_grad=True, dtype=torch.float64)]):
        try:
            Zero(params, torch.optim.SGD, lr=1.0)
        except Exception as error:
            tell(type(error).__name__, str(error))
"""


@pytest.mark.parametrize("size", [2, 3])
def test_zero_redundancy(size: int) -> None:
    assert_alike(PROGRAM, size)
