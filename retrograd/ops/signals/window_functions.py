"""Windows for short-time transforms, under their old names: `hann_window` and its relatives.

They are computed step by step in the dtype asked for, so that half precision rounds as PyTorch's.
`retrograd.signal.windows` has the newer functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.engine.grad_mode import no_grad
from retrograd.notices import runtime_error
from retrograd.ops.errors import explained
from retrograd.ops.making.arguments import as_integer, check_place
from retrograd.ops.making.construction import fresh
from retrograd.ops.registry import RECORDED, function_only
from retrograd.samples import Sample
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import strided

Shape = Callable[[Tensor, int], Tensor]


def _samples(*more: tuple[object, ...]) -> list[Sample]:
    kinds = ("float32", "float64")
    calls = [*((n,) for n in (0, 1, 2, 5, 8)), (1, False), (5, False), (6, False), *more]
    return [
        *(Sample(*call, grad=False, dtypes=kinds[:1]) for call in calls),
        *(
            Sample(7, dtype=f"dtype:{kind}", grad=False, dtypes=kinds[:1])
            for kind in (*kinds, "float16", "bfloat16")
        ),
        Sample(-1, error=(RuntimeError, "")),
        Sample(2.5, error=(TypeError, "")),
        Sample(4, dtype="dtype:int64", error=(RuntimeError, "")),
        Sample(4, dtype="dtype:complex64", error=(NotImplementedError, "")),
    ]


def _window(
    name: str, length: int, periodic: bool, shape: Shape, options: dict[str, Any]
) -> Tensor:
    """A window of this length: `shape` makes it from the numbers 0, 1, 2 ... and their count."""
    length = as_integer(name, "window_length", 1, length)
    unknown = set(options) - {"dtype", "layout", "device", "pin_memory", "requires_grad"}
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown.pop()}'")
    layout = options.get("layout", strided)
    kind = dtypes.as_dtype(options.get("dtype"), name) or dtypes.get_default_dtype()
    if layout not in (None, strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout!r}")
    xp = check_place(name, layout, options.get("device"), options.get("pin_memory", False)).xp
    if kind.category < dtypes.FLOAT:
        raise runtime_error(f"{name} expects floating point dtypes, got: {kind!r}", code="RG304")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    if kind.is_complex:
        raise explained(
            NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.type_name}'"),
            code="RG304",
        )
    if length < 2:
        array = xp.ones(length, kind.numpy)
    else:
        # a periodic window is the symmetric one of one more, without the last
        count = length + 1 if periodic else length
        numbers = wrap(xp.arange(count, dtype=dtypes.F64).astype(kind.numpy))
        with no_grad():
            array = shape(numbers, count)._array[:length].copy()
    return fresh(array, options.get("requires_grad", False))


def _raised_cosine(alpha: float, beta: float) -> Shape:
    def shape(numbers: Any, count: int) -> Tensor:
        result: Tensor = (numbers * (math.pi * 2.0 / (count - 1))).cos() * -beta + alpha
        return result

    return shape


@function_only(samples=_samples)
def hann_window(window_length: int, periodic: bool = True, **options: object) -> Tensor:
    """A raised cosine that goes to zero at both ends.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, _raised_cosine(0.5, 0.5), options)


@function_only(samples=lambda: _samples((5, True, 0.6), (5, False, 0.6, 0.3)))
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: object,
) -> Tensor:
    """A raised cosine, ``alpha - beta * cos``, that stays above zero."""
    return _window("hamming_window", window_length, periodic, _raised_cosine(alpha, beta), options)


def _blackman(numbers: Any, count: int) -> Tensor:
    angles = numbers * (math.pi / (count - 1))
    fourth = (angles * 4).cos() * 0.08
    result: Tensor = fourth - (angles * 2).cos() * 0.5 + 0.42
    return result


@function_only(samples=_samples)
def blackman_window(window_length: int, periodic: bool = True, **options: object) -> Tensor:
    """A sum of two cosines with little leakage."""
    return _window("blackman_window", window_length, periodic, _blackman, options)


def _bartlett(numbers: Any, count: int) -> Tensor:
    rising = numbers * (2.0 / (count - 1))
    half = ((count - 1) >> 1) + 1
    falling = rising[half:] * -1 + 2
    return RECORDED.cat([rising[:half], falling], 0)


@function_only(samples=_samples, autocast="off")
def bartlett_window(window_length: int, periodic: bool = True, **options: object) -> Tensor:
    """A triangle that goes to zero at both ends."""
    return _window("bartlett_window", window_length, periodic, _bartlett, options)


def _kaiser(beta: float) -> Shape:
    def shape(numbers: Tensor, count: int) -> Tensor:
        middle = (count - 1) / 2
        xp = backend_of(numbers._array).xp
        wide = numbers._array.astype(dtypes.F64)
        inside = xp.maximum(1 - ((wide - middle) / middle) ** 2, 0)
        window = xp.i0(beta * xp.sqrt(inside)) / xp.i0(xp.asarray(float(beta)))
        return wrap(window.astype(numbers._array.dtype))

    return shape


@function_only(samples=lambda: _samples((5, True, 8.0), (6, False, 3)))
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: object
) -> Tensor:
    """Bessel functions with a chosen trade between width and leakage."""
    return _window("kaiser_window", window_length, periodic, _kaiser(beta), options)
