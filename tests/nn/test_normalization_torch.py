"""Batch, instance, layer and group normalization beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
from tests.nn.beside import Case, compare, make, same, same_error, same_state

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LAYERS = [
    ("BatchNorm1d", (3,), {}, (5, 3)),
    ("BatchNorm1d", (3,), {"momentum": None}, (4, 3, 5)),
    ("BatchNorm1d", (3,), {"affine": False, "eps": 1e-3}, (5, 3)),
    ("BatchNorm1d", (3,), {"track_running_stats": False}, (5, 3)),
    ("BatchNorm1d", (3,), {"bias": False, "momentum": 0.4}, (5, 3)),
    ("BatchNorm2d", (3,), {}, (2, 3, 4, 5)),
    ("BatchNorm2d", (2,), {"affine": False, "track_running_stats": False}, (2, 2, 4, 3)),
    ("BatchNorm3d", (2,), {"momentum": 1.0}, (2, 2, 3, 4, 2)),
    ("InstanceNorm1d", (3,), {}, (2, 3, 5)),
    ("InstanceNorm1d", (3,), {"affine": True}, (3, 5)),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, (2, 3, 4, 5)),
    ("InstanceNorm2d", (3,), {"affine": True, "bias": False}, (2, 3, 4, 5)),
    ("InstanceNorm2d", (3,), {"track_running_stats": True, "momentum": 0.3}, (3, 4, 5)),
    ("InstanceNorm3d", (2,), {"eps": 0.1}, (2, 2, 3, 3, 2)),
    ("LayerNorm", (4,), {}, (3, 4)),
    ("LayerNorm", ([3, 4],), {"bias": False}, (2, 3, 4)),
    ("LayerNorm", ((4,),), {"elementwise_affine": False, "eps": 1e-3}, (2, 3, 4)),
    ("GroupNorm", (2, 6), {}, (2, 6, 5)),
    ("GroupNorm", (3, 6), {"affine": False}, (2, 6, 4, 3)),
    ("GroupNorm", (6, 6), {"bias": False, "eps": 1e-2}, (2, 6, 3)),
    ("RMSNorm", (4,), {}, (3, 4)),
    ("RMSNorm", ((3, 4),), {"eps": 1e-2}, (2, 3, 4)),
    ("RMSNorm", (4,), {"elementwise_affine": False}, (3, 4)),
    ("LocalResponseNorm", (2,), {}, (2, 5, 4)),
    ("LocalResponseNorm", (3,), {"alpha": 0.1, "beta": 0.5, "k": 2.0}, (2, 5, 4, 3)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS)
def test_layers(name, args, options, shape):
    compare(torch, Case(name, args, options, (shape,)))


def test_statistics_after_many_batches_and_a_reset():
    for options in ({}, {"momentum": None}):
        ours, theirs = (make(t, "BatchNorm2d", (3,), options).double() for t in (retrograd, torch))
        generator = np.random.default_rng(2)
        for _ in range(5):
            array = generator.normal(2.0, 3.0, size=(4, 3, 2, 2))
            ours(retrograd.tensor(array)), theirs(torch.tensor(array))
        assert ours.num_batches_tracked.item() == 5
        same_state(ours, theirs, rtol=1e-12, atol=0)
        ours.reset_running_stats(), theirs.reset_running_stats()
        same_state(ours, theirs, rtol=0, atol=0)


def test_tracking_can_be_switched_off_later():
    array = np.random.default_rng(2).normal(size=(4, 3))
    results = []
    for t in (retrograd, torch):
        layer = make(t, "BatchNorm1d", (3,), {}).double()
        layer.track_running_stats = False
        results.append((layer(t.tensor(array)), layer.running_mean, layer.num_batches_tracked))
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs, rtol=1e-12, atol=1e-12)


def test_batch_norm_replaced_for_transforms():
    """One by one over examples, through `vmap`, as PyTorch does it."""
    array = np.random.default_rng(4).normal(size=(3, 4, 2, 3, 3))
    results = []
    for t in (retrograd, torch):
        net = t.nn.Sequential(make(t, "Conv2d", (2, 3, 2), {}), t.nn.BatchNorm2d(3)).double()
        assert t.func.replace_all_batch_norm_modules_(net) is net
        assert net[1].running_mean is None and not net[1].track_running_stats
        state = {name: p.detach() for name, p in net.named_parameters()}

        def loss(state, x, net=net, t=t):
            return t.func.functional_call(net, state, (x,)).pow(3).sum()

        grads = t.func.vmap(t.func.grad(loss), in_dims=(None, 0))(state, t.tensor(array))
        results.append([list(net.state_dict()), repr(net), grads])
    assert results[0][:2] == results[1][:2]
    assert list(results[0][2]) == list(results[1][2])
    for key, value in results[1][2].items():
        same(results[0][2][key], value, rtol=1e-8, atol=1e-10)


def _without_count(state):
    """The state keeps its version, at which the count must be there."""
    del state["num_batches_tracked"]
    return state


ERRORS = {
    "one value": lambda t: t.nn.BatchNorm2d(3)(t.zeros(1, 3, 1, 1)),
    "batch 1d": lambda t: t.nn.BatchNorm1d(3)(t.zeros(3)),
    "batch 2d": lambda t: t.nn.BatchNorm2d(3)(t.zeros(2, 3)),
    "batch 3d": lambda t: t.nn.BatchNorm3d(3)(t.zeros(2, 3, 4, 4)),
    "batch features": lambda t: t.nn.BatchNorm1d(3)(t.zeros(2, 4)),
    "instance 1d": lambda t: t.nn.InstanceNorm1d(3)(t.zeros(3)),
    "instance 2d": lambda t: t.nn.InstanceNorm2d(3)(t.zeros(2, 3)),
    "instance 3d": lambda t: t.nn.InstanceNorm3d(3)(t.zeros(2, 3, 4)),
    "instance features": lambda t: t.nn.InstanceNorm1d(3, affine=True)(t.zeros(2, 4, 5)),
    "instance one value": lambda t: t.nn.InstanceNorm1d(3)(t.zeros(2, 3, 1)),
    "groups": lambda t: t.nn.GroupNorm(2, 5),
    "group channels": lambda t: t.nn.GroupNorm(2, 4)(t.zeros(2, 6, 3)),
    "untracked statistics": lambda t: t.nn.InstanceNorm1d(2).load_state_dict(
        dict(t.nn.BatchNorm1d(2, affine=False).state_dict())
    ),
    "a count missing": lambda t: t.nn.BatchNorm1d(2).load_state_dict(
        _without_count(t.nn.BatchNorm1d(2).state_dict())
    ),
    "layer shape": lambda t: t.nn.LayerNorm(4)(t.zeros(2, 3)),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same_error(torch, ERRORS[case])


def test_unused_number_of_features_warns():
    texts = []
    for t in (retrograd, torch):
        with pytest.warns(UserWarning, match="does not match num_features") as caught:
            t.nn.InstanceNorm1d(3)(t.zeros(2, 4, 5))
        texts.append([str(w.message) for w in caught])
    assert texts[0] == texts[1]
