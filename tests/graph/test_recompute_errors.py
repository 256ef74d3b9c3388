"""What goes wrong in the middle: nothing of a way to keep a graph stays switched on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd import graph
from retrograd.engine import letting_go, recompute_scope, recomputing
from retrograd.engine.state import HOT, STATE

MODES = "scope on_saved saved_hooks grad_enabled cut inference autocast call depth".split()


def modes() -> dict[str, Any]:
    counts = {name: HOT[name] for name in ("UNUSUAL", "NO_GRAD")}
    return {name: getattr(STATE, name) for name in MODES} | counts


@pytest.fixture(autouse=True)
def everything_is_switched_off_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(letting_go, "SMALLEST", 0)
    monkeypatch.setattr(recompute_scope, "SMALLEST_WINDOW", 0)
    before = modes()
    yield
    assert modes() == before


class Fragile(torch.autograd.Function):
    """Fails when it is told to."""

    error: BaseException | None = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if Fragile.error is not None:
            raise Fragile.error
        result = x.tanh()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (result,) = ctx.saved_tensors
        return gradient * (1 - result * result)


def scoped(x: Any) -> Any:
    with graph.recompute():
        return Fragile.apply((x * 2).exp()).sin().sum()


def released(x: Any) -> Any:
    loss = Fragile.apply((x * 2).exp()).sin().sum()
    loss.backward(retain_graph="recompute")
    x.grad = None
    return loss


WAYS = {"scope": scoped, "recompute": released}


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("way", WAYS)
def test_recomputing_fails(way: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes out of backward; the graph is whole, and can be walked once it is gone."""
    x = torch.randn(50, requires_grad=True)
    (expected,) = torch.autograd.grad(Fragile.apply((x * 2).exp()).sin().sum(), x)
    loss = WAYS[way](x)
    monkeypatch.setattr(Fragile, "error", error)
    before = modes()
    for _ in range(2):
        with pytest.raises(type(error)):
            loss.backward(retain_graph=True)
        assert modes() == before
    monkeypatch.setattr(Fragile, "error", None)
    x.grad = None
    loss.backward()
    assert torch.equal(x.grad, expected)


def test_a_failing_forward_in_a_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made before the error is a graph as any other."""
    x = torch.randn(50, requires_grad=True)
    monkeypatch.setattr(Fragile, "error", ZeroDivisionError())
    with pytest.raises(ZeroDivisionError), graph.recompute():
        y = (x * 2).exp().sin()
        Fragile.apply(y)
    (found,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad((x * 2).exp().sin().sum(), x)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("target", ["let_go_before", "let_go", "thin_out"])
def test_letting_go_fails(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a forward, or at the end of the scope."""

    def fail(*_: object) -> None:
        raise MemoryError

    x = torch.randn(50, requires_grad=True)
    y = x * 2
    with monkeypatch.context() as patched:
        patched.setattr(recompute_scope, target, fail)
        with pytest.raises(MemoryError), graph.recompute():
            for _ in range(20):
                y = y.exp().tanh()
    (found,) = torch.autograd.grad((x * 2).exp().sum(), x)
    assert torch.equal(found, (x * 2).exp() * 2)


SCOPES: dict[str, Callable[[], Any]] = {
    "recompute": graph.recompute,
    "offload": lambda: graph.offload(over=0),
    "budget": lambda: graph.budget(0),
}


@pytest.mark.parametrize("inner", SCOPES)
@pytest.mark.parametrize("outer", SCOPES)
def test_nested_scopes(outer: str, inner: str) -> None:
    """Each in each gives the gradients of neither; an error in the inner one ends only that."""
    x = torch.randn(40, 40, requires_grad=True)
    (expected,) = torch.autograd.grad(((x * 2).exp().tanh() @ x).sin().sum(), x)
    with SCOPES[outer]():
        y = (x * 2).exp()
        around = modes()
        with pytest.raises(KeyError), SCOPES[inner]():
            x.exp().tanh()
            raise KeyError
        assert modes() == around
        with SCOPES[inner]():
            y = y.tanh() @ x
        loss = y.sin().sum()
        del y
    (found,) = torch.autograd.grad(loss, x, retain_graph=True)
    assert torch.equal(found, expected)
    loss.backward(retain_graph="recompute")
    loss.backward()
    assert torch.equal(x.grad, expected + expected)


def test_backward_inside_of_a_scope() -> None:
    """With second derivatives, whose graph is the scope's too."""
    x = torch.randn(50, requires_grad=True)
    found = []
    for way in ("scope", "plain"):
        scope = graph.recompute() if way == "scope" else graph.offload(over=10**9)
        with scope:
            loss = (x * 2).exp().sin().tanh().sum()
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            total = slope.square().sum()
        found.append(torch.autograd.grad(total, x)[0])
    assert torch.equal(*found)


def test_a_scope_is_one_thread_s() -> None:
    """Threads with and without one give the same, and each sees its own."""
    x = torch.randn(60, requires_grad=True)
    (expected,) = torch.autograd.grad((x * 2).exp().tanh().sin().sum(), x)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(10):
                if number % 2:
                    with graph.recompute():
                        loss = (x * 2).exp().tanh().sin().sum()
                else:
                    assert STATE.scope is None
                    loss = (x * 2).exp().tanh().sin().sum()
                (found,) = torch.autograd.grad(loss, x)
                assert torch.equal(found, expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_graph_of_a_scope_is_walked_by_other_threads() -> None:
    x = torch.randn(60, requires_grad=True)
    with graph.recompute():
        loss = (x * 2).exp().tanh().sin().sum()
    (expected,) = torch.autograd.grad(loss, x, retain_graph=True)
    found: list[Any] = []

    def work() -> None:
        found.append(torch.autograd.grad(loss, x, retain_graph=True)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(torch.equal(one, expected) for one in found)


def test_a_walk_on_a_new_stack() -> None:
    """A call in a call, deep down, continues in a thread of its own; it computes there as well."""
    x = torch.randn(20, requires_grad=True)
    depth = 0

    def descend(gradient: Any) -> Any:
        nonlocal depth
        if depth < 70:
            depth += 1
            with torch.enable_grad(), graph.recompute():
                inner = (x * 2).exp().tanh().sum()
            inner.register_hook(descend)
            torch.autograd.grad(inner, x)
        return gradient

    with graph.recompute():
        loss = (x * 2).exp().tanh().sum()
    loss.register_hook(descend)
    (found,) = torch.autograd.grad(loss, x)
    (expected,) = torch.autograd.grad((x * 2).exp().tanh().sum(), x)
    assert torch.equal(found, expected) and depth == 70


def test_an_unknown_value_of_the_argument_changes_nothing() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()
    with pytest.raises(ValueError, match='a list of tensors or "recompute"'):
        loss.backward(retain_graph="recomputed")
    loss.backward()
    assert torch.equal(x.grad, x.detach().exp())


def _products(x: Any) -> Any:
    return ((x @ x).exp().tanh() @ x).sum()


def test_computing_leaves_modes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autocast and a scope around backward do not reach what is computed again."""
    x = torch.randn(20, 20, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.autocast("cpu", enabled=False):
            plain = _products(x)
        (expected,) = torch.autograd.grad(plain, x)
    with graph.recompute():
        loss = _products(x)
    seen: list[bool] = []
    run = recomputing._computed

    def watched(*given: Any) -> Any:
        seen.append(STATE.grad_enabled or STATE.autocast is not None or STATE.scope is not None)
        return run(*given)

    monkeypatch.setattr(recomputing, "_computed", watched)
    with torch.autocast("cpu", dtype=torch.bfloat16), graph.recompute():
        (found,) = torch.autograd.grad(loss, x)
    assert torch.equal(found, expected) and seen and not any(seen)
