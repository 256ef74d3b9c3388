"""`queue_callback`: functions that run at the end of a backward call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd


def engine(torch: Any) -> Any:
    return torch.autograd.Variable._execution_engine


def hooked(torch: Any, hook: Callable[[Any], None]) -> tuple[Any, Any]:
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def run(gradient: Any) -> None:
        hook(x)

    y.register_hook(run)
    return x, y.sum()


def order_and_modes(torch: Any, log: list[Any]) -> None:
    for create in (False, True):

        def queue(x: Any) -> None:
            log.append(("hook", torch.is_grad_enabled(), x.grad is None))
            for name in "ab":
                engine(torch).queue_callback(
                    lambda name=name: log.append((name, torch.is_grad_enabled(), x.grad is None))
                )

        x, loss = hooked(torch, queue)
        loss.backward(create_graph=create)
        log.append(torch.is_grad_enabled())
        x, loss = hooked(torch, queue)
        torch.autograd.grad(loss, x, create_graph=create)


def callbacks_add_callbacks(torch: Any, log: list[Any]) -> None:
    def first() -> None:
        log.append("first")
        engine(torch).queue_callback(lambda: log.append("third"))

    def queue(x: Any) -> None:
        engine(torch).queue_callback(first)
        engine(torch).queue_callback(lambda: log.append("second"))

    hooked(torch, queue)[1].backward()


def nested(torch: Any, log: list[Any]) -> None:
    def inner(x: Any) -> None:
        engine(torch).queue_callback(lambda: log.append("inner callback"))
        log.append("inner hook")

    def outer(x: Any) -> None:
        engine(torch).queue_callback(lambda: log.append("outer callback"))
        with torch.enable_grad():
            _, loss = hooked(torch, inner)
        loss.backward()
        log.append("inner call done")

    hooked(torch, outer)[1].backward()


def backward_in_a_callback(torch: Any, log: list[Any]) -> None:
    def queue(x: Any) -> None:
        def callback() -> None:
            with torch.enable_grad():
                z = (x * 3).sum()
            z.backward()
            log.append(x.grad.tolist())

        engine(torch).queue_callback(callback)

    x, loss = hooked(torch, queue)
    loss.backward()
    log.append(x.grad.tolist())


def callback_raises(torch: Any, log: list[Any]) -> None:
    def fails() -> None:
        raise ValueError("at the end")

    def queue(x: Any) -> None:
        engine(torch).queue_callback(fails)
        engine(torch).queue_callback(lambda: log.append("never"))

    x, loss = hooked(torch, queue)
    with pytest.raises(ValueError, match="at the end"):
        loss.backward()
    log.append((x.grad.tolist(), torch.is_grad_enabled()))


def outside(torch: Any, log: list[Any]) -> None:
    with pytest.raises(RuntimeError) as raised:
        engine(torch).queue_callback(lambda: None)
    log.append(str(raised.value))
    hooked(torch, lambda x: None)[1].backward()
    with pytest.raises(RuntimeError) as raised:
        engine(torch).queue_callback(lambda: None)
    log.append(str(raised.value))


def failing_call_drops_its_callbacks(torch: Any, log: list[Any]) -> None:
    def queue(x: Any) -> None:
        engine(torch).queue_callback(lambda: log.append("never"))
        raise ValueError("in the hook")

    with pytest.raises(ValueError, match="in the hook"):
        hooked(torch, queue)[1].backward()
    hooked(torch, lambda x: None)[1].backward()


SCENARIOS = [
    *(order_and_modes, callbacks_add_callbacks, nested, backward_in_a_callback),
    *(callback_raises, outside, failing_call_drops_its_callbacks),
]


@pytest.mark.torch
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_like_pytorch(scenario: Callable[[Any, list[Any]], None]) -> None:
    torch = pytest.importorskip("torch")
    ours: list[Any] = []
    theirs: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # create_graph=True makes a cycle
        scenario(retrograd, ours)
        scenario(torch, theirs)
    assert ours == theirs
    assert "never" not in ours
