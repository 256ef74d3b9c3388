"""Modules and optimizers beside real PyTorch: initial values, names, text, 200 training steps."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def model(t):
    t.manual_seed(3)
    return t.nn.Sequential(
        t.nn.Linear(4, 8),
        t.nn.ReLU(),
        t.nn.Linear(8, 8, bias=False),
        t.nn.ReLU(),
        t.nn.Linear(8, 2),
    )


def arrays(module):
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def test_initial_values_names_and_text():
    ours, theirs = model(retrograd), model(torch)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in arrays(theirs).items():
        np.testing.assert_array_equal(arrays(ours)[name], value)
    assert repr(ours) == repr(theirs)
    assert repr(ours[0].weight)[:40] == repr(theirs[0].weight)[:40]


OPTIMIZERS = {
    "SGD": [
        {"lr": 0.05},
        {"lr": 0.02, "momentum": 0.9},
        {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.02, "momentum": 0.8, "dampening": 0.1, "maximize": False},
        {"lr": 0.001, "maximize": True},
    ],
    "Adam": [
        {"lr": 0.01},
        {"lr": 0.01, "weight_decay": 0.1},
        {"lr": 0.01, "amsgrad": True, "betas": (0.8, 0.95), "eps": 1e-6},
        {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
}


@pytest.mark.parametrize(
    ("name", "options"), [(name, o) for name, many in OPTIMIZERS.items() for o in many]
)
def test_training_gives_the_same_parameters(name, options):
    losses, states = [], []
    for t in (retrograd, torch):
        net = model(t)
        optimizer = getattr(t.optim, name)(net.parameters(), **options)
        history = []
        for _ in range(200):
            x = t.randn(16, 4)
            target = t.stack([x.sum(1), (x * x).mean(1)], 1)
            loss = t.nn.MSELoss()(net(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
        losses.append(history)
        states.append((arrays(net), optimizer))
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-3, atol=1e-5)
    for key, value in states[1][0].items():
        np.testing.assert_allclose(states[0][0][key], value, rtol=2e-3, atol=2e-5)
    assert repr(states[0][1]) == repr(states[1][1])
    ours, theirs = states[0][1].state_dict(), states[1][1].state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for number, entries in theirs["state"].items():
        assert sorted(ours["state"][number]) == sorted(entries)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.optim.SGD([], lr=0.1),
        lambda t: t.optim.SGD([t.ones(1)], lr=-1),
        lambda t: t.optim.SGD([t.ones(1)], lr=1, nesterov=True),
        lambda t: t.optim.Adam([t.ones(1)], betas=(2, 0.9)),
        lambda t: t.optim.Adam(t.ones(1)),
        lambda t: t.optim.Adam([1.0]),
        lambda t: t.optim.Adam([t.ones(1, requires_grad=True) * 2]),
        lambda t: t.nn.Linear(2, 3)(t.ones(4, 5)),
        lambda t: t.nn.Linear(2, 3).load_state_dict({"weight": t.ones(3, 2)}),
        lambda t: t.nn.Linear(2, 3).load_state_dict({"weight": t.ones(3, 3), "bias": t.ones(3)}),
        lambda t: setattr(t.nn.Linear(2, 3), "weight", t.ones(3, 2)),
        lambda t: t.nn.Module()(1),
        lambda t: t.nn.Module().missing,
        lambda t: t.nn.Sequential(t.nn.ReLU())[3],
    ],
)
def test_misuse(make):
    outcomes = []
    for t in (retrograd, torch):
        try:
            make(t)
            outcomes.append(None)
        except Exception as error:
            text = str(error).replace("retrograd.tensor.Tensor", "torch.FloatTensor")
            outcomes.append((type(error).__name__, text.splitlines()[0][:60]))
    assert outcomes[0] == outcomes[1]


def test_copies_and_pickles():
    net = model(retrograd)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        for name, value in arrays(net).items():
            np.testing.assert_array_equal(arrays(twin)[name], value)
        assert twin[0].weight is not net[0].weight
        assert twin[0].weight.requires_grad


def test_state_dict_round_trip():
    ours = model(retrograd)
    other = retrograd.nn.Sequential(*list(model(retrograd)))
    with retrograd.no_grad():
        other[0].weight.zero_()
    assert str(other.load_state_dict(ours.state_dict())) == "<All keys matched successfully>"
    np.testing.assert_array_equal(arrays(other)["0.weight"], arrays(ours)["0.weight"])
