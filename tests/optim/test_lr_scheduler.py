"""Learning rate schedules: their shapes, their state, and what a saved state leaves alone."""

from __future__ import annotations

import gc
import math
import pickle
import weakref

import pytest

import retrograd as torch
from retrograd.optim import lr_scheduler


def optimizer_of(lr=1.0, momentum=0.9):
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr, momentum=momentum)


def rates(optimizer, scheduler, steps):
    seen = scheduler.get_last_lr()
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen = seen + scheduler.get_last_lr()
    return seen


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda o: lr_scheduler.StepLR(o, 2, gamma=0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda o: lr_scheduler.MultiStepLR(o, [1, 3], gamma=0.5), [1, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: lr_scheduler.ConstantLR(o, 0.5, total_iters=3), [0.5, 0.5, 0.5, 1, 1]),
        (lambda o: lr_scheduler.LinearLR(o, 0.25, total_iters=3), [0.25, 0.5, 0.75, 1, 1]),
        (lambda o: lr_scheduler.PolynomialLR(o, total_iters=4), [1, 0.75, 0.5, 0.25, 0]),
        (lambda o: lr_scheduler.LambdaLR(o, lambda e: e * e), [0, 1, 4, 9, 16]),
        (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: e), [1, 1, 2, 6, 24]),
        (lambda o: lr_scheduler.CyclicLR(o, 0.0, 1.0, 2), [0, 0.5, 1, 0.5, 0]),
        (
            lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
            [(1 + math.cos(math.pi * epoch / 4)) / 2 for epoch in range(5)],
        ),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2), [1, 0.5, 1, 0.5, 1]),
    ],
)
def test_shapes(build, expected):
    optimizer = optimizer_of()
    assert rates(optimizer, build(optimizer), 4) == pytest.approx(expected, abs=1e-12)


def test_one_cycle_moves_momentum_the_other_way():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, pct_start=0.5)
    pairs = []
    for _ in range(9):
        optimizer.step()
        scheduler.step()
        pairs.append((scheduler.get_last_lr()[0], optimizer.param_groups[0]["momentum"]))
    assert max(pairs) == pairs[3] == (1.0, 0.85)
    assert min(pairs) == pairs[8]
    assert pairs[8] == (pytest.approx(1 / 25 / 1e4), pytest.approx(0.95))


def test_loading_leaves_the_given_state_alone():
    optimizer = optimizer_of()
    parts = [lr_scheduler.ConstantLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    for scheduler in (
        lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0),
        lr_scheduler.CyclicLR(optimizer, 0.1, 0.2),
        lr_scheduler.SequentialLR(optimizer, parts, [3]),
    ):
        state = scheduler.state_dict()
        names = list(state)
        scheduler.load_state_dict(state)
        assert list(state) == names
        assert "optimizer" not in names


def test_schedulers_survive_pickling_with_their_optimizer():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    twin = pickle.loads(pickle.dumps(scheduler))
    assert twin.optimizer is not optimizer
    scheduler.optimizer.step()
    scheduler.step()
    assert (scheduler.get_last_lr(), twin.get_last_lr()) == ([0.5], [1.0])


def test_a_schedule_does_not_keep_the_optimizer_alive():
    optimizer = optimizer_of()
    lr_scheduler.StepLR(optimizer, 1)
    reference = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert reference() is None
    finally:
        gc.enable()


def test_own_schedule_with_a_closed_form():
    class Own(lr_scheduler._LRScheduler):
        def get_lr(self):
            return [group["lr"] / 2 for group in self.optimizer.param_groups]

        def _get_closed_form_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = optimizer_of(lr=16.0)
    scheduler = Own(optimizer)
    assert scheduler.get_last_lr() == [8.0]
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [2.0]


def test_wrapped_step_still_takes_a_closure():
    weight = torch.tensor([3.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    lr_scheduler.StepLR(optimizer, 1)

    def closure():
        optimizer.zero_grad()
        loss = (weight * 2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 6.0
    assert weight.item() == 2.0
