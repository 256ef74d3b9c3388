"""Weight averages beside real PyTorch: averaged parameters, buffers, state, batch norm."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def model_of(t, norm=True):
    t.manual_seed(11)
    layers = [t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 4, bias=False)]
    if norm:
        layers.insert(1, t.nn.BatchNorm1d(4))
        layers.append(t.nn.BatchNorm1d(4, momentum=0.3))
    return t.nn.Sequential(*layers)


def data_of(t, count=5):
    rng = np.random.default_rng(4)
    return [t.from_numpy(rng.standard_normal((6, 3)).astype("float32")) for _ in range(count)]


def arrays(module):
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}


def assert_same(ours, theirs, **tolerance):
    assert list(arrays(ours)) == list(arrays(theirs))
    for name, value in arrays(theirs).items():
        got = arrays(ours)[name]
        assert got.dtype == value.dtype
        np.testing.assert_allclose(got, value, err_msg=name, **tolerance)


def swa(t):
    return t.optim.swa_utils


def own_average(average, current, num_averaged):
    return average * 0.25 + current * 0.75 + num_averaged


AVERAGES = {
    "default": lambda t: {},
    "default with buffers": lambda t: {"use_buffers": True},
    "swa": lambda t: {"avg_fn": swa(t).get_swa_avg_fn()},
    "ema": lambda t: {"avg_fn": swa(t).get_ema_avg_fn(0.8)},
    "ema default": lambda t: {"avg_fn": swa(t).get_ema_avg_fn(), "use_buffers": True},
    "swa multi": lambda t: {"multi_avg_fn": swa(t).get_swa_multi_avg_fn()},
    "ema multi": lambda t: {"multi_avg_fn": swa(t).get_ema_multi_avg_fn(0.3)},
    "ema multi with buffers": lambda t: {
        "multi_avg_fn": swa(t).get_ema_multi_avg_fn(0.9),
        "use_buffers": True,
    },
    "own": lambda t: {"avg_fn": own_average, "use_buffers": True},
    "device": lambda t: {"device": "cpu"},
}


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", AVERAGES)
def test_averages_along_a_training(name, double):
    averaged = {}
    for t in (retrograd, torch):
        model = model_of(t).double() if double else model_of(t)
        average = swa(t).AveragedModel(model, **AVERAGES[name](t))
        optimizer = t.optim.SGD(model.parameters(), lr=0.05)
        for batch in data_of(t, 8):
            optimizer.zero_grad()
            model(batch.double() if double else batch).square().mean().backward()
            optimizer.step()
            average.update_parameters(model)
        assert average.n_averaged == 8
        averaged[t] = average
    tolerance = {"rtol": 1e-7, "atol": 1e-9} if double else {"rtol": 2e-5, "atol": 2e-6}
    assert_same(averaged[retrograd], averaged[torch], **tolerance)
    assert repr(averaged[retrograd]) == repr(averaged[torch])


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_given_values_are_equal(name):
    averaged = {}
    for t in (retrograd, torch):
        rng = np.random.default_rng(0)
        model = model_of(t)
        average = swa(t).AveragedModel(model, **AVERAGES[name](t))
        for _ in range(5):
            with t.no_grad():
                for value in [*model.parameters(), *model.buffers()]:
                    new = rng.integers(-100, 100, tuple(value.shape)) / 8
                    value.copy_(t.from_numpy(np.asarray(new)))
            average.update_parameters(model)
        averaged[t] = average
    # one rounding of the largest values: PyTorch interpolates with fused multiply and add
    assert_same(averaged[retrograd], averaged[torch], rtol=3e-7, atol=1e-6)


def test_state_continues_and_the_model_is_a_copy():
    for t in (retrograd, torch):
        model = model_of(t)
        average = swa(t).AveragedModel(model)
        average.update_parameters(model)
        assert average.module is not model
        assert average.module[0].weight is not model[0].weight
        assert all(value.requires_grad for value in average.parameters())
        another = swa(t).AveragedModel(model_of(t))
        another.load_state_dict(pickle.loads(pickle.dumps(average.state_dict())))
        twin = copy.deepcopy(average)
        with t.no_grad():
            for value in model.parameters():
                value += 1
        for each in (average, another, twin):
            each.update_parameters(model)
        for value, same, third in zip(
            average.parameters(), another.parameters(), twin.parameters(), strict=True
        ):
            assert t.equal(value, same) and t.equal(value, third)
        batch = data_of(t)[0]
        average.eval()
        assert t.equal(average(batch), average.module(batch))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_update_bn(training, pairs):
    models = {}
    for t in (retrograd, torch):
        model = model_of(t).train(training)
        loader = data_of(t)
        model(loader[0])
        if pairs:
            loader = [(batch, t.zeros(6)) for batch in loader]
        swa(t).update_bn(loader, model, device="cpu" if pairs else None)
        assert model.training is training
        assert [layer.momentum for layer in model if hasattr(layer, "momentum")] == [0.1, 0.3]
        assert all(value.grad is None for value in model.parameters())
        models[t] = model
    assert_same(models[retrograd], models[torch], rtol=1e-5, atol=1e-6)


def test_update_bn_without_such_layers_does_not_read_the_data():
    for t in (retrograd, torch):
        swa(t).update_bn(None, model_of(t, norm=False))


INTEGERS = {
    "swa": lambda t, a, b: swa(t).get_swa_multi_avg_fn()(a, b, t.tensor(3)),
    "swa number": lambda t, a, b: swa(t).get_swa_multi_avg_fn()(a, b, 3),
    "ema decay": lambda t, a, b: swa(t).get_ema_avg_fn(1.5),
    "ema multi decay": lambda t, a, b: swa(t).get_ema_multi_avg_fn(-0.5),
    "both": lambda t, a, b: swa(t).AveragedModel(
        model_of(t), avg_fn=own_average, multi_avg_fn=own_average
    ),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_errors_say_the_same(name):
    errors = {}
    for t in (retrograd, torch):
        with pytest.raises(Exception) as caught:
            INTEGERS[name](t, [t.tensor([5, 7])], [t.tensor([9, 20])])
        errors[t] = (caught.type, str(caught.value).splitlines()[0])
    assert errors[retrograd] == errors[torch]


def test_functions_on_single_values():
    for make in (
        lambda t, a, b: swa(t).get_swa_avg_fn()(a, b, 4),
        lambda t, a, b: swa(t).get_swa_avg_fn()(a, b, t.tensor(4)),
        lambda t, a, b: swa(t).get_ema_avg_fn(0.7)(a, b, 4),
        lambda t, a, b: swa(t).get_ema_multi_avg_fn(0.7)([a], [b], 4) or a,
        lambda t, a, b: swa(t).get_swa_multi_avg_fn()([a], [b], 4) or a,
    ):
        values = {}
        for t in (retrograd, torch):
            result = make(t, t.tensor([1.0, -3.0]), t.tensor([2.0, 5.0], requires_grad=True))
            assert not result.requires_grad
            values[t] = result.numpy()
        np.testing.assert_allclose(values[retrograd], values[torch], rtol=1e-7)
