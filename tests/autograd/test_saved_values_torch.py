"""What nodes keep: saved attributes, packing hooks, and writes to what was saved."""

from __future__ import annotations

import itertools

import pytest

import retrograd
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


def saved(log, out, *names):
    """Log saved values and their types."""
    for name in names:
        value = log.attempt(lambda name=name: getattr(out.grad_fn, f"_saved_{name}"))
        log(name, type(value).__name__)


@scenario
def kinds_of_saved_values(lib, log):
    x = leaf(lib, [1.0, 2.0], [3.0, 4.0])
    saved(log, lib.stack([x, x], dim=1), "dim")
    saved(log, x.mean(), "self_sym_sizes")
    saved(log, x[:, lib.tensor([0, 1])], "indices", "self_sym_sizes")
    saved(log, x.as_strided((3,), (1,), 1), "size", "stride", "storage_offset")
    saved(log, lib.logit(x, 0.5), "eps")
    saved(log, lib.logit(x), "eps")
    saved(log, lib.div(x, 2.0, rounding_mode="trunc"), "rounding_mode")
    saved(log, lib.div(x, 2.0), "other", "self")
    saved(log, lib.nn.functional.pdist(x, p=1), "p", "self")
    for number in (1, 1.0, True, 2.5):
        saved(log, lib.nn.functional.threshold(x, number, 0), "threshold")
    saved(log, x.tanh(), "result")
    saved(log, x.sum(0), "dim", "keepdim", "self_sym_sizes")
    saved(log, x.pow(3), "exponent", "self")
    saved(log, x.clamp(0.5), "min", "max")
    saved(log, x.transpose(0, 1), "dim0", "dim1")
    saved(log, x.expand(2, 2, 2), "self_sym_sizes")
    saved(log, x.softmax(0), "dim", "result")
    cube = leaf(lib, [[1.0, 2.0], [3.0, 4.0]])
    saved(log, lib.addbmm(x, cube, cube), "batch1_sym_argsize_0", "batch1_sym_argsize_1")
    image = lib.ones(1, 1, 3, 3, requires_grad=True)
    saved(
        log,
        lib.nn.functional.unfold(image, 3),
        "self_sym_argsize_minus_1",
        "self_sym_argsize_minus_2",
    )
    weight = lib.ones(1, 1, 3, 3, requires_grad=True)
    saved(log, lib.nn.functional.conv2d(image, weight), "stride", "padding", "groups")


@scenario
def saved_losses_and_interpolations(lib, log):
    row = lib.ones(1, 1, 2, requires_grad=True)
    names = ("output_size", "align_corners", "scales")
    saved(log, lib.nn.functional.interpolate(row, 4, mode="linear"), *names)
    saved(log, lib.nn.functional.interpolate(row, scale_factor=0.5, mode="linear"), *names)
    scores = lib.rand(3, 5, requires_grad=True)
    labels = lib.tensor([1, 0, 4])
    out = lib.nn.functional.nll_loss(scores, labels)
    saved(log, out, "weight", "ignore_index", "reduction")
    weighted = lib.nn.functional.nll_loss(scores, labels, lib.ones(5))
    saved(log, weighted, "weight")
    weighted.backward()
    saved(log, weighted, "weight", "reduction")
    matrix = lib.ones(1, 1, requires_grad=True)
    saved(log, lib.linalg.qr(matrix, mode="reduced")[0], "mode")


@scenario
def identity_of_saved_tensors(lib, log):
    x = leaf(lib, 1.0, 2.0)
    squared = x * x
    cubed = x * squared
    result = squared.exp()
    log(squared.grad_fn._saved_self is x, squared.grad_fn._saved_other is x)
    log(cubed.grad_fn._saved_other is squared)
    unpacked = result.grad_fn._saved_result
    log(unpacked is result, unpacked.grad_fn is result.grad_fn, unpacked.output_nr)
    with lib.no_grad():
        result += 1
    log(unpacked, unpacked._version, result._version)
    node = cubed.grad_fn  # PyTorch's raw objects point into it: none is kept here
    log(type(node._raw_saved_other).__name__, node._raw_saved_other.data is squared)
    log(node._raw_saved_other.unpack_hook)
    log(result.grad_fn._raw_saved_result.data is result)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: (t, "packed"), unpack := lambda p: p[0]):
        hooked = x.sin()
    node = hooked.grad_fn
    log(node._raw_saved_self.data[0] is x, node._raw_saved_self.data[1])
    log(node._raw_saved_self.unpack_hook is unpack)


@scenario
def hooks_of_one_saved_tensor(lib, log):
    def sources():
        yield leaf(lib, 1.0, 2.0)
        yield 1 + leaf(lib, 1.0, 2.0)

    pairs = [
        (lambda t: 2 * t, lambda t: t / 2),
        (lambda t: 2 * t, lambda t: t),
        (lambda t: t, lambda t: t),
        (lambda t: t, lambda t: 1),
        (lambda t: t, lambda t: None),
        (lambda t: None, lambda t: lib.zeros(2)),
        (lambda t: t.detach().numpy().copy(), lib.from_numpy),
    ]
    for number, (pack, unpack) in enumerate(pairs):
        for x in sources():
            log(number)
            y = x * x
            y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
            log.attempt(lambda y=y: y.grad_fn._saved_self)
            log.attempt(lambda y=y, x=x: lib.autograd.grad(y.sum(), x))
    x = leaf(lib, 1.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    kept = y.grad_fn._saved_result
    log(kept.grad_fn is y.grad_fn, kept, kept.is_leaf)
    y.sum().backward()
    log(x.grad)


@scenario
def misuse_of_raw_saved_tensors(lib, log):
    class Keeping(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, keep):
            if keep:
                ctx.save_for_backward(x, None)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    def same(t):
        return t

    # PyTorch's objects point into the node: none is kept until a backward call empties it
    def raw(number):
        return y.grad_fn._raw_saved_tensors[number]

    x = leaf(lib, 1.0)
    y = Keeping.apply(x, True)
    log(y.grad_fn.saved_tensors)
    log([type(raw(number)).__name__ for number in range(2)])
    log.attempt(lambda: raw(1).register_hooks(same, same))
    for wrong in ((same,), (1, 1), (1, same), ()):
        log.attempt(lambda wrong=wrong: raw(0).register_hooks(*wrong))
    raw(0).register_hooks(same, same)
    log.attempt(lambda: raw(0).register_hooks(same, same))
    y.sum().backward()
    log.attempt(lambda: y.grad_fn._raw_saved_tensors)
    log.attempt(lambda: y.grad_fn.saved_tensors)
    bare = Keeping.apply(x, False)
    log(bare.grad_fn.saved_tensors, bare.grad_fn._raw_saved_tensors)
    out = x * x
    out.grad_fn._raw_saved_self.register_hooks(same, same)
    out.sum().backward()
    log.attempt(lambda: out.grad_fn._raw_saved_self.register_hooks(same, same))
    rows = lib.ones(2, 2, requires_grad=True)[:, lib.tensor([0])]
    rows.grad_fn._raw_saved_indices[1].register_hooks(same, same)
    log.attempt(lambda: rows.grad_fn._raw_saved_indices[0].register_hooks(same, same))


@scenario
def default_hooks(lib, log):
    graph = lib.autograd.graph
    for pack, unpack in itertools.product(
        (lambda t: t, lambda t: 2 * t), (lambda t: t, lambda t: t / 2)
    ):
        with graph.saved_tensors_hooks(pack, unpack):
            x = leaf(lib, 1.0, 3.0)
            y = x * x
            log(y.grad_fn._saved_self, y.grad_fn._saved_other)
            y.sum().backward()
            log(x.grad)
    with graph.saved_tensors_hooks(lambda t: 3 * t, lambda t: 3 * t):
        a = leaf(lib, 1.0)
        with graph.saved_tensors_hooks(lambda t: 5 * t, lambda t: 5 * t):
            b = leaf(lib, 1.0)
            y = b * b
        z = a * a
    (y + z).sum().backward()
    log(a.grad, b.grad)
    counts = []
    with graph.saved_tensors_hooks(
        lambda t: counts.append("p") or t, lambda t: counts.append("u") or t
    ):
        x, constant = leaf(lib, 1.0), lib.ones(1)
        y = x * constant
        log(counts)
        y.sum().backward()
        log(counts)
        (x * 3).sum().backward()
        (x / 3).sum().backward()
        (x**2).sum().backward()
        log(counts)


@scenario
def hooks_and_second_derivatives(lib, log):
    graph = lib.autograd.graph
    double = (lambda t: 2 * t, lambda t: t)
    for first, second in itertools.product((True, False), (True, False)):
        x = leaf(lib, 1.0, 2.0)
        with graph.saved_tensors_hooks(*(double if first else (lambda t: t, lambda t: t))):
            y = (x**3).sum()
        if second:
            with graph.saved_tensors_hooks(*double):
                (g,) = lib.autograd.grad(y, x, create_graph=True)
        else:
            (g,) = lib.autograd.grad(y, x, create_graph=True)
        log(g)
        g.sum().backward()
        log(x.grad)


@scenario
def errors_of_hooks(lib, log):
    graph = lib.autograd.graph

    class Own(Exception):
        pass

    def fail(_):
        raise Own("mine")

    x = leaf(lib, 1.0)
    with graph.saved_tensors_hooks(fail, lambda t: t):
        log.attempt(lambda: x.sin())
        log.attempt(lambda: x + 1)
        log.attempt(lambda: x * 3)
    with graph.saved_tensors_hooks(lambda t: t, fail):
        y = x.sin()
        log.attempt(lambda: y.backward(lib.ones(1)))
        log.attempt(lambda: y.grad_fn._saved_self)
    with graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        log.attempt(lambda: x.exp())
        log.attempt(lambda: x.sin())
    log(x)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: "text"):
        y = x.sin()
    log.attempt(lambda: y.backward(lib.ones(1)))


@scenario
def forbidden_hooks(lib, log):
    graph = lib.autograd.graph

    def enter(context):
        with context:
            return "entered"

    def hooks():
        return graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    with graph.disable_saved_tensors_hooks("outer"):
        log.attempt(lambda: enter(hooks()))
        with graph.disable_saved_tensors_hooks("inner"):
            log.attempt(lambda: enter(hooks()))
        log.attempt(lambda: enter(hooks()))
        log.attempt(lambda: enter(graph.save_on_cpu()))
    log.attempt(lambda: enter(hooks()))
    with hooks():
        log.attempt(lambda: enter(graph.disable_saved_tensors_hooks("both")))
    log.attempt(lambda: enter(hooks()))

    @graph.disable_saved_tensors_hooks("decorated")
    def decorated():
        return enter(hooks())

    log.attempt(decorated)


@scenario
def replaced_tensors_have_their_own_counter(lib, log):
    x = leaf(lib, 1.0)
    replacement = x.detach().clone()

    class Writing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t.sin()

        @staticmethod
        def backward(ctx, grad):
            (t,) = ctx.saved_tensors
            before = x._version
            t.add_(1)
            log(t is replacement, x._version - before, replacement)
            return grad

    with lib.autograd.graph.saved_tensors_hooks(lambda t: replacement, lambda t: t):
        y = Writing.apply(x)
    y.backward(lib.ones(1))


@scenario
def detached_after_saving(lib, log):
    for function in (lib.sin, lib.exp, lib.abs, lib.sqrt):
        x = leaf(lib, 1.0).clone()
        y = function(x)
        x.detach_()
        log.attempt(lambda y=y: y.backward(lib.ones(1)))
        log.attempt(lambda y=y: y.grad_fn._saved_self)


@scenario
def intermediates_saved_by_functions(lib, log):
    class Exponential(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result.clone().detach_().requires_grad_(True))
            return result

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            log(result.is_leaf)
            return grad * result

    x = leaf(lib, 1.0)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = Exponential.apply(x)
    y.backward(lib.ones(1))
    log(x.grad)


@scenario
def tensors_moved_to_the_processor(lib, log):
    for pin in (False,):
        for dtype in (lib.float32, lib.float64):
            with lib.autograd.graph.save_on_cpu(pin):
                x = leaf(lib, 1.0, 2.0, dtype=dtype)
                y = x * x
                kept = y.grad_fn._saved_self
                log(kept, kept is x, kept.is_leaf, str(kept.device))
                y.sum().backward()
                log(x.grad)


# retrograd alone: PyTorch may crash some time after it has refused these
def test_pack_hooks_that_fail():
    x = retrograd.tensor([1.0], requires_grad=True)
    for pack, message in (
        (lambda t: t.mul_(2), "pack hook is modifying its input in place"),
        (lambda t, other: t, "missing 1 required positional argument"),
    ):
        y = x.exp()
        with pytest.raises((RuntimeError, TypeError), match=message):
            y.grad_fn._raw_saved_result.register_hooks(pack, lambda t: t)


def test_saved_tensors_are_made_by_nodes_only():
    with pytest.raises(RuntimeError, match="create a SavedTensor object from Python is forbidden"):
        retrograd.autograd.SavedTensor()
