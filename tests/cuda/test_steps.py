"""Steps of optimizers over all parameters: the kernels run on the CPU, beside the neutral steps."""

from __future__ import annotations

import shutil
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides import optimizers
from tests.cuda.on_the_host import HostArray, HostFunction

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(launch, "function_of", HostFunction)
    optimizers.source.cache_clear()
    yield
    optimizers.source.cache_clear()


class Held:
    """A tensor of an optimizer's state, as the steps see it."""

    def __init__(self, array):
        self._array = array


SHAPES = [(5,), (8, 1024), (3, 7), (1,), (0, 2)] + [(4,)] * 62
RULES = {
    "adam": {},
    "adam with decay": {"weight_decay": 0.1},
    "adam upwards": {"maximize": True, "amsgrad": True},
    "adamw": {"weight_decay": 0.1},
    "sgd": {},
    "sgd with momentum": {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1},
    "sgd with nesterov": {"momentum": 0.9, "nesterov": True, "maximize": True},
}
EAGER = SimpleNamespace(recording=None)
CLASSES = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES)
def test_a_step_is_that_of_the_parameters_one_by_one(rule, kind):
    random = np.random.default_rng(0)
    parameters = [torch.tensor(random.standard_normal(s).astype(kind)) for s in SHAPES]
    optimizer = CLASSES[rule.split()[0]](parameters, lr=0.1, **RULES[rule])
    rule_of = optimizers.descent if rule.startswith("sgd") else optimizers.adam
    step = partial(rule_of, EAGER)
    values = [HostArray.of(p.numpy().copy()) for p in parameters]
    states = [{} for _ in parameters]
    for _ in range(3):
        slopes = [random.standard_normal(s).astype(kind) for s in SHAPES]
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = torch.tensor(slope)
        before = [dict(optimizer.state[p]) for p in parameters]
        for state, held in zip(states, before, strict=True):
            if not state and held:  # made by the step before
                for name, tensor in held.items():
                    array = tensor.numpy().copy()
                    state[name] = Held(array if name == "step" else HostArray.of(array))
        if any(states) or (RULES[rule].get("momentum") is None and rule_of is optimizers.descent):
            given = [HostArray.of(slope) for slope in slopes]
            assert all(step(optimizer.param_groups[0], states, values, given))
            optimizer.step()
        else:
            optimizer.step()
            values = [HostArray.of(p.numpy().copy()) for p in parameters]
        for parameter, value in zip(parameters, values, strict=True):
            tolerance = 3e-6 if kind == "float32" else 1e-12
            np.testing.assert_allclose(value.held, parameter.numpy(), tolerance, tolerance)
    for parameter, state in zip(parameters, states, strict=True):
        for name, held in state.items():
            array = held._array if name == "step" else held._array.held
            np.testing.assert_allclose(array, optimizer.state[parameter][name].numpy(), 3e-6, 3e-6)


def test_what_does_not_lie_row_by_row_is_left():
    turned = HostArray.of(np.zeros((3, 4), "float32").T)
    plain = HostArray.of(np.zeros((4, 3), "float32"))
    group = torch.optim.SGD([torch.zeros(1)], lr=0.1).param_groups[0]
    given = [turned, plain], [plain, plain]
    assert optimizers.descent(EAGER, group, [{}, {}], *given) == [False, True]


def test_a_recorded_step_reads_its_numbers_when_it_is_played():
    group = torch.optim.Adam([torch.zeros(1)], lr=0.5).param_groups[0]
    places = []

    def memory(count):
        places.append(HostArray.of(np.zeros(count)))
        return places[-1]

    recording = SimpleNamespace(memory=memory, before=[])
    names = ("exp_avg", "exp_avg_sq")
    state = {name: Held(HostArray.of(np.zeros(3, "float32"))) for name in names}
    state["step"] = Held(np.array(4.0, np.float32))
    value, slope = (HostArray.of(np.ones(3, "float32")) for _ in range(2))
    backend = SimpleNamespace(recording=recording)
    assert optimizers.adam(backend, group, [state], [value], [slope]) == [True]
    assert state["step"]._array == 4  # nothing was done yet
    for step in (5, 6):
        group["lr"] = 0.1 * step
        for function in recording.before:
            function()
        assert state["step"]._array == step
        expected = [0.1 * step, 1 - 0.9**step, (1 - 0.999**step) ** 0.5]
        np.testing.assert_allclose(places[0].held, expected)
