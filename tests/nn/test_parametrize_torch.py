"""nn.utils.parametrize and its ready-made parametrizations, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle

import pytest

import retrograd
from tests.nn.scenarios import beside, fails

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def kinds(t):
    """Parametrizations of a user, as modules of the library."""

    class Kinds:
        class Symmetric(t.nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).mT

        class Doubled(t.nn.Module):
            def forward(self, x):
                return x * 2

            def right_inverse(self, x):
                return x / 2

        class Sum(t.nn.Module):
            def forward(self, x, y, z):
                return x + y * z

            def right_inverse(self, w):
                return w / 2, w / 4, t.full_like(w, 2.0)

        class Unready(t.nn.Module):
            def forward(self, x):
                return x + 1

            def right_inverse(self, x):
                raise NotImplementedError

        class Gives(t.nn.Module):
            """`forward` and `right_inverse` as given."""

            def __init__(self, forward=None, inverse=None):
                super().__init__()
                self.compute = forward or (lambda x: x)
                self.inverse = inverse or (lambda x: x)

            def forward(self, *x):
                return self.compute(*x)

            def right_inverse(self, x):
                return self.inverse(x)

    return Kinds


def trained(t, layer, *shape):
    """The output and all gradients of a layer."""
    x = t.linspace(-1.0, 1.5, int(t.ones(shape).numel())).reshape(shape)
    output = layer(x)
    output.sin().sum().backward()
    gradients = {name: p.grad for name, p in layer.named_parameters()}
    return [output, gradients]


def facts(t, layer):
    return [
        repr(layer),
        type(layer).__name__,
        dict(layer.state_dict()),
        [(name, part.requires_grad) for name, part in layer.named_parameters()],
        [name for name, _ in layer.named_buffers()],
        [type(part).__name__ for part in layer.modules()],
        t.nn.utils.parametrize.is_parametrized(layer),
        t.nn.utils.parametrize.type_before_parametrizations(layer).__name__,
    ]


# ---------------------------------------------------------------------- registering


@pytest.mark.parametrize("names", [["Symmetric"], ["Doubled"], ["Doubled", "Symmetric"],
    ["Sum"], ["Sum", "Doubled"], ["Unready"], ["Unready", "Doubled"], ["Symmetric", "Unready"]],
    ids=str)  # fmt: skip
@pytest.mark.parametrize("remove", [None, True, False])
def test_registered_and_removed(names, remove):
    def scenario(t):
        layer = t.nn.Linear(4, 4)
        parametrize = t.nn.utils.parametrize
        for name in names:
            assert parametrize.register_parametrization(
                layer, "weight", getattr(kinds(t), name)()
            ) is layer  # fmt: skip
        if remove is not None:
            assert parametrize.remove_parametrizations(layer, "weight", remove) is layer
        return [facts(t, layer), layer.weight, *trained(t, layer, 3, 4), layer.weight.is_leaf]

    result = beside(scenario)
    assert fails(result) == (remove is False and names[0] == "Sum")


@pytest.mark.parametrize("names", [["Doubled"], ["Doubled", "Doubled"], ["Sum"], ["Symmetric"],
    ["Doubled", "Symmetric"], ["Sum", "Doubled"]], ids=str)  # fmt: skip
def test_assigning(names):
    def scenario(t):
        layer = t.nn.Linear(2, 2)
        for name in names:
            t.nn.utils.parametrize.register_parametrization(
                layer, "weight", getattr(kinds(t), name)()
            )
        before = list(layer.parameters())
        layer.weight = t.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert all(a is b for a, b in zip(before, layer.parameters(), strict=True))
        return [layer.weight, dict(layer.named_parameters())]

    assert fails(beside(scenario)) == ("Symmetric" in names)


def test_a_buffer_and_two_tensors():
    def scenario(t):
        layer = t.nn.Bilinear(2, 2, 3)
        layer.register_buffer("scale", t.ones(2, 2))
        parametrize = t.nn.utils.parametrize
        for name in ("scale", "weight", "bias"):
            parametrize.register_parametrization(layer, name, kinds(t).Doubled())
        found = [facts(t, layer), layer.scale, layer.weight]
        parametrize.remove_parametrizations(layer, "weight")
        found += [facts(t, layer), parametrize.is_parametrized(layer, "weight")]
        for name in ("scale", "bias"):
            parametrize.remove_parametrizations(layer, name)
        return [*found, facts(t, layer)]

    assert not fails(beside(scenario))


def test_training_mode_is_taken_over():
    def scenario(t):
        layer = t.nn.Linear(2, 2).eval()
        t.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(t).Doubled())
        first = [part.training for part in layer.modules()]
        return [first, [part.training for part in layer.train().modules()]]

    beside(scenario)


def test_state_dicts_deep_copies_and_pickles():
    def scenario(t):
        parametrize = t.nn.utils.parametrize
        layers = [t.nn.Linear(3, 3), t.nn.Linear(3, 3)]
        for layer in layers:
            parametrize.register_parametrization(layer, "weight", kinds(t).Sum())
            parametrize.register_parametrization(layer, "weight", kinds(t).Symmetric())
        layers[1].load_state_dict(layers[0].state_dict())
        twin = copy.deepcopy(layers[0])
        assert type(twin) is type(layers[0])
        with t.no_grad():
            layers[0].parametrizations.weight.original0.zero_()
        found = [facts(t, twin), twin.weight, layers[0].weight, layers[1].weight]
        for protocol in (0, 2, 4):
            try:
                pickle.dumps(layers[0], protocol)
            except RuntimeError as refused:
                found.append(str(refused))
        assert len(found) == 7
        return found

    beside(scenario)


def test_cached():
    def scenario(t):
        layer = t.nn.Linear(2, 2)
        t.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(t).Doubled())
        cached = t.nn.utils.parametrize.cached
        found = [layer.weight is layer.weight]
        with cached():
            first = layer.weight
            found.append(layer.weight is first)
            with cached():
                found.append(layer.weight is first)
            found.append(layer.weight is first)
            with t.no_grad():
                layer.parametrizations.weight.original.zero_()
            found.append(layer.weight)
        return [*found, layer.weight]

    beside(scenario)


@pytest.mark.parametrize("name", ["weight", None])
@pytest.mark.parametrize("kind", ["Doubled", "Symmetric"])
def test_transfer(name, kind):
    def scenario(t):
        parametrize = t.nn.utils.parametrize
        source, target = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
        for tensor in ("weight",) if kind == "Symmetric" else ("weight", "bias"):
            parametrize.register_parametrization(source, tensor, getattr(kinds(t), kind)())
        done = parametrize.transfer_parametrizations_and_params(source, target, name)
        assert done is target
        shared = target.parametrizations.weight.original is source.parametrizations.weight.original
        other = t.nn.Module()
        parametrize.transfer_parametrizations_and_params(source, other, "weight")
        plain = parametrize.transfer_parametrizations_and_params(t.nn.ReLU(), t.nn.Tanh())
        return [facts(t, target), shared, facts(t, other), repr(plain)]

    assert not fails(beside(scenario))


def test_transfer_of_several_originals():
    def scenario(t):
        parametrize = t.nn.utils.parametrize
        source, target = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
        parametrize.register_parametrization(source, "weight", kinds(t).Sum())
        parametrize.transfer_parametrizations_and_params(source, target)
        return [facts(t, target), target.weight, source.weight]

    assert not fails(beside(scenario))


# ---------------------------------------------------------------------- errors

WRONG = {
    "name": lambda t, k, register: register("other", k.Doubled()),
    "shape": lambda t, k, register: register("weight", k.Gives(lambda x: x[0])),
    "dtype": lambda t, k, register: register("weight", k.Gives(lambda x: x.double())),
    "no tensor": lambda t, k, register: register("weight", k.Gives(lambda x: 3)),
    "inverse no tensor": lambda t, k, register: register("weight", k.Gives(None, lambda x: 3)),
    "inverse text": lambda t, k, register: register("weight", k.Gives(None, lambda x: [x, "b"])),
    "inverse dtype": lambda t, k, register: register(
        "weight", k.Gives(lambda x: x.float(), lambda x: x.double())
    ),
    "unsafe shape": lambda t, k, register: register("weight", k.Gives(lambda x: x[0]), unsafe=True),
    "unsafe dtype": lambda t, k, register: register(
        "weight", k.Gives(lambda x: x.double()), unsafe=True
    ),
}
SECOND = {
    "second shape": lambda t, k, register: register("weight", k.Gives(lambda x: x[0])),
    "second dtype": lambda t, k, register: register("weight", k.Gives(lambda x: x.double())),
    "second no tensor": lambda t, k, register: register("weight", k.Gives(lambda x: None)),
    "second inverse": lambda t, k, register: register("weight", k.Gives(None, lambda x: (x, x))),
    "second inverse dtype": lambda t, k, register: register(
        "weight", k.Gives(None, lambda x: x.double())
    ),
    "second inverse shape": lambda t, k, register: register(
        "weight", k.Gives(None, lambda x: x[0])
    ),
    "second unsafe": lambda t, k, register: register(
        "weight", k.Gives(lambda x: x[:1]), unsafe=True
    ),
}


@pytest.mark.parametrize("case", [*WRONG, *SECOND])
def test_refused_registrations(case):
    def scenario(t):
        layer = t.nn.Linear(2, 2)
        parametrize = t.nn.utils.parametrize

        def register(*args, **options):
            parametrize.register_parametrization(layer, *args, **options)

        if case in SECOND:
            register("weight", kinds(t).Doubled())
        before = facts(t, layer)
        try:
            {**WRONG, **SECOND}[case](t, kinds(t), register)
        except Exception as raised:
            assert repr(layer) == before[0]  # left as it was
            return [type(raised).__name__, str(raised).replace("retrograd.", "torch."), before]
        return [facts(t, layer), layer.weight, parametrize.is_parametrized(layer, "weight")]

    assert fails(beside(scenario)) == ("unsafe" not in case)


@pytest.mark.parametrize("value", ["number", "wrong dtype", "length", "kind", "element dtype"])
def test_refused_assignments(value):
    def scenario(t):
        returned = {
            "number": 3,
            "wrong dtype": t.ones(2, 2, dtype=t.float64),
            "length": [t.ones(2, 2)],
            "kind": [t.ones(2, 2), "text"],
            "element dtype": (t.ones(2, 2), t.ones(2, 2, dtype=t.float64)),
        }[value]
        several = value in ("length", "kind", "element dtype")
        gives = kinds(t).Gives(
            (lambda x, y: x + y) if several else None, (lambda w: (w, w)) if several else None
        )
        layer = t.nn.Linear(2, 2)
        t.nn.utils.parametrize.register_parametrization(layer, "weight", gives)
        gives.inverse = lambda w: returned
        layer.weight = t.zeros(2, 2)

    assert fails(beside(scenario))


def test_other_errors():
    def scenario(t):
        parametrize = t.nn.utils.parametrize
        layer = t.nn.Linear(2, 2)
        found = []
        for refused in (
            lambda: parametrize.ParametrizationList([], layer.weight),
            lambda: parametrize.remove_parametrizations(layer, "weight"),
            lambda: setattr(
                t.nn.utils.parametrizations.weight_norm(layer), "weight", t.nn.Parameter(t.ones(2))
            ),
        ):
            with pytest.raises(Exception) as caught:
                refused()
            found.append([type(caught.value).__name__, str(caught.value)])
        return found

    beside(scenario)


# ---------------------------------------------------------------------- orthogonal


@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("map", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("size", [(3, 3), (5, 2), (2, 5), (1, 1)], ids=str)
def test_orthogonal(size, map, trivialized):
    def scenario(t):
        layer = t.nn.Linear(*size)
        t.nn.utils.parametrizations.orthogonal(
            layer, orthogonal_map=map, use_trivialization=trivialized
        )
        found = [facts(t, layer), layer.weight, *trained(t, layer, 4, size[0])]
        t.nn.init.orthogonal_(wanted := t.empty(size[1], size[0]))
        try:
            layer.weight = wanted
        except NotImplementedError as refused:
            return [*found, str(refused)]
        assert t.allclose(layer.weight, wanted, atol=1e-5)
        return [*found, dict(layer.state_dict())]

    assert not fails(beside(scenario, rtol=1e-4, atol=2e-6))


@pytest.mark.parametrize("map", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_batches_and_complex(map):
    def scenario(t):
        module = t.nn.Module()
        module.many = t.nn.Parameter(t.randn(2, 4, 3))
        t.nn.utils.parametrizations.orthogonal(module, "many", map)
        found = [module.many, module.many.mT @ module.many]
        module.pairs = t.nn.Parameter(t.randn(3, 3, dtype=t.complex64))
        t.nn.utils.parametrizations.orthogonal(module, "pairs", map)
        (module.pairs.abs() * t.arange(9.0).reshape(3, 3)).sum().backward()
        return [*found, module.pairs, module.parametrizations.pairs.original.grad]

    assert fails(beside(scenario, rtol=1e-4, atol=1e-5)) == (map == "householder")


@pytest.mark.parametrize("name, map, shape", [("other", None, (2, 2)), ("bias", None, (2, 2)),
    ("weight", "unknown", (2, 2))])  # fmt: skip
def test_orthogonal_errors(name, map, shape):
    assert fails(beside(
        lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(*shape), name, map)
    ))  # fmt: skip


def test_orthogonal_of_a_wrong_shape():
    def scenario(t):
        layer = t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2))
        layer.weight = t.ones(3, 3)

    assert fails(beside(scenario))


# ---------------------------------------------------------------------- weight norm


@pytest.mark.parametrize("dim", [0, 1, -1, None])
@pytest.mark.parametrize("layer", ["linear", "conv"])
def test_weight_norm(layer, dim):
    def scenario(t):
        made = t.nn.Linear(3, 2) if layer == "linear" else t.nn.Conv1d(3, 2, 2)
        t.nn.utils.parametrizations.weight_norm(made, dim=dim)
        found = [facts(t, made), made.weight, *trained(t, made, 2, 3, 3)]
        made.weight = t.ones_like(made.weight)
        return [*found, dict(made.state_dict())]

    assert not fails(beside(scenario))


def test_weight_norm_loads_the_older_form():
    def scenario(t):
        new = t.nn.Sequential(t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2)))
        old = {"0.weight_g": t.ones(2, 1), "0.weight_v": t.eye(2), "0.bias": t.zeros(2)}
        return [repr(new.load_state_dict(old)), new[0].weight]

    assert not fails(beside(scenario))


# ---------------------------------------------------------------------- spectral norm


@pytest.mark.parametrize("options", [{}, {"n_power_iterations": 3}, {"dim": 1}, {"dim": -1},
    {"eps": 1e-3}, {"dim": 5}, {"n_power_iterations": 0}, {"name": "bias"}, {"name": "nope"}],
    ids=str)  # fmt: skip
@pytest.mark.parametrize("layer", ["Linear", "Conv1d", "ConvTranspose1d"])
def test_spectral_norm(layer, options):
    def scenario(t):
        made = t.nn.Linear(3, 2) if layer == "Linear" else getattr(t.nn, layer)(3, 2, 2)
        t.nn.utils.parametrizations.spectral_norm(made, **options)
        found = [facts(t, made), made.weight, *trained(t, made, 2, 3, 3)]
        before = {name: value.clone() for name, value in made.named_buffers()}
        made.eval()
        found += [made.weight, made.weight]
        for name, value in made.named_buffers():
            assert t.equal(before[name], value), "evaluation keeps the estimate"
        made.train()
        made.weight  # noqa: B018  (an access is an iteration)
        found.append(dict(made.state_dict()))
        twin = copy.deepcopy(made).eval()
        return [*found, twin.weight, t.nn.utils.parametrize.remove_parametrizations(
            twin, options.get("name", "weight")).state_dict()]  # fmt: skip

    bad = options.get("dim") == 5 or 0 in options.values() or "nope" in options.values()
    bad = bad or (layer == "ConvTranspose1d" and options.get("name") == "bias")
    assert fails(beside(scenario)) == bad


def test_spectral_norm_twice_before_backward():
    def scenario(t):
        layer = t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(3, 3))
        x = t.ones(2, 3)
        (layer(x).sin() * layer(layer(x))).sum().backward()
        return [layer.parametrizations.weight.original.grad]

    assert not fails(beside(scenario))


def test_spectral_norm_of_complex_weights():
    def scenario(t):
        module = t.nn.Module()
        module.weight = t.nn.Parameter(t.randn(3, 2, dtype=t.complex64))
        t.nn.utils.parametrizations.spectral_norm(module)
        return [module.weight]

    assert not fails(beside(scenario))


# ---------------------------------------------------------------------- in models


def test_a_trained_model():
    def scenario(t):
        parametrizations = t.nn.utils.parametrizations
        model = t.nn.Sequential(
            parametrizations.weight_norm(t.nn.Linear(3, 4)),
            parametrizations.spectral_norm(t.nn.Linear(4, 4)),
            parametrizations.orthogonal(t.nn.Linear(4, 4)),
        )
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        x = t.linspace(-1, 1, 6).reshape(2, 3)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss)
        called = t.func.functional_call(model, dict(model.state_dict()), (x,))
        return [losses, called, {name: p for name, p in model.named_parameters()}]

    assert not fails(beside(scenario, rtol=1e-4, atol=1e-5))


# ---------------------------------------------------------------------- corners


def test_a_parameter_that_is_none():
    def scenario(t):
        layer = t.nn.Linear(2, 2, bias=False)
        t.nn.utils.parametrize.register_parametrization(layer, "bias", kinds(t).Doubled())

    assert fails(beside(scenario))


def test_shared_parameters_and_frozen_ones():
    def scenario(t):
        one, two = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
        two.weight = one.weight
        one.bias.requires_grad_(False)
        register = t.nn.utils.parametrize.register_parametrization
        for layer in (one, two):
            register(layer, "weight", kinds(t).Unready())
        register(one, "bias", kinds(t).Sum())
        assert one.parametrizations.weight.original is two.parametrizations.weight.original
        flags = [p.requires_grad for p in one.parameters()]
        return [flags, one.weight, two.weight, one.bias, one.bias.requires_grad]

    assert not fails(beside(scenario))


def test_deep_copies_of_classes_with_slots_and_with_their_own():
    def scenario(t):
        class Slotted(t.nn.Module):
            __slots__ = ["extra"]

            def __init__(self):
                super().__init__()
                self.weight = t.nn.Parameter(t.ones(2))
                self.extra = [1, 2]
                self.plain = {"a": 1}

        class Own(t.nn.Linear):
            def __deepcopy__(self, memo):
                return "mine"

        layer = Slotted()
        t.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(t).Doubled())
        twin = copy.deepcopy(layer)
        assert twin.extra == layer.extra and twin.extra is not layer.extra
        assert twin.plain is not layer.plain
        own = Own(2, 2)
        t.nn.utils.parametrize.register_parametrization(own, "weight", kinds(t).Doubled())
        both = copy.deepcopy([layer, layer])
        return [twin.weight, copy.deepcopy(own), both[0] is both[1]]

    assert not fails(beside(scenario))


@pytest.mark.parametrize("key", ["weight", "parametrizations.weight.original"])
def test_calls_with_other_tensors(key):
    def scenario(t):
        layer = t.nn.Linear(2, 2)
        t.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(t).Doubled())
        output = t.func.functional_call(layer, {key: t.ones(2, 2)}, (t.ones(1, 2),))
        return [output, layer.weight, dict(layer.named_parameters())]

    beside(scenario)


def test_pickled_within_a_model():
    def scenario(t):
        model = t.nn.Sequential(t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2)))
        pickle.dumps(model)

    assert fails(beside(scenario))


def test_conversions():
    def scenario(t):
        layer = t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 3)).double()
        layer.requires_grad_(False)
        shapes = [(name, tuple(b.shape), str(b.dtype)[-7:]) for name, b in layer.named_buffers()]
        return [layer.weight, shapes, layer(t.ones(1, 2, dtype=t.float64)), layer.extra_repr()]

    assert not fails(beside(scenario))


def test_a_cache_belongs_to_one_module():
    """In PyTorch copies share the original's entry in the cache."""
    layer = retrograd.nn.utils.parametrizations.weight_norm(retrograd.nn.Linear(2, 2))
    twin = copy.deepcopy(layer)
    with retrograd.no_grad():
        twin.parametrizations.weight.original0.zero_()
    with retrograd.nn.utils.parametrize.cached():
        assert layer.weight.abs().sum() > 0
        assert twin.weight.abs().sum() == 0
