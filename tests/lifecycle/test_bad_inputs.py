"""Nonsense from outside: an exception that says so, no crash, and nothing broken afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


HUGE = 1 << 46


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: torch.zeros(HUGE),
        lambda: torch.ones(HUGE, HUGE),
        lambda: torch.empty(1 << 62, dtype=torch.float64),
        lambda: torch.zeros(1, requires_grad=True).expand(HUGE).exp(),
        lambda: torch.zeros(1).repeat(HUGE),
        lambda: torch.arange(HUGE),
        lambda: torch.eye(1 << 24),
        lambda: torch.zeros(1 << 24, 1) + torch.zeros(1, 1 << 24),
        lambda: torch.zeros(1 << 40, 0) @ torch.zeros(0, 1 << 40),
        lambda: F.one_hot(torch.tensor([0]), HUGE) if hasattr(F, "one_hot") else torch.zeros(HUGE),
    ],
)
def test_sizes_beyond_memory(attempt: Callable[[], Any]) -> None:
    with pytest.raises((RuntimeError, MemoryError, ValueError, OverflowError)):
        attempt()
    assert torch.ones(2).sum().item() == 2.0


def test_a_huge_gradient_leaves_the_engine_usable() -> None:
    x = torch.zeros(1, requires_grad=True)
    y = x.expand(1 << 44)
    with pytest.raises((RuntimeError, MemoryError)):
        y.backward(torch.ones(1).expand(1 << 44).exp())
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_pass_through(value: float) -> None:
    x = torch.tensor([value, 1.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad[1].item() == 2.0
    assert math.isnan(x.grad[0].item()) or math.isinf(x.grad[0].item())
    y = leaf(2)
    (y * 2).backward(torch.tensor([value, 1.0]))
    assert y.grad[1].item() == 2.0


def test_derivatives_that_do_not_exist() -> None:
    x = torch.zeros(3, requires_grad=True)
    x.sqrt().sum().backward()
    assert all(math.isinf(value) for value in x.grad.tolist())
    x.grad = None
    x.norm().backward()
    assert x.grad.tolist() == [0.0] * 3


@pytest.mark.parametrize("value", [None, "text", object(), [1.0], {"a": 1}, b"bytes", lambda: 0])
def test_wrong_types(value: Any) -> None:
    x = leaf(3)
    attempts: list[Callable[[], Any]] = [
        lambda: x + value,
        lambda: value * x,
        lambda: torch.mul(x, value),
        lambda: x.matmul(value),
        lambda: torch.autograd.grad(value, x),
        lambda: torch.autograd.grad(x.sum(), value),
        lambda: torch.autograd.backward(value),
        lambda: x.sum().backward(value if value is not None else "text"),
        lambda: setattr(x, "grad", value if value is not None else 3),
        lambda: torch.zeros(value if value is not None else "x"),
        lambda: x.view(value if value is not None else "x"),
        lambda: x.sum(dim="nowhere"),
        lambda: x.to(value if value is not None else 3.5),
    ]
    for attempt in attempts:
        if value == [1.0] and attempt in (attempts[8],):
            continue
        # AssertionError is what PyTorch's grad() and backward() raise for outputs of a wrong type
        kinds = (TypeError, RuntimeError, ValueError, IndexError, AttributeError, AssertionError)
        with pytest.raises(kinds):
            attempt()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_gradient_of_another_shape_or_type() -> None:
    x = leaf(3)
    y = x * 2
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(torch.ones(4))
    with pytest.raises(RuntimeError, match="implicitly created only for scalar"):
        y.backward()
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([y, y], [torch.ones(3)])
    y.backward(torch.ones(3, dtype=torch.float64))
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("empty", [(0,), (3, 0), (0, 0, 2)])
def test_empty_tensors(empty: tuple[int, ...]) -> None:
    x = torch.ones(empty, requires_grad=True)
    (x.exp() * 2).sum().backward()
    assert x.grad.shape == empty
    with pytest.raises((IndexError, RuntimeError)):
        x.max()


def test_an_operand_whose_conversion_fails() -> None:
    class Strange:
        def __float__(self) -> float:
            raise ZeroDivisionError("no float")

        def __index__(self) -> int:
            raise ZeroDivisionError("no index")

        def __radd__(self, other: Any) -> str:
            return "my own addition"

    x = leaf(3)
    assert x + Strange() == "my own addition"
    with pytest.raises((TypeError, ZeroDivisionError, IndexError)):
        x[Strange()]
    with pytest.raises((TypeError, ZeroDivisionError)):
        torch.zeros(Strange())


def test_a_list_that_contains_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises((ValueError, RecursionError, TypeError)):
        torch.tensor(endless)


def test_an_array_that_is_read_only() -> None:
    import numpy as np

    array = np.ones(3, np.float32)
    array.flags.writeable = False
    torch.set_warn_always(True)  # another test may have heard it
    try:
        with pytest.warns(UserWarning, match="not writ"):
            tensor = torch.from_numpy(array)
    finally:
        torch.set_warn_always(False)
    with pytest.raises((RuntimeError, ValueError)):
        tensor.add_(1)
    assert array.tolist() == [1.0] * 3


def test_an_array_that_changes_behind_the_back() -> None:
    """Writes through NumPy are not seen: PyTorch computes with the new values, and so does this."""
    x = leaf(3)
    constant = torch.ones(3)
    y = x * constant
    constant.numpy()[:] = 5
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3
