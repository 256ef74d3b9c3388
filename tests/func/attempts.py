"""What scenarios are made of: numbers without a pattern, and calls that may fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def numbers(torch: Any, *shape: int, seed: int = 0) -> Any:
    """A float64 tensor of numbers between -1.5 and 1.5, of which no matrix is singular."""
    values = [
        1.5 * math.sin(1.7 * k + 0.37 * k * k + 0.9 * seed + 0.3) for k in range(math.prod(shape))
    ]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def tried(*calls: Callable[[], Any]) -> list[Any]:
    """The result of each call, or the built-in type and first line of its exception."""
    return [attempt(call) for call in calls]


def attempt(call: Callable[[], Any]) -> Any:
    """The result of a call, or what its exception says."""
    try:
        return call()
    except Exception as error:
        kind = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        text = str(error).strip().split("\n")[0]
        text = text.replace("retrograd.tensor.Tensor", "torch.Tensor")
        return f"{kind.__name__}: {text}"


def each(*, of: list[Any], by: Callable[[Any], Any]) -> list[Any]:
    """The results of one function for several arguments, or what its exceptions say."""
    return [attempt(lambda item=item: by(item)) for item in of]
