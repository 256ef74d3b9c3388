"""The garbage collector and the core: what it need not see, what it still finds, what stays."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as torch
from tests.core.both import needs_core

pytestmark = needs_core


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Nothing is collected but by the test itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.note = [1]
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 + 0 * x


# ------------------------------------------------------------------------------ nothing stays


def training() -> Callable[[], None]:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs, targets = torch.ones(2, 3), torch.zeros(2, 1)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

    return step


def views() -> Callable[[], None]:
    x = torch.ones(4, 6, requires_grad=True)

    def step() -> None:
        first, second = x.t()[1:].split(3, dim=1)[0][:, 1], x.select(0, 1).view(2, 3).unbind(0)[1]
        (first.sum() * second.exp().sum()).backward()
        x.grad = None

    return step


def hooks() -> Callable[[], None]:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = Doubled.apply(x)
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        (slope,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        slope.sum().backward()
        x.grad = None

    return step


@pytest.mark.parametrize("make", [training, views, hooks])
def test_ten_thousand_steps(make: Callable[[], Callable[[], None]]) -> None:
    """Without the collector: all of a step's objects go with it, memory and all."""
    step = make()
    for _ in range(1000):
        step()
    before, known = sys.getallocatedblocks(), len(gc.get_objects())
    for _ in range(10_000):
        step()
    assert len(gc.get_objects()) - known < 10
    assert sys.getallocatedblocks() - before < 200


def test_a_large_graph_leaves_its_memory_to_others() -> None:
    def build() -> Any:
        y = torch.ones(2, requires_grad=True)
        for _ in range(20_000):
            y = y * 1.5
        return y

    build()
    before = sys.getallocatedblocks()
    for _ in range(3):
        build()
    assert sys.getallocatedblocks() - before < 1000


# --------------------------------------------------------------------------- cycles are found


def own_output(y: Any) -> None:
    y.register_hook(lambda g: [y, g][1])


def own_node(y: Any) -> None:
    y.grad_fn.register_hook(lambda *given: [y, None][1])


def own_metadata(y: Any) -> None:
    y.grad_fn.metadata["out"] = y


def own_attribute(y: Any) -> None:
    y.me = y


def own_gradient(y: Any) -> None:
    y.retain_grad()
    y.grad = y.detach()
    y.grad.owner = y


def own_saved(y: Any) -> None:
    product = y * y  # saves y
    y.held = product


def own_edge(y: Any) -> None:
    later = (y.exp() * 2).tanh()
    y.register_hook(lambda g: [later, g][1])


def own_context(y: Any) -> None:
    z = Doubled.apply(y)
    z.grad_fn.me = z


def own_view(y: Any) -> None:
    view = y[1:].view(-1)
    y.view_of_it = view


CYCLES = [
    *(own_output, own_node, own_metadata, own_attribute, own_gradient, own_saved, own_edge),
    *(own_context, own_view),
]


@pytest.mark.parametrize("tie", CYCLES)
@pytest.mark.parametrize("run", [False, True])
def test_cycles_are_collected(tie: Callable[[Any], None], run: bool) -> None:
    def make() -> list[Any]:
        x = torch.ones(3, requires_grad=True)
        y = (x * 2).tanh()
        tie(y)
        if run:
            y.sum().backward()
        return [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(x)]

    ends = make()
    gc.collect()
    assert [end() for end in ends] == [None, None, None]


def test_garbage_in_cycles_is_counted() -> None:
    """Graphs that only the collector can free make it run: memory of their own is not reused."""
    gc.enable()
    ends = []
    for _ in range(20_000):
        y = torch.ones(2, requires_grad=True) * 2
        own_output(y)
        ends.append(weakref.ref(y))
    assert sum(end() is not None for end in ends) < 10_000


@pytest.mark.parametrize("name", ["saved", "edges"])
def test_a_tuple_that_somebody_holds_stays_whole(name: str) -> None:
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).exp() * x
    own_output(y)
    held = getattr(y.grad_fn, name)
    end = weakref.ref(y)
    del y
    gc.collect()
    gc.collect()
    assert end() is None
    for item in held:
        if isinstance(item, torch.Tensor):
            assert item.sum().item() > 0
        elif item is not None and not isinstance(item, int):
            assert item.edges is not None and item.sequence > 0


# ------------------------------------------------------------------------ what others look for


def test_who_holds_a_tensor() -> None:
    x = torch.ones(3, requires_grad=True)
    h = x * 2
    product = h * h
    assert any(holder is product.grad_fn for holder in gc.get_referrers(h))
    assert any(item is h for item in gc.get_referents(product.grad_fn))
    with pytest.raises(RuntimeError, match="use_count"):
        torch.utils.swap_tensors(h, torch.ones(3))
    view = x.detach()[1:]
    base = view._base
    with pytest.raises(RuntimeError, match="use_count"):
        torch.utils.swap_tensors(base, torch.ones(3))


def test_few_objects_are_known_to_the_collector() -> None:
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        known = {id(item) for item in gc.get_objects()}
        y = x
        for _ in range(10):
            y = torch.tanh(y * y)
        made = [item for item in gc.get_objects() if id(item) not in known]
        counts = {kind: sum(type(item) is kind for item in made) for kind in map(type, made)}
    assert counts[type(y.grad_fn).__mro__[-2]] >= 19  # all but the one that was looked at here
    assert sum(counts.values()) <= 20 + 10 + 5  # nodes, saved tensors, the accumulator and such


# ------------------------------------------------------------------------- memory used again


def test_new_objects_have_nothing_of_earlier_ones() -> None:
    told: list[Any] = []

    def use() -> list[Any]:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.mark = 1
        y.retain_grad()
        y[1:].add_(1)
        y.grad_fn.metadata["mark"] = 1
        y.sum().backward()
        return [weakref.ref(y, told.append), weakref.ref(y.grad_fn, told.append)]

    for _ in range(50):
        references = use()
        assert [reference() for reference in references] == [None, None]
    assert len(told) == 0 or len(told) == 100
    made = [torch.ones(3, requires_grad=True) * 2 for _ in range(200)]
    for y in made:
        assert y.__dict__ == {}
        assert (y._version, y._base, y.grad_fn.metadata, y.retains_grad) == (0, None, {}, False)
        assert weakref.getweakrefs(y) == []


def test_subclasses_keep_their_own_memory() -> None:
    class Marked(torch.Tensor):
        ended = 0

        def __del__(self) -> None:
            Marked.ended += 1

    for _ in range(100):
        t = torch.ones(2).as_subclass(Marked)
        t.note = t.__class__.__name__
        del t
    assert Marked.ended == 100
    assert all(type(torch.ones(2)) is torch.Tensor for _ in range(300))


def test_shapes_are_what_they_are() -> None:
    shapes = [(), (0,), (1,), (2, 3), (3, 2), (1, 2, 3, 4, 5), (1, 1, 2, 1, 3, 1), (300, 1), (7,)]
    for _ in range(3):
        for shape in shapes:
            y = torch.ones(shape, requires_grad=True) * 2
            assert y.grad_fn.shape == shape
            assert all(type(size) is int for size in y.grad_fn.shape)
    many = [torch.ones(size, requires_grad=True) * 2 for size in range(1000)]
    assert [y.grad_fn.shape for y in many] == [(size,) for size in range(1000)]


def test_a_class_that_is_assigned() -> None:
    """Memory goes with the class that an object has in the end."""
    for _ in range(50):
        t = torch.ones(2)
        t.__class__ = torch.nn.Parameter
        u = torch.nn.Parameter(torch.ones(2))
        u.__class__ = torch.Tensor
        u.mark = 1
        assert (t.grad, u.grad, t.requires_grad, u.requires_grad) == (None, None, False, True)
        del t, u
    assert all(torch.ones(2).__dict__ == {} for _ in range(100))


def test_a_tensor_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    back: list[Any] = []
    monkeypatch.setattr(torch.Tensor, "__del__", lambda t: back.append(t), raising=False)
    t = torch.ones(2) * 3
    t.mark = 1
    del t
    assert [(x.mark, x.tolist()) for x in back if hasattr(x, "mark")] == [(1, [3.0, 3.0])]
    monkeypatch.undo()
    back.clear()
