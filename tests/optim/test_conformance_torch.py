"""Optimizers: groups, states, hooks, closures, options; scenarios for both libraries."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import re
import warnings

import pytest

import retrograd
from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []

NAMES = (
    "SGD Adam AdamW Adamax NAdam RAdam Adagrad Adadelta RMSprop Rprop ASGD Adafactor Muon LBFGS"
).split()


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def shown(value):
    """A text in which the libraries' own names are alike."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("retrograd.", "torch.")


def near(tensor):
    """A tensor's values to the digits that do not depend on the order of float32 sums."""
    rows = tensor.detach().reshape(-1).tolist()
    return [round(value, 4) + 0.0 for value in rows]


def base(lib):
    """The module of the class Optimizer; PyTorch's is no attribute of `optim`."""
    return importlib.import_module(f"{lib.__name__}.optim.optimizer")


def make(lib, name, parameters, **options):
    """An optimizer of the name, with the options that it has to have."""
    if name == "SGD":
        options.setdefault("momentum", 0.9)
    return getattr(lib.optim, name)(parameters, **options)


def matrix(lib):
    start = lib.arange(6.0).reshape(3, 2) / 3 - 0.7
    return lib.nn.Parameter(start)


def loss_of(lib, parameter):
    wanted = lib.tensor([[0.3, -0.2], [1.0, 0.5], [-0.4, 0.1]])
    return ((parameter - wanted) ** 2).sum() + (parameter**4).sum() / 10


def train(lib, optimizer, parameters, steps):
    for _ in range(steps):

        def closure():
            optimizer.zero_grad()
            loss = sum(loss_of(lib, parameter) for parameter in parameters)
            loss.backward()
            return loss

        result = optimizer.step(closure)
    return result


@scenario
def a_state_loaded_into_another_optimizer(lib, log):
    for name in NAMES:
        first = matrix(lib)
        optimizer = make(lib, name, [first])
        train(lib, optimizer, [first], 5)
        second = lib.nn.Parameter(first.detach().clone())
        other = make(lib, name, [second])
        packed = optimizer.state_dict()
        other.load_state_dict(copy.deepcopy(packed))
        train(lib, optimizer, [first], 5)
        train(lib, other, [second], 5)
        log(name, near(first), lib.equal(first, second))
        log(shown(packed["param_groups"]), [sorted(state) for state in packed["state"].values()])
        other.param_groups.extend(other.param_groups)
        log(shown(other.state_dict()["param_groups"][-1]))


@scenario
def older_states(lib, log):
    later = "maximize foreach capturable differentiable fused decoupled_weight_decay".split()
    for name in NAMES[: NAMES.index("Adafactor")]:
        parameter = matrix(lib)
        optimizer = make(lib, name, [parameter])
        train(lib, optimizer, [parameter], 3)
        packed = copy.deepcopy(optimizer.state_dict())
        for group in packed["param_groups"]:
            for flag in later:
                group.pop(flag, None)
        for state in packed["state"].values():
            if lib.is_tensor(state.get("step")):
                state["step"] = state["step"].item()
        optimizer.load_state_dict(packed)
        train(lib, optimizer, [parameter], 3)
        log(name, near(parameter), shown(optimizer.param_groups[0].keys()))


@scenario
def named_parameters(lib, log):
    for name in ("SGD", "Adam", "LBFGS"):
        for first_named in (False, True):
            for second_named in (False, True):
                model = lib.nn.Linear(2, 2)
                listing = (
                    list(model.named_parameters()) if first_named else list(model.parameters())
                )
                optimizer = make(lib, name, listing)
                listing = [("a", model.weight), ("b", model.bias)]
                other = make(lib, name, listing if second_named else list(model.parameters()))
                log.attempt(lambda o=other, s=optimizer: o.load_state_dict(s.state_dict()))
                log(shown(other.state_dict()["param_groups"]), shown(other))
    weight, bias = lib.ones(1, requires_grad=True), lib.zeros(1, requires_grad=True)
    for groups in (
        [("w", weight), bias],
        [weight, ("b", bias)],
        [{"params": [("w", weight)]}, {"params": [bias]}],
        [{"params": [weight]}, {"params": [("b", bias)]}],
        [{"params": [("w", weight)], "lr": 1}, {"params": [("b", bias)]}],
        [{"params": ("w", weight)}],
        [{"params": {"w": weight}}],
        {"w": weight}.items(),
        iter([("w", weight)]),
        [("w", weight), ("w", bias)],
        [("w", weight), ("v", weight)],
    ):
        log.attempt(lambda g=groups: shown(lib.optim.SGD(g, lr=0.1)))


@scenario
def wrong_groups(lib, log):
    w = lib.ones(1, requires_grad=True)
    for parameters in (
        [],
        [{"params": []}],
        w,
        [w, 3],
        [3],
        3,
        None,
        "ab",
        [w * 2],
        [{"params": {w}}],
        [{"lr": 1}],
        [w, {"params": [w]}],
        [{"params": [w]}, {"params": [w]}],
        [{"params": [w, w]}],
        [{"params": w}],
        [{"params": [w], "own": 3}],
        {w},
        (w,),
        iter([w]),
        [w.detach()],
        [lib.tensor([1])],
        [[w]],
        [None],
    ):
        log.attempt(lambda p=parameters: shown(lib.optim.SGD(p, lr=0.1)))
    optimizer = lib.optim.SGD([w], lr=0.1)
    for group in (
        {"params": [w]},
        [w],
        {"params": {lib.ones(1)}},
        {},
        {"params": lib.zeros(1), "lr": 5},
        {"params": []},
        {"params": iter([lib.zeros(1)])},
        {"params": [lib.zeros(1)], "lr": -1, "momentum": "a"},
        None,
    ):
        log.attempt(lambda g=group: optimizer.add_param_group(g))
        log(shown(optimizer))


@scenario
def states_that_do_not_fit(lib, log):
    w, b = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
    one, two = lib.optim.Adam([w]), lib.optim.Adam([w, b])
    groups = lib.optim.Adam([{"params": [w]}, {"params": [b]}])
    for receiver in (one, two, groups):
        for sender in (one, two, groups):
            log.attempt(lambda r=receiver, s=sender: r.load_state_dict(s.state_dict()))
    for bad in ({}, {"param_groups": []}, {"state": {}, "param_groups": [{}]}, None, []):
        log.attempt(lambda bad=bad: one.load_state_dict(bad))
    log.attempt(lambda: one.load_state_dict(lib.optim.SGD([w]).state_dict()))
    w.grad = lib.ones(1)
    log.attempt(one.step)


@scenario
def hooks_on_every_optimizer(lib, log):
    for name in NAMES:
        parameter = matrix(lib)
        optimizer = make(lib, name, [parameter])
        said = []
        handles = [
            optimizer.register_step_pre_hook(lambda o, a, k, s=said: s.append("before")),
            optimizer.register_step_post_hook(lambda o, a, k, s=said: s.append("after")),
            base(lib).register_optimizer_step_pre_hook(
                lambda o, a, k, s=said: s.append("before all")
            ),
            base(lib).register_optimizer_step_post_hook(
                lambda o, a, k, s=said: s.append((type(o).__name__, len(a), sorted(k)))
            ),
        ]
        train(lib, optimizer, [parameter], 2)
        optimizer.step(closure=lambda p=parameter: loss_of(lib, p))
        for handle in handles:
            handle.remove()
        train(lib, optimizer, [parameter], 1)
        log(name, shown(said))


@scenario
def state_hooks(lib, log):
    w = lib.ones(1, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.1)

    def mark(optimizer):
        optimizer.state["mark"] = 1

    def unmark(optimizer, packed):
        packed["found"] = packed["state"].pop("mark", None)

    def replace(optimizer, packed):
        return {**packed, "replaced": True}

    optimizer.register_state_dict_pre_hook(mark)
    optimizer.register_state_dict_post_hook(unmark)
    optimizer.register_state_dict_post_hook(replace, prepend=True)
    packed = optimizer.state_dict()
    log(shown(packed), shown(list(optimizer.state)))

    def rate(value):
        def hook(optimizer, packed):
            packed = copy.deepcopy(packed)
            packed["param_groups"][0]["lr"] = value
            return packed

        return hook

    optimizer.register_load_state_dict_pre_hook(rate(0.2))
    optimizer.register_load_state_dict_pre_hook(rate(0.3), prepend=True)
    optimizer.register_load_state_dict_post_hook(lambda o: log(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(packed)
    log(shown(optimizer), packed["param_groups"][0]["lr"])
    log(shown(sorted(name for name in vars(optimizer) if not name.startswith("_"))))


@scenario
def missing_gradients_and_repeated_steps(lib, log):
    for name in NAMES:
        used, unused = matrix(lib), matrix(lib)
        optimizer = make(lib, name, [used, unused])
        train(lib, optimizer, [used], 3)
        log(name, near(used), near(unused), len(optimizer.state))
        optimizer.zero_grad(set_to_none=False)
        log(used.grad, unused.grad)
        optimizer.zero_grad()
        log(used.grad)
        if name != "LBFGS":
            log(optimizer.step(), optimizer.step(lambda: 3))
        log.attempt(lambda o=optimizer: o.step(5))
        log(near(used))


@scenario
def closures(lib, log):
    w = matrix(lib)
    for name in ("SGD", "Adam", "LBFGS"):
        optimizer = make(lib, name, [w])

        def closure(optimizer=optimizer):
            optimizer.zero_grad()
            loss = loss_of(lib, w)
            loss.backward()
            log(lib.is_grad_enabled(), loss)
            return loss

        with lib.no_grad():
            log(optimizer.step(closure), lib.is_grad_enabled())
        log.attempt(lambda o=optimizer: o.step(lambda: 1 / 0))
        log(lib.is_grad_enabled())
    for limit in (float("inf"), -float("inf")):
        optimizer = lib.optim.LBFGS([lib.ones(2)], 0.01, tolerance_grad=limit)
        log(optimizer.step(lambda: lib.tensor([10.0])))
    log.attempt(lambda: lib.optim.LBFGS([w]).step())
    log.attempt(lambda: lib.optim.LBFGS([{"params": [w]}, {"params": [matrix(lib)]}]))
    log.attempt(lambda: lib.optim.LBFGS([w], line_search_fn="none").step(lambda: loss_of(lib, w)))


@scenario
def copies(lib, log):
    for name in NAMES[:-1]:  # PyTorch's LBFGS does not survive it
        parameter = matrix(lib)
        optimizer = make(lib, name, [parameter])
        train(lib, optimizer, [parameter], 3)
        twin = copy.deepcopy(optimizer)
        again = pickle.loads(pickle.dumps(optimizer))
        for other in (twin, again):
            (copied,) = other.param_groups[0]["params"]
            log(copied is parameter, sorted(n for n in vars(other) if not n.startswith("_")))
            train(lib, other, [copied], 2)
            log(name, near(copied), len(other.state))
        log(near(parameter), shown(optimizer))


@scenario
def different_options_in_groups(lib, log):
    for name, options in (
        ("SGD", {"nesterov": True, "momentum": 0.5, "dampening": 0}),
        ("SGD", {"momentum": 0.5, "dampening": 0.3, "maximize": True}),
        ("Adam", {"amsgrad": True, "betas": (0.5, 0.6), "weight_decay": 0.1}),
        ("AdamW", {"amsgrad": True, "maximize": True, "weight_decay": 0.2}),
        ("RMSprop", {"centered": True, "momentum": 0.3, "alpha": 0.5}),
        ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}),
        ("NAdam", {"momentum_decay": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1}),
        ("RAdam", {"betas": (0.5, 0.6), "weight_decay": 0.1}),
        ("ASGD", {"lambd": 0.1, "alpha": 0.5, "t0": 2}),
        ("Rprop", {"etas": (0.4, 1.3), "step_sizes": (1e-3, 0.2)}),
        ("Adamax", {"betas": (0.5, 0.6), "eps": 0.1}),
        ("Adadelta", {"rho": 0.5, "eps": 0.01}),
    ):
        first, second, third = matrix(lib), matrix(lib), matrix(lib)
        groups = [{"params": [first]}, {"params": [second], **options}]
        optimizer = make(lib, name, groups, lr=0.05)
        train(lib, optimizer, [first, second], 10)
        optimizer.add_param_group({"params": third, "lr": 0.2})
        optimizer.param_groups[0]["lr"] = 0.01
        train(lib, optimizer, [first, second, third], 10)
        log(name, near(first), near(second), near(third))


@scenario
def optimizers_of_the_user(lib, log):
    class Plain(lib.optim.Optimizer):
        def __init__(self, parameters, rate):
            super().__init__(parameters, {"rate": rate, "extra": None})

        @lib.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.add_(parameter.grad, alpha=-group["rate"])
                        self.state[parameter]["count"] = 1

    w = matrix(lib)
    optimizer = Plain([w], rate=0.1)
    loss_of(lib, w).backward()
    optimizer.step()
    log(w, shown(optimizer), shown(optimizer.state_dict()), shown(optimizer.defaults))
    log.attempt(lambda: Plain([w], base(lib).required))
    log.attempt(lambda: lib.optim.Optimizer([w]))
    log.attempt(lambda: lib.optim.Optimizer([], {}))
    log.attempt(lambda: lib.optim.lr_scheduler.StepLR(optimizer, 2))


@scenario
def rates_as_tensors(lib, log):
    for name in NAMES:
        if name == "LBFGS":
            continue
        for rate in (lib.tensor(0.01), lib.tensor([0.01]), lib.tensor([[0.01]])):
            parameter = matrix(lib)
            try:
                optimizer = make(lib, name, [parameter], lr=rate)
            except Exception as error:
                log(name, type(error).__name__, str(error).splitlines()[0])
                continue
            try:
                train(lib, optimizer, [parameter], 3)
            except Exception as error:
                log(name, type(error).__name__, str(error).splitlines()[0])
                continue
            log(name, near(parameter), optimizer.param_groups[0]["lr"])


@scenario
def sparse_gradients(lib, log):
    warnings.filterwarnings("ignore", "Sparse invariant checks")  # PyTorch about itself, once
    for name in (*NAMES, "SparseAdam"):
        for options in (
            {},
            {"foreach": True},
            {"fused": True},
            {"maximize": True},
            {"weight_decay": 0.1},
            {"capturable": True},
        ):
            parameter = matrix(lib)
            try:
                optimizer = getattr(lib.optim, name)([parameter], **options)
                for row in range(3):
                    gradient = lib.zeros(3, 2)
                    gradient[row] = 1.0 + row
                    parameter.grad = gradient.to_sparse()
                    optimizer.step(lambda: lib.tensor(1.0))
            except Exception as error:
                log(name, type(error).__name__, str(error).splitlines()[0])
            else:
                log(name, near(parameter))


@pytest.mark.parametrize("name", NAMES)
def test_states_travel_between_the_libraries_in_files(name):
    """Half of the training here, half there, is the training of one library alone."""
    ends = {}
    for first in (torch, retrograd):
        for second in (torch, retrograd):
            start = matrix(first)
            optimizer = make(first, name, [start])
            train(first, optimizer, [start], 6)
            file = io.BytesIO()
            first.save({"w": start.detach(), "state": optimizer.state_dict()}, file)
            file.seek(0)
            loaded = second.load(file, weights_only=True)
            goal = second.nn.Parameter(loaded["w"])
            other = make(second, name, [goal])
            other.load_state_dict(loaded["state"])
            train(second, other, [goal], 6)
            ends[first.__name__, second.__name__] = goal.tolist()
    wanted = ends.pop(("torch", "torch"))
    for found in ends.values():
        for row, wanted_row in zip(found, wanted, strict=True):
            assert row == pytest.approx(wanted_row, rel=1e-5, abs=1e-6)
