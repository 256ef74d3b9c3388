"""Arithmetic that PyTorch's compiler traces: on plain numbers it is Python's own."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

from retrograd.ops.registry import attach
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
    return _alike(max(a, b), a, b)


@_publish
def sym_min(a: Number, b: Number) -> Number:
    """The smaller of two numbers; a float if one is."""
    return _alike(min(a, b), a, b)


def _alike(found: Number, a: object, b: object) -> Number:
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@_publish
def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


@_publish
def sym_sum(args: Iterable[Number]) -> Number:
    """The sum of numbers."""
    return builtins.sum(args)


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
