"""Threads, numbers of nodes, nested checkpoints, kept results; scenarios for both libraries."""

from __future__ import annotations

import functools
import gc
import threading
import traceback
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


def leaf(lib, *values, **options):
    return lib.tensor(list(values), requires_grad=True, **options)


def in_threads(function, count):
    """Run a function in several threads; their results, or the names of their exceptions."""
    found = []

    def run():
        try:
            found.append(function())
        except Exception as error:
            found.append(type(error).__name__)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(map(str, found))


# -------------------------------------------------------------------------------------- threads


@scenario
def shared_leaves(lib, log):
    x = lib.ones(3, requires_grad=True)

    def backward():
        ((x + 3) * (x + 4) * 0.5).sum().backward()

    log(in_threads(backward, 10), x.grad)

    def grad():
        return lib.autograd.grad(((x + 3) * (x + 4) * 0.5).sum(), x)[0].tolist()

    log(in_threads(grad, 5), x.grad)
    middle = x + x**2
    log(in_threads(lambda: (middle + middle**2).sum().backward(retain_graph=True), 5), x.grad)
    middle = x + x**2
    results = in_threads(lambda: (middle + middle**2).sum().backward(), 5)
    log("None" in results, set(results) <= {"None", "RuntimeError"})


@scenario
def hooks_of_several_tensors(lib, log):
    for mode in ("all", "any"):
        tensors = [leaf(lib, 1.0, 2.0) for _ in range(4)]
        seen, lock = [], threading.Lock()

        def hook(found, seen=seen, lock=lock):
            with lock:
                several = isinstance(found, (list, tuple))
                seen.append([g is not None for g in found] if several else "one")

        handle = lib.autograd.graph.register_multi_grad_hook(tensors, hook, mode=mode)
        out = (tensors[1] * tensors[2]).sum()
        inputs = tensors[1:3]
        log(in_threads(functools.partial(out.backward, inputs=inputs, retain_graph=True), 5))
        log(seen)
        seen.clear()
        calls = []

        class Fails(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad, calls=calls, lock=lock):
                with lock:
                    calls.append(1)
                    if len(calls) == 1:
                        raise RuntimeError("the first")
                return grad

        out = (Fails.apply(tensors[1]) * tensors[2]).sum()
        log(in_threads(functools.partial(out.backward, inputs=inputs, retain_graph=True), 5))
        log(seen)
        handle.remove()
        out.backward(inputs=inputs)
        log(len(seen))


@scenario
def errors_keep_their_traceback(lib, log):
    class Fails(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, *grads):
            raise ValueError("on purpose")

    try:
        Fails.apply(leaf(lib, 1.0)).sum().backward()
    except ValueError as error:
        lines = traceback.format_exception(error)
        log(any("raise ValueError" in line for line in lines), str(error))


@scenario
def switch_for_threads(lib, log):
    asked, switch = lib.autograd.grad_mode, lib.autograd.set_multithreading_enabled
    is_enabled = lib.autograd.is_multithreading_enabled
    for value in (False, True):
        with switch(value):
            log(is_enabled())
        log(is_enabled())
    with switch(False):
        switch(True)
        log(is_enabled())
    log(is_enabled())
    switch(False)
    log(is_enabled())
    switch(True)
    log(is_enabled(), asked.set_multithreading_enabled is switch)


# ----------------------------------------------------------------------------------- the engine


@scenario
def order_of_nodes(lib, log):
    x, y, z = leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 3.0)
    for numbers in ((100, 99, 98), (98, 99, 100), None):
        order = []
        a = x + y
        b = y + z
        c = a + b
        for number, tensor in zip(numbers or (), (a, b, c), strict=False):
            tensor.grad_fn._set_sequence_nr(number)
            log(tensor.grad_fn._sequence_nr())
        for name, tensor in (("a", a), ("b", b), ("c", c)):
            tensor.register_hook(lambda g, name=name, order=order: order.append(name))
        c.sum().backward()
        log(order, x.grad, y.grad, z.grad)


@scenario
def errors_end_everything(lib, log):
    class Fails(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise Exception("simulated")

    class Reenters(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            root.backward(grad)
            return grad

    one, two, three = (leaf(lib, 1.0, 2.0) for _ in range(3))
    failing = Fails.apply(one * one)
    root = two * two
    for _ in range(10):
        root = root * two
    reentrant = Reenters.apply(three)
    log.attempt(lambda: lib.autograd.backward([failing.sum(), (reentrant * reentrant).sum()]))
    log(one.grad)
    log.attempt(lambda: (reentrant * 1).sum().backward())
    log(two.grad, three.grad)


@scenario
def sums_do_not_keep_their_input(lib, log):
    x = leaf(lib, 1.0, 2.0)
    copy = x.clone()
    total = copy.sum(-1, keepdim=True)
    copy.add_(copy)
    total.backward()
    log(x.grad)


@scenario
def warnings_in_backward(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = (x * (1 + 1j)).real.sum()
    y.backward()
    log(x.grad)
    z = lib.zeros(2, dtype=lib.complex64)
    z.copy_(x)
    z.abs().sum().backward()
    log(x.grad)


@scenario
def undefined_gradients_of_convolutions(lib, log):
    ad = lib.autograd.forward_ad
    backward = lib.ops.aten.convolution_backward
    data = lib.rand(1, 2, 4, 4, dtype=lib.float64)
    for transposed, shape in ((False, (4, 1, 3, 3)), (True, (2, 2, 3, 3))):
        weight = lib.rand(shape, dtype=lib.float64)
        convolve = lib.nn.functional.conv_transpose2d if transposed else lib.nn.functional.conv2d
        grad = lib.rand(convolve(data, weight, None, 2, groups=2).shape, dtype=lib.float64)
        with ad.dual_level():
            dual = ad.make_dual(weight, lib.ones(weight.shape, dtype=lib.float64))
            for mask in ((False, True, False), (True, False, False), (True, True, True)):
                found = backward(
                    grad, data, dual, (0,), (2, 2), (0, 0), (1, 1), transposed, (0, 0), 2, mask
                )
                for part in found:
                    log(part if part is None else ad.unpack_dual(part))


# ------------------------------------------------------------------------------ checkpointing


def gradient(function):
    """The derivative of a function of one scalar, recorded."""

    def run(lib, x):
        with lib.enable_grad():
            return lib.autograd.grad(function(lib, x), (x,), create_graph=True)[0]

    return run


def kept_small(function):
    """The function in a checkpoint."""

    def run(lib, x):
        checkpoint = lib.utils.checkpoint.checkpoint
        return checkpoint(functools.partial(function, lib), x, use_reentrant=False)

    return run


def waves(lib, x):
    return x.sin().exp().sin()


def with_gradients_inside(lib, x):
    a, b = x.sin().exp().sin(), x.sin().exp().sin()
    lib.autograd.grad(a, x)
    lib.autograd.grad(b, x)
    return x.sin()


def survivors(lib, function):
    """How many nodes outlive a function's graph."""

    def scope():
        found, left = {}, [function(lib, leaf(lib, 0.5)[0]).grad_fn]
        while left:
            node = left.pop()
            if node is not None and node not in found:
                found[node] = node.metadata.setdefault("mark", threading.Event())
                left += [edge for edge, _ in node.next_functions]
        return [weakref.ref(mark) for mark in found.values()]

    return sum(reference() is not None for reference in scope())


@scenario
def derivatives_of_checkpoints(lib, log):
    g, c = gradient, kept_small
    x = lib.tensor(0.3, dtype=lib.float64, requires_grad=True)
    for early_stop in (True, False):
        with lib.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            for f in (waves, with_gradients_inside):
                for run in (
                    c(f), c(c(f)), g(c(f)), g(c(c(f))), g(c(g(f))), c(g(g(c(f)))), g(c(g(c(f)))),
                    g(c(g(g(c(f))))), g(c(g(c(g(c(f)))))),
                ):  # fmt: skip
                    log(run(lib, x).item())
                    log(survivors(lib, run))


@scenario
def two_checkpoints_in_one(lib, log):
    def inner(lib, x):
        return kept_small(lambda lib, x: x.cos().sin().exp())(lib, kept_small(waves)(lib, x))

    def total(function):
        return lambda lib, x: function(lib, x).sum()

    g, c = gradient, kept_small
    x = lib.linspace(0.1, 0.9, 4, dtype=lib.float64).view(2, 2).requires_grad_()
    for early_stop in (True, False):
        with lib.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            for run in (g(total(g(total(c(inner))))), g(total(c(g(total(c(inner))))))):
                log(run(lib, x).tolist())
            log(survivors(lib, g(c(inner))), survivors(lib, g(total(g(total(c(inner)))))))


def selective(lib, policy, **options):
    make = lib.utils.checkpoint.create_selective_checkpoint_contexts
    return functools.partial(make, policy, **options)


@scenario
def kept_results(lib, log):
    aten, Policy = lib.ops.aten, lib.utils.checkpoint.CheckpointPolicy
    asked = []

    def saves(*ops):
        def policy(ctx, op, *args, **kwargs):
            asked.append(str(op))
            return Policy.MUST_SAVE if op in ops else Policy.PREFER_RECOMPUTE

        return policy

    def product_of_moments(x):
        variance, mean = lib.var_mean(x)
        return variance * mean

    def whole_numbers(x):
        return lib.tensor([1, 2, 3]).view(-1) * x.sin().cos()

    for function, policy in (
        (lambda x: x.sin().mul_(2).cos().exp(), saves(aten.sin.default)),
        (lambda x: x.sin().cos().exp(), saves(aten.sin.default)),
        (lambda x: x.sin().sin().sin(), saves()),
        (product_of_moments, saves(aten.var_mean.correction)),
        (whole_numbers, [aten.view.default]),
        (lambda x: (x * x.sum()).view(-1).view(3, 1).exp(), saves(aten.sym_size.default)),
        (lambda x: x.cos().exp().sin(), lambda *_, **__: Policy.MUST_SAVE),
    ):
        for mutation in (False, True):
            x = leaf(lib, 0.5, 1.0, 1.5, dtype=lib.float64)
            contexts = selective(lib, policy, allow_cache_entry_mutation=mutation)
            checkpoint = lib.utils.checkpoint.checkpoint
            out = checkpoint(function, x, use_reentrant=False, context_fn=contexts)
            log(asked)
            log.attempt(lambda out=out: out.sum().backward(retain_graph=True))
            log(x.grad)
            log.attempt(lambda out=out: out.sum().backward(retain_graph=True))
            log(x.grad, asked)
            asked.clear()


@scenario
def functions_that_change(lib, log):
    aten, Policy = lib.ops.aten, lib.utils.checkpoint.CheckpointPolicy

    def policy(ctx, op, *args, **kwargs):
        return Policy.MUST_SAVE if op is aten.sin.default else Policy.PREFER_RECOMPUTE

    for extra in ("exp", "sin", "cos"):
        for early_stop in (True, False):
            calls = []

            def run(x, calls=calls, extra=extra):
                calls.append(1)
                x = x.sin()
                if len(calls) > 1:
                    x = getattr(x, extra)()
                return x.cos()

            x = leaf(lib, 0.5, 1.0)
            checkpoint = lib.utils.checkpoint.checkpoint
            out = checkpoint(
                run,
                x,
                use_reentrant=False,
                context_fn=selective(lib, policy),
                early_stop=early_stop,
            )
            log.attempt(out.sum().backward)


@scenario
def kept_results_die(lib, log):
    marks = []

    class Marked:
        """A policy that can be seen to die."""

        def __call__(self, ctx, op, *args, **kwargs):
            return lib.utils.checkpoint.CheckpointPolicy.MUST_SAVE

    gc.collect()
    gc.disable()
    try:
        for backward in (False, True):
            policy = Marked()
            marks.append(weakref.ref(policy))
            x = leaf(lib, 0.5, 1.0)
            checkpoint = lib.utils.checkpoint.checkpoint
            out = checkpoint(
                lambda x: x.cos().exp().sin(),
                x,
                use_reentrant=False,
                context_fn=selective(lib, policy),
            )
            del policy
            if backward:
                out.sum().backward(retain_graph=True)
            del out
            log([mark() is None for mark in marks])
    finally:
        gc.enable()
