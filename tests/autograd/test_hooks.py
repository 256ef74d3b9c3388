"""Hooks without PyTorch: lifetimes, with reference counting alone, and the library's own checks."""

from __future__ import annotations

import contextlib
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import retrograd as torch
from retrograd.autograd import graph
from retrograd.utils.hooks import RemovableHandle


@contextlib.contextmanager
def no_collector():
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


class Marker:
    """Something whose end can be watched."""


def test_saved_values_go_with_the_graph():
    def make():
        kept = Marker()

        def pack(tensor):
            assert kept is not None
            return tensor.detach()

        x = leaf(1.0, 2.0)
        with graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            y = (x * x).exp()
        return y, weakref.ref(kept), weakref.ref(y.grad_fn)

    with no_collector():
        y, kept, node = make()
        assert kept() is not None
        y.sum().backward()
        assert kept() is None  # a freed value lets go of its hooks
        assert node() is not None
        del y
        assert node() is None


def test_hooks_of_many_tensors_make_no_cycle():
    def make():
        a, b = leaf(1.0), leaf(2.0)
        c, d = a * b, a + b
        graph.register_multi_grad_hook((a, b, c, d), lambda gradients: None)
        graph.register_multi_grad_hook((c, d), lambda gradient: None, mode="any")
        (c * d).backward()
        return [weakref.ref(x) for x in (a, c, c.grad_fn, d.grad_fn)]

    with no_collector():
        assert [reference() for reference in make()] == [None] * 4


def test_edges_keep_the_graph_but_not_the_tensor():
    x = leaf(1.0, 2.0)
    y = x * x
    edge = graph.get_gradient_edge(y)
    tensor, node = weakref.ref(y), weakref.ref(y.grad_fn)
    with no_collector():
        del y
        assert tensor() is None
        assert node() is not None
        del edge
        assert node() is None


def test_copies_of_mutated_tensors_go_with_the_graph():
    x = leaf(1.0, 2.0)
    with no_collector(), graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        total = (y * y).sum()
        y.zero_()
        assert len(context.cloned) == 1
        total.backward()
        assert len(context.cloned) == 0
        assert x.grad.tolist() == [2.0, 4.0]


def test_a_part_written_through_a_view_is_copied():
    # in PyTorch 2.13 this gives the gradient of the new values
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        total = (y * y).sum()
        y[1:].mul_(2)
        y.data[:1] = 7
        total.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_an_unseen_write_is_an_error():
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        total = (y * y).sum()
        graph.increment_version(y)
        with pytest.raises(RuntimeError, match="does not see"):
            total.backward()


def test_a_refused_nested_context_leaves_the_outer_one_open():
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        total = (y * y).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            graph.allow_mutation_on_saved_tensors().__enter__()
        y.zero_()
        total.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_root_counts_among_the_tensors_of_a_hook():
    # PyTorch 2.13 forgets to wait for a root that is itself in the list
    a, b = leaf(1.0), leaf(2.0)
    c = a * b
    seen = []
    graph.register_multi_grad_hook((a, b, c), seen.append)
    c.backward()
    assert [[g.item() for g in gradients] for gradients in seen] == [[2.0, 1.0, 1.0]]


def test_handles_travel_with_their_tables():
    table: OrderedDict[int, str] = OrderedDict()
    handle = RemovableHandle(table)
    table[handle.id] = "hook"
    again, copied = pickle.loads(pickle.dumps((handle, table)))
    again.remove()
    assert copied == {}
    assert handle.id in table
    lonely = pickle.loads(pickle.dumps(RemovableHandle(OrderedDict())))
    lonely.remove()


def test_gradient_types_that_are_none_are_refused():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="gradients cannot be of type"):
        x.grad_dtype = torch.int32
    y = torch.ones(2)
    y.grad_dtype = torch.int32
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="gradients cannot be of type"):
        y * 2


def test_a_context_is_this_threads_own():
    import threading

    seen = []
    x = leaf(1.0)

    def work():
        y = x.exp()
        seen.append(y.grad_fn._raw_saved_result.unpack_hook)

    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert x.exp().grad_fn._raw_saved_result.unpack_hook is not None
    assert seen == [None]


def test_what_a_hook_replaces_is_gone_when_the_node_runs():
    """Nobody keeps the gradient before the hook: a step would hold one array more."""
    arrays: list[weakref.ref[object]] = []
    alive: list[bool] = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            alive.append(arrays[0]() is not None)
            return gradient * 2

    def halve(gradient):
        arrays.append(weakref.ref(gradient._array))
        return gradient / 2

    x = leaf(1.0, 2.0)
    y = Looks.apply(x)
    y.register_hook(halve)
    (y * 3).sum().backward()
    assert alive == [False]
    assert x.grad.tolist() == [3.0, 3.0]
    # and where the graph of the gradient is recorded, nothing is taken away from it
    arrays.clear()
    y = Looks.apply(x)
    y.register_hook(halve)
    [slope] = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    slope.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]  # the second walk comes by y, and its hook halves again
