"""Lazy layers against PyTorch's: shapes from the first input, states in both directions."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# name, arguments, options, shape of the input
LAYERS = [
    ("LazyLinear", (3,), {}, (2, 5)),
    ("LazyLinear", (3,), {"bias": False}, (4, 2, 5)),
    ("LazyConv1d", (4, 3), {"padding": 1}, (2, 3, 6)),
    ("LazyConv2d", (4, 3), {"groups": 2, "bias": False}, (2, 2, 6, 5)),
    ("LazyConv2d", (4, 3), {"padding": "same", "padding_mode": "reflect"}, (2, 6, 5)),
    ("LazyConv3d", (2, 2), {"stride": 2}, (1, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), {"stride": 2, "output_padding": 1}, (2, 3, 4)),
    ("LazyConvTranspose2d", (4, 2), {"groups": 2}, (1, 2, 3, 3)),
    ("LazyConvTranspose3d", (2, 2), {"dilation": 2}, (3, 2, 2, 2)),
    ("LazyBatchNorm1d", (), {}, (4, 3)),
    ("LazyBatchNorm2d", (), {"affine": False}, (4, 3, 2, 2)),
    ("LazyBatchNorm3d", (1e-3, None), {"bias": False}, (4, 3, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {"track_running_stats": False}, (4, 3, 5)),
    ("LazyInstanceNorm2d", (), {}, (4, 3, 5, 2)),
    ("LazyInstanceNorm3d", (), {"affine": False}, (4, 3, 5, 2, 2)),
]
NAMES = [f"{name}{options}" for name, _, options, _ in LAYERS]


def made(t: Any, case: Any) -> Any:
    name, args, options, _ = case
    t.manual_seed(3)
    return getattr(t.nn, name)(*args, **options)


def numbers(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(4).normal(size=shape).astype(np.float32)


def described(layer: Any) -> Any:
    """The layer in words: its class, its text, its state where that has a shape."""
    state = {}
    for key, value in layer.state_dict().items():
        text = repr(value)
        state[key] = text if text.startswith("<") else (str(value.dtype), tuple(value.shape))
    return type(layer).__name__, repr(layer), state, sorted(vars(layer))


def same_values(ours: Any, theirs: Any) -> None:
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        np.testing.assert_array_equal(ours[key].numpy(), value.numpy())


@pytest.mark.parametrize("case", LAYERS, ids=NAMES)
def test_first_call_makes_the_layer(case: Any) -> None:
    results, layers = [], []
    for t in (retrograd, torch):
        layer = made(t, case)
        steps = [described(layer)]
        assert layer.training
        output = layer(t.tensor(numbers(case[3])))
        steps.append(described(layer))
        results.append((steps, output.detach().numpy()))
        layers.append(layer)
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=2e-5, atol=1e-6)
    parameters = [dict(layer.named_parameters()) for layer in layers]
    same_values(
        {key: value.detach() for key, value in parameters[0].items()},
        {key: value.detach() for key, value in parameters[1].items()},
    )
    again = [
        layers[0](retrograd.tensor(numbers(case[3]))),
        layers[1](torch.tensor(numbers(case[3]))),
    ]
    assert again[0].shape == tuple(again[1].shape)


@pytest.mark.parametrize("case", LAYERS, ids=NAMES)
def test_states_load_in_both_directions(case: Any) -> None:
    seen = []
    for t in (retrograd, torch):
        full = made(t, case)
        full(t.tensor(numbers(case[3])))
        lazy = made(t, case)
        steps = [repr(lazy.load_state_dict(full.state_dict()))]
        steps.append(described(lazy))
        steps.append(repr(made(t, case).load_state_dict(made(t, case).state_dict())))
        for key, value in full.state_dict().items():
            assert (value == lazy.state_dict()[key]).all()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lazy(t.tensor(numbers(case[3])))
        except ValueError as error:  # instance normalization never learns num_features then
            steps.append(str(error).splitlines()[0])
        steps.append(described(lazy))
        unread = made(t, case).state_dict()
        try:
            steps.append(repr(full.load_state_dict(unread)))
        except RuntimeError as error:
            steps.append(str(error).splitlines()[0])
        seen.append(steps)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("case", LAYERS, ids=NAMES)
def test_conversion_before_the_first_call(case: Any) -> None:
    seen = []
    for t in (retrograd, torch):
        layer = made(t, case).double()
        before = described(layer), [str(p.dtype) for p in layer.parameters()]
        layer(t.tensor(numbers(case[3]).astype(np.float64)))
        seen.append((before, described(layer)))
    assert seen[0] == seen[1]
    layer = made(retrograd, case)
    assert layer.to(retrograd.float64) is layer
    output = layer(retrograd.tensor(numbers(case[3]).astype(np.float64)))
    assert output.dtype is retrograd.float64


@pytest.mark.parametrize("case", LAYERS, ids=NAMES)
def test_copies_stay_lazy_and_become_the_same_layer(case: Any) -> None:
    layer = made(retrograd, case).double()
    x = retrograd.tensor(numbers(case[3]).astype(np.float64))
    copies = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
    expected = described(layer)
    outputs = []
    for each in (layer, *copies):
        assert described(each) == expected
        retrograd.manual_seed(9)
        outputs.append(each(x).detach().numpy())
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])
    assert {type(each).__name__ for each in copies} == {case[0].removeprefix("Lazy")}


ACTIONS = {
    "shape": lambda t: t.nn.UninitializedParameter().shape,
    "share": lambda t: t.nn.UninitializedBuffer().share_memory_(),
    "module share": lambda t: t.nn.LazyLinear(2).share_memory(),
    "copy_": lambda t: t.nn.UninitializedBuffer().copy_(t.zeros(2)),
    "copy_ leaf": lambda t: t.nn.UninitializedParameter().copy_(t.zeros(0)),
    "into full": lambda t: t.nn.Linear(3, 2).load_state_dict(t.nn.LazyLinear(2).state_dict()),
    "dimensions": lambda t: t.nn.LazyConv2d(3, 3)(t.zeros(3)),
    "transposed dimensions": lambda t: t.nn.LazyConvTranspose1d(3, 3)(t.zeros(1, 2, 3, 4)),
    "groups": lambda t: t.nn.LazyConv1d(4, 1, groups=2)(t.zeros(1, 3, 4)),
    "no groups": lambda t: t.nn.LazyConv2d(3, 3, groups=0),
    "norm dimensions": lambda t: t.nn.LazyBatchNorm2d()(t.zeros(1, 2, 3)),
    "abstract": lambda t: (
        t.nn.modules.lazy.LazyModuleMixin().initialize_parameters()
        if t is retrograd
        else type(
            "LazyModuleMixin", (t.nn.modules.lazy.LazyModuleMixin, t.nn.Module), {}
        )().initialize_parameters()
    ),
    "loaded other size": lambda t: loaded_linear(t)(t.zeros(1, 4)),
    "replicas": lambda t: t.nn.LazyLinear(2)._replicate_for_data_parallel(),
    "unfinished": lambda t: unfinished(t)(t.zeros(1)),
}


def loaded_linear(t: Any) -> Any:
    layer = t.nn.LazyLinear(2)
    layer.load_state_dict(t.nn.Linear(3, 2).state_dict())
    return layer


def unfinished(t: Any) -> Any:
    class Unfinished(t.nn.modules.lazy.LazyModuleMixin, t.nn.Linear):
        def __init__(self) -> None:
            super().__init__(1, 1)
            self.weight = t.nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            pass

    return Unfinished()


@pytest.mark.parametrize("name", ACTIONS)
def test_errors(name: str) -> None:
    raised = []
    for t in (retrograd, torch):
        with pytest.raises(Exception) as caught:
            ACTIONS[name](t)
        raised.append((caught.type.__name__, str(caught.value).splitlines()[0]))
    assert raised[0] == raised[1]


USES = {
    "add": lambda t, p: p + 1,
    "linear": lambda t, p: t.nn.functional.linear(t.zeros(2, 3), p),
    "sum": lambda t, p: t.sum(p),
    "detach": lambda t, p: p.detach(),
    "clone": lambda t, p: p.clone(),
    "requires_grad_": lambda t, p: p.requires_grad_(False),
    "zero_": lambda t, p: p.zero_(),
    "numel": lambda t, p: p.numel(),
    "len": lambda t, p: len(p),
    "bool": lambda t, p: bool(p),
    "item": lambda t, p: p.item(),
    "backward": lambda t, p: p.backward(),
    "hook": lambda t, p: p.register_hook(print),
    "bfloat16": lambda t, p: p.bfloat16(),
    "type": lambda t, p: p.type(),
    "numpy": lambda t, p: p.numpy(),
    "index": lambda t, p: p[0],
    "equal": lambda t, p: p == p,
    "zeros_like": lambda t, p: t.zeros_like(p),
    "concatenated": lambda t, p: t.cat([t.zeros(2), p]),
    "tolist": lambda t, p: p.tolist(),
}


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize("name", USES)
def test_use_is_refused(name: str, kind: str) -> None:
    for t in (retrograd, torch):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized") as caught:
            USES[name](t, getattr(t.nn.parameter, kind)())
        assert f"torch.nn.parameter.{kind}" in str(caught.value)


def test_an_optimizer_may_be_made_before_the_first_call() -> None:
    finals = []
    for t in (retrograd, torch):
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.LazyLinear(4), t.nn.Tanh(), t.nn.LazyLinear(1))
        optimizer = t.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(t.tensor(numbers((5, 3)))).square().mean().backward()
            optimizer.step()
        finals.append({key: value.numpy() for key, value in model.state_dict().items()})
        assert repr(model).count("Lazy") == 0
    for key, value in finals[1].items():
        np.testing.assert_allclose(finals[0][key], value, rtol=1e-5, atol=1e-6)


def test_is_lazy() -> None:
    for t in (retrograd, torch):
        lazy = t.nn.parameter.is_lazy
        layer = t.nn.LazyBatchNorm1d()
        found = [lazy(layer.weight), lazy(layer.running_mean), lazy(layer.num_batches_tracked)]
        assert found == [True, True, False]
        assert isinstance(layer.weight, t.nn.Parameter)
        assert layer.has_uninitialized_params()
        layer(t.zeros(2, 1))
        assert not lazy(layer.weight)
        assert type(layer.running_mean) is t.Tensor
