"""The base class of optimizers beside real PyTorch: groups, names, hooks, state dicts, errors."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def leaf(t, *shape):
    return t.ones(*(shape or (2,)), requires_grad=True)


def base_module(t):
    return importlib.import_module(f"{t.__name__}.optim.optimizer")


def both(run):
    results = []
    for t in (retrograd, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = run(t)
            except Exception as error:
                result = (type(error).__name__, str(error).splitlines()[0])
        results.append((result, [(w.category.__name__, str(w.message)) for w in caught]))
    assert results[0] == results[1]
    return results[0]


def adding(t, *groups):
    optimizer = t.optim.SGD([leaf(t)], lr=0.1)
    for group in groups:
        optimizer.add_param_group(group)
    return repr(optimizer)


def named(t, *pairs, **options):
    optimizer = t.optim.Adam(list(pairs), **options)
    return repr(optimizer), optimizer.state_dict()["param_groups"]


def duplicated(t):
    parameter = leaf(t)
    optimizer = t.optim.SGD([parameter, leaf(t), parameter], lr=0.1)
    return optimizer.state_dict()["param_groups"][0]["params"]


def shared(t):
    parameter = leaf(t)
    return t.optim.SGD([{"params": [parameter]}, {"params": parameter}])


def mixed_names(t):
    optimizer = t.optim.SGD([("a", leaf(t))])
    optimizer.add_param_group({"params": [leaf(t)]})


def mixed_names_the_other_way(t):
    optimizer = t.optim.SGD([leaf(t)])
    optimizer.add_param_group({"params": [("a", leaf(t))]})


def required_option(t):
    class Custom(t.optim.Optimizer):
        pass

    group = [{"params": [leaf(t)]}]
    return Custom(group, {"rate": base_module(t).required})


def loading(t, change):
    saved = t.optim.SGD([leaf(t), leaf(t)]).state_dict()
    change(saved["param_groups"])
    t.optim.SGD([leaf(t), leaf(t)]).load_state_dict(saved)


@pytest.mark.parametrize(
    "run",
    [
        lambda t: repr(t.optim.SGD([{"params": [leaf(t)], "lr": 3.0}, {"params": leaf(t)}], lr=1)),
        lambda t: adding(t, {"params": leaf(t), "lr": 5.0, "note": "kept"}),
        lambda t: adding(t, [leaf(t)]),
        lambda t: adding(t, {"params": {leaf(t)}}),
        lambda t: adding(t, {"params": [1]}),
        lambda t: adding(t, {"params": [leaf(t) * 2]}),
        lambda t: adding(t, {}),
        lambda t: t.optim.SGD(leaf(t)),
        lambda t: t.optim.SGD([]),
        lambda t: t.optim.SGD(["a"]),
        lambda t: named(t, ("weight", leaf(t)), ("bias", leaf(t)), lr=0.5),
        lambda t: named(t, ("weight", leaf(t)), leaf(t)),
        lambda t: named(t, *t.nn.Linear(2, 2).named_parameters()),
        duplicated,
        shared,
        mixed_names,
        mixed_names_the_other_way,
        required_option,
        lambda t: loading(t, lambda groups: groups.clear()),
        lambda t: loading(t, lambda groups: groups[0]["params"].pop()),
    ],
)
def test_groups(run):
    both(run)


def test_the_group_given_is_the_group_kept():
    def run(t):
        group = {"params": leaf(t)}
        optimizer = t.optim.SGD([group], lr=0.5)
        return optimizer.param_groups[0] is group, group["lr"], type(group["params"]).__name__

    both(run)


def test_hooks_run_in_order_and_can_change_arguments():
    def run(t):
        seen = []

        def note(name):
            return lambda optimizer, args, kwargs: seen.append(
                (name, type(optimizer).__name__, len(args), sorted(kwargs))
            )

        def with_closure(optimizer, args, kwargs):
            seen.append("closure given")
            return args[:1], {"closure": lambda: 7}

        parameter = leaf(t)
        optimizer = t.optim.SGD([parameter])
        handles = [
            optimizer.register_step_post_hook(note("own after")),
            optimizer.register_step_pre_hook(note("own before")),
            base_module(t).register_optimizer_step_pre_hook(note("all before")),
            base_module(t).register_optimizer_step_post_hook(note("all after")),
            optimizer.register_step_pre_hook(with_closure),
        ]
        results = [optimizer.step(), optimizer.step(lambda: 3)]
        for handle in handles:
            handle.remove()
        results.append(optimizer.step(lambda: 5))
        t.optim.Adam([leaf(t)]).step()
        return seen, results

    result, _ = both(run)
    assert result[0][0][0] == "all before"


def test_a_hook_must_return_a_pair():
    for t in (retrograd, torch):
        optimizer = t.optim.SGD([leaf(t)])
        optimizer.register_step_pre_hook(lambda *_: 5)
        with pytest.raises(RuntimeError, match="must return None or a tuple of"):
            optimizer.step()


def test_hooks_around_an_optimizer_of_the_user():
    def run(t):
        seen = []

        class Halve(t.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"factor": 0.5})

            @t.no_grad()
            def step(self, closure=None):
                seen.append("step")
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.mul_(group["factor"])
                        self.state[parameter]["count"] = 1

        parameter = leaf(t)
        optimizer = Halve([parameter])
        optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
        optimizer.register_step_post_hook(lambda *_: seen.append("after"))
        optimizer.step()
        return seen, parameter.tolist(), optimizer.state_dict()

    both(run)


def test_state_dict_hooks():
    def run(t):
        seen = []
        optimizer = t.optim.SGD([leaf(t)], lr=0.5)
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("before making"))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
        optimizer.register_state_dict_post_hook(lambda o, saved: {**saved, "extra": 1})
        optimizer.register_state_dict_post_hook(
            lambda o, saved: seen.append(sorted(saved)), prepend=True
        )
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))

        def faster(o, saved):
            saved["param_groups"] = copy.deepcopy(saved["param_groups"])
            saved["param_groups"][0]["lr"] = 9.0

        optimizer.register_load_state_dict_pre_hook(faster)
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)
        return seen, saved

    both(run)


def test_state_in_other_dtypes_and_foreign_state():
    def run(t):
        first = t.optim.Adam([leaf(t)])
        first.param_groups[0]["params"][0].grad = t.ones(2)
        first.step()
        saved = first.state_dict()
        saved["state"]["loose"] = {"kept": [1, 2]}
        second = t.optim.Adam([t.ones(2, dtype=t.float64, requires_grad=True)])
        second.load_state_dict(saved)
        entries = second.state_dict()["state"]
        return {key: str(value.dtype) for key, value in entries[0].items()}, entries["loose"]

    both(run)


def test_names_survive_loading():
    def run(t):
        plain, other = t.optim.SGD([leaf(t)]), t.optim.SGD([("other", leaf(t))])
        optimizer = t.optim.SGD([("own", leaf(t))])
        optimizer.load_state_dict(plain.state_dict())
        kept = list(optimizer.param_groups[0]["param_names"])
        optimizer.load_state_dict(other.state_dict())
        return kept, optimizer.param_groups[0]["param_names"]

    both(run)


def test_copies_and_pickles_keep_training():
    def run(t):
        parameter = leaf(t)
        optimizer = t.optim.SGD([("w", parameter)], lr=0.1, momentum=0.9)
        optimizer.register_step_pre_hook(lambda *_: None)
        parameter.grad = t.ones(2)
        optimizer.step()
        results = []
        for twin in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
            moved = twin.param_groups[0]["params"][0]
            assert moved is not parameter
            moved.grad = t.ones(2)
            twin.step()
            results.append(
                (repr(twin), [round(v, 5) for v in moved.tolist()], sorted(twin.__dict__)[:1])
            )
        return results, parameter.tolist()

    both(run)


def test_zero_grad():
    def run(t):
        parameter = leaf(t)
        optimizer = t.optim.SGD([parameter])
        (parameter * 3).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        zeroed = parameter.grad.tolist()
        optimizer.zero_grad()
        return zeroed, parameter.grad

    both(run)


def test_versions_are_counted():
    def run(t):
        parameter = leaf(t)
        optimizer = t.optim.SGD([parameter], lr=0.1)
        parameter.grad = t.ones(2)
        before = parameter._version
        optimizer.step()
        return parameter._version > before

    assert both(run)[0] is True
