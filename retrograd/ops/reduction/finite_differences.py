"""`gradient`: slopes of sampled functions, by central differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.ops.errors import argument_type, runtime_error
from retrograd.ops.kinds import Ints, wrap_dim
from retrograd.ops.registry import RECORDED, function_only
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor


def _samples() -> list[Sample]:
    rising = T(values=[0.0, 1.0, 3.0, 4.0, 8.0])
    four = T(values=[0.0, 0.5, 2.0, 3.0])
    return [
        Sample(T(5), dtypes=(*FLOATS, *COMPLEX, *HALVES)),
        Sample(T(3, 4)),
        Sample(T(3, 4), spacing=2.5),
        Sample(T(3, 4), spacing=[2.0, 3.0]),
        Sample(T(3, 4), spacing=(2, 3), edge_order=2),
        Sample(T(3, 4), dim=1),
        Sample(T(3, 4, 3), dim=(2, 0), spacing=[0.5, 2.0]),
        Sample(T(5), spacing=(rising,)),
        Sample(T(5), spacing=(rising,), edge_order=2),
        Sample(T(5, 4), spacing=[rising, four], edge_order=2),
        Sample(T(5, 4), spacing=[four], dim=1),
        Sample(T(5), edge_order=2),
        Sample(T(2)),
        Sample(T(3, 4), dim=()),
        Sample(T()),
        Sample(T(4, dtype="int64"), grad=False),
        Sample(T(1), error=(RuntimeError, "torch.gradient expected each dimension size")),
        Sample(T(2), edge_order=2, error=(RuntimeError, "torch.gradient expected each dim")),
        Sample(T(4), edge_order=3, error=(RuntimeError, "torch.gradient only supports edge")),
        Sample(T(3, 4), dim=(0, 0), error=(RuntimeError, "dim 0 appears multiple times")),
        Sample(T(3, 4), dim=2, error=(IndexError, "Dimension out of range")),
        Sample(T(3, 4), spacing=[1.0], error=(RuntimeError, "torch.gradient expected spacing")),
        Sample(T(3, 4), dim=0, spacing=[1.0, 2.0], error=(RuntimeError, "torch.gradient exp")),
        Sample(T(4, dtype="uint8"), error=(RuntimeError, "torch.gradient does not support u")),
        Sample(T(3, 5), spacing=[T(1, 3), rising], error=(RuntimeError, "torch.gradient exp")),
        Sample(3, error=(TypeError, "gradient(): argument 'input'")),
    ]


def _steps_of(spacing: Any, dims: Sequence[int], given: bool) -> list[Any]:
    """A step or coordinates for each dimension."""
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, Tensor) and spacing.ndim == 0:
        spacing = spacing.item()
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * len(dims)
    steps = list(spacing)
    if len(steps) != len(dims):
        if given:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and "
                "dim arguments to have the same length, but got a spacing argument of length "
                f"{len(steps)} and a dim argument of length {len(dims)}."
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {len(dims)}', since dim argument was not given, but got a "
            f"list of length {len(steps)}"
        )
    for step in steps:
        if isinstance(step, Tensor) and step.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got "
                f"an element with {step.ndim} dimensions!"
            )
    return steps


@function_only(samples=_samples)
def gradient(
    input: Tensor, *, spacing: object = None, dim: Ints | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes of a function given by its values, along each dimension.

    `spacing` is a step for all dimensions, one for each, or the coordinates along each. At the
    ends one-sided differences are taken, of order `edge_order` (1 or 2).

    >>> torch.gradient(torch.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    if not isinstance(input, Tensor):
        raise argument_type("gradient", "input", 1, "Tensor", input)
    ndim = input.ndim
    if dim is None:
        dims = list(range(ndim))
    else:
        dims = [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    steps = _steps_of(spacing, dims, dim is not None)
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if dims.count(d) > 1:
            raise runtime_error(f"dim {d} appears multiple times in the list of dims", code="RG205")
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(
        _uneven(input, d, step, edge_order)
        if isinstance(step, Tensor)
        else _even(input, d, step, edge_order)
        for d, step in zip(dims, steps, strict=True)
    )


def _part(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    return RECORDED.narrow(input, dim, start, length)


def _even(input: Tensor, dim: int, step: float | Tensor, order: int) -> Tensor:
    """Along a dimension whose points are `step` apart."""
    size = input.shape[dim]

    def at(index: int) -> Tensor:
        return _part(input, dim, index, 1)

    middle = (_part(input, dim, 2, size - 2) - _part(input, dim, 0, size - 2)) / (2 * step)
    if order == 1:
        first = (at(1) - at(0)) / step
        last = (at(size - 1) - at(size - 2)) / step
    else:
        first = (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step
        last = (at(size - 3) * 0.5 - at(size - 2) * 2 + at(size - 1) * 1.5) / step
    return RECORDED.cat([first, middle, last], dim)


def _uneven(input: Tensor, dim: int, coordinates: Tensor, order: int) -> Tensor:
    """Along a dimension whose points have these coordinates: weights of parabolas."""
    size = input.shape[dim]
    if coordinates.shape[0] != size:
        raise RuntimeError(
            f"torch.gradient expected {size} coordinates along dimension {dim}, but got "
            f"{coordinates.shape[0]}"
        )
    shape = [1] * input.ndim
    shape[dim] = size - 1
    widths = RECORDED.reshape(
        _part(coordinates, 0, 1, size - 1) - _part(coordinates, 0, 0, size - 1), tuple(shape)
    )

    def at(index: int) -> Tensor:
        return _part(input, dim, index, 1)

    def width(index: int) -> Tensor:
        return _part(widths, dim, index, 1)

    before, after = _part(widths, dim, 0, size - 2), _part(widths, dim, 1, size - 2)
    both = before + after
    middle = (
        _part(input, dim, 0, size - 2) * (-after / (before * both))
        + _part(input, dim, 1, size - 2) * ((after - before) / (before * after))
        + _part(input, dim, 2, size - 2) * (before / (after * both))
    )
    if order == 1:
        first = (at(1) - at(0)) / width(0)
        last = (at(size - 1) - at(size - 2)) / width(size - 2)
    else:
        a, b = width(0), width(1)
        first = (
            at(0) * (-(2 * a + b) / (a * (a + b)))
            + at(1) * ((a + b) / (a * b))
            + at(2) * (-a / (b * (a + b)))
        )
        a, b = width(size - 3), width(size - 2)
        last = (
            at(size - 3) * (b / (a * (a + b)))
            + at(size - 2) * (-(a + b) / (a * b))
            + at(size - 1) * ((2 * b + a) / (b * (a + b)))
        )
    return RECORDED.cat([first, middle, last], dim)
