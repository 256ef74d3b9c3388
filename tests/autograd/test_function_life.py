"""The life of custom Functions: what keeps what alive, and what errors say about them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function
from retrograd.autograd.custom.context import engine_node
from retrograd.autograd.graph import get_gradient_edge


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Reference counting alone must do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Token:
    """Something that can be seen to go."""


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, token: Any) -> Any:
        ctx.token = token
        out = x * x
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, _ = ctx.saved_tensors
        return 2 * x * grad, None


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, token: Any) -> Any:
        ctx.token = token
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, None


class Row(Square):
    @staticmethod
    def forward(ctx: Any, x: Any, token: Any) -> Any:
        ctx.token = token
        out = x[:1]
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return torch.cat([grad, grad]), None


@pytest.mark.parametrize("function", [Square, Doubled, Row])
@pytest.mark.parametrize("on_view", [False, True])
@pytest.mark.parametrize("way", ["drop", "backward", "again", "look", "fail"])
def test_graph_goes_by_reference_counting(function: Any, on_view: bool, way: str) -> None:
    token = Token()
    leaf = torch.ones(3, requires_grad=True)
    source = leaf * 1
    out = function.apply(source[:2] if on_view else source[:2].clone(), token)
    loss = (out * out).sum()
    watched = [weakref.ref(x) for x in (token, leaf, source, out, out.grad_fn, out._grad_fn)]
    del token, leaf, source
    if way == "backward":
        loss.backward()
    elif way == "again":
        loss.backward(retain_graph=True)
        loss.backward()
    elif way == "look":
        node = out.grad_fn
        assert node.next_functions and node.name() and repr(node)
        del node
    elif way == "fail":
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    del loss, out
    assert [reference() is None for reference in watched] == [True] * len(watched)


def test_saved_tensors_go_after_backward() -> None:
    kept: list[Any] = []

    class Middle(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            middle = x * 3
            kept.append(weakref.ref(middle))
            ctx.save_for_backward(middle)
            return middle * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (middle,) = ctx.saved_tensors
            return grad * middle

    out = Middle.apply(torch.ones(2, requires_grad=True)).sum()
    assert kept[0]() is not None
    out.backward()
    assert kept[0]() is None


def test_cleared_saved_tensors_go_when_backward_drops_them() -> None:
    kept: list[Any] = []

    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            middle = x * 3
            kept.append(weakref.ref(middle))
            ctx.save_for_backward(middle)
            return middle * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (middle,) = ctx.saved_tensors
            result = grad * middle
            del middle
            kept.append(kept[0]() is None)
            return result

    Once.apply(torch.ones(2, requires_grad=True)).sum().backward(retain_graph=True)
    assert kept[1] is True


def test_boxed_gradients_go_when_backward_drops_them() -> None:
    seen: list[bool] = []

    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, grads: list[Any]) -> Any:
            first = weakref.ref(grads[0])
            grads[0] = None
            seen.append(first() is None)
            return grads[1] * 3

    a, b = Boxed.apply(torch.ones(2, requires_grad=True))
    (a + b).sum().backward()
    x = torch.ones(2, requires_grad=True)
    a, b = Boxed.apply(x)
    torch.autograd.grad((a * b).sum(), x, create_graph=True)
    assert seen == [True, True]


def test_context_outlives_its_output() -> None:
    x = torch.ones(2, requires_grad=True)
    out = Square.apply(x, 7)
    node = out.grad_fn
    del out
    assert node.token == 7
    assert node.next_functions[0][0].variable is x
    assert node.saved_tensors[0] is x
    assert (node.saved_tensors[1].grad_fn) is node


def test_attributes_outlive_the_context() -> None:
    out = Square.apply(torch.ones(2, requires_grad=True), 7)
    out.grad_fn.more = [1]
    first = weakref.ref(out.grad_fn)
    assert first() is None  # nobody held it, and nothing is lost by that
    assert out.grad_fn.more is out.grad_fn.more
    assert out.grad_fn.token == 7


def test_no_cycle_through_a_context_that_keeps_itself_busy() -> None:
    contexts: list[Any] = []

    class Keep(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            contexts.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert ctx is contexts[0]
            return grad * 2

    out = Keep.apply(torch.ones(2, requires_grad=True))
    assert out.grad_fn is contexts[0]
    out.sum().backward()
    watched = weakref.ref(engine_node(contexts[0]))
    del out
    assert watched() is not None
    contexts.clear()
    assert watched() is None


def test_a_written_second_argument_may_be_a_view() -> None:
    """PyTorch gives the gradients of the two arguments to each other here."""

    class AddTo(Function):
        @staticmethod
        def forward(ctx: Any, source: Any, target: Any) -> Any:
            target.add_(source * 5)
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 5, grad

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([10.0, 20.0], requires_grad=True)

    def program(x: Any, y: Any) -> Any:
        base = x * 2
        AddTo.apply(y, base[1:])
        return (base * base).sum()

    def plainly(x: Any, y: Any) -> Any:
        base = x * 2
        base[1:].add_(y * 5)
        return (base * base).sum()

    for create in (False, True):
        found = torch.autograd.grad(program(x, y), [x, y], create_graph=create)
        wanted = torch.autograd.grad(plainly(x, y), [x, y], create_graph=create)
        assert [g.tolist() for g in found] == [g.tolist() for g in wanted]
    again = torch.autograd.grad(found[0].sum(), [x, y])
    assert [g.tolist() for g in again] == [
        g.tolist() for g in torch.autograd.grad(wanted[0].sum(), [x, y])
    ]


def test_report_of_a_freed_graph_names_the_function() -> None:
    x = torch.ones(2, requires_grad=True)
    out = Square.apply(x, None)  # the line of the report
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time") as caught:
        out.sum().backward()
    assert caught.value.code == "RG101"  # type: ignore[attr-defined]
    report = "".join(caught.value.__notes__)
    assert "created here: Square" in report
    assert "out = Square.apply(x, None)" in report


def test_report_of_a_written_value_names_the_function() -> None:
    x = torch.ones(2, requires_grad=True)
    source = x * 2
    out = Square.apply(source, None)
    Doubled.apply(source, None)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        out.sum().backward()
    report = "".join(caught.value.__notes__)
    assert "changed here: Doubled.apply" in report
    assert "Square" in report


def test_cut_by_a_constant_output_is_explained() -> None:
    class Constant(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x * 2
            ctx.mark_non_differentiable(out)
            return out

    out = Constant.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="does not require grad") as caught:
        out.sum().backward()
    assert "cut here: Constant has no derivative" in "".join(caught.value.__notes__)


def test_codes_of_errors() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, result: Any) -> Any:
            ctx.result = result
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return ctx.result

    x = torch.ones(2, requires_grad=True)
    for result, code in (
        ((None, None, x), "RG401"),
        ((torch.ones(3), None), "RG402"),
        ((2.0, None), "RG403"),
        ((None, x), "RG403"),
    ):
        with pytest.raises(RuntimeError) as caught:
            Wrong.apply(x, result).sum().backward()
        assert caught.value.code == code  # type: ignore[attr-defined]


def test_edges_of_functions_are_inputs_and_outputs_of_grad() -> None:
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    out = Square.apply(x, None)
    edge = get_gradient_edge(out)
    assert edge.node is out.grad_fn
    assert isinstance(edge.node, torch.autograd.graph.Node)
    (found,) = torch.autograd.grad((out * 3).sum(), edge, retain_graph=True)
    assert found.tolist() == [3.0, 3.0]
    (found,) = torch.autograd.grad(edge, x, torch.ones(2))
    assert found.tolist() == [2.0, 6.0]


def test_threads_share_a_function() -> None:
    x = torch.ones(4, requires_grad=True)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                Square.apply(x, None).sum().backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert x.grad is not None and x.grad.tolist() == [160.0] * 4


def test_anomaly_mode_names_the_function() -> None:
    class Spoiled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * float("nan")

    x = torch.ones(2, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Anomaly Detection|Error detected in SpoiledBackward"),
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="'SpoiledBackward' returned nan values in its 0th"),
    ):
        Spoiled.apply(x).sum().backward()


def test_a_long_chain_of_functions() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(3000):
        y = Doubled.apply(y * 0.5, None)
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [1.0]
    del y
