"""`GradScaler` by itself."""

from __future__ import annotations

import copy
import pickle

import pytest

import retrograd as torch


def scaled_step(scaler, weight, optimizer, value=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * value).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


@pytest.fixture
def weight():
    return torch.ones(2, requires_grad=True)


@pytest.fixture
def optimizer(weight):
    return torch.optim.SGD([weight], lr=0.5)


def test_grows_and_backs_off(weight, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen = []
    for value in (1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0):
        scaled_step(scaler, weight, optimizer, value)
        seen.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert seen == [(4, 1), (8, 0), (4, 0), (4, 1), (2, 0), (2, 1), (4, 0)]
    assert weight.tolist() == [1 - 5 * 0.5] * 2  # two steps were left out


def test_does_not_grow_to_infinity(weight, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    scaled_step(scaler, weight, optimizer, 2.0**-126)
    assert scaler.get_scale() == 2.0**127


def test_state_dict_and_pickle(weight, optimizer):
    scaler = torch.amp.GradScaler("cpu", 8.0, 3.0, 0.25, 5)
    scaled_step(scaler, weight, optimizer)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert scaler.state_dict()["_growth_tracker"] == 1
    for twin in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert twin.state_dict() == scaler.state_dict()
        scaled_step(twin, weight, optimizer)
        assert twin._get_growth_tracker() == 2
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)


def test_gradients_keep_their_identity(weight, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(weight.sum()).backward()
    gradient = weight.grad
    version = gradient._version
    scaler.unscale_(optimizer)
    assert weight.grad is gradient
    assert gradient._version == version + 1
    assert gradient.tolist() == [1.0, 1.0]


def test_bfloat16_gradients():
    weight = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaled_step(scaler, weight, optimizer)
    assert weight.tolist() == [0.5, 0.5]
    scaled_step(scaler, weight, optimizer, float("inf"))
    assert scaler.get_scale() == 4.0
    assert weight.tolist() == [0.5, 0.5]


def test_an_optimizer_that_scales_itself(weight):
    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self):
            self.seen = (self.grad_scale.item(), self.found_inf.item())

    optimizer = Own([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    assert optimizer.seen == (8.0, 0.0)
    assert weight.grad.tolist() == [8.0, 8.0]
    assert not hasattr(optimizer, "grad_scale")
    scaler.update()


def test_an_optimizer_that_takes_the_scaler(weight):
    class Older(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, grad_scaler=None):
            return grad_scaler

    optimizer = Older([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    with pytest.warns(FutureWarning, match="stop passing itself"):
        assert scaler.step(optimizer) is scaler


def test_two_optimizers(weight, optimizer):
    other = torch.ones(1, requires_grad=True)
    second = torch.optim.SGD([other], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(weight.sum() + (other * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.step(second)
    scaler.update()
    assert (weight.tolist(), other.tolist()) == ([0.5, 0.5], [1.0])
    assert scaler.get_scale() == 2.0
