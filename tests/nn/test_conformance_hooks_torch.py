"""Module hooks, parametrizations and pruning in small programs that run with both libraries."""

from __future__ import annotations

import copy
import gc
import importlib
import weakref

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


def ones(lib, *shape):
    return lib.ones(*shape, requires_grad=True)


@scenario
def order_of_all_hooks(lib, log):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Tanh())

    def noting(name):
        return lambda *args: log(name, [type(a).__name__ for a in args])

    for index, layer in enumerate((model, *model)):
        layer.register_forward_pre_hook(noting(f"pre {index}"))
        layer.register_forward_hook(noting(f"post {index}"))
        layer.register_full_backward_pre_hook(noting(f"back pre {index}"))
        layer.register_full_backward_hook(noting(f"back {index}"))
        layer.register_forward_hook(noting(f"early post {index}"), prepend=True)
        layer.register_full_backward_hook(noting(f"early back {index}"), prepend=True)
        layer.register_forward_hook(noting(f"always {index}"), always_call=True)
    x = ones(lib, 1, 2)
    model(x).sum().backward()
    log(x.grad)
    model(x.detach()).sum().backward()
    with lib.no_grad():
        model(x)


@scenario
def keyword_arguments_in_hooks(lib, log):
    class Scaled(lib.nn.Module):
        def forward(self, x, scale=1.0, *, shift=0.0):
            log("forward", scale, shift)
            return x * scale + shift

    model = Scaled()

    def before(module, args, kwargs):
        log("before", len(args), sorted(kwargs))
        return args, {**kwargs, "shift": 2.0}

    def after(module, args, kwargs, out):
        log("after", len(args), sorted(kwargs))
        return out * 10

    first = model.register_forward_pre_hook(before, with_kwargs=True)
    second = model.register_forward_hook(after, with_kwargs=True)
    log(model(ones(lib, 1), scale=3.0))
    first.remove()
    log(model(ones(lib, 1), 4.0))
    second.remove()
    for wrong in (3, (1, 2, 3), ((1,), 2)):
        handle = model.register_forward_pre_hook(lambda m, a, k, w=wrong: w, with_kwargs=True)
        log.attempt(lambda: model(ones(lib, 1)))
        handle.remove()
    with model.register_forward_pre_hook(lambda m, a: a[0] * 2):
        log(model(ones(lib, 1)))
    with model.register_forward_pre_hook(lambda m, a: (a[0] * 2, 5.0)):
        log(model(ones(lib, 1)))
    log(model(ones(lib, 1)))


@scenario
def failures_and_hooks_that_always_run(lib, log):
    class Failing(lib.nn.Module):
        def forward(self, x):
            raise ValueError("no forward")

    model = Failing()
    model.register_forward_hook(lambda m, a, out: log("always", out), always_call=True)
    model.register_forward_hook(lambda m, a, out: log("never"))
    log.attempt(lambda: model(ones(lib, 1)))
    model = lib.nn.Identity()

    def failing(*args):
        log("failing")
        raise RuntimeError("no hook")

    model.register_forward_hook(failing, always_call=True)
    model.register_forward_hook(lambda m, a, out: log("second"), always_call=True)
    log.attempt(lambda: model(ones(lib, 1)))
    model = lib.nn.Identity()
    model.register_full_backward_hook(failing)
    log.attempt(lambda: model(ones(lib, 1)).sum().backward())


@scenario
def gradients_that_backward_hooks_change(lib, log):
    model = lib.nn.Linear(2, 1)
    x = ones(lib, 3, 2)

    def run():
        x.grad = None
        model.zero_grad()
        model(x).sum().backward()
        return [x.grad, model.weight.grad]

    for change in (
        lambda m, gi, go: (gi[0] * 3,),
        lambda m, gi, go: gi[0] * 3,
        lambda m, gi, go: None,
        lambda m, gi, go: (gi[0], gi[0]),
        lambda m, gi, go: (None,),
        lambda m, gi, go: 5,
    ):
        with model.register_full_backward_hook(change):
            log.attempt(run)
    for change in (
        lambda m, go: (go[0] * 3,),
        lambda m, go: go[0] * 3,
        lambda m, go: (go[0], go[0]),
        lambda m, go: (None,),
    ):
        with model.register_full_backward_pre_hook(change):
            log.attempt(run)
    with model.register_full_backward_hook(lambda m, gi, go: log(gi, go)):
        run()
        model(x.detach()).sum().backward()


@scenario
def hooks_that_do_not_fit(lib, log):
    model = lib.nn.ReLU()
    handle = model.register_backward_hook(lambda m, gi, go: log("old", gi, go))
    log.attempt(lambda: model.register_full_backward_hook(lambda *a: None))
    model(ones(lib, 2) * 1).sum().backward()
    handle.remove()
    model.register_full_backward_hook(lambda *a: None)
    log.attempt(lambda: model.register_backward_hook(lambda *a: None))

    class Pair(lib.nn.Module):
        def forward(self, x):
            return {"out": x * 2}

    pair = Pair()
    pair.register_full_backward_hook(lambda m, gi, go: log(gi, go))
    log.attempt(lambda: pair(ones(lib, 1))["out"].backward())

    class Several(lib.nn.Module):
        def forward(self, x, flag, y):
            return x * y, "text", y

    several = Several()
    several.register_full_backward_hook(lambda m, gi, go: log(gi, go))
    x, y = ones(lib, 1), ones(lib, 1)
    several(x, True, y)[0].backward()
    log(x.grad, y.grad)
    (several(x, True, y)[2] * 4).backward()
    inplace = lib.nn.ReLU(inplace=True)
    inplace.register_full_backward_hook(lambda m, gi, go: log("inplace"))
    log.attempt(lambda: inplace(ones(lib, 2) * 1).sum().backward())
    chained = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.ReLU(inplace=True))
    chained[0].register_full_backward_hook(lambda m, gi, go: log("chained"))
    log.attempt(lambda: chained(ones(lib, 1)).sum().backward())


@scenario
def hooks_on_every_module(lib, log):
    module = lib.nn.modules.module
    model = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.Tanh())
    handles = [
        module.register_module_forward_pre_hook(lambda m, a: log("pre", type(m).__name__)),
        module.register_module_forward_hook(lambda m, a, o: log("post", type(m).__name__)),
        module.register_module_full_backward_hook(lambda m, gi, go: log("b", type(m).__name__)),
        module.register_module_full_backward_pre_hook(lambda m, go: log("bp", type(m).__name__)),
    ]
    model[0].register_forward_hook(lambda m, a, o: log("own"))
    model(ones(lib, 1, 1)).sum().backward()
    for handle in handles:
        handle.remove()
    model(ones(lib, 1, 1)).sum().backward()
    registered = []
    handles = [
        module.register_module_parameter_registration_hook(
            lambda m, name, p: registered.append(name)
        ),
        module.register_module_buffer_registration_hook(lambda m, name, b: registered.append(name)),
        module.register_module_module_registration_hook(
            lambda m, name, child: registered.append(name)
        ),
    ]
    lib.nn.Sequential(lib.nn.BatchNorm1d(1), lib.nn.Linear(1, 1, bias=False))
    for handle in handles:
        handle.remove()
    lib.nn.Linear(1, 1)
    log(registered)


@scenario
def copies_have_hooks_of_their_own(lib, log):
    model = lib.nn.Linear(1, 1)
    handle = model.register_forward_hook(lambda m, a, o: log("hook", type(m).__name__))
    twin = copy.deepcopy(model)
    model(lib.ones(1))
    twin(lib.ones(1))
    handle.remove()
    model(lib.ones(1))
    twin(lib.ones(1))
    log(len(model._forward_hooks), len(twin._forward_hooks))
    reference = weakref.ref(model)
    out = model(lib.ones(1))
    del model
    gc.collect()
    log(reference() is None, out.requires_grad)


@scenario
def parametrizations(lib, log):
    nn, parametrize = lib.nn, lib.nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    class Scale(nn.Module):
        def forward(self, x):
            log("computed")
            return x * 2

    class Flat(nn.Module):
        def forward(self, x):
            return x.reshape(-1)

    model = nn.Linear(2, 2)
    parametrize.register_parametrization(model, "weight", Symmetric())
    log(model.weight, type(model).__name__, isinstance(model, nn.Linear), list(model.state_dict()))
    log([n for n, _ in model.named_parameters()], parametrize.is_parametrized(model, "weight"))
    model.weight = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    log(model.weight, model.parametrizations.weight.original)
    parametrize.register_parametrization(model, "weight", Scale())
    log(repr(model))
    with parametrize.cached():
        log(model.weight is model.weight)
        model(lib.ones(1, 2)).sum().backward()
    log(model.parametrizations.weight.original.grad)
    model(lib.ones(1, 2)).sum().backward()
    log.attempt(lambda: parametrize.register_parametrization(model, "weight", Flat()))
    log.attempt(lambda: parametrize.register_parametrization(model, "none", Scale()))
    log.attempt(lambda: setattr(model, "weight", lib.ones(2, 2)))
    twin = copy.deepcopy(model)
    log(twin.weight, type(twin) is type(model))
    log.attempt(lambda: parametrize.remove_parametrizations(model, "bias"))
    parametrize.remove_parametrizations(model, "weight")
    log(type(model).__name__, [n for n, _ in model.named_parameters()], model.weight)
    parametrize.register_parametrization(twin, "bias", Scale())
    log(parametrize.type_before_parametrizations(twin).__name__, twin.bias)
    parametrize.remove_parametrizations(twin, "bias", leave_parametrized=False)
    log(twin.bias)
    other = nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(twin, other, "weight")
    log(other.weight, list(other.state_dict()))


@scenario
def pruning(lib, log):
    nn = lib.nn
    prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    model = nn.Linear(3, 2)
    with lib.no_grad():
        model.weight.copy_(lib.arange(6.0).reshape(2, 3) - 2.5)
    prune.l1_unstructured(model, "weight", amount=2)
    log(model.weight, model.weight_mask, list(model.state_dict()), prune.is_pruned(model))
    model(lib.ones(1, 3)).sum().backward()
    log(model.weight_orig.grad)
    prune.ln_structured(model, "weight", amount=0.5, n=2, dim=1)
    log(model.weight, [type(h).__name__ for h in model._forward_pre_hooks.values()])
    prune.random_unstructured(model, "bias", amount=1)
    log(model.bias_mask)
    prune.remove(model, "weight")
    log(list(model.state_dict()), model.weight, prune.is_pruned(model))
    log.attempt(lambda: prune.remove(model, "weight"))
    for amount in (1.5, -1, "a", 7, -0.1):
        log.attempt(lambda amount=amount: prune.l1_unstructured(nn.Linear(3, 2), "weight", amount))
    prune.custom_from_mask(model, "weight", lib.tensor([[1, 0, 1], [0, 1, 0]]))
    log(model.weight)
    pair = [(nn.Linear(2, 2), "weight"), (nn.Linear(2, 1), "weight")]
    prune.global_unstructured(pair, prune.L1Unstructured, amount=3)
    log([module.weight_mask for module, _ in pair])
    prune.random_structured(pair[0][0], "weight", amount=1, dim=0)
    log(pair[0][0].weight_mask)
    twin = copy.deepcopy(pair[1][0])
    log(twin(lib.ones(1, 2)))
    log(prune.identity(nn.Linear(1, 1), "bias").bias_mask)


@scenario
def tied_weights(lib, log):
    nn = lib.nn

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(3, 2)
            self.out = nn.Linear(2, 3, bias=False)
            self.out.weight = self.embedding.weight

        def forward(self, x):
            return self.out(self.embedding(x))

    model = Tied().double()
    log(len(list(model.parameters())), list(model.state_dict()))
    loss = nn.functional.cross_entropy(model(lib.tensor([0, 2])), lib.tensor([1, 1]))
    loss.backward()
    log(model.out.weight.grad, model.out.weight.grad is model.embedding.weight.grad)
    twin = copy.deepcopy(model)
    log(twin.out.weight is twin.embedding.weight)
    model.float().double()
    log(model.out.weight is model.embedding.weight)
    new = {"embedding.weight": lib.ones(3, 2, dtype=lib.float64)}
    log(lib.func.functional_call(model, new, (lib.tensor([0]),)))
    log(lib.func.functional_call(model, new, (lib.tensor([0]),), tie_weights=False))
    new["out.weight"] = lib.zeros(3, 2, dtype=lib.float64)
    log.attempt(lambda: lib.func.functional_call(model, new, (lib.tensor([0]),)))
    state = twin.state_dict()
    state["out.weight"] = state["out.weight"] * 0
    twin.load_state_dict(state)
    log(twin.embedding.weight)


@scenario
def writes_that_layers_notice(lib, log):
    nn = lib.nn
    x = ones(lib, 2, 4)
    for first in (nn.Sigmoid(), nn.Tanh(), nn.Softmax(1), nn.Linear(4, 4), nn.LayerNorm(4)):
        for second in (nn.ReLU(True), nn.Dropout(0.5, True), nn.ELU(inplace=True), nn.SiLU(True)):
            x.grad = None
            log.attempt(lambda f=first, s=second: s(f(x)).sum().backward())
            log(x.grad)
    log.attempt(lambda: nn.ReLU(True)(x))
    linear = nn.Linear(4, 1)
    out = linear(x).sum()
    with lib.no_grad():
        linear.weight.mul_(2)
    log.attempt(lambda: out.backward())
    out = linear(x).sum()
    linear.weight.data.mul_(2)
    log.attempt(lambda: out.backward())
    norm = nn.BatchNorm1d(4)
    out = norm(lib.rand(3, 4, requires_grad=True)).sum()
    norm(lib.rand(3, 4))
    log.attempt(lambda: out.backward())
    norm.eval()
    out = norm(lib.rand(3, 4, requires_grad=True)).sum()
    norm.running_mean.add_(1)
    log.attempt(lambda: out.backward())
    table = nn.Embedding(3, 2, max_norm=0.1)
    log.attempt(lambda: (table.weight.sum() * table(lib.tensor([0])).sum()).backward())
    log.attempt(lambda: (table(lib.tensor([0])) * table(lib.tensor([1]))).sum().backward())
