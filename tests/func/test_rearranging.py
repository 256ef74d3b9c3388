"""`torch.func.rearrange`, told the same way by PyTorch and retrograd."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd
from tests.func.sides import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PATTERNS: list[tuple[str, dict[str, Any]]] = [
    ("a b c -> c b a", {}),
    (" a  b c->c b  a ", {}),
    ("a b c -> (a b) c", {}),
    ("a b c -> a (c b)", {}),
    ("a b c -> (a b c)", {}),
    ("a (b d) c -> a b d c", {"d": 3}),
    ("a (b d) c -> a b d c", {"b": 1, "d": 3}),
    ("a b (c d) -> (b d) a c", {"d": 2}),
    ("... -> ...", {}),
    ("... c -> c ...", {}),
    ("a ... -> (...) a", {}),
    ("a b c ... -> ... c b a", {}),
    ("a b c -> a 1 b c", {}),
    ("a b c -> a () b c ()", {}),
    ("a b c -> c b a", {"a": 2}),
    # errors
    ("a b c -> a b", {}),
    ("a b -> b a", {}),
    ("a b c", {}),
    ("a -> b -> c", {}),
    ("a a b -> b a a", {}),
    ("a (b (c)) d -> a b c d", {}),
    ("a b (c -> c b a", {}),
    ("a b c) -> c b a", {}),
    ("a b c -> c b a ...", {}),
    ("(...) c -> c ...", {}),
    ("a b c -> c b .", {}),
    ("a ... b ... -> a b", {}),
    ("a b c -> c b a", {"q": 2}),
    ("a b c -> c b a", {"a": 3}),
    ("a b c -> b c a", {"a": 2.0}),
    ("a (b d) c -> a b d c", {"d": 2}),
    ("a (b d) c -> a b d c", {"b": 2, "d": 3}),
    ("a (b d) c -> a b d c", {}),
    ("a b (c d e) -> a b c d e", {"c": 2}),
    ("a b 4 -> b a 4", {}),
    ("a b? c -> a b c", {}),
    ("a _b c -> a c _b", {}),
    ("2a b c -> b c", {}),
    ("a b ... c d -> a b ... c d", {}),
]


@pytest.mark.parametrize(("pattern", "lengths"), PATTERNS, ids=str)
def test_patterns(pattern: str, lengths: dict[str, Any]) -> None:
    def scenario(torch: Any) -> Any:
        x = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4)
        return torch.func.rearrange(x, pattern, **lengths)

    assert_same(torch, scenario)


def test_lists_and_gradients() -> None:
    def scenario(torch: Any) -> Any:
        x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
        stacked = torch.func.rearrange([x, x * 2], "s a b -> b (a s)")
        (stacked * torch.arange(12.0, dtype=torch.float64).reshape(3, 4)).sum().backward()
        empty = torch.func.rearrange(torch.ones(2, 0), "a b -> (a b)")
        single = torch.func.rearrange(torch.tensor(1.0), " -> ")
        return stacked, x.grad, empty, single

    assert_same(torch, scenario)


def test_an_axis_of_one_must_be_one() -> None:
    """PyTorch adds up the elements of such a dimension, whatever its size."""
    with pytest.raises(Exception, match="a dimension of size 2 cannot be matched with the axis 1"):
        retrograd.func.rearrange(retrograd.ones(2, 3), "1 a -> a")
    assert retrograd.func.rearrange(retrograd.ones(1, 3), "1 a -> a").shape == (3,)
