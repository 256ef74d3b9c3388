"""The hook forms of weight and spectral norm, fusion, memory order, skip_init: beside PyTorch."""

from __future__ import annotations

import importlib
import inspect
import pickle

import numpy as np
import pytest

import retrograd
from tests.nn.scenarios import beside, fails

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def facts(layer):
    return [
        repr(layer),
        dict(layer.state_dict()),
        [name for name, _ in layer.named_parameters()],
        [name for name, _ in layer.named_buffers()],
        len(layer._forward_pre_hooks),
    ]


def trained(t, layer):
    x = t.linspace(-1.0, 1.5, 18, dtype=t.float64).reshape(2, 3, 3)
    output = layer(x)
    output.sin().sum().backward()
    return [output, {name: p.grad for name, p in layer.named_parameters()}]


def made(t, kind):
    layer = t.nn.Linear(3, 2) if kind == "Linear" else getattr(t.nn, kind)(3, 2, 2)
    return layer.double()


KINDS = ["Linear", "Conv1d", "ConvTranspose1d"]


# ---------------------------------------------------------------------- weight norm


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("kind", KINDS)
def test_weight_norm(kind, dim):
    def scenario(t):
        layer = t.nn.utils.weight_norm(made(t, kind), dim=dim)
        found = [facts(layer), layer.weight, *trained(t, layer)]
        with t.no_grad():
            layer.weight_g *= 2
        found.append(layer(t.ones(2, 3, 3, dtype=t.float64)))
        twin = made(t, kind)
        twin = t.nn.utils.weight_norm(twin, dim=dim)
        twin.load_state_dict(layer.state_dict())
        found.append(twin(t.ones(2, 3, 3, dtype=t.float64)))
        return [
            *found,
            facts(t.nn.utils.remove_weight_norm(layer)),
            layer(t.ones(2, 3, 3, dtype=t.float64)),
        ]

    assert not fails(beside(scenario))


@pytest.mark.parametrize("name", ["weight", "other"])
def test_weight_norm_errors(name):
    def twice(t):
        layer = t.nn.utils.weight_norm(t.nn.Linear(2, 2))
        t.nn.utils.weight_norm(layer, name)

    assert fails(beside(twice))
    assert fails(beside(lambda t: t.nn.utils.remove_weight_norm(t.nn.Linear(2, 2), name)))


def test_weight_norm_layers_can_be_pickled():
    def scenario(t):
        layer = t.nn.utils.weight_norm(t.nn.Linear(2, 2))
        with t.no_grad():
            layer(t.ones(1, 2))  # a weight without history
        again = pickle.loads(pickle.dumps(layer))
        return [facts(again), again(t.ones(1, 2))]

    assert not fails(beside(scenario))


# ---------------------------------------------------------------------- spectral norm


@pytest.mark.parametrize(
    "options",
    [{}, {"n_power_iterations": 3}, {"dim": 1}, {"eps": 1e-3}, {"n_power_iterations": 0}],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_spectral_norm(kind, options):
    def scenario(t):
        layer = t.nn.utils.spectral_norm(made(t, kind), **options)
        found = [facts(layer), *trained(t, layer), dict(layer.state_dict())]
        layer.eval()
        found += [layer(t.ones(2, 3, 3, dtype=t.float64)), dict(layer.state_dict())]
        layer.train()(t.ones(2, 3, 3, dtype=t.float64))
        twin = t.nn.utils.spectral_norm(made(t, kind), **options)
        twin.load_state_dict(layer.state_dict())
        found += [facts(twin), twin.eval()(t.ones(2, 3, 3, dtype=t.float64))]
        metadata = layer.state_dict()._metadata
        found.append({key: dict(value) for key, value in metadata.items()})
        t.nn.utils.remove_spectral_norm(layer)
        return [*found, facts(layer), len(layer._state_dict_hooks), type(layer.weight).__name__]

    assert fails(beside(scenario)) == (0 in options.values())


def test_spectral_norm_errors():
    def scenario(t):
        layer = t.nn.utils.spectral_norm(t.nn.Linear(2, 2))
        refused = [
            lambda: t.nn.utils.spectral_norm(layer),
            lambda: t.nn.utils.spectral_norm(t.nn.Linear(2, 2, bias=False), "bias"),
            lambda: t.nn.utils.spectral_norm(t.nn.Linear(2, 2), "other"),
            lambda: t.nn.utils.remove_spectral_norm(t.nn.Linear(2, 2)),
        ]
        found = []
        for call in refused:
            with pytest.raises(Exception) as caught:
                call()
            found.append([type(caught.value).__name__, str(caught.value)])
        return found

    beside(scenario)


@pytest.mark.parametrize("version", [None, "lost", "zero"])
def test_spectral_norm_loads_older_states(version):
    """Version 0 kept the divided weight and no `v`."""

    def scenario(t):
        source = t.nn.utils.spectral_norm(t.nn.Linear(3, 4))
        source(t.ones(1, 3))
        state = source.state_dict()
        if version is not None:
            del state._metadata[""]["spectral_norm"]
        if version == "zero":
            with t.no_grad():
                state["weight"] = source.weight.detach().clone()
            del state["weight_v"]
        target = t.nn.utils.spectral_norm(t.nn.Linear(3, 4))
        found = repr(target.load_state_dict(state))
        return [found, dict(target.state_dict()), target.eval()(t.ones(1, 3))]

    assert not fails(beside(scenario, rtol=1e-4, atol=1e-5))


def test_spectral_norm_refuses_incomplete_states():
    def scenario(t):
        target = t.nn.utils.spectral_norm(t.nn.Linear(2, 2))
        target.load_state_dict({"bias": t.ones(2), "weight_orig": t.ones(2, 2)})

    assert fails(beside(scenario))


# ---------------------------------------------------------------------- fusion


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "ConvTranspose1d", "Linear"])
def test_fusion(kind, bias, affine):
    def scenario(t):
        layer = getattr(t.nn, kind)(3, 2, *([] if kind == "Linear" else [2]), bias=bias)
        flat = kind in ("Linear", "Conv1d", "ConvTranspose1d")
        norm = (t.nn.BatchNorm1d if flat else t.nn.BatchNorm2d)(2, affine=affine)
        x = t.randn(*{"Linear": (4, 3), "Conv2d": (2, 3, 4, 4)}.get(kind, (2, 3, 4)))
        norm(layer(x))
        if affine:
            with t.no_grad():
                norm.weight.copy_(t.tensor([0.5, 2.0]))
                norm.bias.copy_(t.tensor([1.0, -1.0]))
        layer.eval(), norm.eval()
        if kind == "Linear":
            fused = t.nn.utils.fuse_linear_bn_eval(layer, norm)
        else:
            fused = t.nn.utils.fuse_conv_bn_eval(layer, norm, transpose="Transpose" in kind)
        assert t.allclose(fused(x), norm(layer(x)), atol=1e-5)
        return [dict(fused.named_parameters()), repr(fused), fused(x)]

    assert fails(beside(scenario)) == (kind == "Linear" and not affine)


def test_fusion_errors():
    def scenario(t):
        fuse, linear = t.nn.utils.fuse_conv_bn_eval, t.nn.utils.fuse_linear_bn_eval
        untracked = t.nn.BatchNorm1d(2, track_running_stats=False).eval()
        refused = [
            lambda: fuse(t.nn.Conv1d(2, 2, 2), t.nn.BatchNorm1d(2).eval()),
            lambda: linear(t.nn.Linear(2, 2).eval(), t.nn.BatchNorm1d(2)),
            lambda: linear(t.nn.Linear(2, 3).eval(), t.nn.BatchNorm1d(2).eval()),
            lambda: linear(t.nn.Linear(2, 2).eval(), untracked),
            lambda: fuse(t.nn.Conv1d(2, 2, 2).eval(), untracked),
        ]
        found = []
        for call in refused:
            with pytest.raises(AssertionError) as caught:
                call()
            found.append(str(caught.value))
        return found

    beside(scenario)


def test_fusion_keeps_dtypes():
    def scenario(t):
        weights = t.nn.utils.fuse_conv_bn_weights(
            t.ones(2, 3, 1, dtype=t.float16), None, t.ones(2), t.ones(2), 1e-5, None, None
        )
        frozen = t.nn.utils.fuse_linear_bn_weights(
            t.nn.Parameter(t.ones(2, 3)), None, t.ones(2), t.ones(2), 0.1, t.ones(2), t.ones(2)
        )
        return [weights, frozen]

    assert not fails(beside(scenario))


# ---------------------------------------------------------------------- memory order, skip_init


@pytest.mark.parametrize("dimensions", [2, 3])
def test_memory_format(dimensions):
    def scenario(t):
        kinds = [getattr(t.nn, f"{name}{dimensions}d") for name in ("Conv", "ConvTranspose")]
        model = t.nn.Sequential(kinds[0](2, 3, 2), t.nn.Sequential(kinds[1](3, 2, 2)))
        order = t.channels_last if dimensions == 2 else t.channels_last_3d
        convert = getattr(t.nn.utils, f"convert_conv{dimensions}d_weight_memory_format")
        assert convert(model, order) is model
        strides = [tuple(p.stride()) for p in model.parameters()]
        convert(model, t.contiguous_format)
        output = model(t.ones(1, 2, *[4] * dimensions))
        return [strides, [tuple(p.stride()) for p in model.parameters()], output]

    assert not fails(beside(scenario))


def test_skip_init():
    def scenario(t):
        layer = t.nn.utils.skip_init(t.nn.Linear, 3, 2, bias=False, dtype=t.float64)
        return [repr(layer), str(layer.weight.dtype), layer.weight.requires_grad, t.rand(2)]

    assert not fails(beside(scenario))


@pytest.mark.parametrize("name", ["ReLU", "Parameter"])
def test_skip_init_errors(name):
    beside(lambda t: t.nn.utils.skip_init(getattr(t.nn, name)))


# ---------------------------------------------------------------------- names and paths


def test_the_same_names():
    ours = {name for name in dir(retrograd.nn.utils) if not name.startswith("_")}
    assert set(torch.nn.utils.__all__) <= ours


@pytest.mark.parametrize("module", ["parametrize", "parametrizations", "weight_norm",
    "spectral_norm", "prune", "fusion", "memory_format", "init", "convert_parameters",
    "clip_grad", "stateless", "rnn"])  # fmt: skip
def test_module_paths(module):
    theirs = importlib.import_module(f"torch.nn.utils.{module}")
    ours = importlib.import_module(f"retrograd.nn.utils.{module}")
    own = [
        name
        for name, value in vars(theirs).items()
        if inspect.isfunction(value) or inspect.isclass(value)
        if value.__module__ == theirs.__name__ and not name.startswith("_")
    ]
    assert own
    hidden = {"bind", "PackedSequence_"}  # parts of how PyTorch declares PackedSequence
    assert [name for name in own if not hasattr(ours, name) and name not in hidden] == []


def test_functions_hide_their_modules():
    for t in (retrograd, torch):
        assert callable(t.nn.utils.weight_norm)
        assert callable(t.nn.utils.spectral_norm)


@pytest.mark.parametrize("dim", [0, 1])
def test_second_derivatives_of_weight_norm(dim):
    """PyTorch's own are of another function: they take the norms for constants."""
    generator = np.random.default_rng(0)
    shape = (3, 1) if dim == 0 else (1, 4)
    v, g = (
        retrograd.tensor(generator.normal(size=size), requires_grad=True)
        for size in ((3, 4), shape)
    )
    assert retrograd.autograd.gradgradcheck(lambda v, g: retrograd._weight_norm(v, g, dim), (v, g))


def test_after_removing_spectral_norm_states_load():
    """In PyTorch the loading hook stays, and asks for the buffers that are gone."""
    layer = retrograd.nn.utils.spectral_norm(retrograd.nn.Linear(2, 2))
    retrograd.nn.utils.remove_spectral_norm(layer)
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
