"""Types of results under vmap where a batch of numbers meets a batch of rows, as PyTorch's."""

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda t, x, y: t.mul(x, y),
    "sub": lambda t, x, y: t.sub(x, y, alpha=2),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "clamp_min": lambda t, x, y: t.clamp_min(x, y),
    # ops of three operands count a batch of numbers as a tensor with a dimension
    "addcmul": lambda t, x, y: t.addcmul(x, x, y),
    "addcdiv": lambda t, x, y: t.addcdiv(x, y, y),
    "where": lambda t, x, y: t.where(x > 0, x, y),
    "clamp": lambda t, x, y: t.clamp(x, min=y),
}


def found(library: Any, name: str, kinds: tuple[str, str], ranks: tuple[int, int]) -> Any:
    x, y = (
        library.ones((3, 2)[:rank], dtype=getattr(library, kind))
        for kind, rank in zip(kinds, ranks, strict=True)
    )
    result = library.func.vmap(lambda x, y: CALLS[name](library, x, y))(x, y)
    return str(result.dtype).rpartition(".")[2], tuple(result.shape)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kinds", [("float64", "float32"), ("float16", "float64")], ids="-".join)
@pytest.mark.parametrize("ranks", [(1, 2), (2, 1), (1, 1), (2, 2)], ids=str)
def test_types(name: str, kinds: tuple[str, str], ranks: tuple[int, int]) -> None:
    assert found(retrograd, name, kinds, ranks) == found(torch, name, kinds, ranks)
