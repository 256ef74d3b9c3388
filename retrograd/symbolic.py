"""Arithmetic that PyTorch's compiler traces: on plain numbers it is Python's own."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.ops.errors import class_text
from retrograd.ops.registry import attach
from retrograd.signatures import forms
from retrograd.types import Number


def _publish(function: Callable[..., Any]) -> Callable[..., Any]:
    attach(function, public=(function.__name__,))
    return function


@_publish
def sym_not(a: object) -> bool:
    """``not a``."""
    return not a


@_publish
def sym_int(a: Any) -> int:
    """A number without its fraction."""
    return int(a)


@_publish
def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


@_publish
def sym_max(a: Number, b: Number) -> Number:
    """The larger of two numbers; a float if one is."""
    _require_numbers(a, b)
    return _alike(max(a, b), a, b)


@_publish
def sym_min(a: Number, b: Number) -> Number:
    """The smaller of two numbers; a float if one is."""
    _require_numbers(a, b)
    return _alike(min(a, b), a, b)


def _require_numbers(*given: object) -> None:
    for value in given:
        if not isinstance(value, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {class_text(value)}")


# NumPy's classes of whole numbers and of fractions
_WHOLE, _FRACTIONS = dtypes.I64.type.__mro__[2], dtypes.F64.type.__mro__[1]
_NUMBERS = (_WHOLE, _FRACTIONS, int, float)


def _alike(found: Number, a: object, b: object) -> Number:
    fractions = (float, _FRACTIONS)
    return float(found) if isinstance(a, fractions) or isinstance(b, fractions) else found


@_publish
def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


@_publish
@forms("(args: Iterable[Number], /) -> Number", "(*args: Number) -> Number")
def sym_sum(*args: Any) -> Any:
    """The sum of numbers, which may come one by one or in a list.

    >>> torch.sym_sum(1, 2, 3), torch.sym_sum([1, 2, 3])
    (6, 6)
    """
    listed = len(args) == 1 and isinstance(args[0], (list, tuple))
    return builtins.sum(args[0] if listed else args)


@_publish
def sym_ite(b: bool, t: object, f: object) -> Any:
    """``t if b else f``, both of one type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError("sym_ite expects a bool and two values of one type")
    return t if b else f


@_publish
def sym_fresh_size(expr: object) -> Any:
    """The size itself."""
    return expr
