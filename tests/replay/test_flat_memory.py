"""Memory stays where it is: over many replays of one plan, and over plans that are thrown away."""

import gc
import tracemalloc

import numpy as np

import retrograd as torch
from retrograd import nn

FEW = 20_000
"""Bytes that may come and go between two looks: caches of Python's, and of the allocator."""


def training_step():
    """A replayed step of a small net with Adam, and its inputs."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 5), nn.Tanh(), nn.Dropout(0.1), nn.Linear(5, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return torch.replay(step), torch.randn(8, 10), torch.randn(8, 1)


def growth(repeated, before, after, *, measure=lambda: tracemalloc.get_traced_memory()[0]):
    """How much more is in use after `after` calls, which follow on `before` ones."""
    tracemalloc.start()
    try:
        looks = []
        for count in (before, after):
            for _ in range(count):
                repeated()
            gc.collect()
            looks.append(measure())
    finally:
        tracemalloc.stop()
    return looks[1] - looks[0]


def test_replays_of_one_plan():
    step, x, y = training_step()
    assert growth(lambda: step(x, y), 500, 10_000) < FEW
    assert step.explain().startswith("10498 replayed, 2 recorded, 0 ordinary; plans: 1")


def recorded_again():
    """A plan that is made, used and forgotten."""
    step, x, y = training_step()
    for _ in range(4):
        step(x, y)
    assert step.explain().startswith("2 replayed, 2 recorded, 0 ordinary; plans: 1")


def array_bytes():
    ours = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    traces = tracemalloc.take_snapshot().filter_traces([ours]).traces
    return sum(trace.size for trace in traces)


def test_plans_that_are_thrown_away_leave_no_arrays():
    assert growth(recorded_again, 3, 5, measure=array_bytes) < 1000


def test_plans_that_are_thrown_away_leave_no_objects():
    assert growth(recorded_again, 3, 5, measure=lambda: len(gc.get_objects())) < 100


def test_the_growth_of_something_that_is_kept_is_seen():
    kept = []
    assert growth(lambda: kept.append(torch.ones(100)), 10, 100) > FEW
