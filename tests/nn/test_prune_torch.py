"""nn.utils.prune beside PyTorch's: the same choices, state, errors."""

from __future__ import annotations

import importlib
import pickle

import pytest

from tests.nn.scenarios import beside, fails

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
for library in ("retrograd", "torch"):
    importlib.import_module(f"{library}.nn.utils.prune")


def facts(layer):
    return [
        dict(layer.state_dict()),
        [name for name, _ in layer.named_parameters()],
        [name for name, _ in layer.named_buffers()],
        [type(hook).__name__ for hook in layer._forward_pre_hooks.values()],
        layer.weight,
    ]


PRUNERS = {
    "identity": lambda p, layer: p.identity(layer, "weight"),
    "random": lambda p, layer: p.random_unstructured(layer, "weight", 0.3),
    "random 4": lambda p, layer: p.random_unstructured(layer, "weight", 4),
    "random 0": lambda p, layer: p.random_unstructured(layer, "weight", 0),
    "l1": lambda p, layer: p.l1_unstructured(layer, "weight", amount=0.5),
    "l1 all": lambda p, layer: p.l1_unstructured(layer, "weight", amount=1.0),
    "random rows": lambda p, layer: p.random_structured(layer, "weight", amount=2, dim=0),
    "random columns": lambda p, layer: p.random_structured(layer, "weight", amount=1, dim=-1),
    "random no rows": lambda p, layer: p.random_structured(layer, "weight", amount=0, dim=0),
    "ln": lambda p, layer: p.ln_structured(layer, "weight", amount=0.5, n=2, dim=1),
    "ln rows": lambda p, layer: p.ln_structured(layer, "weight", 1, n=float("inf"), dim=0),
    "ln nothing": lambda p, layer: p.ln_structured(layer, "weight", 0, n=1, dim=0),
    "ln fro": lambda p, layer: p.ln_structured(layer, "weight", 1, n="fro", dim=-2),
    "mask": lambda p, layer: p.custom_from_mask(
        layer, "weight", (layer.weight > 0).to(layer.weight.dtype)
    ),
}


@pytest.mark.parametrize("pruner", PRUNERS)
def test_methods(pruner):
    def scenario(t):
        layer, prune = t.nn.Linear(4, 5), t.nn.utils.prune
        assert PRUNERS[pruner](prune, layer) is layer
        found = [facts(layer), prune.is_pruned(layer)]
        layer(t.ones(2, 4)).sin().sum().backward()
        found += [layer.weight_orig.grad, layer.weight.grad_fn is not None]
        twin = t.nn.Linear(4, 5)
        PRUNERS["identity"](prune, twin).load_state_dict(layer.state_dict())
        found += [twin(t.ones(1, 4))]
        original = layer.weight_orig
        assert prune.remove(layer, "weight") is layer
        assert layer.weight is original
        return [*found, facts(layer), prune.is_pruned(layer), repr(layer)]

    assert not fails(beside(scenario))


@pytest.mark.parametrize("second", PRUNERS)
@pytest.mark.parametrize("first", ["l1", "ln", "random rows", "mask"])
def test_pruned_again(first, second):
    def scenario(t):
        layer, prune = t.nn.Linear(4, 5), t.nn.utils.prune
        PRUNERS[first](prune, layer)
        PRUNERS[second](prune, layer)
        (hook,) = layer._forward_pre_hooks.values()
        methods = [type(method).__name__ for method in hook]
        found = [facts(layer), methods, len(hook), type(hook[0]).__name__]
        PRUNERS["random 0"](prune, layer)
        return [*found, len(hook), layer(t.ones(1, 4)), facts(prune.remove(layer, "weight"))]

    beside(scenario)


def test_importance_scores():
    def scenario(t):
        prune = t.nn.utils.prune
        scores = t.arange(8.0).reshape(2, 4)
        one, two = t.nn.Linear(4, 2), t.nn.Linear(4, 2)
        prune.l1_unstructured(one, "weight", 3, importance_scores=scores)
        prune.ln_structured(two, "weight", 1, n=2, dim=1, importance_scores=-scores)
        pruned = prune.L1Unstructured(2).prune(t.ones(4), importance_scores=t.arange(4.0))
        return [facts(one), facts(two), pruned]

    assert not fails(beside(scenario))


@pytest.mark.parametrize("method", ["L1Unstructured", "RandomUnstructured"])
def test_global(method):
    def scenario(t):
        prune = t.nn.utils.prune
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 2))
        pairs = [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")]
        for amount in (0.4, 3):
            prune.global_unstructured(pairs, getattr(prune, method), amount=amount)
        scores = {(model[0], "bias"): t.arange(4.0)}
        prune.global_unstructured([(model[0], "bias")], getattr(prune, method), scores, amount=1)
        return [dict(model.state_dict()), model(t.ones(1, 3)), prune.is_pruned(model)]

    assert not fails(beside(scenario))


def test_a_method_of_the_user():
    def scenario(t):
        prune = t.nn.utils.prune

        class EveryOther(prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        layer = t.nn.Linear(4, 2)
        EveryOther.apply(layer, "weight")
        found = [facts(layer)]
        EveryOther.apply(layer, "weight")
        tensor = EveryOther().prune(t.ones(2, 2))
        return [*found, facts(layer), tensor]

    assert not fails(beside(scenario))


def test_conv_and_bias_and_pickles():
    def scenario(t):
        prune = t.nn.utils.prune
        layer = t.nn.Conv2d(2, 3, 2)
        prune.ln_structured(layer, "weight", amount=1, n=1, dim=0)
        prune.random_unstructured(layer, "bias", amount=1)
        with t.no_grad():
            layer(t.ones(1, 2, 3, 3))
        again = pickle.loads(pickle.dumps(layer))
        return [facts(again), again(t.ones(1, 2, 3, 3))]

    assert not fails(beside(scenario))


REFUSED = {
    "text": lambda t, p, layer: p.l1_unstructured(layer, "weight", "half"),
    "negative": lambda t, p, layer: p.l1_unstructured(layer, "weight", -1),
    "share": lambda t, p, layer: p.random_unstructured(layer, "weight", 1.5),
    "negative share": lambda t, p, layer: p.random_unstructured(layer, "weight", -0.5),
    "many": lambda t, p, layer: p.random_unstructured(layer, "weight", 99),
    "dim": lambda t, p, layer: p.random_structured(layer, "weight", 1, dim=2),
    "vector": lambda t, p, layer: p.ln_structured(layer, "bias", 1, n=2, dim=0),
    "name": lambda t, p, layer: p.identity(layer, "other"),
    "remove": lambda t, p, layer: p.remove(layer, "weight"),
    "scores": lambda t, p, layer: p.l1_unstructured(layer, "weight", 1, t.ones(3)),
    "prune scores": lambda t, p, layer: p.L1Unstructured(1).prune(
        t.ones(2), importance_scores=t.ones(3)
    ),
    "mask": lambda t, p, layer: p.custom_from_mask(layer, "weight", t.ones(3)),
    "global": lambda t, p, layer: p.global_unstructured(3, p.L1Unstructured),
    "global scores": lambda t, p, layer: p.global_unstructured(
        [(layer, "weight")], p.L1Unstructured, [], amount=1
    ),
    "abstract": lambda t, p, layer: p.BasePruningMethod(),
    "add": lambda t, p, layer: p.PruningContainer().add_pruning_method(3),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    def scenario(t):
        layer = t.nn.Linear(2, 2)
        before = repr(layer), list(layer.state_dict())
        try:
            REFUSED[case](t, t.nn.utils.prune, layer)
        except Exception as raised:
            kept = isinstance(layer.weight, t.nn.Parameter), list(layer.state_dict()) == before[1]
            return [type(raised).__name__, str(raised), kept]
        return None

    assert fails(beside(scenario))


def test_wrong_kinds():
    def scenario(t):
        prune = t.nn.utils.prune

        class Rows(prune.BasePruningMethod):
            PRUNING_TYPE = "structured"

            def compute_mask(self, t, default_mask):
                return default_mask

        class Strange(Rows):
            PRUNING_TYPE = "strange"

        found = []
        for kind in (Rows, Strange):
            layer = prune.identity(t.nn.Linear(2, 2), "weight")
            with pytest.raises(Exception) as caught:
                kind.apply(layer, "weight")
            found.append([type(caught.value).__name__, str(caught.value)])
        with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported'):
            prune.global_unstructured([(t.nn.Linear(2, 2), "weight")], Rows)
        return found

    beside(scenario)
