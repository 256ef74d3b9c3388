"""Who shares memory with whom, and whether a write is noticed: programs for both libraries."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def loss_of(lib, module):
    return module(lib.ones(2, requires_grad=True)).sum()


@scenario
def data_of_a_weight(lib, log):
    layer = lib.nn.Linear(2, 2)
    layer.weight.data = layer.weight.data * 2
    layer.weight.data.mul_(3)
    loss = loss_of(lib, layer)
    log(layer.weight._version)
    layer.weight.data.mul_(2)
    log.attempt(loss.backward)
    log(layer.weight._version, layer.weight.grad)


@scenario
def writes_through_a_state_dict(lib, log):
    layer = lib.nn.Linear(2, 2)
    state = layer.state_dict()
    loss = loss_of(lib, layer)
    state["weight"].zero_()
    log.attempt(loss.backward)
    log(layer.weight)
    loss = loss_of(lib, layer)
    layer.load_state_dict(layer.state_dict())
    log.attempt(loss.backward)
    log(layer.weight._version)


@scenario
def writes_to_what_was_assigned(lib, log):
    layer = lib.nn.Linear(2, 2)
    values = lib.ones(2, 2)
    layer.load_state_dict({"weight": values, "bias": lib.ones(2)}, assign=True)
    loss = loss_of(lib, layer)
    values.zero_()
    log.attempt(loss.backward)
    log(layer.weight, layer.weight._version)


@scenario
def parameters_of_views_and_views_of_parameters(lib, log):
    values = lib.ones(4)
    parameter = lib.nn.Parameter(values[:2])
    loss = (parameter * parameter).sum()
    values[0] = 5
    log.attempt(loss.backward)
    log(parameter, parameter._version, parameter.is_leaf, parameter._is_view())
    parameter = lib.nn.Parameter(lib.ones(3, 2))
    turned = parameter.t()
    loss = (turned * turned).sum()
    with lib.no_grad():
        parameter.mul_(2)
    log.attempt(loss.backward)
    log(turned, turned._version)


@scenario
def detached_and_raw_values(lib, log):
    for reach in (lambda p: p.detach(), lambda p: p.data, lambda p: p.detach().numpy()):
        parameter = lib.nn.Parameter(lib.ones(2))
        other = reach(parameter)
        loss = (parameter * parameter).sum()
        other[0] = 4.0
        log.attempt(loss.backward)
        log(parameter, parameter._version, parameter.grad)


@scenario
def steps_between_two_backward_calls(lib, log):
    parameter = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([parameter], lr=1.0)
    loss = (parameter * parameter).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    log.attempt(loss.backward)
    log(parameter, parameter._version)
    recurrent = lib.nn.LSTM(2, 2)
    loss = recurrent(lib.ones(1, 1, 2, requires_grad=True))[0].sum()
    with lib.no_grad():
        recurrent.weight_hh_l0.zero_()
    log.attempt(loss.backward)


@scenario
def running_statistics(lib, log):
    norm = lib.nn.BatchNorm1d(2)
    twin = copy.deepcopy(norm)
    x = lib.arange(6.0).reshape(3, 2).requires_grad_()
    first, second = norm(x), norm(x)
    log.attempt((first.sum() + second.pow(2).sum()).backward)
    log(norm.num_batches_tracked, norm.running_mean._version, norm.num_batches_tracked._version)
    log(twin.running_mean, twin.running_mean._version)
    norm.eval()
    loss = norm(x).pow(2).sum()
    norm.train()
    norm(x)
    log.attempt(loss.backward)


@scenario
def buffers_and_conversions(lib, log):
    values = lib.ones(2)
    module = lib.nn.Module()
    module.register_buffer("values", values)
    values.add_(1)
    log(module.values, module.values is values)
    module.double()
    values.add_(1)
    log(module.values, module.values is values)


@scenario
def files_keep_what_is_shared(lib, log):
    values = lib.ones(4)
    file = io.BytesIO()
    lib.save({"all": values, "part": values[:2], "parameter": lib.nn.Parameter(values)}, file)
    file.seek(0)
    found = lib.load(file, weights_only=True)
    found["all"][0] = 9
    log(found["part"], found["parameter"], type(found["parameter"]).__name__)


@scenario
def copies_keep_what_is_shared(lib, log):
    layer = lib.nn.Linear(2, 2)
    layer.part = layer.weight[:1].detach()
    twin = copy.deepcopy(layer)
    with lib.no_grad():
        twin.weight.zero_()
    log(twin.part)
    layer.part = layer.weight * 1
    log.attempt(lambda: copy.deepcopy(layer))
    parameter = lib.nn.Parameter(lib.ones(2))
    parameter.grad = lib.ones(2)
    parameter.note = 3
    for twin in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        log(twin.grad, getattr(twin, "note", None), type(twin).__name__)
    log(getattr(lib.nn.Parameter(parameter), "note", None), type(copy.copy(parameter)).__name__)


@scenario
def layers_that_give_back_their_input(lib, log):
    nn, F = lib.nn, lib.nn.functional
    x = lib.rand(2, 3)
    for layer in (nn.Dropout(0.5).eval(), nn.Identity(), nn.Dropout(0.0), nn.Flatten()):
        log(layer(x) is x, layer(x)._is_view())
    log(nn.Sequential()(x) is x, F.dropout(x, 0.5, False) is x, F.pad(x, (0, 0)) is x)
    log(nn.Dropout(0.5, inplace=True)(x) is x, x._version, nn.ReLU(True)(x) is x, x._version)
    table = nn.Embedding(3, 2, max_norm=0.5)
    table(lib.tensor([1]))
    log(table.weight._version)


@scenario
def replaced_parameters(lib, log):
    layer = lib.nn.Linear(2, 2)
    old = layer.weight
    loss = loss_of(lib, layer)
    layer.weight = lib.nn.Parameter(lib.zeros(2, 2))
    loss.backward()
    log(layer.weight.grad, old.grad, layer.bias.grad)
    parameter = lib.nn.Parameter(lib.ones(2))
    parameter.data = lib.ones(3)
    log(parameter)
    log.attempt(lambda: setattr(parameter, "data", lib.ones(3, dtype=lib.int64)))
    log.attempt(lambda: setattr(parameter, "data", 3))
    log.attempt(lambda: setattr(parameter, "grad", lib.ones(2)))
    log.attempt(lambda: setattr(parameter, "grad", lib.ones(3, dtype=lib.float64)))


@scenario
def spectral_norms_called_twice(lib, log):
    utils = lib.nn.utils
    for wrap in (utils.parametrizations.spectral_norm, utils.spectral_norm):
        layer = wrap(lib.nn.Linear(2, 2).double())
        x = lib.ones(1, 2, dtype=lib.float64)
        log.attempt((layer(x) + layer(x)).sum().backward)
        log([p.grad for p in layer.parameters()])
