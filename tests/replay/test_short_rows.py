"""Softmax of short rows in the machine, outputs whose memory is used again, steps without calls."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.replay import assembly
from retrograd.replay.assembly import MachineExecutor
from retrograd.replay.chains import machine
from retrograd.replay.recording import RECORDING
from tests.replay.test_machine import both, build, close, recorded

__all__ = ["build"]
pytestmark = pytest.mark.skipif(machine is None, reason="the machine is not built")
raw, xp = RECORDING.raw, RECORDING.xp


def kinds_of(step, arrays):
    groups = MachineExecutor(recorded(step, arrays)).groups
    return [group.made[0] for group in groups if isinstance(group.made, tuple)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(1,), (2,), (3, 5), (4, 16), (2, 3, 17), (7, 33), (1, 200)], ids=str
)
def test_softmax_and_its_kin(build, shape, dtype):
    draw = np.random.default_rng(1)
    x, g = (draw.normal(size=shape).astype(dtype) * 3 for _ in range(2))

    def step(x, g):
        soft, log = raw.softmax(x, -1), raw.log_softmax(x, len(shape) - 1)
        return [
            soft,
            log,
            raw._softmax_gradient(g, soft, -1),
            raw._log_softmax_gradient(g, log, -1),
        ]

    assert kinds_of(step, [x, g]) == [3, 3, 3, 3]
    close(*both(step, [x, g]), dtype)


def test_rows_of_rare_numbers(build):
    inf, nan = np.inf, np.nan
    rows = np.array(
        [[inf, 1, 2], [-inf, 1, 2], [-inf] * 3, [nan, 1, 2], [1, nan, inf], [1e30, 1, -1e30]]
    )
    step = lambda x: [raw.softmax(x, 1), raw.log_softmax(x, 1)]  # noqa: E731
    assert kinds_of(step, [rows]) == [3, 3]
    with np.errstate(all="ignore"):
        expected, found = both(step, [rows])
    for wanted, made in zip(expected, found, strict=True):
        np.testing.assert_allclose(made, wanted, 1e-12)


def test_other_layouts_and_dimensions_go_another_way(build):
    draw = np.random.default_rng(2)
    x = draw.normal(size=(4, 6))

    def step(x):
        return [raw.softmax(x, 0), raw.softmax(x.T, -1), raw.log_softmax(x[:, ::2], -1)]

    assert 3 not in kinds_of(step, [x])
    close(*both(step, [x], calls=True), "float64")


def test_bad_rows_are_refused():
    views = [(0, 0, (3,), (8,), np.dtype("float64"), False)]
    inside = ((0, 0), (0, 0), (0, 0))
    for rows in (
        (1, 0, 1, 4, inside),
        (1, 0, 2, 3, inside),
        (1, 4, 1, 3, inside),
        (2, 0, 1, 3, inside),
        (1, 0, 1, 0, inside),
        (1, 0, 1, 3, ((0, 8), (0, 0), (0, 0))),
        (1, 0, 1, 3, ((0, 0), (5, 0), (0, 0))),
        (1, 0, 1, 1 << 62, inside),
    ):
        with pytest.raises(ValueError):
            machine.Machine([(0, 24, None)], views, [0], [0], [(3, rows)])


# ------------------------------------------------------------------------------ memory of outputs


@pytest.fixture
def executor():
    x = np.arange(6.0)
    return MachineExecutor(recorded(lambda x: [xp.multiply(x, 2.0), xp.add(x, 1.0)], [x]))


def test_small_outputs_that_nobody_has_are_used_again(executor):
    first = [id(array) for array in executor.run([np.arange(6.0)])]
    assert [id(array) for array in executor.run([np.ones(6)])] == first


def test_outputs_that_somebody_has_keep_their_elements(executor):
    held, _ = executor.run([np.arange(6.0)])
    view = executor.run([np.arange(6.0) + 1])[1][2:]
    memory = memoryview(executor.run([np.arange(6.0) + 2])[0])
    for turn in range(3):
        found = executor.run([np.full(6, float(turn))])
        assert [array.tolist() for array in found] == [[2.0 * turn] * 6, [turn + 1.0] * 6]
    assert held.tolist() == [0, 2, 4, 6, 8, 10]
    assert view.tolist() == [4, 5, 6, 7]
    assert memory.tolist() == [4, 6, 8, 10, 12, 14]


def test_outputs_that_were_changed_are_not_used_again(executor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # what newer NumPys say of it
        executor.run([np.zeros(6)])[0].shape = (2, 3)
    executor.run([np.zeros(6)])[1].flags.writeable = False
    first, second = executor.run([np.ones(6)])
    assert first.shape == second.shape == (6,)
    assert first.flags.writeable and second.flags.writeable
    assert first.tolist() == second.tolist() == [2.0] * 6


def test_gradients_and_losses_that_are_kept_stay():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        return loss

    wrapped = torch.replay(step)
    kept = []
    for turn in range(8):
        loss = wrapped(torch.full((3,), float(turn)))
        if turn % 3 != 2:
            kept.append((turn, loss, weight.grad))
    assert wrapped.replayed >= 4
    for turn, loss, grad in kept:
        assert loss.item() == 3 * turn and grad.tolist() == [turn] * 3


# ------------------------------------------------------------------------------ nothing is called


def test_tiny_steps_call_no_kernel(monkeypatch):
    made = []
    start = MachineExecutor.__init__

    def watched(self, program):
        start(self, program)
        made.append([g.made.op for g in self.groups if hasattr(g.made, "op")])

    monkeypatch.setattr(assembly.MachineExecutor, "__init__", watched)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(nn.functional.log_softmax(model(x), -1), y)
        loss.backward()
        optimizer.step()
        return loss

    wrapped = torch.replay(step)
    for _ in range(3):
        wrapped(torch.randn(6, 4), torch.randn(6, 3))
    assert wrapped.replayed == 1 and made and not any(made)
