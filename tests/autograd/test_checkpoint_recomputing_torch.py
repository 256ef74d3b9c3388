"""Checkpoints: what is recomputed, when, and what is refused; scenarios for both libraries."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter

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


def leaf(lib, *values, **options):
    # In double precision: rounding differs in the seventh digit of long chains.
    return lib.tensor(list(values), requires_grad=True, dtype=lib.double, **options)


def checkpointing(lib):
    """The module of checkpoints, and `checkpoint` without reentrance."""
    module = lib.utils.checkpoint

    def checkpoint(function, *args, use_reentrant=False, **options):
        return module.checkpoint(function, *args, use_reentrant=use_reentrant, **options)

    return module, checkpoint


def counted(function):
    """A function, and how often it ran."""
    calls = Counter()

    def run(*args, **options):
        calls["runs"] += 1
        return function(*args, **options)

    return run, calls


@scenario
def saved_tensors_read_outside_of_backward(lib, log):
    _, checkpoint = checkpointing(lib)
    run, calls = counted(lambda x: (x.sin() * x).exp())
    x = leaf(lib, 0.5, 1.0)
    y = checkpoint(run, x)
    for _ in range(2):
        log(y.grad_fn._saved_result, calls["runs"])
    log(y.grad_fn.next_functions[0][0]._saved_other is x, calls["runs"])
    y.sum().backward()
    log(x.grad, calls["runs"])
    log.attempt(lambda: y.grad_fn._saved_result)
    log.attempt(lambda: y.sum().backward())
    log(calls["runs"])


@scenario
def saved_tensors_read_twice_in_backward(lib, log):
    _, checkpoint = checkpointing(lib)

    class Reading(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            product = x * y
            ctx.save_for_backward(x, y, product)
            return product

        @staticmethod
        def backward(ctx, grad):
            x, y, product = ctx.saved_tensors
            log(x, y, product)
            log.attempt(lambda: ctx.saved_tensors)
            return grad * y, grad * x

    x, y = leaf(lib, 2.0), leaf(lib, 3.0)
    out = checkpoint(lambda a, b: Reading.apply(a * 2, b.exp()), x, y)
    out.sum().backward()
    log(x.grad, y.grad)


@scenario
def retained_and_repeated(lib, log):
    _, checkpoint = checkpointing(lib)
    run, calls = counted(lambda x: x.sin().cos())
    x = leaf(lib, 0.5)
    y = checkpoint(run, x)
    for _ in range(2):
        log(lib.autograd.grad(y, x, retain_graph=True), calls["runs"])
    (first,) = lib.autograd.grad(y, x, create_graph=True)
    log(first, calls["runs"])
    log(lib.autograd.grad(first, x), calls["runs"])


@scenario
def early_stop(lib, log):
    module, checkpoint = checkpointing(lib)
    last, calls = counted(lambda x: x.clone())

    def run(x):
        return last(x.sin().cos())

    def outcome(within=None, **options):
        calls.clear()
        x = leaf(lib, 1.0)
        contexts = [module.set_checkpoint_early_stop(flag) for flag in within or ()]
        with contextlib.ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context)
            y = checkpoint(run, x, **options)
        y.sum().backward()
        log(within, sorted(options.items()), calls["runs"], x.grad)

    flags = (True, False)
    outcome()
    for flag in flags:
        outcome(early_stop=flag)
        outcome(within=[flag])
    for outer, inner in itertools.product(flags, flags):
        outcome(within=[outer], early_stop=inner)
        outcome(within=[outer, inner], early_stop=not inner)


@scenario
def nothing_to_recompute(lib, log):
    module, checkpoint = checkpointing(lib)
    for stop, function in itertools.product(
        (True, False), (lambda x: x.clone(), lambda x: x.sin(), lambda x: x + 1)
    ):
        run, calls = counted(function)
        x = leaf(lib, 1.0)
        with module.set_checkpoint_early_stop(stop):
            y = checkpoint(run, x)
        y.sum().backward()
        log(calls["runs"], x.grad)


@scenario
def recomputations_that_differ(lib, log):
    module, checkpoint = checkpointing(lib)

    def three(x):
        return x.sin().exp().sin()

    def two(x):
        return x.sin().exp()

    def other_shape(x):
        return x.sin() * lib.ones(2, 2)

    def other_dtype(x):
        return x.sin().float().exp().double()

    def changing(first, then):
        turns = iter([first])
        return lambda x: next(turns, then)(x)

    def attempt(first, then, context=None, **options):
        x = leaf(lib, 0.25)

        def run():
            with context or contextlib.nullcontext():
                y = checkpoint(changing(first, then), x, **options)
                y.sum().backward()
            return x.grad

        log.attempt(run)

    attempt(three, two)
    attempt(two, three)
    attempt(two, three, module.set_checkpoint_early_stop(False))
    attempt(two, three, early_stop=False)
    for then in (other_shape, other_dtype):
        attempt(two, then)
        attempt(two, then, determinism_check="none", early_stop=False)
    attempt(two, two, determinism_check="sometimes")
    attempt(two, other_shape, module.set_checkpoint_debug_enabled(False), debug=True)


@scenario
def explanations_of_differences(lib, log):
    module, checkpoint = checkpointing(lib)

    def report(context, **options):
        turns = iter([lambda x: x.sin().exp()])

        def run(x):
            return next(turns, lambda x: x.sin() * lib.ones(2, dtype=lib.double))(x)

        x = leaf(lib, 0.25)
        try:
            with context:
                checkpoint(run, x, **options).sum().backward()
        except Exception as error:
            said = str(error)
            log(type(error).__name__, isinstance(error, RuntimeError))
            log(type(error).__module__.endswith("utils.checkpoint"))
            for part in (
                "have different metadata than during the forward",
                "because you passed `debug=True`",
                "saved metadata:",
                "recomputed metadata:",
                "Operations executed during the original forward",
                "Operations executed during recomputation",
                "tensor at position",
            ):
                log(part, part in said)

    report(contextlib.nullcontext())
    report(contextlib.nullcontext(), debug=True)
    report(module.set_checkpoint_debug_enabled(True))
    report(module.set_checkpoint_debug_enabled(False), debug=True)


@scenario
def reentrant_checkpoints(lib, log):
    _, checkpoint = checkpointing(lib)
    x = leaf(lib, 1.0, 2.0)
    y = checkpoint(lib.exp, x, use_reentrant=True).sum()
    log.attempt(lambda: lib.autograd.grad(y, x))
    log.attempt(lambda: y.backward(inputs=(x,)))
    again = checkpoint(lib.exp, x, use_reentrant=True).sum()
    again.backward()
    log(x.grad)

    def without_history(t):
        with lib.no_grad():
            return t * 2

    for reentrant in (True, False):
        z = leaf(lib, 1.0)

        def run(z=z, reentrant=reentrant):
            out = checkpoint(without_history, z, use_reentrant=reentrant)
            log(out)
            out += z
            out.sum().backward()
            return z.grad

        log.attempt(run)
        log.attempt(run)
    plain = checkpoint(lib.exp, lib.ones(1, dtype=lib.double), use_reentrant=True)
    log(plain)
    log.attempt(lambda: checkpoint(lib.exp, x, use_reentrant=True, context_fn=lambda: (1, 2)))
    log.attempt(lambda: checkpoint(lib.exp, x, use_reentrant=True, unknown=1))
    log.attempt(lambda: checkpoint(lib.exp, x, use_reentrant=True, debug=True))
    log.attempt(lambda: checkpoint(lib.exp, x, use_reentrant=True, determinism_check="none"))
    log.attempt(lambda: lib.utils.checkpoint.checkpoint(lib.exp, x))
    log.attempt(lambda: lib.utils.checkpoint.checkpoint(lib.exp, x, preserve_rng_state=False))


@scenario
def several_arguments_and_results(lib, log):
    _, checkpoint = checkpointing(lib)

    def mixed(number, a, pairs, *, scale=None, name="none"):
        b = pairs["b"][0]
        out = number * a * b.exp()
        return {"out": out if scale is None else out * scale, "rest": [a + b, None, name]}

    a, b, c = leaf(lib, 2.0), leaf(lib, 0.5), leaf(lib, 3.0)
    out = checkpoint(mixed, 3, a, {"b": (b,)}, scale=c, name="some")
    log(out["rest"])
    total = out["out"] + out["rest"][0]
    log(lib.autograd.grad(total, (a, b, c)))
    for reentrant in (False, True):
        one, two = leaf(lib, 1.0), leaf(lib, 2.0)
        first, label, second = checkpoint(
            lambda x, y: (x * y, "label", x + y), one, two, use_reentrant=reentrant
        )
        log(label)
        lib.autograd.backward(
            [first, second], [lib.ones(1, dtype=lib.double), lib.ones(1, dtype=lib.double)]
        )
        log(one.grad, two.grad)


@scenario
def hooks_run_once(lib, log):
    _, checkpoint = checkpointing(lib)
    weight, x = leaf(lib, 2.0, 3.0), leaf(lib, 1.0, 4.0)
    weight.register_hook(lambda grad: log("weight", grad))
    hidden = weight * x
    out = checkpoint(lambda h: weight * h, hidden)
    out.grad_fn.register_hook(lambda *_: log("node"))
    out.sum().backward()
    log(weight.grad, x.grad)
    y = leaf(lib, 1.0)
    z = checkpoint(lambda t: t.sin().cos().sin(), y)
    z.grad_fn.next_functions[0][0].register_hook(lambda *_: log("inner node"))
    z.backward(lib.ones(1, dtype=lib.double))


@scenario
def backward_within_backward(lib, log):
    _, checkpoint = checkpointing(lib)
    run, calls = counted(lambda t: (t.sin().cos(), t.sin().cos().sin()))
    x = leaf(lib, 1.0)
    middle, out = checkpoint(run, x)

    def again(*_):
        middle.backward(lib.ones(1, dtype=lib.double), retain_graph=True)

    out.grad_fn.register_hook(again)
    out.backward(lib.ones(1, dtype=lib.double), retain_graph=True)
    log(x.grad, calls["runs"])


@scenario
def groups_of_backward_calls(lib, log):
    module, checkpoint = checkpointing(lib)

    def middle_and_end(x):
        y = x.sin().cos()
        return y, y.sin().cos()

    for grouped in (True, False):
        run, calls = counted(middle_and_end)
        x = leaf(lib, 0.5, 1.0)
        y, z = checkpoint(run, x)
        with module.GraphExecGroup() if grouped else contextlib.nullcontext():
            (middle,) = lib.autograd.grad(z, y, lib.ones(2, dtype=lib.double))
            (first,) = lib.autograd.grad(y, x, middle)
        log(first, calls["runs"])
    x = leaf(lib, 0.5)
    out = checkpoint(lambda t: t.sin().cos(), x)
    with module.GraphExecGroup():
        out.sum().backward(retain_graph=True)
        log.attempt(lambda: out.sum().backward())

    with module.GraphExecGroup():
        try:
            with module.GraphExecGroup():
                pass
        except RuntimeError as error:
            log(str(error).split(" <")[0])


@scenario
def nested_derivatives(lib, log):
    module, checkpoint = checkpointing(lib)

    def derived(function):
        def run(x):
            with lib.enable_grad():
                return lib.autograd.grad(function(x), x, create_graph=True)[0]

        return run

    def kept(function):
        return lambda x: checkpoint(function, x)

    def chain(x):
        return x.sin().exp().sin()

    def inner_calls(x):
        a, b = x.sin().exp(), x.cos()
        lib.autograd.grad(a, x, retain_graph=True)
        lib.autograd.grad(b, x)
        return a.sin()

    d, c = derived, kept
    for stop, f in itertools.product((True, False), (chain, inner_calls)):
        forms = [
            f, c(f), c(c(f)), d(c(f)), d(c(c(f))), d(c(d(f))), c(d(d(c(f)))), d(c(d(c(f)))),
            d(c(d(d(c(f))))), d(c(d(c(d(c(f)))))), c(d(c(c(d(c(f)))))),
        ]  # fmt: skip
        with module.set_checkpoint_early_stop(stop):
            for form in forms:
                x = lib.tensor(0.7, requires_grad=True, dtype=lib.double)
                log.attempt(lambda form=form, x=x: form(x))
