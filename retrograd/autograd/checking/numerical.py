"""Finite differences for `gradcheck`: whole Jacobians, and products with a direction.

A Jacobian has one row per element of the input and one column per element of the output. For a
complex input it holds ``ds/dx + i ds/dy``, which is what backward computes: the derivative with
respect to the conjugate, twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.checking.case import (
    as_tuple,
    carries_gradient,
    checked_inputs,
)
from retrograd.autograd.checking.sparse_inputs import all_places, entries
from retrograd.engine.strictness import permitted_writes
from retrograd.notices import explained
from retrograd.ops.making.creation import zeros
from retrograd.tensor import Tensor

# What a run of differences gives for each output; None for outputs that are not floating.
Column = list[Tensor | None]


def numerical_jacobians(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    targets: tuple[Any, ...] | None = None,
    result: tuple[Any, ...] | None = None,
    *,
    eps: float,
    forward: bool = False,
    masked: bool = True,
) -> list[Column]:
    """For each target that requires grad (the inputs, unless given), a Jacobian per output."""
    if result is None:
        result = as_tuple(function(*inputs))
    if not forward and any(output.is_complex() for output in result):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports "
            "functions that return complex outputs."
        )
    return [
        jacobians_of_input(
            function, inputs, target, result, eps=eps, forward=forward, masked=masked
        )
        for target in checked_inputs(inputs if targets is None else targets)
    ]


def jacobians_of_input(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    source: Tensor,
    result: tuple[Any, ...],
    *,
    eps: float,
    forward: bool,
    masked: bool = True,
) -> Column:
    """The Jacobian of each floating output for one input, row by row."""
    jacobians: Column = [
        zeros(
            (source.numel(), output.numel()),
            dtype=source.dtype if source.is_complex() else output.dtype,
            device=source.device,
        )
        if carries_gradient(output)
        else None
        for output in result
    ]
    with all_places(source, masked):
        for row, index, place in entries(source):
            found = _derivatives(
                function, inputs, place, (eps, eps), eps, index, source.is_complex(), forward
            )
            for jacobian, derivative in zip(jacobians, found, strict=True):
                if jacobian is not None and derivative is not None:
                    jacobian[row] = derivative
    return jacobians


def numerical_products(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    source: Tensor,
    direction: object,
    *,
    eps: float,
    forward: bool = False,
) -> Column:
    """The derivative of each floating output along a direction of one input.

    A complex input has two directions, one for its real and one for its imaginary part.
    """
    pair = direction if isinstance(direction, tuple) else (direction, direction)
    steps = tuple(part.reshape(source.shape) * eps for part in pair)
    return _derivatives(
        function, inputs, source.data, steps, eps, None, source.is_complex(), forward
    )


def _derivatives(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    place: Tensor,
    steps: Sequence[Any],
    eps: float,
    index: tuple[int, ...] | None,
    is_complex: bool,
    forward: bool,
) -> Column:
    real_part = _differences(function, inputs, place, steps[0], eps, index)
    if not forward and any(part is not None and part.is_complex() for part in real_part):
        stop = "" if is_complex else "."
        raise AssertionError(f"Expected ds_dx to be real-valued, not complex{stop}")
    if not is_complex:
        return real_part
    imaginary_part = _differences(function, inputs, place, steps[1] * 1j, eps, index)
    return [
        None if x is None or y is None else x + y * 1j
        for x, y in zip(real_part, imaginary_part, strict=True)
    ]


def _differences(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    place: Tensor,
    step: Any,
    eps: float,
    index: tuple[int, ...] | None,
) -> Column:
    """``(f(x + step) - f(x - step)) / (2 eps)`` of every floating output, flat."""
    before = place.clone()
    with permitted_writes():
        try:
            place.copy_(before - step)
            low = _copies(function, inputs)
            place.copy_(before + step)
            high = _copies(function, inputs)
        finally:
            place.copy_(before)
    found: Column = []
    for a, b in zip(low, high, strict=True):
        _check_alike(a, b, eps, index)
        quotient = (b - a) / (2 * eps) if carries_gradient(a) else None
        found.append(None if quotient is None else quotient.reshape(-1))
    return found


def _copies(function: Callable[..., object], inputs: tuple[object, ...]) -> list[Tensor]:
    """The outputs, which may be views of the input, with values of their own."""
    return [output.detach().clone() for output in as_tuple(function(*inputs))]


def _check_alike(a: Tensor, b: Tensor, eps: float, index: tuple[int, ...] | None) -> None:
    where = "" if index is None else f"on index {index} "
    for fact, left, right in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
        if left != right:
            raise explained(
                AssertionError(
                    f"Expected `func` to return outputs with the same {fact} when inputs are "
                    f"perturbed {where}by {eps}, but got: {fact}s {left} and {right}."
                ),
                code="RG615",
            )
