"""When nodes, hooks and saved tensors die, and complex views; scenarios for both libraries."""

from __future__ import annotations

import gc
import weakref

import pytest

import retrograd
from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.fixture(autouse=True)
def _no_collection():
    """Only `gc.collect` frees cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def leaf(lib, *values, **options):
    return lib.tensor(list(values), requires_grad=True, **options)


class Mark:
    """Something whose death can be seen."""


def functions(lib):
    """Steps of a chain: a recorded op, and Functions that save nothing, the input, the output."""

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    return {
        "add": lambda x: x + 1,
        "pow": lambda x: x**2,
        "exp": lambda x: x.exp(),
        "mul": lambda x: x * x,
        "Same": Same.apply,
        "Square": Square.apply,
        "Exp": Exp.apply,
    }


def halves(lib):
    class Halves(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2].clone(), x[2:].clone()

        @staticmethod
        def backward(ctx, first, second):
            return lib.cat([first, second])

    return Halves.apply


HOOKS = {
    "none": lambda out, node, mark: None,
    "tensor": lambda out, node, mark: out.register_hook(lambda g, mark=mark: None),
    "node": lambda out, node, mark: node.register_hook(lambda *g, mark=mark: None),
    "node before": lambda out, node, mark: node.register_prehook(lambda g, mark=mark: None),
    "metadata": lambda out, node, mark: node.metadata.update(mark=mark),
}
CYCLES = {
    "tensor with node": lambda out, node, kept: out.register_hook(lambda g, kept=kept: None),
    "node with node": lambda out, node, kept: node.register_hook(lambda *g, kept=kept: None),
    "metadata with node": lambda out, node, kept: node.metadata.update(mark=kept),
}


def marked(lib, step, register, backward, *, cycle):
    """Whether what a hook holds is alive while the leaf is, after it, and after a collection."""
    x = leaf(lib, 1.0, 2.0)
    out, mark = functions(lib)[step](x), Mark()
    reference = weakref.ref(mark)
    register(out, out.grad_fn, (out, out.grad_fn, mark) if cycle else mark)
    if backward is not None:
        out.sum().backward(retain_graph=backward)
    del mark, out
    alive = [reference() is not None]
    del x
    alive.append(reference() is not None)
    if cycle:
        gc.collect(0)
    return [*alive, reference() is not None]


@scenario
def hooks(lib, log):
    for step in functions(lib):
        for kind, register in HOOKS.items():
            for backward in (None, False, True):
                log(step, kind, backward, marked(lib, step, register, backward, cycle=False))


@pytest.mark.parametrize("kind", CYCLES)
def test_cycles_are_collected(kind):
    """PyTorch 2.13 keeps some of them for ever."""
    for step in functions(retrograd):
        for backward in (None, False, True):
            assert not marked(retrograd, step, CYCLES[kind], backward, cycle=True)[-1]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_cycles_of_leaves_are_collected(register):
    x, mark = leaf(retrograd, 1.0), Mark()
    reference = weakref.ref(mark)
    getattr(x, register)(lambda g, kept=(x, mark): None)
    (x * 2).sum().backward()
    del x, mark
    gc.collect(0)
    assert reference() is None


@scenario
def hooks_of_leaves(lib, log):
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        x, mark = leaf(lib, 1.0), Mark()
        reference = weakref.ref(mark)
        getattr(x, register)(lambda g, mark=mark: None)
        (x * 2).sum().backward()
        del mark
        log(reference() is not None)
        del x
        log(reference() is not None)


@scenario
def saved_tensors(lib, log):
    for name, function in functions(lib).items():
        for backward in (None, False, True):
            x = leaf(lib, 1.0, 2.0)
            middle = x + 1
            reference = weakref.ref(middle)
            out = function(middle)
            del middle
            log(name, backward, reference() is not None)
            if backward is not None:
                out.sum().backward(retain_graph=backward)
                log(reference() is not None)
            del out
            log(reference() is not None)


@scenario
def one_node_of_two_results(lib, log):
    for cut in (lambda x: (x * 2).split(2), halves(lib)):
        for backward in (False, True):
            x, mark = leaf(lib, 1.0, 2.0, 3.0, 4.0), Mark()
            first, second = cut(x)
            reference = weakref.ref(mark)
            first.grad_fn.metadata["mark"] = mark
            del mark
            log(first.grad_fn is second.grad_fn, first.output_nr, second.output_nr)
            if backward:
                log.attempt(lambda first=first: first.sum().backward(retain_graph=True))
                log(x.grad)
            del first
            log(reference() is not None)
            del second
            log(reference() is not None)


@scenario
def chains(lib, log):
    steps = functions(lib)
    for names in (("mul", "add", "mul"), ("Square", "Same", "Exp"), ("mul", "Same", "add", "Exp")):
        x = leaf(lib, 0.1)
        marks, y = [], x
        for name in names:
            y = steps[name](y)
            mark = y.grad_fn.metadata["mark"] = Mark()
            marks.append(weakref.ref(mark))
            del mark
        log([reference() is not None for reference in marks])
        del y
        log([reference() is not None for reference in marks])
    for name in ("add", "Same"):
        y = leaf(lib, 1.0)
        for _ in range(3000):
            y = steps[name](y)
        mark = y.grad_fn.metadata["mark"] = Mark()
        reference = weakref.ref(mark)
        del y, mark
        log(reference())


@scenario
def complex_views(lib, log):
    def written_twice(x):
        y = lib.view_as_complex(x.clone())
        return lib.view_as_real(y).mul_(2)

    def reshaped(x):
        return lib.view_as_complex(x.clone()).reshape(4).mul_(2)

    def chosen_part(x):
        return lib.view_as_real(lib.view_as_complex(x.clone()))[0].mul_(2)

    def seen_from_outside(x):
        y = x.clone()
        view = lib.view_as_complex(y[1:])
        y.mul_(3)
        return view[0]

    for run in (written_twice, reshaped, chosen_part, seen_from_outside):
        x = lib.arange(8.0, dtype=lib.float64).view(2, 2, 2).requires_grad_()
        out = run(x)
        names, node = [], out.grad_fn
        while node is not None:
            names.append(node.name())
            node = next((edge for edge, _ in node.next_functions), None)
        log(names, out)
        log.attempt(lambda out=out: out.sum().backward())
        log.attempt(lambda out=out: out.sum().abs().backward())
        log(x.grad)
    z = lib.arange(6.0, dtype=lib.float64).mul(1 + 2j).requires_grad_()
    out = lib.view_as_real(z.clone().reshape(3, 2))
    out.mul_(2)
    out.sum().backward()
    log(z.grad)
    for flag in (False, True):
        x = lib.ones(2, 2, 2, dtype=lib.float64, requires_grad=flag)
        parts = lib.view_as_complex(x).unbind(0)
        other = lib.ones(2, dtype=lib.complex128, requires_grad=True)
        log.attempt(lambda parts=parts, other=other: parts[0].add_(other))
    x = lib.rand(3, 2, 2, dtype=lib.float64).requires_grad_()

    def chosen(x):
        y = lib.view_as_complex(x)
        return lib.view_as_real(lib.select(y, y.dim() - 1, 0)).sum()

    log(lib.autograd.gradcheck(chosen, [x]), lib.autograd.grad(chosen(x), x))
