"""Hooks that call backward, raise, or are interrupted: what the graph is like afterwards."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as torch


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


def test_backward_in_a_hook() -> None:
    x, w = leaf(3), leaf(3)

    def inner(gradient: Any) -> None:
        with torch.enable_grad():
            (w * gradient).sum().backward()

    y = x * 2
    y.register_hook(inner)
    (y * 5).sum().backward()
    assert w.grad.tolist() == [5.0] * 3
    assert x.grad.tolist() == [10.0] * 3


def test_backward_in_a_hook_on_the_same_leaf() -> None:
    x = leaf(3)

    def inner(gradient: Any) -> None:
        with torch.enable_grad():
            (x * 10).sum().backward()

    y = x * 2
    y.register_hook(inner)
    y.sum().backward()
    assert x.grad.tolist() == [12.0] * 3


@pytest.mark.parametrize("depth", [10, 100, 2000])
def test_nested_backward_calls(depth: int) -> None:
    """A hook that calls backward, whose hook calls backward, and so on; PyTorch allows it too."""
    x = leaf(1)
    deepest = 0

    def descend(level: int) -> None:
        nonlocal deepest
        deepest = max(deepest, level)
        if level == depth:
            return

        def hook(gradient: Any) -> None:
            with torch.enable_grad():
                descend(level + 1)

        y = x * 1.0
        y.register_hook(hook)
        y.sum().backward()

    descend(0)
    assert deepest == depth
    assert x.grad.item() == depth


def test_a_failure_deep_inside_comes_out() -> None:
    x = leaf(1)

    def descend(level: int) -> None:
        if level == 100:
            raise ValueError("at the bottom")

        def hook(gradient: Any) -> None:
            with torch.enable_grad():
                descend(level + 1)

        y = x * 1.0
        y.register_hook(hook)
        y.sum().backward()

    with pytest.raises(ValueError, match="at the bottom"):
        descend(0)
    assert torch.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.item() == 2.0


def test_walking_the_same_graph_from_its_own_hook() -> None:
    x = leaf(3)
    y = x.exp()
    loss = y.sum()
    calls = 0

    def again(gradient: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            loss.backward(retain_graph=True)

    y.register_hook(again)
    loss.backward()
    assert calls == 2
    assert torch.allclose(x.grad, 2 * x.detach().exp())


def test_freeing_the_same_graph_from_its_own_hook() -> None:
    x = leaf(3)
    y = x.exp()
    loss = y.sum()
    calls = 0

    def again(gradient: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            loss.backward()

    y.register_hook(again)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


class TestAfterAHookRaised:
    """The nodes that ran before are freed, the others are not; no gradient is half added."""

    def setup_method(self) -> None:
        self.x = leaf(3)
        self.early = self.x.exp()
        self.late = self.early.tanh()
        self.loss = (self.late * 2).sum()
        self.armed = True
        self.early.register_hook(self.hook)

    def hook(self, gradient: Any) -> None:
        if self.armed:
            raise ValueError("from the hook")

    def fail(self) -> None:
        with pytest.raises(ValueError, match="from the hook"):
            self.loss.backward()

    def test_state_of_the_graph(self) -> None:
        self.fail()
        assert self.x.grad is None
        assert self.early.grad_fn._saved_result is not None
        with pytest.raises(RuntimeError, match="second time"):
            self.late.grad_fn._saved_result  # noqa: B018

    def test_the_part_that_did_not_run_can_be_walked(self) -> None:
        self.fail()
        self.armed = False
        self.early.sum().backward()
        assert torch.allclose(self.x.grad, self.x.detach().exp())

    def test_the_whole_cannot(self) -> None:
        self.fail()
        self.armed = False
        with pytest.raises(RuntimeError, match="second time"):
            self.loss.backward()

    def test_with_retain_graph_it_can(self) -> None:
        with pytest.raises(ValueError, match="from the hook"):
            self.loss.backward(retain_graph=True)
        self.armed = False
        self.loss.backward()
        once = self.x.grad.clone()
        self.setup_method()
        self.armed = False
        self.loss.backward()
        assert torch.equal(once, self.x.grad)

    def test_modes_are_as_before(self) -> None:
        self.fail()
        assert torch.is_grad_enabled()
        self.setup_method()
        with torch.no_grad():
            self.fail()
            assert not torch.is_grad_enabled()
        assert (self.x * 2).requires_grad

    def test_no_gradient_stays_under_way(self) -> None:
        seen: list[Any] = []
        self.late.register_hook(lambda gradient: seen.append(weakref.ref(gradient._array)))
        gc.collect()
        gc.disable()
        try:
            try:
                self.loss.backward()
            except ValueError as error:
                error.__traceback__ = None
            assert [item() for item in seen] == [None]
        finally:
            gc.enable()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit])
def test_interrupted_in_a_hook(kind: type[BaseException]) -> None:
    x = leaf(3)
    y = x * 2

    def stop(gradient: Any) -> None:
        raise kind()

    handle = y.register_hook(stop)
    with pytest.raises(kind):
        (y * 3).sum().backward(retain_graph=True)
    assert x.grad is None and torch.is_grad_enabled()
    handle.remove()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6.0] * 3


def test_endless_recursion_in_a_hook() -> None:
    x = leaf(3)
    y = x * 2

    def endless(gradient: Any) -> Any:
        return endless(gradient)

    y.register_hook(endless)
    with pytest.raises(RecursionError):
        y.sum().backward()
    assert torch.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_hook_may_leave_a_mode_behind() -> None:
    x = leaf(3)
    y = x * 2
    y.register_hook(lambda gradient: torch.set_grad_enabled(True) and None)
    y.sum().backward()
    assert torch.is_grad_enabled()
    with torch.no_grad():
        z = x * 2
    assert not z.requires_grad


def test_hooks_may_remove_themselves_and_add_others() -> None:
    x = leaf(3)
    y = x * 2
    order: list[str] = []

    def first(gradient: Any) -> None:
        order.append("first")
        handle.remove()
        y.register_hook(lambda gradient: order.append("added"))

    handle = y.register_hook(first)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert order == ["first", "added"]


def test_a_hook_that_drops_the_graph() -> None:
    """The engine holds what it walks; the user's last reference may go in the middle."""
    holder: dict[str, Any] = {}
    x = leaf(3)
    holder["y"] = x.exp()
    holder["loss"] = holder["y"].sum()
    holder["y"].register_hook(lambda gradient: holder.clear())
    holder["loss"].backward()
    assert holder == {}
    assert torch.allclose(x.grad, x.detach().exp())


def test_an_error_of_the_second_pass_in_a_hook_is_explained() -> None:
    x = leaf(3)
    y = x.exp()
    other = x.exp().sum()
    other.backward()
    y.register_hook(lambda gradient: other.backward())
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    assert caught.value.code == "RG101"  # type: ignore[attr-defined]
    assert caught.value.reason == "same-loss-twice"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("hook", "kind", "message"),
    [
        (lambda i, o: torch.ones(3), TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda i, o: (i[0],), RuntimeError, "has returned an incorrect number of values (got 1,"),
        (lambda i, o: (i[0], i[0]), RuntimeError, "can't replace a None gradient with a non-None"),
        (lambda i, o: (5, None), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda i, o: (i[0][:2], None), RuntimeError, "has changed the size of value"),
        (lambda i, o: (i[0].double(), None), RuntimeError, "has changed the type of value"),
    ],
)
def test_what_a_hook_on_a_node_returns_is_checked(
    hook: Any, kind: type[Exception], message: str
) -> None:
    x = leaf(3)
    y = x * 2
    y.grad_fn.register_hook(hook)
    with pytest.raises(kind) as caught:
        y.sum().backward()
    assert message in str(caught.value)
    assert caught.value.code == "RG403"  # type: ignore[attr-defined]
    assert x.grad is None


def test_a_hook_on_an_accumulator_cannot_change_the_shape() -> None:
    x = leaf(3)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda outputs: (outputs[0][:2],))
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        y.sum().backward()
    assert x.grad is None
