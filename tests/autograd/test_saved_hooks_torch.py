"""Saved-tensor hooks: each scenario runs with PyTorch and with retrograd."""

# ruff: noqa: B023  (every function is called before its loop goes on)

from __future__ import annotations

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
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True, **options)


class Watched:
    """A pair of hooks that log what they see."""

    def __init__(self, lib, log, name=""):
        self.lib, self.log, self.name = lib, log, name

    def pack(self, tensor):
        self.log(self.name, "pack", tensor, tensor.is_leaf, self.lib.is_grad_enabled())
        return tensor

    def unpack(self, tensor):
        self.log(self.name, "unpack", tensor, tensor.is_leaf, self.lib.is_grad_enabled())
        return tensor

    def __call__(self):
        return self.lib.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)


# ------------------------------------------------------------------------------ the context


@scenario
def inputs_outputs_and_constants(lib, log):
    x, constant = leaf(lib, 1.0, 2.0), lib.tensor([3.0, 4.0]).double()
    with Watched(lib, log)():
        y = x.exp()
        z = y * x
        w = z * constant
        v = (w * 2.5 + 1) / w
        u = lib.where(x > 1.5, v, x).sum()
    log("backward")
    u.backward(retain_graph=True)
    log(x.grad)
    lib.autograd.grad(u, x, create_graph=True)


@scenario
def what_comes_back(lib, log):
    x, constant = leaf(lib, 1.0, 2.0), lib.tensor([3.0, 4.0]).double()
    with Watched(lib, log)():
        y = x.exp()
        z = y * x
        w = x * constant
    log(y.grad_fn._saved_result is y, y.grad_fn._saved_result.grad_fn is y.grad_fn)
    log(z.grad_fn._saved_other is x, z.grad_fn._saved_self is y)
    log(z.grad_fn._saved_self.grad_fn is y.grad_fn, z.grad_fn._saved_self.is_leaf)
    log(w.grad_fn._saved_other is constant, z.grad_fn._raw_saved_self.data is y)
    log(z.grad_fn._saved_other._version, y._version)


@scenario
def values_may_be_replaced(lib, log):
    x = leaf(lib, 1.0, 2.0)
    hooks = lib.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t.detach() * 0, lambda t: t + 7):
        y = x * x
    y.sum().backward()
    log(x.grad)
    with hooks(lambda t: t.detach().numpy(), lambda a: lib.from_numpy(a)):
        z = (x * x).exp()
    z.sum().backward()
    log(x.grad)
    with hooks(lambda t: t.float().detach(), lambda t: t.double()):
        z = (x * x).tanh()
    log(lib.autograd.grad(z.sum(), x))


@scenario
def nesting(lib, log):
    x = leaf(lib, 1.0, 2.0)
    outer, inner = Watched(lib, log, "outer"), Watched(lib, log, "inner")
    with outer():
        with inner():
            y = x.exp()
        z = y.exp()
    w = z.exp()
    w.sum().backward()
    log(x.grad)


@scenario
def in_place_writes_are_not_noticed(lib, log):
    x = leaf(lib, 1.0, 2.0)
    hooks = lib.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
    y.add_(1)
    y.sum().backward()
    log(x.grad)
    with hooks(lambda t: t, lambda t: t):
        y = x.exp()
    y.mul_(2)
    log(lib.autograd.grad(y.sum(), x))


@scenario
def in_place_ops_that_save(lib, log):
    x = leaf(lib, 1.0, 2.0)
    watched = Watched(lib, log)
    with watched():
        y = x.clone()
        y.exp_()
        y[:1].mul_(y[1:] * 3)
        y.sigmoid_()
    y.sum().backward()
    log(x.grad)
    with watched():
        y = x.clone()
        y[0].tanh_()
    y.sum().backward()
    log(x.grad)


@scenario
def errors_of_hooks(lib, log):
    x = leaf(lib, 1.0, 2.0)
    hooks = lib.autograd.graph.saved_tensors_hooks

    def fail(tensor):
        raise ValueError("from the hook")

    def write(tensor):
        tensor.add_(1)
        return tensor

    def use(pack, unpack, run):
        with hooks(pack, unpack):
            y = (x * 3).exp()
        return run(y)

    def same(t):
        return t

    log.attempt(lambda: use(fail, same, lambda y: None))
    log.attempt(lambda: use(same, fail, lambda y: y.sum().backward()))
    log.attempt(lambda: use(same, fail, lambda y: y.grad_fn._saved_result))
    log.attempt(lambda: use(write, same, lambda y: None))
    for wrong in (3, None, "text", (1, 2)):
        log.attempt(lambda: use(same, lambda t: wrong, lambda y: y.sum().backward()))
    log.attempt(lambda: hooks(1, 2).__enter__())
    log.attempt(lambda: hooks(same, None).__enter__())
    (x * 3).exp().sum().backward()
    log(x.grad, lib.is_grad_enabled())


@scenario
def freed_values(lib, log):
    x = leaf(lib, 1.0, 2.0)
    with Watched(lib, log)():
        y = x.exp()
    y.sum().backward()
    log.attempt(lambda: y.sum().backward())
    log.attempt(lambda: y.grad_fn._saved_result)
    log(y.grad_fn._raw_saved_result.data, y.grad_fn._raw_saved_result.unpack_hook)


@scenario
def contexts_opened_and_closed_by_hooks(lib, log):
    x = leaf(lib, 1.0, 2.0)
    first = lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (first.__exit__(), t)[1])
    second = lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    for _ in range(3):
        with second:
            first.__enter__()
            x.sin().sum().backward()
    for _ in range(3):
        first.__exit__()
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    third = lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (third.__enter__(), t)[1])
    with third:
        x.sin().sum().backward()
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    log(x.grad)


@scenario
def hooks_inside_hooks(lib, log):
    x = leaf(lib, 1.0, 2.0)
    count = [0]

    def pack(tensor):
        count[0] += 1
        if count[0] < 5:
            with lib.enable_grad():
                tensor.detach().requires_grad_().exp()
        return tensor

    def unpack(tensor):
        count[0] += 1
        if count[0] < 9:
            with lib.enable_grad():
                tensor.detach().requires_grad_().exp().sum().backward()
        return tensor

    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
        log(count[0])
        y.sum().backward()
    log(count[0], x.grad)


@scenario
def disabling(lib, log):
    graph = lib.autograd.graph
    x = leaf(lib, 1.0)

    def inside(message, *more):
        with graph.disable_saved_tensors_hooks(message):
            if more:
                log.attempt(lambda: inside(*more))
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                log("never")

    def around():
        with graph.save_on_cpu(), graph.disable_saved_tensors_hooks("too late"):
            log("never")

    log.attempt(lambda: inside("outer"))
    log.attempt(lambda: inside("outer", "inner"))
    log.attempt(around)
    with graph.disable_saved_tensors_hooks("no"):
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    with graph.save_on_cpu():
        y = x.exp()
    y.backward()
    log(x.grad)


@scenario
def on_cpu(lib, log):
    x, constant = leaf(lib, 1.0, 2.0), lib.tensor([3.0, 4.0]).double()
    for pin in (False, True):
        with lib.autograd.graph.save_on_cpu(pin_memory=pin):
            y = (x * constant).exp()
        inner = y.grad_fn.next_functions[0][0]
        packed = inner._raw_saved_other.data
        log(type(packed).__name__, str(packed[0]), packed[1] is constant, packed[1])
        y.sum().backward()
        log(x.grad)


# ----------------------------------------------------------------------- one value at a time


@scenario
def hooks_of_one_value(lib, log):
    x = leaf(lib, 1.0, 2.0)
    watched = Watched(lib, log)
    y = x.exp()
    z = y * x
    for node, name in ((y.grad_fn, "result"), (z.grad_fn, "self"), (z.grad_fn, "other")):
        saved = getattr(node, f"_raw_saved_{name}")
        log(name, saved is getattr(node, f"_raw_saved_{name}"), saved.data, saved.unpack_hook)
        saved.register_hooks(watched.pack, watched.unpack)
        log(saved.data, saved.unpack_hook is not None)
        log.attempt(lambda: saved.register_hooks(watched.pack, watched.unpack))
    log(z.grad_fn._saved_self is y, z.grad_fn._saved_other is x)
    z.sum().backward(retain_graph=True)
    log(x.grad)
    lib.autograd.grad(z.sum(), x)
    saved = y.grad_fn._raw_saved_result
    log.attempt(lambda: saved.register_hooks(watched.pack, watched.unpack))
    log(saved.data, saved.unpack_hook)


@scenario
def wrong_hooks_of_one_value(lib, log):
    x = leaf(lib, 1.0, 2.0)

    def same(t):
        return t

    for hooks in ((1, 2), (same, 2), (None, same)):
        y = x.exp()
        log.attempt(lambda: y.grad_fn._raw_saved_result.register_hooks(*hooks))
    scaled = x * 3
    empty = scaled.grad_fn._raw_saved_self
    log(empty.data, empty.unpack_hook, scaled.grad_fn._saved_self)
    log.attempt(lambda: empty.unpack())
    log.attempt(lambda: empty.register_hooks(same, same))
    y = x.exp()
    y.sum().backward()
    log.attempt(lambda: y.grad_fn._raw_saved_result.register_hooks(same, same))
    log.attempt(lambda: y.grad_fn._raw_saved_result.unpack())
    y = x.exp()

    def write(t):
        t.add_(1)
        return t

    log.attempt(lambda: y.grad_fn._raw_saved_result.register_hooks(write, same))
    with lib.autograd.graph.saved_tensors_hooks(same, same):
        y = x.exp()
    log.attempt(lambda: y.grad_fn._raw_saved_result.register_hooks(same, same))


@scenario
def saved_numbers(lib, log):
    x = leaf(lib, 1.0, 2.0)
    for y in (x * 3, x * 2.5, 3 * x, x / 2, 2.0 / x):
        node = y.grad_fn
        for name in ("self", "other"):
            log(getattr(node, f"_saved_{name}"), getattr(node, f"_raw_saved_{name}").data)
        y.sum().backward()
        for name in ("self", "other"):
            log.attempt(lambda: getattr(node, f"_saved_{name}"))


@scenario
def a_raw_value_keeps_its_version_check(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x.exp()
    log(y.grad_fn._raw_saved_result.data)
    y.add_(1)
    log.attempt(lambda: y.sum().backward())
    z = x.clone()
    w = z * z
    log(w.grad_fn._raw_saved_self.data is z)
    z.zero_()
    log.attempt(lambda: w.grad_fn._saved_self)
    log.attempt(lambda: w.sum().backward())
    log(w.grad_fn._raw_saved_self.data is z)


# --------------------------------------------------------------------------------- mutation


def _mutation(lib):
    return lib.autograd.graph.allow_mutation_on_saved_tensors()


@scenario
def mutation(lib, log):
    x = leaf(lib, 1.0, 2.0)
    writes = [
        lambda a: a.sin_(),
        lambda a: a.zero_(),
        lambda a: a.mul_(a),
        lambda a: a.__setitem__(0, 5.0),
        lambda a: a.copy_(lib.zeros(2).double()),
        lambda a: a.data.mul_(3),
        lambda a: a.detach().zero_(),
        lambda a: a.masked_fill_(a > 1, 0.0),
        lambda a: a.unsqueeze_(0),
        lambda a: a.t_(),
        lambda a: a.detach().fill_(3),
        lambda a: lib.zeros(2, dtype=lib.float64, out=a.detach()),
        lambda a: lib.add(lib.ones(2).double(), 1, out=a.detach()),
        lambda a: a.index_add_(0, lib.tensor([0]), lib.ones(1).double()),
        lambda a: a.detach().uniform_(),
        lambda a: a.view(2, 1).add_(1),
    ]
    for write in writes:
        with _mutation(lib) as context:
            a = x.clone()
            total = (a * a).exp().sum() + a.pow(3).sum()
            log(len(context.cloned))
            write(a)
            log(len(context.cloned), a._version)
            log(lib.autograd.grad(total, x))
            del total
            log(len(context.cloned))


@scenario
def mutation_of_views(lib, log):
    x = leaf(lib, 1.0, 2.0, 3.0)
    with _mutation(lib):
        a = x.clone()
        view = a[:]
        total = (view * view).sum()
        a.mul_(10)
        total.backward()
        log(x.grad)
        a = x.clone()
        view = a[:]
        total = (a * view).sum() + view.exp().sum()
        view.mul_(10)
        total.backward()
        log(x.grad)
        a = x.clone()
        first = (a * a).sum()
        a.mul_(2)
        second = (a * a).sum()
        a.mul_(2)
        (first + second).backward()
        log(x.grad)


@scenario
def mutation_and_higher_orders(lib, log):
    x = leaf(lib, 1.0, 2.0)
    with _mutation(lib):
        a = x.clone()
        total = (a * a * a).sum()
        a.sin_()
        (first,) = lib.autograd.grad(total, x, create_graph=True)
        log(first)
        log(lib.autograd.grad(first.sum(), x))
        a = x.clone()
        a.mul_(a)
        a.mul_(a * 2)
        a.sub_(a.exp())
        log(lib.autograd.grad(a.sum(), x))


@scenario
def mutation_outside_of_the_context(lib, log):
    x = leaf(lib, 1.0, 2.0)
    with _mutation(lib) as context:
        a = x.clone()
        total = (a * a).sum()
    log.attempt(lambda: total.backward())
    log(len(context.cloned), len(context.original), len(context.tid_to_weakhandle))
    with _mutation(lib):
        log.attempt(lambda: total.backward())
    with _mutation(lib) as context:
        total = (x * x.exp()).sum()
        context.clear()
        log.attempt(lambda: total.backward())

    def nested():
        with _mutation(lib), _mutation(lib):
            log("never")

    log.attempt(nested)
    with _mutation(lib):
        total = (x * x).sum()
        total.backward()
    log(x.grad)
    plain = (x * x).sum()
    with _mutation(lib):
        plain.backward()
    log(x.grad)
