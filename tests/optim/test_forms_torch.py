"""Optimizers as functions of lists, paths of modules, swapped parameters: beside PyTorch."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BETAS = {"beta1": 0.8, "beta2": 0.9}
USUAL = {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-3}
# module: function, what its lists hold at first ("step": counts), options
FORMS = {
    "sgd": ([None], {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.1,
        "nesterov": False, "maximize": False}),
    "sgd plain": (None, {"weight_decay": 0, "momentum": 0, "lr": 0.1, "dampening": 0,
        "nesterov": False, "maximize": True}),
    "adam": ([0.0, 0.0, 0.0, "step"], {**USUAL, **BETAS, "amsgrad": True, "maximize": False}),
    "adam plain": ([0.0, 0.0, [], "step"], {**USUAL, **BETAS, "amsgrad": False, "maximize": True}),
    "adam decoupled": ([0.0, 0.0, [], "step"], {**USUAL, **BETAS, "amsgrad": False,
        "maximize": False, "decoupled_weight_decay": True}),
    "adamw": ([0.0, 0.0, [], "step"], {**USUAL, **BETAS, "amsgrad": False, "maximize": False}),
    "adadelta": ([0.0, 0.0, "step"], {**USUAL, "rho": 0.8, "maximize": False}),
    "adagrad": ([0.1, "step"], {**USUAL, "lr_decay": 0.1, "maximize": False}),
    "adamax": ([0.0, 0.0, "step"], {**USUAL, **BETAS}),
    "asgd": ([0.0, "one", "rate", "step"], {"lambd": 0.1, "lr": 0.1, "t0": 0, "alpha": 0.5,
        "weight_decay": 0.1}),
    "nadam": ([0.0, 0.0, "one", "step"], {**USUAL, **BETAS, "momentum_decay": 0.01}),
    "radam": ([0.0, 0.0, "step"], {**USUAL, **BETAS}),
    "rmsprop": ([0.0, 0.0, 0.0, "step"], {**USUAL, "alpha": 0.9, "momentum": 0.5,
        "centered": True}),
    "rmsprop plain": ([0.0, [], [], "step"], {**USUAL, "alpha": 0.9, "momentum": 0,
        "centered": False}),
    "rprop": ([0.0, 0.1, "step"], {"step_size_min": 1e-3, "step_size_max": 5.0, "etaminus": 0.5,
        "etaplus": 1.2}),
}  # fmt: skip
SCALARS = {"step": 0.0, "one": 1.0, "rate": 0.1}


def lists(t, described):
    """The lists of state for two parameters."""
    found = []
    for entry in described or [[]]:
        if entry is None or entry == []:
            found.append([None, None] if entry is None else [])
        elif entry in SCALARS:
            found.append([t.tensor(SCALARS[entry]) for _ in range(2)])
        else:
            found.append([t.full((3,), entry, dtype=t.float64) for _ in range(2)])
    return found


def values():
    generator = np.random.default_rng(0)
    return [generator.normal(size=3) for _ in range(4)]


def function(t, name):
    module = name.split()[0]
    return getattr(importlib.import_module(f"{t.__name__}.optim.{module}"), module)


def run(t, name, **more):
    described, options = FORMS[name]
    state = lists(t, described)
    params = [t.tensor(value) for value in values()[:2]]
    grads = [t.tensor(value) for value in values()[2:]]
    try:
        for _ in range(3):
            function(t, name)(params, grads, *state, **{**options, **more})
    except Exception as raised:
        return type(raised).__name__, str(raised).split("\n")[0]
    entries = [entry for held in state for entry in held if entry is not None]
    return [tensor.numpy().copy() for tensor in (*params, *entries)]


def same(ours, theirs, tolerance=1e-10):
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FORMS)
def test_functions_of_lists(name):
    ours = run(retrograd, name)
    same(ours, run(torch, name))
    assert not isinstance(ours, tuple)


IMPLEMENTATIONS = [
    (name, option)
    for name in FORMS
    if " " not in name
    for option in ("foreach", "capturable", "differentiable", "maximize", "fused", "grad_scale")
    if option in inspect.signature(function(torch, name)).parameters
]
# PyTorch's fused kernels compute in single precision; other implementations than the usual one
# keep rates and corrections in tensors of single precision.
ROUNDED = ("fused", "foreach", "differentiable")


@pytest.mark.parametrize("name, option", IMPLEMENTATIONS)
def test_options_of_implementations(name, option):
    ours, theirs = (
        run(t, name, **{option: t.tensor(1.0) if option == "grad_scale" else True})
        for t in (retrograd, torch)
    )
    same(ours, theirs, 1e-5 if option in ROUNDED else 1e-10)


@pytest.mark.parametrize("name", [name for name in FORMS if "sgd" not in name])
def test_counts_are_tensors(name):
    described, options = FORMS[name]

    def outcome(t):
        *state, _ = lists(t, described)
        params = [t.tensor(value) for value in values()[:2]]
        with pytest.raises(RuntimeError) as caught:
            function(t, name)(params, params, *state, [1, 1], **options)
        return str(caught.value)

    assert outcome(retrograd) == outcome(torch)


@pytest.mark.parametrize("name", FORMS)
def test_parameters_that_require_gradients(name):
    """Within no_grad they are updated; outside, leaves are refused."""
    described, options = FORMS[name]
    results = []
    for t in (retrograd, torch):
        params = [t.tensor(value, requires_grad=True) for value in values()[:2]]
        grads = [t.tensor(value) for value in values()[2:]]
        with t.no_grad():
            function(t, name)(params, grads, *lists(t, described), **options)
        # where PyTorch's rule uses `out=`, that is what it complains about
        leaf = "a leaf Variable that requires grad"
        leaf += "" if t is retrograd else "|functions with out="
        with pytest.raises(RuntimeError, match=leaf):
            function(t, name)(params, grads, *lists(t, described), **options)
        results.append([p.detach().numpy() for p in params])
    same(*results)


@pytest.mark.parametrize("name", ["sgd", "adagrad", "radam", "adam plain"])
def test_history(name):
    """Parameters with history keep it."""
    described, options = FORMS[name]
    results = []
    for t in (retrograd, torch):
        start = t.tensor(values()[0], requires_grad=True)
        slope = t.tensor(values()[1], requires_grad=True)
        weight = start.clone()
        state = [held[:1] for held in lists(t, described)]
        more = {} if name == "sgd" else {"differentiable": True}
        function(t, name)([weight], [slope * 2], *state, **options, **more)
        results.append([g.numpy() for g in t.autograd.grad((weight**3).sum(), [start, slope],
            allow_unused=True) if g is not None])  # fmt: skip
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


# ---------------------------------------------------------------------- paths and signatures


@pytest.mark.parametrize("name", [*sorted({name.split()[0] for name in FORMS}), "lbfgs",
    "sparse_adam", "optimizer", "lr_scheduler", "swa_utils", "_functional", "_adafactor", "_muon",
    "_stateless"])  # fmt: skip
def test_paths(name):
    ours = importlib.import_module(f"retrograd.optim.{name}")
    theirs = importlib.import_module(f"torch.optim.{name}")
    without_list = {"_functional": ["adam", "sgd", "rprop"], "_stateless": SWAP}
    public = getattr(theirs, "__all__", None) or without_list[name]
    assert [entry for entry in public if not hasattr(ours, entry)] == []


@pytest.mark.parametrize("name", [name for name in FORMS if " " not in name])
def test_signatures(name):
    def described(t):
        parameters = inspect.signature(function(t, name)).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    assert described(retrograd) == described(torch)


SWAP = ["swap_in_optimizer_params_and_state"]


def test_the_same_names():
    assert set(torch.optim.__all__) <= set(dir(retrograd.optim))


# ---------------------------------------------------------------------- swapped parameters


def trained(t):
    weights = [t.ones(2, requires_grad=True), t.zeros(1, requires_grad=True)]
    optimizer = t.optim.Adam([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}])
    (weights[0].sum() * 2 + weights[1].sum()).backward()
    optimizer.step()
    return weights, optimizer


def test_swapping():
    def outcome(t):
        weights, optimizer = trained(t)
        other = {"a": t.full((2,), 3.0), "b": t.full((1,), 4.0)}
        for tensor in other.values():
            tensor.grad = t.ones_like(tensor)
        state = optimizer.state_dict()
        state["state"] = {
            number: {key: entry.clone() for key, entry in held.items()}
            for number, held in state["state"].items()
        }
        state["param_groups"][0]["lr"] = 0.25
        groups = optimizer.param_groups[0]["params"]
        with t.optim.swap_in_optimizer_params_and_state(optimizer, other, state):
            inside = [optimizer.param_groups[0]["lr"], len(optimizer.state)]
            optimizer.step()
        assert optimizer.param_groups[0]["params"] is groups
        assert optimizer.param_groups[0]["lr"] == 1e-3
        tensors = [*weights, *other.values(), state["state"][0]["step"]]
        tensors.append(optimizer.state[weights[0]]["step"])
        return inside, [tensor.detach().numpy().round(5).tolist() for tensor in tensors]

    assert outcome(retrograd) == outcome(torch)


def _change(*keys_and_value):
    """A state dict with something replaced."""
    *keys, value = keys_and_value

    def change(state):
        place = state
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        return state

    return change


@pytest.mark.parametrize("change", [lambda state: 3, _change("state", 3),
    _change("state", {0: 3}), _change("param_groups", 3), _change("param_groups", []),
    _change("param_groups", 0, 3), _change("param_groups", 0, "params", ["a"]),
    _change("param_groups", 0, "params", [0, 1]), _change("param_groups", 0, "more", 1),
    _change("state", 7, {})])  # fmt: skip
def test_refused_swaps(change):
    def outcome(t):
        weights, optimizer = trained(t)
        state = change(optimizer.state_dict())
        with pytest.raises(RuntimeError) as caught:
            with t.optim.swap_in_optimizer_params_and_state(
                optimizer, {"a": weights[0], "b": weights[1]}, state
            ):
                pass
        return str(caught.value)

    assert outcome(retrograd) == outcome(torch)


def test_swaps_without_state_or_parameters():
    def outcome(t):
        weights, optimizer = trained(t)
        fresh = t.optim.Adam(weights)
        found = []
        for one, parameters in ((fresh, {}), (optimizer, {"a": weights[0]})):
            with pytest.raises(RuntimeError) as caught:
                with t.optim.swap_in_optimizer_params_and_state(
                    one, parameters, optimizer.state_dict()
                ):
                    pass
            found.append(str(caught.value))
        return found

    assert outcome(retrograd) == outcome(torch)
