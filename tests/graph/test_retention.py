"""`retain_graph=[h, ...]`: a backward call keeps the graph behind the named tensors only."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.engine.walk import COMPILED


@pytest.fixture(params=["core", "python"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Any:
    """Both walks: the compiled one and its definition."""
    if request.param == "core":
        yield
        return
    take_back = COMPILED.put_aside()
    yield
    take_back()


def leaf(*sizes: int) -> Any:
    torch.manual_seed(len(sizes))
    return torch.randn(*sizes, requires_grad=True)


def alive(tensor: Any) -> Callable[[], bool]:
    """Whether somebody still holds a tensor's memory."""
    reference = weakref.ref(tensor._array)
    return lambda: reference() is not None


def test_two_losses_on_one_trunk() -> None:
    x, weight = leaf(4, 3), leaf(3, 3)
    expected = torch.autograd.grad((x @ weight).tanh().pow(2).sum() * 3, weight)[0]
    trunk = (x @ weight).tanh()
    first = trunk.pow(2).sum()
    second = trunk.pow(2).sum() * 2
    first.backward(retain_graph=[trunk])
    second.backward()
    assert torch.allclose(weight.grad, expected)
    with pytest.raises(RuntimeError, match="second time"):
        trunk.sum().backward()  # the second call kept nothing


def test_what_is_in_front_goes() -> None:
    x = leaf(1000)
    trunk = x.exp()
    wide = trunk.tanh()
    in_front, behind = alive(wide), alive(trunk)
    node = trunk.grad_fn
    loss = wide.sum()
    del wide
    loss.backward(retain_graph=[trunk])
    del trunk
    assert not in_front() and behind()  # both ops save their result
    assert node._saved_result is not None
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_carried_state() -> None:
    """The graph behind the state stays, so that the last step still trains the first."""
    weight = leaf(3, 3)
    inputs = [leaf(2, 3).detach() for _ in range(3)]
    state, reference = torch.zeros(2, 3), torch.zeros(2, 3)
    total: Any = 0
    for given in inputs:
        state = (state @ weight + given).tanh()
        state.exp().sum().backward(retain_graph=[state])
        reference = (reference @ weight + given).tanh()
        total = total + reference.exp().sum()
    assert torch.allclose(weight.grad, torch.autograd.grad(total, weight)[0], rtol=1e-5)


def test_grad_and_function_take_it_too() -> None:
    x = leaf(3)
    h = x.exp()
    (first,) = torch.autograd.grad(h.sin().sum(), x, retain_graph=[h])
    torch.autograd.backward([h.sin().sum()], retain_graph=(h,))
    assert torch.equal(x.grad, first)
    (third,) = torch.autograd.grad(h.sin().sum(), h)
    assert torch.equal(third, h.cos())
    h.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        h.sum().backward()


def test_several_tensors_leaves_and_none() -> None:
    x = leaf(3)
    a, b = x.exp(), x.tanh()
    (a * b).sum().backward(retain_graph=[a, b, x])
    (a.sum() + b.sum()).backward(retain_graph=[a])
    a.sum().backward(retain_graph=[])
    for freed in (a, b):
        with pytest.raises(RuntimeError, match="second time"):
            freed.sum().backward()


def test_batched_gradients_and_inputs() -> None:
    x = leaf(3)
    h = x.exp()
    y = h * h
    rows = torch.autograd.grad(y, x, torch.eye(3), retain_graph=[h], is_grads_batched=True)[0]
    assert torch.allclose(rows, torch.diag(2 * h * h))
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    h.sum().backward(retain_graph=[h], inputs=[x])
    h.sum().backward()
    assert torch.equal(x.grad, h + h)


def test_second_order() -> None:
    x = leaf(3)
    h = x.exp()
    (slope,) = torch.autograd.grad(h.pow(3).sum(), x, create_graph=True, retain_graph=[h])
    (curve,) = torch.autograd.grad(h.sum(), x)
    assert torch.equal(curve, h)
    assert slope.requires_grad


def test_custom_function_hooks_and_written_views() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            ctx.maybe_clear_saved_tensors()
            return gradient * 2 * x

    x = leaf(4)
    h = Square.apply(x)
    base = h * 1
    base[1:].exp_()
    base.register_hook(lambda g: g)
    loss = Square.apply(base).sum()
    expected = torch.autograd.grad(loss, x, retain_graph=True)[0]
    loss.backward(retain_graph=[base])
    (found,) = torch.autograd.grad(base, x, 2 * base.detach())
    assert torch.equal(x.grad, expected) and torch.allclose(found, expected)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ("recomputed", ValueError, "retain_graph must be .* not 'recomputed'"),
        ({1}, TypeError, "retain_graph must be .* not set"),
        ([3], TypeError, "retain_graph: element 0 of the list is no tensor but int"),
        (torch.ones(1), TypeError, r"write retain_graph=\[h\]"),
        ([torch.ones(1)], RuntimeError, "retain_graph: element 0 .* does not require grad"),
    ],
)
def test_wrong_arguments_are_named(given: Any, kind: type[Exception], words: str) -> None:
    x = leaf(3)
    loss = x.exp().sum()
    for call in (loss.backward, lambda **more: torch.autograd.grad(loss, x, **more)):
        with pytest.raises(kind, match=words):
            call(retain_graph=given)
    loss.backward()  # nothing was freed
    assert x.grad is not None


def test_truth_values_stay() -> None:
    x = leaf(3)
    loss = x.exp().sum()
    for given in (True, 1, torch.tensor(True)):
        loss.backward(retain_graph=given)
    loss.backward(retain_graph=0)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_an_exception_frees_what_was_walked_only() -> None:
    x = leaf(3)
    h = x.exp()
    front = h.sin()

    def fail(gradient: Any) -> Any:
        raise KeyError("stop")

    handle = h.register_hook(fail)
    loss = front.exp().sum()
    with pytest.raises(KeyError):
        loss.backward(retain_graph=[h])
    handle.remove()
    (found,) = torch.autograd.grad(h.sum(), x)
    assert torch.equal(found, h)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_nothing_stays_behind() -> None:
    """A freed node points at the call that freed it; the call must not hold the kept nodes."""
    x = leaf(3)
    gc.collect()
    gc.disable()
    try:
        h = x.exp()
        loss = h.sin().sum()
        loss.backward(retain_graph=[h])
        gone = weakref.ref(h.grad_fn)
        front = loss.grad_fn
        del h, loss
        assert front.next_functions[0][0].freed is not None
        del front
        assert gone() is None
    finally:
        gc.enable()


def test_threads_keep_what_they_name() -> None:
    x = leaf(50)
    trunk = x.exp()
    heads = [trunk * float(number) for number in range(8)]
    failures: list[BaseException] = []

    def work(head: Any) -> None:
        try:
            for _ in range(20):
                torch.autograd.grad(head.sin().sum(), x, retain_graph=[trunk, head])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(head,)) for head in heads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    trunk.sum().backward()


def test_the_report_names_the_list() -> None:
    x = leaf(3)
    trunk = x.exp()
    first = trunk.sin().sum()
    second = trunk.cos().sum()
    first.backward()
    with pytest.raises(RuntimeError) as raised:
        second.backward()
    report: Any = raised.value.report  # type: ignore[attr-defined]
    assert any("retain_graph=[trunk] keeps only" in advice.text for advice in report.fixes)
    trunk = x.exp()
    loss = trunk.sin().sum()
    loss.backward(retain_graph=[trunk])
    with pytest.raises(RuntimeError) as raised:
        loss.backward()
    labels = [span.label for span in raised.value.report.spans]  # type: ignore[attr-defined]
    assert any("not behind its retain_graph=[...]" in label for label in labels)
