"""Sample inputs of ops: written once with the op, used by every systematic test.

A sample says what the arguments look like, not what they are: `T(3, 4)` is a float tensor of that
shape, filled from a seeded generator when a test builds it, in any dtype and layout the test asks
for. Ops take a *function* that returns samples, so that nothing is built at import.

    samples=lambda: [Sample(T(3, 4), T(4)), Sample(T(), 2.5), Sample(T(2, 0), dim=-1)]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from retrograd.tensor import Array

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


class T:
    """A tensor argument: its shape and how to fill it.

    low, high   bounds of uniform values (default -2 to 2, well apart from special points)
    dtype       a fixed dtype such as "int64" or "bool"; default: the test's floating dtype
    values      explicit values instead of random ones
    grad        whether the test differentiates with respect to it (default: if floating)
    distinct    all elements different, well apart (for sort, max, median)
    """

    def __init__(
        self,
        *shape: int,
        low: float = -2.0,
        high: float = 2.0,
        dtype: str | None = None,
        values: Any = None,
        grad: bool | None = None,
        distinct: bool = False,
    ) -> None:
        self.shape = np.shape(values) if values is not None else shape
        self.low = low
        self.high = high
        self.dtype = dtype
        self.values = values
        self.grad = dtype is None if grad is None else grad
        self.distinct = distinct

    def build(
        self, generator: np.random.Generator, dtype: str, noncontiguous: bool = False
    ) -> Array:
        """A NumPy array; `dtype` is used where the sample fixes none ("bfloat16": as float32)."""
        name = self.dtype or dtype
        numpy_name = "float32" if name == "bfloat16" else name
        if self.values is not None:
            array = np.array(self.values, numpy_name)
        elif name == "bool":
            array = generator.random(self.shape) < 0.5
        elif name in INTEGERS:
            low = max(int(self.low), 0) if name == "uint8" else int(self.low)
            array = generator.integers(low, max(int(self.high), low) + 1, self.shape)
        elif self.distinct:
            count = int(np.prod(self.shape))
            steps = generator.permutation(count) - count / 2 + 0.25
            array = (steps * (self.high - self.low) / max(count, 1)).reshape(self.shape)
        else:
            array = generator.uniform(self.low, self.high, self.shape)
            if name in COMPLEX:
                array = array + 1j * generator.uniform(self.low, self.high, self.shape)
        array = np.asarray(array).astype(numpy_name)
        if noncontiguous and array.ndim:
            wide = np.zeros((*array.shape, 2), array.dtype)
            wide[..., 0] = array
            array = wide[..., 0]
        return array

    def __repr__(self) -> str:
        return f"T{self.shape}" + (f":{self.dtype}" if self.dtype else "")


class Sample:
    """Arguments of one call; lists of `T` are lists of tensors.

    grad      False: compare the forward pass only
    second    False: no second-order comparison
    dtypes    the dtypes to try (default float32 and float64)
    error     (exception type, start of the message): the call must raise it, on PyTorch too
    inplace   False: not for the in-place twin
    numeric   False: PyTorch's gradient is a convention, not the slope (padding rows, the unused
              half of symmetric matrices): not compared with finite differences
    """

    def __init__(
        self,
        *args: Any,
        grad: bool = True,
        second: bool = True,
        dtypes: Sequence[str] = FLOATS,
        error: tuple[type[BaseException], str] | None = None,
        inplace: bool = True,
        numeric: bool = True,
        **kwargs: Any,
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.grad = grad
        self.second = second
        self.dtypes = tuple(dtypes)
        self.error = error
        self.inplace = inplace
        self.numeric = numeric

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"


Samples = Callable[[], list[Sample]]


def unary(
    low: float = -2.0,
    high: float = 2.0,
    dtypes: Sequence[str] = (*FLOATS, *HALVES),
    extra: Sequence[Sample] = (),
    integers: bool = True,
) -> Samples:
    """Samples of a function of one tensor whose domain is [low, high]."""

    def make() -> list[Sample]:
        found = [Sample(T(*shape, low=low, high=high), dtypes=dtypes) for shape in _SHAPES]
        if integers:
            found += [
                Sample(T(3, low=low, high=high, dtype=name), grad=False, inplace=False)
                for name in ("int64", "int32", "uint8", "bool")
            ]
        return found + list(extra)

    return make


_SHAPES: tuple[tuple[int, ...], ...] = ((), (5,), (3, 4), (2, 1, 3), (0, 3))


def binary(
    low: float = -2.0,
    high: float = 2.0,
    second_low: float | None = None,
    second_high: float | None = None,
    dtypes: Sequence[str] = (*FLOATS, *HALVES),
    numbers: Sequence[Any] = (2, 2.5),
    extra: Sequence[Sample] = (),
    mixed: bool = True,
) -> Samples:
    """Samples of a broadcasting function of two operands, tensors or numbers, mixed dtypes too."""
    low2 = low if second_low is None else second_low
    high2 = high if second_high is None else second_high

    def make() -> list[Sample]:
        def a(*shape: int, **more: Any) -> T:
            return T(*shape, low=low, high=high, **more)

        def b(*shape: int, **more: Any) -> T:
            return T(*shape, low=low2, high=high2, **more)

        found = [
            Sample(a(*x), b(*y), dtypes=dtypes)
            for x, y in (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), ()))
        ]
        found += [Sample(a(2, 3), b()), Sample(a(), b(2, 3)), Sample(a(0, 3), b(3))]
        found += [Sample(a(4, 1, 2), b(3, 1))]
        found += [Sample(a(3), number, dtypes=dtypes) for number in numbers]
        if mixed:
            kinds = ("float32", "float64", "int64", "int32", "uint8", "bool", "float16")
            found += [
                Sample(a(3, dtype=x), b(3, dtype=y), grad=False, inplace=False)
                for x, y in itertools.product(kinds, kinds)
            ]
            found += [
                Sample(a(3, dtype=x), b(dtype=y), grad=False, inplace=False)
                for x, y in itertools.product(kinds, kinds)
            ]
        return found + list(extra)

    return make


def reduction(
    low: float = -2.0,
    high: float = 2.0,
    distinct: bool = False,
    dtypes: Sequence[str] = (*FLOATS, *HALVES),
    extra: Sequence[Sample] = (),
    multiple: bool = True,
) -> Samples:
    """Samples of a reduction: over everything, one or several dims, kept or not."""

    def make() -> list[Sample]:
        def a(*shape: int, **more: Any) -> T:
            return T(*shape, low=low, high=high, distinct=distinct, **more)

        found = [Sample(a(*shape), dtypes=dtypes) for shape in ((), (5,), (3, 4))]
        found += [Sample(a(3, 4), dim) for dim in (0, 1, -1)]
        found += [Sample(a(2, 3, 4), 1, True), Sample(a(2, 3, 4), dim=-1, keepdim=True)]
        if multiple:
            found += [Sample(a(2, 3, 4), (0, 2)), Sample(a(2, 3, 4), (0, -1), True)]
        return found + list(extra)

    return make
