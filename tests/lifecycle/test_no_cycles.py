"""Graphs are freed by reference counting alone: the cycle collector finds nothing of ours."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F

pytestmark = pytest.mark.filterwarnings("ignore")


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


def backward() -> None:
    x = leaf(3)
    (x.exp() * x).sum().backward()


def no_backward() -> None:
    x = leaf(3)
    x.exp().sigmoid().sum()


def retained() -> None:
    x = leaf(3)
    loss = x.exp().sum()
    loss.backward(retain_graph=True)
    loss.backward()


def views() -> None:
    x = leaf(4, 4)
    y = (x * 1).view(2, 8).t()[1:3].unsqueeze(0).expand(2, 2, 2)
    y.sum().backward()


def in_place() -> None:
    x = leaf(3)
    y = x * 1
    y.add_(1).mul_(y.detach().clone()).sigmoid_()
    y.sum().backward()


def in_place_on_views() -> None:
    x = leaf(4)
    y = x * 1
    part = y[:2]
    other = y[1:]
    part.mul_(2)
    other.exp_()
    (part.sum() + other.sum() + y.sum()).backward()


def views_of_leaves_under_no_grad() -> None:
    x = leaf(4)
    with torch.no_grad():
        x[:2].add_(1)
        y = x.view(2, 2)
    (x * 2).sum().backward()
    assert y.requires_grad


def unbind_and_split() -> None:
    x = leaf(4, 2)
    a, b, c, d = (x * 1).unbind()
    e, f = (x * 2).split(2)
    (a + d).sum().backward()
    (e * f).sum().backward()
    assert b is not c


def tensor_hooks() -> None:
    x = leaf(3)
    y = x * 2
    y.register_hook(lambda gradient: gradient * 2)
    x.register_hook(lambda gradient: None)
    x.register_post_accumulate_grad_hook(lambda tensor: None)
    y.sum().backward()


def node_hooks() -> None:
    x = leaf(3)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.grad_fn.register_prehook(lambda outputs: None)
    y.sum().backward()


def retained_gradients() -> None:
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    z = y.exp()
    z.retain_grad()
    z.sum().backward()
    assert y.grad is not None


def higher_order() -> None:
    x = leaf(3)
    y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    torch.autograd.grad(second.sum(), x)


def saved_outputs_with_create_graph() -> None:
    x = leaf(3)
    y = x.exp().tanh().sigmoid()
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    gradient.sum().backward()


def saved_values_looked_at() -> None:
    x = leaf(3)
    y = x.exp()
    assert y.grad_fn._saved_result is not None
    z = y * x
    assert z.grad_fn._saved_self is not None
    assert z.grad_fn.next_functions
    repr(z), z.grad_fn.metadata


def grad_with_unused() -> None:
    x, w = leaf(3), leaf(3)
    torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True)


def second_backward() -> None:
    x = leaf(3)
    loss = x.exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()


def modified_value() -> None:
    x = leaf(3)
    y = x.exp()
    loss = y.sum()
    y.add_(1)
    with pytest.raises(RuntimeError):
        loss.backward()


def hook_that_raises() -> None:
    x = leaf(3)
    y = x * 2

    def fail(gradient: Any) -> None:
        raise ValueError("from the hook")

    y.register_hook(fail)
    with pytest.raises(ValueError):
        (y.exp() + y).sum().backward()


def wrong_shapes() -> None:
    x = leaf(3)
    for attempt in (lambda: x + torch.ones(4), lambda: x @ torch.ones(2, 2), lambda: x[9]):
        with pytest.raises((RuntimeError, IndexError)):
            attempt()


def nested_backward() -> None:
    x = leaf(3)
    y = x * 2

    def inner(gradient: Any) -> None:
        with torch.enable_grad():
            (x.exp() * 3).sum().backward()

    y.register_hook(inner)
    y.sum().backward()


def modules_and_optimizers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizers = [
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        torch.optim.Adam(model.parameters(), lr=0.1),
    ]
    for optimizer in optimizers:
        optimizer.zero_grad()
        F.cross_entropy(model(torch.ones(5, 3)), torch.zeros(5, dtype=torch.long)).backward()
        optimizer.step()


def copies() -> None:
    x = leaf(3)
    copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))


def inference() -> None:
    x = leaf(3)
    with torch.inference_mode():
        (x * 2).view(3, 1).add_(1)


def many_outputs() -> None:
    x = leaf(4)
    values, indices = (x * torch.arange(4.0)).sort()
    top, _ = values.max(0)
    (top + values[indices[0]]).backward()


def indexing() -> None:
    x = leaf(4, 3)
    y = x * 1
    y[0] = 5.0
    y[:, 1] = y[:, 0].detach()
    y[y > 2] = 0.0
    torch.cat([y, torch.stack([y[0], y[1]])]).sum().backward()


PROGRAMS: list[Callable[[], None]] = [
    backward, no_backward, retained, views, in_place, in_place_on_views,
    views_of_leaves_under_no_grad, unbind_and_split, tensor_hooks, node_hooks, retained_gradients,
    higher_order, saved_outputs_with_create_graph, saved_values_looked_at, grad_with_unused,
    second_backward, modified_value, hook_that_raises, wrong_shapes, nested_backward, copies,
    modules_and_optimizers, inference, many_outputs, indexing,
]  # fmt: skip


def garbage_of(program: Callable[[], None]) -> list[Any]:
    """What only the cycle collector could free after the program ran."""
    program()  # what is made once (compiled functions, parsed source files) is made now
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    before = len(gc.garbage)
    try:
        program()
        gc.collect()
        return gc.garbage[before:]
    finally:
        gc.set_debug(0)
        gc.enable()
        del gc.garbage[before:]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nothing_is_left_for_the_collector(program: Callable[[], None]) -> None:
    found = garbage_of(program)
    ours = [item for item in found if isinstance(item, torch.Tensor) or _is_node(item)]
    assert ours == []


def _is_node(item: Any) -> bool:
    from retrograd.engine.node import BackwardCall, Node

    return isinstance(item, Node | BackwardCall)


def test_programs_without_errors_leave_no_cycle_at_all() -> None:
    """Exceptions and modules may have cycles of their own; a plain step has none."""
    for program in (backward, views, in_place_on_views, retained_gradients, higher_order):
        assert garbage_of(program) == []


def test_modules_and_optimizers_die_together() -> None:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    weight = weakref.ref(model.weight)
    del model, optimizer
    gc.collect()
    assert weight() is None


def test_backward_with_create_graph_makes_pytorchs_cycle() -> None:
    """leaf -> grad -> graph -> leaf: the one cycle that PyTorch has too, and warns about."""
    x = leaf(3)
    (x**3).sum().backward(create_graph=True)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None
