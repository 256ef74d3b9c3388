"""Cases that random programs found, each against PyTorch."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

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


SCENARIOS = (
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
