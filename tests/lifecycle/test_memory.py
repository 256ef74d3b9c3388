"""Which array is alive after which line. Nothing here waits for the cycle collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as torch

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def array_of(tensor: Any) -> Callable[[], Any]:
    """A weak reference to the memory of a tensor."""
    return weakref.ref(tensor._array)


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


def test_saved_result_is_freed_by_backward() -> None:
    x = leaf(3)
    y = x.exp()
    saved = array_of(y)
    loss = y.sum()
    del y
    assert saved() is not None  # exp needs its result
    loss.backward()
    assert saved() is None
    assert loss.grad_fn is not None  # the nodes themselves are still there


def test_saved_operand_is_freed_by_backward() -> None:
    x = leaf(3)
    factor = torch.ones(3) * 2
    saved = array_of(factor)
    loss = (x * factor).sum()
    del factor
    assert saved() is not None
    loss.backward()
    assert saved() is None


def test_what_no_derivative_needs_is_not_kept() -> None:
    x = leaf(3)
    other = torch.ones(3)
    total = x + other
    kept_other, kept_total = array_of(other), array_of(total)
    loss = total.sum()
    del other, total
    assert kept_other() is None and kept_total() is None
    loss.backward()


def test_only_the_operand_that_is_needed_is_kept() -> None:
    x, constant = leaf(2, 3), torch.ones(3, 2)
    product = x @ constant
    result = array_of(product)
    loss = product.sum()
    needed = array_of(constant)
    del constant, product
    assert result() is None
    assert needed() is not None
    del loss
    assert needed() is None


@pytest.mark.parametrize("keep", [{"retain_graph": True}, {"create_graph": True}])
def test_retained_values_stay_until_the_graph_goes(keep: dict[str, bool]) -> None:
    x = leaf(3)
    y = x.exp()
    saved = array_of(y)
    loss = y.sum()
    del y
    loss.backward(**keep)
    assert saved() is not None
    x.grad = None  # with create_graph it has a graph of its own
    del loss
    assert saved() is None


def test_retained_values_are_freed_by_the_second_call() -> None:
    x = leaf(3)
    y = x.exp()
    saved = array_of(y)
    loss = y.sum()
    del y
    loss.backward(retain_graph=True)
    loss.backward()
    assert saved() is None


def test_only_the_walked_part_is_freed() -> None:
    x = leaf(3)
    trunk = x.exp()
    left, right = trunk.sigmoid(), trunk.tanh()
    saved = {name: array_of(value) for name, value in (("t", trunk), ("l", left), ("r", right))}
    first, second = left.sum(), right.sum()
    del trunk, left, right
    first.backward()
    assert {name for name, value in saved.items() if value() is not None} == {"r"}
    with pytest.raises(RuntimeError, match="second time"):
        second.backward()


def test_inputs_restrict_what_is_freed() -> None:
    x, w = leaf(3), leaf(3)
    a, b = x.exp(), w.exp()
    kept_a, kept_b = array_of(a), array_of(b)
    loss = (a + b).sum()
    del a, b
    loss.backward(inputs=[x])
    assert kept_a() is None and kept_b() is not None
    assert w.grad is None


def test_grad_frees_what_it_walks() -> None:
    x, w = leaf(3), leaf(3)
    a, b = x.exp(), w.exp()
    kept_a, kept_b = array_of(a), array_of(b)
    loss = (a + b).sum()
    del a, b
    torch.autograd.grad(loss, x)
    assert kept_a() is None and kept_b() is not None


def test_a_dropped_loss_takes_its_graph_along() -> None:
    x = leaf(3)
    hidden = [x.exp()]
    for _ in range(5):
        hidden.append(hidden[-1].sigmoid() * hidden[-1])
    arrays = [array_of(value) for value in hidden]
    nodes = [weakref.ref(value.grad_fn) for value in hidden]
    loss = hidden[-1].sum()
    del hidden
    assert all(node() is not None for node in nodes)
    del loss
    assert all(item() is None for item in [*arrays, *nodes])
    assert x.grad is None


def test_a_graph_outlives_its_tensors() -> None:
    x = leaf(3)
    y = x.exp()
    tensor, node = weakref.ref(y), weakref.ref(y.grad_fn)
    loss = y.sum()
    del y
    assert tensor() is None and node() is not None
    loss.backward()
    assert torch.allclose(x.grad, x.detach().exp())


def test_a_leaf_lives_as_long_as_its_graph() -> None:
    x = leaf(3)
    seen = weakref.ref(x)
    loss = (x * 2).sum()
    del x
    assert seen() is not None
    loss.backward()
    assert seen() is not None  # the accumulator holds it
    del loss
    assert seen() is None


def test_gradients_under_way_are_released() -> None:
    """No gradient of an inner tensor is alive after the pass, unless it was asked for."""
    x = leaf(3)
    y = x * 2
    seen: list[Any] = []
    y.register_hook(lambda gradient: seen.append(array_of(gradient)))
    (y * 3).sum().backward()
    assert [item() for item in seen] == [None]


def test_retained_gradient_stays_with_its_tensor() -> None:
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    gradient = array_of(y.grad)
    assert gradient() is not None
    del y
    assert gradient() is None


def test_the_starting_gradient_is_not_kept() -> None:
    x = leaf(3)
    y = x * 2
    start = torch.ones(3)
    seen = weakref.ref(start)
    y.backward(start)
    del start
    assert seen() is None


def test_zero_grad_releases_the_gradient() -> None:
    x = leaf(3)
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x * x).sum().backward()
    gradient = array_of(x.grad)
    optimizer.step()
    assert gradient() is not None
    optimizer.zero_grad()
    assert gradient() is None


def test_a_detached_value_keeps_memory_but_no_graph() -> None:
    x = leaf(3)
    y = x.exp()
    node, memory = weakref.ref(y.grad_fn), array_of(y)
    kept = y.detach()
    del y
    assert node() is None
    assert memory() is not None and kept._array is memory()


def test_item_keeps_nothing() -> None:
    x = leaf(3)
    y = x.exp().sum()
    node = weakref.ref(y.grad_fn)
    value = y.item()
    del y
    assert value > 0 and node() is None


def test_a_running_sum_keeps_every_graph_and_its_items_do_not() -> None:
    x = leaf(3)
    nodes = []
    total: Any = 0.0
    for _ in range(3):
        loss = x.exp().sum()
        nodes.append(weakref.ref(loss.grad_fn))
        total = total + loss
        del loss
    assert all(node() is not None for node in nodes)
    total = total.item()
    assert all(node() is None for node in nodes)


def test_views_keep_their_base_and_the_graph_of_a_write() -> None:
    x = leaf(4)
    base = x * 1
    memory = array_of(base)
    view = base[:2]
    view.mul_(3)
    del base
    assert memory() is not None  # the view shows a part of it
    loss = view.sum()
    del view
    loss.backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0, 0.0]
    del loss
    assert memory() is None


def test_in_place_result_is_saved_once() -> None:
    x = leaf(3)
    y = x * 1
    y.sigmoid_()
    memory = array_of(y)
    loss = y.sum()
    del y
    assert memory() is not None
    loss.backward()
    assert memory() is None


def test_a_hook_is_released_with_its_handle() -> None:
    class Hook:
        def __call__(self, gradient: Any) -> None:
            pass

    x = leaf(3)
    hook = Hook()
    seen = weakref.ref(hook)
    handle = x.register_hook(hook)
    del hook
    (x * 2).sum().backward()
    assert seen() is not None
    handle.remove()
    assert seen() is None


def test_an_error_keeps_no_node() -> None:
    """A caught error may be kept for long: its report is made of text and numbers."""
    x = leaf(3)
    y = x.exp()
    loss = y.sum()
    node, memory = weakref.ref(y.grad_fn), array_of(y)
    loss.backward()
    error: BaseException | None = None
    try:
        loss.backward()
    except RuntimeError as caught:
        error = caught.with_traceback(None)
    del y, loss
    assert error is not None and "RG101" in str(error.__notes__)
    assert node() is None and memory() is None


def test_module_call_keeps_nothing() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    batch = torch.ones(2, 3)
    memory = array_of(batch)
    loss = model(batch).sum()
    del batch
    assert memory() is not None
    loss.backward()
    assert memory() is None
