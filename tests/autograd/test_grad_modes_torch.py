"""Grad modes, leaves and attributes: small facts; scenarios for both libraries."""

from __future__ import annotations

import warnings

import numpy as np
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


@scenario
def decorated_classes(lib, log):
    @lib.no_grad()
    class Decorated:
        def __init__(self):
            log("made", lib.is_grad_enabled())

        def method(self):
            log("method", lib.is_grad_enabled())

    made = Decorated()
    log(isinstance(Decorated, type))
    made.method()

    class Plain:
        @lib.no_grad()
        def __init__(self):
            log(lib.is_grad_enabled())

        @lib.enable_grad()
        def method(self):
            log(lib.is_grad_enabled())

    with lib.no_grad():
        Plain().method()


@scenario
def decorated_functions(lib, log):
    x = leaf(lib, 1.0)

    def add(a):
        log(lib.is_grad_enabled())
        return a + 1

    for wrapper in (lib.no_grad(), lib.no_grad, lib.enable_grad, lib.set_grad_enabled(False)):
        wrapped = wrapper(add)
        log(lib.is_grad_enabled(), wrapped.__name__)
        for outer in (lib.no_grad, lib.enable_grad):
            with outer():
                out = wrapped(x)
                log(out.requires_grad, lib.is_grad_enabled())
        log.attempt(lambda out=out: out.backward(lib.ones(1)))


@scenario
def decorated_generators(lib, log):
    class Soft(Exception):
        pass

    class Hard(Exception):
        pass

    def steps(count):
        sign = 1
        for i in range(count):
            try:
                log("inside", lib.is_grad_enabled())
                received = yield sign * i
                log("got", received, lib.is_grad_enabled())
            except Soft:
                sign = -1
                log("soft", lib.is_grad_enabled())
            except Hard:
                log("hard", lib.is_grad_enabled())
                raise KeyError("other") from None
            except GeneratorExit:
                log("exit", lib.is_grad_enabled())
                raise
        return "done"

    for inner, outer in ((lib.no_grad, lib.enable_grad), (lib.enable_grad, lib.no_grad)):
        with outer():
            running = inner()(steps)(3)
            log(next(running), lib.is_grad_enabled())
            log(running.send("word"), lib.is_grad_enabled())
            log(running.throw(Soft), lib.is_grad_enabled())
            try:
                next(running)
            except StopIteration as stop:
                log(stop.value, lib.is_grad_enabled())
            running = inner()(steps)(3)
            next(running)
            log.attempt(lambda running=running: running.throw(Hard))
            running = inner()(steps)(3)
            next(running)
            running.close()
            log(lib.is_grad_enabled())
    with lib.enable_grad():
        iterator = lib.inference_mode()(steps)(1)
        next(iterator)
        log(lib.is_inference_mode_enabled())
        iterator.close()


@scenario
def gradients_read_early(lib, log):
    x = lib.empty(1).requires_grad_()
    log(x.grad)
    y = x.clone()
    log(y.grad)
    y.retain_grad()
    log(y.grad)
    z = (x * 2)[0]
    log(z.grad)
    with lib.no_grad():
        log((x * 2).grad)


@scenario
def switching_leaves(lib, log):
    x, y = lib.ones(2), leaf(lib, 1.0, 2.0)
    for tensor in (x, y):
        for call in (
            lambda t: t.requires_grad_(),
            lambda t: t.requires_grad_(True),
            lambda t: t.requires_grad_(False),
            lambda t: t.requires_grad_(),
        ):
            log(call(tensor) is tensor, tensor.requires_grad)
    z = x * y
    log.attempt(lambda: z.requires_grad_(False))
    log.attempt(lambda: setattr(z, "requires_grad", False))
    log(z.requires_grad_() is z, z.requires_grad_(True) is z)
    log.attempt(lambda: lib.ones(2, dtype=lib.int64).requires_grad_())
    log.attempt(lambda: lib.ones(2, dtype=lib.int64, requires_grad=True))
    log.attempt(lambda: lib.tensor([True], requires_grad=True))
    log.attempt(lambda: lib.ones(2, dtype=lib.int64).requires_grad_(False))
    log.attempt(lambda: setattr(x, "requires_grad", "text"))
    log.attempt(lambda: setattr(x, "requires_grad", None))


@scenario
def writes_before_and_after_requiring(lib, log):
    a = lib.ones(2)
    a += leaf(lib, 1.0, 2.0)
    log.facts(a)
    a = lib.ones(2, 3)
    a[:].add_(5)
    a.requires_grad = True
    a.sum().backward()
    log(a.grad)
    a = lib.ones(2, 3)
    b = a[:]
    a.requires_grad = True
    log.attempt(lambda: a.add_(5))
    log.attempt(lambda: b.add_(5))
    log.facts(a, b)


@scenario
def deletions(lib, log):
    x = leaf(lib, 1.0, 2.0)
    x.sum().backward()
    del x.grad
    log(x.grad)

    def delete(name):
        delattr(x, name)

    for name in ("data", "requires_grad", "_backward_hooks", "_grad"):
        log.attempt(lambda name=name: delete(name))
    log.attempt(lambda: setattr(x, "data", None))
    log.attempt(lambda: setattr(x, "grad", 3))
    log.attempt(lambda: setattr(x, "grad", x))
    log.attempt(lambda: setattr(x, "grad", lib.ones(3)))
    log.attempt(lambda: setattr(x, "grad", lib.ones(2, dtype=lib.float64)))
    log.attempt(lambda: setattr(x, "_grad", lib.ones(2)))
    log(x.grad)


@scenario
def hooks_of_tensors_outside_graphs(lib, log):
    x, y, z = lib.ones(2), lib.ones(2), leaf(lib, 1.0, 2.0)
    a = x + y
    for tensor in (a, x, y):
        tensor._backward_hooks = {"test": lambda g: log("not called")}
    (a + z).backward(lib.ones(2))
    log(z.grad, len(a._backward_hooks))


@scenario
def edges_between_nodes(lib, log):
    x, y = leaf(lib, 1.0), leaf(lib, 2.0)
    a = x + y
    b = a + 5
    log([(type(node).__name__, number) for node, number in a.grad_fn.next_functions])
    log([(type(node).__name__, number) for node, number in b.grad_fn.next_functions])
    log(b.grad_fn.next_functions[0][0] is a.grad_fn, b.grad_fn.next_functions[0][0] == a.grad_fn)
    log(a.grad_fn.next_functions[0][0].variable is x, a.grad_fn.name(), a.grad_fn.metadata == {})
    log(a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr())


@scenario
def repeated_backward(lib, log):
    go = lib.ones(3)

    def build(x):
        c = lib.zeros(3)
        c[[1, 2]] = x[[1, 1]]
        return c

    x = leaf(lib, 1.0, 2.0, 3.0)
    c = build(x)
    c.backward(go)
    log.attempt(lambda: c.backward(go))
    c = build(x)
    c.backward(go, retain_graph=True)
    c.backward(go)
    log(x.grad)
    c = x + 1
    c.backward(go)
    c.backward(go)
    log(x.grad)
    lib.autograd.backward([x * x, x * x], [go, go])
    product = x * x
    lib.autograd.backward([product, product], [go, go])
    log(x.grad)
    log.attempt(lambda: lib.autograd.backward([x + 2], [None]))


@scenario
def detaching(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    cut = (x * 2).detach()
    log.facts(cut, cut * 4 + 2)
    (x + cut).sum().backward()
    log(x.grad)
    a = x * 2
    (y + a).sum().backward(retain_graph=True)
    log(a.detach_() is a)
    log.facts(a)
    (y + a).sum().backward()
    log(x.grad, y.grad)
    view = x.narrow(0, 1, 1)
    log.attempt(lambda: view.detach_())
    log.attempt(lambda: lib.split(x * 1, 1)[0].detach_())
    x.detach_()
    log.facts(x, view)
    log(view._base is x)
    x = leaf(lib, 1.0)
    square = x**2
    x.detach().zero_()
    log.attempt(lambda: square.backward())
    x = leaf(lib, 1.0)
    square = x**2
    x.data.zero_()
    log.attempt(lambda: square.backward())
    log(x.grad)


@scenario
def conversions(lib, log):
    for start, target in (("float32", "double"), ("float64", "float"), ("float32", "half")):
        x = leaf(lib, 1.0, 2.0, dtype=getattr(lib, start))
        getattr(x, target)().sum().backward()
        log(x.grad)
    x = lib.ones(2)
    log(x.type(), x.int().type(), x.double().type(), x.type(lib.float64), x.type("torch.IntTensor"))
    log(
        isinstance(x, lib.FloatTensor),
        isinstance(x.int(), lib.IntTensor),
        isinstance(x, lib.IntTensor),
    )
    for kind in ("DoubleTensor", "FloatTensor", "IntTensor", "ByteTensor"):
        cls = getattr(lib, kind)
        y = lib.ones(2, dtype=cls.dtype)
        log(isinstance(x.type(cls), cls), isinstance(x.type_as(y), cls), str(cls().dtype))
        log(y.data_ptr() == y.type(cls).data_ptr())
    a = leaf(lib, 1.0, 3.0) + leaf(lib, 2.0, 2.0)
    b = lib.max(a.reshape(1, 2), 1, True)[1].repeat(1, 2).double()
    (b + a).sum().backward()
    log(b.requires_grad, b)


@scenario
def arrays_of_tensors_with_history(lib, log):
    x = leaf(lib, 1.0, 2.0)
    log.attempt(lambda: x.numpy().tolist())
    log.attempt(lambda: np.asarray(x).tolist())
    log.attempt(lambda: (x * 2).numpy().tolist())
    log.attempt(lambda: x.numpy(force=True).tolist())
    with lib.no_grad():
        log.attempt(lambda: x.numpy().tolist())
    log(x.detach().numpy().tolist(), x.tolist(), float(x[0]), x[1].item(), int(x[0]), bool(x[0]))
    log(lib.tensor(x.detach()).requires_grad)
    log.attempt(lambda: lib.tensor(x))
    log.attempt(lambda: lib.as_tensor(x).requires_grad)
    log(repr(x), repr(x * 2), repr((x * 2).detach()), f"{x[0]:.2f}", str(x.sum()))


@scenario
def old_attributes(lib, log):
    x = lib.ones(2)
    log.attempt(lambda: x.volatile)
    log.attempt(lambda: x.grad_fn)

    class Old(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            log(ctx.saved_variables)
            return grad * 2

    y = leaf(lib, 1.0)
    log.attempt(lambda: Old.apply(y).sum().backward())
    log(lib.autograd.Variable(lib.ones(1), requires_grad=True))
    log(isinstance(x, lib.autograd.Variable))
    log.attempt(lambda: lib.autograd.Variable(lib.ones(1), volatile=True))


@scenario
def dtype_of_gradients(lib, log):
    class Doubling(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.to(lib.float64)

    def reading(tensor):
        return str(tensor.grad_dtype)

    x = leaf(lib, 1.0, 2.0)
    log(reading(x))
    x.grad_dtype = lib.float16
    log(reading(x))
    x.grad_dtype = None
    log(reading(x))
    log.attempt(lambda: reading(x * 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch reads `.grad` of the tensor here
        log.attempt(lambda: setattr(x * 2, "grad_dtype", lib.float16))
    x.grad_dtype = lib.float16
    log.attempt(lambda: setattr(x, "grad", lib.ones(2)))
    x.grad_dtype = None
    x.grad = lib.ones(2, dtype=lib.float64)
    for choice in ("default", None, lib.float16):
        for touched in (True, False):
            x = leaf(lib, 1.0, 2.0)
            if touched:
                x.clone()
            if choice != "default":
                x.grad_dtype = choice
            Doubling.apply(x).sum().backward()
            log(x.grad)
    x = leaf(lib, 1.0, 2.0)
    x.grad = lib.ones(2)
    x.grad_dtype = lib.float32
    log.attempt(lambda: setattr(x, "grad_dtype", lib.float16))
    x.grad_dtype = None
    x.grad = None
    x.grad_dtype = lib.float16
    log(reading(x))
    for before, after in ((lib.float32, lib.bfloat16), (lib.bfloat16, lib.float32)):
        x = leaf(lib, 1.0, 2.0, dtype=before)
        x.grad_dtype = None
        (x * 2).sum().backward()
        x.grad = x.grad.to(after)
        (x * 3).sum().backward()
        log(x.grad)


@scenario
def warnings_of_create_graph(lib, log):
    x = leaf(lib, 1.0)
    y = x * x
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lib.autograd.grad(y, x, create_graph=True)
        log(len(caught))
    lib.set_warn_always(True)
    try:
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                y.backward(create_graph=True)
                log([str(one.message).split(" (Triggered")[0] for one in caught])
    finally:
        lib.set_warn_always(False)
        x.grad = None
