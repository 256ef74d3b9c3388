"""`GradScaler` beside PyTorch: numbers over a training run, errors, warnings."""

from __future__ import annotations

import pytest

import retrograd
from tests.amp.test_switches_torch import outcome

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def train(t, optimizer_name, lower, clip):
    """A run in which the scale grows, overflows, and comes back."""
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 1))
    optimizer = getattr(t.optim, optimizer_name)(model.parameters(), lr=0.01)
    scaler = t.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=3)
    x, target = t.randn(16, 4), t.randn(16, 1)
    seen = []
    for _ in range(12):
        optimizer.zero_grad()
        with t.autocast("cpu", dtype=getattr(t, lower)):
            loss = t.nn.functional.mse_loss(model(x), target)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            t.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), loss.item()))
    return seen, [p.detach().flatten().tolist() for p in model.parameters()]


@pytest.mark.parametrize("lower", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "clip"), [("SGD", False), ("SGD", True), ("AdamW", False)])
def test_training(name, lower, clip):
    (ours, parameters), (theirs, expected) = (
        train(t, name, lower, clip) for t in (retrograd, torch)
    )
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    if lower == "float16":
        assert min(row[0] for row in ours) < 2.0**20  # some steps were left out
    tolerance = 5e-3 if lower == "float16" else 3e-2
    assert [row[2] for row in ours] == pytest.approx([row[2] for row in theirs], rel=tolerance)
    for mine, other in zip(parameters, expected, strict=True):
        assert mine == pytest.approx(other, rel=tolerance, abs=tolerance)


def ready(t, backward=True):
    """A scaler, an optimizer and its weight, after one backward."""
    weight = t.ones(2, requires_grad=True)
    optimizer = t.optim.SGD([weight], lr=0.5)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0)
    if backward:
        scaler.scale(weight.sum()).backward()
    return scaler, optimizer, weight


def half_gradient(t):
    weight = t.ones(2, dtype=t.float16, requires_grad=True)
    weight.grad = t.ones(2, dtype=t.float16)
    scaler, _, _ = ready(t)
    scaler.step(t.optim.SGD([weight], lr=0.1))


def nothing_to_check(t):
    scaler, _, _ = ready(t)
    scaler.step(t.optim.SGD([t.ones(1, requires_grad=True)], lr=0.1))


def twice(first, second):
    def run(t):
        scaler, optimizer, _ = ready(t)
        getattr(scaler, first)(optimizer)
        getattr(scaler, second)(optimizer)

    return run


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.amp.GradScaler().is_enabled(),
        lambda t: t.amp.GradScaler("cuda", enabled=False).is_enabled(),
        lambda t: t.amp.GradScaler("cuda", growth_factor=0.5).get_scale(),
        lambda t: t.cuda.amp.GradScaler().is_enabled(),
        lambda t: t.cpu.amp.GradScaler().is_enabled(),
        lambda t: t.amp.GradScaler("cpu", growth_factor=1.0),
        lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0),
        lambda t: ready(t, False)[0].step(ready(t, False)[1]),
        lambda t: ready(t, False)[0].unscale_(ready(t, False)[1]),
        lambda t: ready(t, False)[0].update(),
        lambda t: ready(t)[0].update(),
        lambda t: ready(t)[0].step(ready(t)[1], closure=None),
        lambda t: ready(t)[0].scale(3),
        lambda t: ready(t)[0].scale([t.ones(1), (t.ones(1),)]),
        lambda t: next(ready(t)[0].scale(x for x in [t.ones(1)])),
        lambda t: ready(t)[0].load_state_dict({}),
        lambda t: t.amp.GradScaler("cpu", enabled=False).load_state_dict({}),
        lambda t: t.amp.GradScaler("cpu", enabled=False).state_dict(),
        lambda t: t.amp.GradScaler("cpu").state_dict(),
        lambda t: ready(t)[0].scale(t.ones(1, dtype=t.bfloat16)).dtype,
        lambda t: ready(t)[0].scale(t.ones((), dtype=t.float64)).dtype,
        lambda t: ready(t)[0].update(t.ones(2)),
        lambda t: ready(t)[0].update(t.ones(1, requires_grad=True)),
        lambda t: ready(t)[0].update(t.ones(1)),
        lambda t: ready(t)[0].update(3.0),
        half_gradient,
        nothing_to_check,
        twice("unscale_", "unscale_"),
        twice("step", "unscale_"),
        twice("step", "step"),
        twice("unscale_", "step"),
    ],
)
def test_calls(function):
    assert outcome(function, retrograd) == outcome(function, torch)
