"""Cases that random programs found, each against PyTorch."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd
from tests.autograd.outcomes import Log, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def view_made_quietly(t: Any, log: Log) -> None:
    """The gradient of an op on a view that was made without recording goes nowhere."""
    x = t.ones(2, 3, requires_grad=True) * 2
    with t.no_grad():
        row = x[:1]
    functions: tuple[Callable[[Any], Any], ...] = (
        lambda r: r.sin(), lambda r: r**3, lambda r: r * r, lambda r: r.softmax(-1),
        lambda r: r.var(-1), lambda r: r.masked_fill(r > 0, 1.0), lambda r: r.amax(-1),
        lambda r: t.nn.functional.layer_norm(r, (3,)), lambda r: r.logsumexp(-1),
    )  # fmt: skip
    for function in functions:
        out = function(row)
        log(out, out.grad_fn.next_functions[0][0])
        log.attempt(lambda out=out: out.sum().backward(retain_graph=True))
        log.attempt(lambda out=out: out.sum().backward(create_graph=True))


def write_to_a_dual(t: Any, log: Log) -> None:
    """A backward call inside a dual level leaves the tangents of the program alone."""
    forward = t.autograd.forward_ad
    x = t.tensor([0.5, 2.0], requires_grad=True)
    with forward.dual_level():
        base = x * 1
        dual = forward.make_dual(base, x * 3)
        dual.square_()
        log(forward.unpack_dual(dual).tangent.detach())
        (dual * dual).sum().backward()
        log(forward.unpack_dual(dual).tangent.detach(), x.grad)


def copies(t: Any, log: Log) -> None:
    """Versions of copies, and copies in inference mode."""
    x = t.ones(2, requires_grad=True)
    for duplicate in (copy.copy, copy.deepcopy, lambda y: pickle.loads(pickle.dumps(y))):
        log.facts(duplicate(x))
        with t.inference_mode():
            made = duplicate(x)
        log(made.is_inference(), made.requires_grad)
        log.attempt(lambda made=made: made * made)
    shared = copy.copy(x)
    with t.no_grad():
        shared.mul_(2)
    log(x, x._version, shared._version)
    x.register_hook(print)
    copy.copy(x)


def expanded_rows(t: Any, log: Log) -> None:
    """One row of an expanded tensor can be written; all of them cannot."""
    base = t.ones(2)
    wide = base.expand(3, 2)
    wide[0] = 2.0
    wide[1].mul_(3)
    log(base, wide)
    log.attempt(lambda: wide.mul_(2))
    wide[0].detach().add_(1)
    log(base)


def second_walks(t: Any, log: Log) -> None:
    """A number as weight is nothing saved: the graph may be walked again."""
    x, y = t.ones(2, requires_grad=True), t.zeros(2, requires_grad=True)
    out = t.lerp(x, y, 0.25)
    out.sum().backward()
    log.attempt(lambda: out.sum().backward())
    log(x.grad, y.grad)


def leaf_without_grad(t: Any, log: Log) -> None:
    """A multi-grad hook still hears of a leaf that no longer requires grad."""
    x = t.ones(2, requires_grad=True)
    out = (x * x).sum()
    t.autograd.graph.register_multi_grad_hook((x,), lambda found: log(found))
    x.requires_grad_(False)
    out.backward()


def names(t: Any, log: Log) -> None:
    """What nodes and tensors are called."""
    x = t.ones(2, 2, requires_grad=True)
    log((x * 1).copy_(x).grad_fn.name(), x[:, None].expand(2, 3, 2).reshape(2, 6).grad_fn)
    log(x.t().reshape(2, 2, 1).grad_fn, x.reshape(4).grad_fn, x.t().reshape(4).grad_fn)
    with t.autograd.forward_ad.dual_level():
        log(t.autograd.forward_ad.unpack_dual(x).primal.grad_fn.name())
    for dtype in (t.bfloat16, t.complex64, t.bool, t.float16, t.int64):
        log.attempt(lambda dtype=dtype: t.ones(2, 2, dtype=dtype).expand(2))
    z = t.ones(2, dtype=t.complex64, requires_grad=True) * 2
    out = z.sin()
    z.zero_()
    log.attempt(lambda: out.sum().backward(t.ones((), dtype=t.complex64)))


def order_of_checks(t: Any, log: Log) -> None:
    """Where two things are wrong, the first error is PyTorch's."""
    whole, real = t.ones(3, dtype=t.int64), t.ones(1, 3)
    for write in (whole.add_, whole.mul_, whole.sub_, t.ones(3).mul_):
        log.attempt(lambda write=write: write(real.to(t.complex64)))
    doubles = t.ones(2, 2, dtype=t.float64)
    log.attempt(lambda: t.ones(2, 3) @ doubles)
    log.attempt(lambda: t.ones(2, 3) @ doubles[0])
    log.attempt(lambda: t.ones(1, 2, 3) @ doubles[None])
    log.attempt(lambda: t.ones(2, 0).amax(-1))
    log.attempt(lambda: t.ones(2, 0, dtype=t.complex64).amax((0, -1)))
    log.attempt(lambda: t.ones(()).__setitem__(slice(1, None), 2.0))
    x = t.ones(2, requires_grad=True)
    log.attempt(lambda: t.autograd.backward((x * x).sum(), create_graph=True, inputs=[x.detach()]))


def inference_arguments(t: Any, log: Log) -> None:
    """Transforms take tensors of inference mode as arguments that are not differentiated."""
    with t.inference_mode():
        weight = t.full((2,), 3.0)
    log(t.func.grad(lambda x, w: (x * w).sum())(t.ones(2), weight))


def replaced_data(t: Any, log: Log) -> None:
    """A view whose data was replaced has a storage of its own."""
    x = t.ones(2, 3)
    view = x.view(-1)
    view.data = view.clone()
    log(view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), view._is_view())


def numbers_of_inference_tensors(t: Any, log: Log) -> None:
    """A number beside an inference tensor that requires grad is an ordinary tensor: recorded."""
    with t.inference_mode():
        x = t.tensor(1.5).requires_grad_()
    for function in (lambda v: 2 - v, lambda v: v - 2, lambda v: v * 2, lambda v: -v):
        log(function(x))


def gaps_of_tangents(t: Any, log: Log) -> None:
    """`as_strided` of a dual tensor finds zeros where the tangent's memory has gaps."""
    forward = t.autograd.forward_ad
    columns = t.arange(6.0).reshape(2, 3)[..., ::2]
    diagonal = t.ones(2, 3, requires_grad=True).diagonal().unfold(0, 1, 1)
    with forward.dual_level():
        dual = forward.make_dual(columns, columns * 0.5 + 1)
        log(forward.unpack_dual(dual.as_strided((2,), (1,))).tangent)
        log(forward.unpack_dual(forward.make_dual(diagonal, diagonal.detach() + 1)).tangent)


def names_of_written_copies(t: Any, log: Log) -> None:
    """`CopyBackwards` keeps its whole name in the message of a stale value."""
    x = t.ones(2, 3, requires_grad=True)
    made = t.cat([x, x * 2])
    over = 1 / (made * made + 1)
    made.copy_(over)
    log.attempt(lambda: over.sum().backward())


def outputs_without_gradient(t: Any, log: Log) -> None:
    """What has no derivative may be written into a tensor that requires grad."""
    x = t.ones(3, requires_grad=True)
    for name in ("gt", "le", "eq", "logical_and", "logical_xor"):
        target = t.zeros(3, requires_grad=True)
        log(getattr(t, name)(x, x, out=target), target)
    log.attempt(lambda: t.add(x, x, out=t.zeros(3)))


def sums_and_empty_rows(t: Any, log: Log) -> None:
    """Sums of integers are int64; an empty softmax asks for no kernel."""
    for name in ("bool", "uint8", "int8", "int32"):
        log(t.ones(2, 3, dtype=getattr(t, name)).sum_to_size(1, 3))
        log(t.ones(2, 3, dtype=getattr(t, name)).sum_to_size(2, 3))
    log(t.ones(2, 0, dtype=t.complex64).softmax(-1))
    log.attempt(lambda: t.ones(2, 1, dtype=t.complex64).softmax(-1))


def nothing_arrives(t: Any, log: Log) -> None:
    """Where no gradient arrives, what was saved is read and let go all the same."""

    class First(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    def written(x: Any, shape: bool) -> Any:
        base = t.ones(2, 3)
        (base.view(3, 2).t() if shape else base).addcmul_(*[x.view(3, 2).t() if shape else x] * 2)
        return base

    for make in (
        lambda x: x.exp(), lambda x: x.max(0).values, lambda x: x.softmax(-1), lambda x: x**3,
        lambda x: t.cat([x.sin(), x]), lambda x: written(x, False), lambda x: written(x, True),
        lambda x: x.exp().t(), lambda x: t.ones(6).reshape(2, 3).addcmul_(x, x),
    ):  # fmt: skip
        for first, second in ((0, 1), (1, 0), (1, 1)):
            x = t.ones(2, 3, requires_grad=True)
            middle = make(x)
            roots = (middle.sum(), First.apply(x, middle).sum())
            log.attempt(lambda roots=roots, first=first: roots[first].backward())
            log.attempt(lambda roots=roots, second=second: roots[second].backward())


def what_hooks_see(t: Any, log: Log) -> None:
    """Gradients of all parts of a list; none for the indices behind values."""
    x, y = t.ones(2, 2, requires_grad=True), t.ones(2, 2)
    for made in (
        t.cat([x, y]), t.stack([y, x]), t.hstack([x, y, x]), x * y, x.max(0).values,
        x.sort().values, x.topk(1).values, x.cummax(0).values, t.linalg.slogdet(x + t.eye(2))[1],
    ):  # fmt: skip
        made.grad_fn.register_hook(
            lambda inputs, outputs: log([g if g is None else g.tolist() for g in inputs], outputs)
        )
        made.grad_fn.register_prehook(lambda outputs: log(len(outputs)))
        made.sum().backward()
    log.attempt(lambda: x.max(0).values.grad_fn(t.ones(2)))
    log.attempt(lambda: x.max(0).values.grad_fn(t.ones(2), None))


def written_in_two_wrong_ways(t: Any, log: Log) -> None:
    """The history comes first, then what an op refuses itself, then the memory, then the shapes."""
    leaf = t.ones(2, 3).reshape(2, 3).requires_grad_()
    with t.no_grad():
        quiet = leaf.expand(2, 2, 3)
    grown = (leaf * 2).exp()
    plain = t.ones(1).expand(3)
    for write in (
        lambda: quiet.copy_(grown), lambda: quiet.lerp_(grown, 0.5),
        lambda: quiet.__setitem__(..., leaf.sum()), lambda: plain.sub_(t.tensor([True])),
        lambda: plain.lerp_(t.ones(3, dtype=t.int64), 0.5), lambda: plain.add_(t.ones(2)),
        lambda: plain.cumsum_(5), lambda: plain.tril_(), lambda: plain.bitwise_not_(),
        lambda: t.tensor([True]).expand(3).neg_(), lambda: t.tensor([1]).expand(3).pow_(-1),
    ):  # fmt: skip
        log.attempt(write)


def views_that_cannot_follow(t: Any, log: Log) -> None:
    """Refused as they are written, and as roots, also where no gradient is recorded."""
    row = (t.ones(2, 3, requires_grad=True) * 1).unbind()[0]
    with t.no_grad():
        row.unsqueeze_(0)
        log.attempt(lambda: row.backward(t.ones(1, 3)))
    other = (t.ones(2, 3, requires_grad=True) * 1).unbind()[1]
    other._base.mul_(2)
    log.attempt(lambda: other.squeeze_())
    kept = (t.ones(2, 3, requires_grad=True) * 1).unbind()[1]
    kept.retain_grad()
    kept._base.mul_(2)
    log.attempt(lambda: kept.retain_grad())


def complex_into_real(t: Any, log: Log) -> None:
    """A warning where imaginary parts are lost, and none where nothing is written."""
    for index in (slice(1, None), ..., 0, slice(5, None)):
        for value in (t.tensor(1 + 2j), t.tensor([1 + 2j])):
            log.attempt(lambda i=index, v=value: t.ones(2, 3).__setitem__(i, v))
    log.attempt(lambda: t.ones(2).fill_(t.tensor(1j)))


def detached_from_inference(t: Any, log: Log) -> None:
    """What is detached from an inference tensor may be written, and is one for all else."""
    with t.inference_mode():
        made = t.ones(2, 3)
    weight = t.ones(2, 3, requires_grad=True)
    for x in (made.data, made.detach(), made.data.detach()):
        log(x.is_inference(), x._version, x.add_(1), x._version)
        for view in (x[0], x.t(), x.view(-1), x.split(1)[0], x.unbind()[0]):
            log(view.is_inference(), view._is_view(), view.grad_fn)
            log.attempt(lambda view=view: view._version)
            log.attempt(lambda view=view: view.requires_grad_())
        log.attempt(lambda x=x: weight * x)
        log((weight + x).grad_fn.name())


def rows_of_expanded_results(t: Any, log: Log) -> None:
    """A row of an expanded tensor can be written whatever the order of its base in memory."""
    made = t.arange(8.0).reshape(2, 2, 2).transpose(0, 1)
    with t.autograd.forward_ad.dual_level():
        for base in (made * 1, made, made.clone().transpose(0, 2), made[:, :1]):
            wide = base.expand(2, 2, 2, 2)
            wide[0] = 0.25
            log(base)


def strides_of_single_elements(t: Any, log: Log) -> None:
    """The stride of a dimension of one element has a say in how a broadcast result lies."""
    flat = t.arange(40.0)
    for shape, strides in (((1, 1, 2), (1, 1, 1)), ((1, 2, 3), (2, 1, 2)), ((1, 1, 2), (1, 3, 1)),
                           ((1, 1, 2), (2, 2, 1)), ((3, 1, 2), (2, 3, 1))):  # fmt: skip
        x = flat.as_strided(shape, strides)
        other = t.ones(2, 1)
        log((x + other).stride()[1:], (other * x).stride()[1:], t.maximum(x, other).stride()[1:])


def asked_without_history(t: Any, log: Log) -> None:
    """A view that cannot follow a write answers what asks for no history."""

    class Row(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x[:1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    row = Row.apply(x, weight)
    x.squeeze_()
    log(row.argmax(), row > 0, row.eq(row), t.zeros_like(row))
    log.attempt(lambda: row.sum())
    leaf = t.ones(1).requires_grad_()
    with t.no_grad():
        quiet = leaf.squeeze()
        quiet.mul_(1.5)
    log.attempt(lambda: quiet.retain_grad())
    log.attempt(lambda: t.ones(2, 2, dtype=t.bool) @ t.ones(2))
    base = t.ones(2, 3)
    part = base.split(1)[0]
    base.lerp_(weight[:, :1].expand(2, 3), 0.5)
    log.attempt(lambda: part.grad_fn)
    log.attempt(lambda: part.grad)


def written_inside_nested_vmap(t: Any, log: Log) -> None:
    """In inference mode too, where tensors have no version of their own."""
    for mode in (t.inference_mode, t.no_grad, t.enable_grad):
        with mode():
            x = t.arange(6.0).reshape(2, 3)
            for write in (lambda a: (a * 1).neg_(), lambda a: (a * 1).copy_(a + 1),
                          lambda a: (a * 1).fill_(3)):  # fmt: skip
                log(t.func.vmap(t.func.vmap(write))(x), t.func.vmap(write)(x[0]))


def products_of_nothing(t: Any, log: Log) -> None:
    """Where there is nothing to multiply, no kernel refuses the dtype."""
    for one, other in (((2, 0), (0,)), ((0, 2), (2,)), ((0, 2), (2, 2)), ((2, 2), (2, 0)),
                       ((2, 0), (0, 3)), ((2, 2), (2,)), ((2, 2), (2, 2))):  # fmt: skip
        log.attempt(lambda a=one, b=other: t.ones(a, dtype=t.bool) @ t.ones(b, dtype=t.bool))
    log(t.ones(2, 5).histc(bins=t.tensor(2), min=0.5, max=2))


def places_of_an_unpickled_tensor(t: Any, log: Log) -> None:
    """Its memory belongs to an array of NumPy's, whose dtype is an object of its own."""
    made = pickle.loads(pickle.dumps(t.arange(6.0, dtype=t.float64)))
    square = made.as_strided((2, 2), (2, 1))
    log(square @ t.ones(2, 2, dtype=t.float64), square + 1, square.sum())
    array = pickle.loads(pickle.dumps(np.arange(6.0)))
    square = t.from_numpy(array).as_strided((2, 2), (2, 1), 1)
    log(square @ t.ones(2, 2, dtype=t.float64))
    square.mul_(2)
    log(array.tolist())


def said_of_nothing(t: Any, log: Log) -> None:
    """No warning about imaginary parts where there are no elements; the words for a mask."""
    empty = t.ones(2, 0, dtype=t.complex64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log(empty.double(), empty.to(t.int64))
    for name in ("int64", "int16", "int32", "float16"):
        mask = t.ones(2, dtype=getattr(t, name))
        log.attempt(lambda mask=mask: t.ones(2).masked_fill_(mask, 1.0))
    wide = t.ones(2, 2, dtype=t.bfloat16).expand(2, 2, 2)
    log(wide.sort()[0].stride(), wide.softmax(-1).stride(), wide.cumsum(0).stride())


SCENARIOS = (
    detached_from_inference, rows_of_expanded_results, strides_of_single_elements,
    products_of_nothing, places_of_an_unpickled_tensor, asked_without_history,
    written_inside_nested_vmap, said_of_nothing,
    nothing_arrives, what_hooks_see, written_in_two_wrong_ways, views_that_cannot_follow,
    complex_into_real,
    numbers_of_inference_tensors, gaps_of_tangents, names_of_written_copies,
    outputs_without_gradient, sums_and_empty_rows,
    view_made_quietly, write_to_a_dual, copies, expanded_rows, second_walks, leaf_without_grad,
    names, order_of_checks, inference_arguments, replaced_data,
)  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_like_torch(scenario: Callable[[Any, Log], Any]) -> None:
    assert_same(scenario, torch)


@pytest.mark.parametrize("library", [torch, retrograd], ids=["torch", "retrograd"])
def test_packed_tangents_end_with_their_level(library: Any) -> None:
    graph, forward = library.autograd.graph, library.autograd.forward_ad

    def run() -> weakref.ref[Any]:
        x = library.ones(2, requires_grad=True)
        with forward.dual_level():
            with graph.saved_tensors_hooks(lambda saved: saved.detach(), lambda packed: packed):
                kept = forward.make_dual(x * 2, x * 1).relu()
        assert kept.grad_fn is not None
        return weakref.ref(x)

    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


def test_first_call_with_missing_arguments_names_the_function() -> None:
    with pytest.raises(TypeError, match=r"^cummin\(\) "):
        retrograd.cummin(retrograd.ones(2))


@pytest.mark.parametrize("library", [torch, retrograd], ids=["torch", "retrograd"])
def test_anomaly_mode_makes_no_cycle_with_a_leaf(library: Any) -> None:
    def run() -> weakref.ref[Any]:
        x = library.ones(2, requires_grad=True)
        y = library.utils.checkpoint.checkpoint(lambda z: z * z, x, use_reentrant=False)
        with library.autograd.set_detect_anomaly(True):
            (y * y).sum().backward()
        return weakref.ref(x)

    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()
