"""How a function may be called, where its Python signature does not say it.

`max(input)` is a tensor and `max(input, dim)` a pair; `x.view(2, 3)` and `x.view((2, 3))` are the
same. Such functions take ``*args`` and sort them out. Their forms stand beside them:

>>> @forms("(input: Tensor) -> Tensor", "(input: Tensor, dim: int) -> return_types.max")
... def largest(input, *args): ...
>>> largest.__forms__[0]
'(input: Tensor) -> Tensor'

The type stubs (`retrograd.compat.stubs`) are made of them. The names in a form are PyTorch's public
ones, those of `typing` and `collections.abc`, and `F`, the type of a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def forms(*texts: str) -> Callable[[F], F]:
    """Say in which forms a function may be called, the most particular first."""

    def mark(function: F) -> F:
        vars(function)["__forms__"] = texts
        return function

    return mark


def sized(options: str = "", *, before: str = "", name: str = "size") -> tuple[str, str]:
    """The two forms of a function that takes sizes as numbers or as one sequence.

    >>> sized("dtype: dtype | None = None")[1]
    '(size: Sequence[int], *, dtype: dtype | None = None) -> Tensor'
    """
    first = f"{before}, " if before else ""
    more = f", {options}" if options else ""
    apart = f", *, {options}" if options else ""
    return (
        f"({first}*{name}: int{more}) -> Tensor",
        f"({first}{name}: Sequence[int]{apart}) -> Tensor",
    )


# what most functions that create a tensor take
PLACE = "layout: layout | None = ..., device: Device = None, pin_memory: bool = False"
CREATION = f"dtype: dtype | None = None, {PLACE}, requires_grad: bool = False"
