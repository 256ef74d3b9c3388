"""Sparse gradients of embeddings beside PyTorch: accumulation, hooks, optimizers, clipping."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sparse.pairs import both

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def table(lib: Any) -> Any:
    return lib.arange(12.0).reshape(4, 3).requires_grad_()


def indices(lib: Any) -> Any:
    return lib.tensor([[1, 2], [1, 0]])


def _look_up(lib: Any, weight: Any, **options: Any) -> Any:
    return lib.nn.functional.embedding(indices(lib), weight, sparse=True, **options)


def _embedding(times: int = 1, **options: Any) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        for _ in range(times):
            (_look_up(lib, weight, **options) * lib.arange(3.0)).sum().backward()
        return weight.grad

    return program


def _bag(mode: str, **options: Any) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        given = dict(options)
        if given.pop("weighted", False):
            given["per_sample_weights"] = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        result = lib.nn.functional.embedding_bag(
            indices(lib), weight, mode=mode, sparse=True, **given
        )
        (result * lib.arange(3.0)).sum().backward()
        samples = given.get("per_sample_weights")
        return result, weight.grad, None if samples is None else samples.grad

    return program


def _mixed(first: str, second: str) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        for kind in (first, second):
            result = _look_up(lib, weight) if kind == "sparse" else weight * 2
            result.sum().backward()
        return weight.grad

    return program


def _together(lib: Any) -> Any:
    weight = table(lib)
    (_look_up(lib, weight).sum() + (weight * 2).sum()).backward()
    return weight.grad


def _through(function: Any) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        value = function(weight)
        lib.nn.functional.embedding(indices(lib), value, sparse=True).sum().backward()
        return weight.grad

    return program


def _hooks(lib: Any) -> Any:
    weight, seen = table(lib), []
    weight.register_hook(lambda g: seen.append(g))
    weight.register_hook(lambda g: g * 2)
    weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    _look_up(lib, weight).sum().backward()
    return (*seen, weight.grad)


def _grad(create_graph: bool) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        result = (_look_up(lib, weight) ** 2).sum()
        (g,) = lib.autograd.grad(result, weight, create_graph=create_graph)
        if create_graph:
            g.to_dense().sum().backward()
        return g, weight.grad

    return program


def _anomaly(lib: Any) -> Any:
    with lib.autograd.detect_anomaly():
        return _embedding()(lib)


def _zero_grad(lib: Any) -> Any:
    module = lib.nn.Embedding(4, 3, sparse=True)
    module(indices(lib)).sum().backward()
    module.zero_grad(set_to_none=False)
    return module.weight.grad, repr(module)


def _clipped(function: str) -> Any:
    def program(lib: Any) -> Any:
        weight = table(lib)
        _look_up(lib, weight).sum().backward()
        getattr(lib.nn.utils, function)([weight], 1.0)
        return weight.grad

    return program


PROGRAMS = {
    "embedding": _embedding(),
    "twice": _embedding(2),
    "padding": _embedding(padding_idx=1),
    "by frequency": _embedding(scale_grad_by_freq=True),
    "result": lambda lib: _look_up(lib, table(lib)),
    "bag sum": _bag("sum"),
    "bag mean": _bag("mean"),
    "bag max": _bag("max"),
    "bag weighted": _bag("sum", weighted=True),
    "bag padding": _bag("sum", padding_idx=1),
    "bag by frequency": _bag("sum", scale_grad_by_freq=True),
    "sparse then dense": _mixed("sparse", "dense"),
    "dense then sparse": _mixed("dense", "sparse"),
    "together": _together,
    "through mul": _through(lambda w: w * 2),
    "through neg": _through(lambda w: -w),
    "through clone": _through(lambda w: w.clone()),
    "through add": _through(lambda w: w + 1),
    "through t": _through(lambda w: w.t().t()),
    "hooks": _hooks,
    "grad": _grad(False),
    "second order": _grad(True),
    "anomaly": _anomaly,
    "zero_grad": _zero_grad,
    "clip_grad_norm_": _clipped("clip_grad_norm_"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    expected, found = both(PROGRAMS[name], torch)
    assert found == expected


OPTIMIZERS = {
    "SGD": {},
    "SGD maximize": {"maximize": True},
    "SGD momentum": {"momentum": 0.9},
    "SGD nesterov": {"momentum": 0.9, "nesterov": True},
    "SGD decay": {"weight_decay": 0.1},
    "Adagrad": {},
    "Adagrad options": {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True},
    "Adagrad decay": {"weight_decay": 0.1},
    "SparseAdam": {},
    "SparseAdam maximize": {"maximize": True},
    "Adam": {},
    "AdamW": {},
    "RMSprop": {},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {},
    "Rprop": {},
    "Adafactor": {},
    "Muon": {},
}


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name: str, set_to_none: bool) -> None:
    def program(lib: Any) -> Any:
        module = lib.nn.Embedding(4, 3, sparse=True)
        with lib.no_grad():
            module.weight.copy_(lib.arange(12.0).reshape(4, 3) / 10)
        make = getattr(lib.optim, name.split()[0])
        optimizer = make(list(module.parameters()), lr=0.1, **OPTIMIZERS[name])
        for _ in range(3):
            optimizer.zero_grad(set_to_none=set_to_none)
            (module(indices(lib)) ** 2).sum().backward()
            optimizer.step()
        return module.weight

    expected, found = both(program, torch)
    assert found == expected


def test_lbfgs_takes_sparse_gradients() -> None:
    def program(lib: Any) -> Any:
        module = lib.nn.Embedding(4, 3, sparse=True)
        with lib.no_grad():
            module.weight.copy_(lib.arange(12.0).reshape(4, 3) / 10)
        optimizer = lib.optim.LBFGS(module.parameters(), lr=0.1, max_iter=2)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (module(indices(lib)) ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return module.weight

    expected, found = both(program, torch)
    assert found == expected


def test_sparse_adam_state() -> None:
    def program(lib: Any) -> Any:
        weight = table(lib)
        optimizer = lib.optim.SparseAdam([weight])
        _look_up(lib, weight).sum().backward()
        optimizer.step()
        state = optimizer.state_dict()["state"][0]
        return sorted(state), state["step"], state["exp_avg"], state["exp_avg_sq"]

    expected, found = both(program, torch)
    assert found == expected
