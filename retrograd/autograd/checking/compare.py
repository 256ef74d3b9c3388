"""Comparing what autograd gives with finite differences: whole Jacobians, or random directions."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.checking.analytical import checked_jacobians, jacobians_twice
from retrograd.autograd.checking.case import Case, Settings, carries_gradient, checked_inputs
from retrograd.autograd.checking.forward import forward_jacobians, forward_products
from retrograd.autograd.checking.hints import mismatch_error
from retrograd.autograd.checking.numerical import numerical_jacobians, numerical_products
from retrograd.autograd.checking.sparse_inputs import is_sparse
from retrograd.autograd.checking.texts import in_slow_mode, jacobian_mismatch
from retrograd.autograd.gradcheck import GradcheckError
from retrograd.dtypes import promote_types
from retrograd.notices import explained
from retrograd.ops.elementwise.comparison import allclose
from retrograd.ops.making.creation import zeros
from retrograd.ops.random.sampling import rand
from retrograd.random import Generator
from retrograd.tensor import Tensor

# A direction of an input: a vector, or two of them for the parts of a complex input.
Direction = Any


def compare(case: Case, settings: Settings) -> None:
    """Raise `GradcheckError` where autograd disagrees with the differences of the function."""
    if settings.fast and not any(map(is_sparse, checked_inputs(case.inputs))):
        _compare_directions(case, settings)
    else:
        _compare_jacobians(case, settings)


def _compare_jacobians(case: Case, settings: Settings) -> None:
    numerical = numerical_jacobians(
        case.function,
        case.inputs,
        None,
        case.result,
        eps=settings.eps,
        forward=case.forward,
        masked=settings.masked,
    )
    places = case.places
    if not places:
        for row in numerical:
            _check_zero([jacobian for jacobian in row if jacobian is not None], 0.0)
        return
    if case.forward:
        forward = forward_jacobians(case.function, case.inputs, case.result, settings.grad_dtypes)
    for number, place in enumerate(places):
        if case.forward:
            analytical = [row[place] for row in forward]
        else:
            analytical = list(checked_jacobians(case.inputs, case.result[place], settings))
        for source, a in enumerate(analytical):
            n = numerical[source][place]
            if not _close(a, n, settings.rtol, settings.atol):
                raise mismatch_error(jacobian_mismatch(case, a, n, number, source), a, n)


def _check_zero(derivatives: list[Tensor], tolerance: float) -> None:
    """Outputs without a gradient must not depend on the inputs."""
    for derivative in derivatives:
        if derivative.numel() and bool(derivative.abs().max() > tolerance):
            raise explained(
                GradcheckError("Numerical gradient for function expected to be zero"), code="RG614"
            )


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    common = promote_types(a.dtype, b.dtype)
    return bool(allclose(a.to(common), b.to(common), rtol, atol))


# ----------------------------------------------------------------------------------- directions


def _compare_directions(case: Case, settings: Settings) -> None:
    """Compare ``v J u`` for random `u` and `v`; in forward mode the vector ``J u``."""
    generator = Generator()
    sources = checked_inputs(case.inputs)
    directions = [random_direction(source, generator) for source in sources]
    if case.forward:
        _compare_forward(case, settings, sources, directions)
        return
    weights = [_unit_vector(output, generator, output.dtype) for output in case.outputs]
    places = case.places
    products: list[list[Tensor]] = []  # numerical, per input
    for source, direction in zip(sources, directions, strict=True):
        found = numerical_products(case.function, case.inputs, source, direction, eps=settings.eps)
        if not places:
            _check_zero([part for part in found if part is not None], settings.nondet_tol)
        products.append(
            [
                (v * part).sum()
                for v, place in zip(weights, places, strict=True)
                if (part := found[place]) is not None
            ]
        )
    analytical: list[list[Tensor]] = []  # per output
    for weight, place in zip(weights, places, strict=True):
        rows = checked_jacobians(case.inputs, case.result[place], settings, weight)
        analytical.append(
            [_dot(row.reshape(-1), u) for row, u in zip(rows, directions, strict=True)]
        )
    for number, direction in enumerate(directions):
        for place, weight in enumerate(weights):
            a, n = analytical[place][number], products[number][place]
            atol = settings.atol * _mass(direction) * float(weight.sum())
            if not _close(a, n, settings.rtol, atol):
                raise _fast_mismatch(case, settings, a, n, place, number, places[place])


def _compare_forward(
    case: Case, settings: Settings, sources: list[Tensor], directions: list[Direction]
) -> None:
    floating = [place for place, output in enumerate(case.result) if carries_gradient(output)]
    for number, (source, direction) in enumerate(zip(sources, directions, strict=True)):
        numerical = numerical_products(
            case.function, case.inputs, source, direction, eps=settings.eps, forward=True
        )
        tangents = forward_products(
            case.function, case.inputs, number, direction, settings.grad_dtypes
        )
        atol = settings.atol * _mass(direction)
        for output, place in enumerate(floating):
            n, a = numerical[place], tangents[place]
            like = case.result[place]
            a = (
                zeros(like.numel(), dtype=like.dtype, device=like.device)
                if a is None
                else a.reshape(-1)
            )
            if not _close(a, n, settings.rtol, atol):
                raise _fast_mismatch(case, settings, a, n, output, number, place)


def random_direction(source: Tensor, generator: object) -> Direction:
    """A random vector of length one for an input; two for a complex one."""
    dtype = source.real.dtype if source.is_complex() else source.dtype
    real = _unit_vector(source, generator, dtype)
    return (real, _unit_vector(source, generator, dtype)) if source.is_complex() else real


def _unit_vector(like: Tensor, generator: Any, dtype: Any) -> Tensor:
    vector: Tensor = rand(like.numel(), generator=generator).to(dtype)
    vector /= vector.norm()
    return vector


def _dot(row: Tensor, direction: Direction) -> Tensor:
    if isinstance(direction, tuple):
        found: Tensor = row.real.dot(direction[0]) + 1j * row.imag.dot(direction[1])
    else:
        found = row.dot(direction)
    return found


def _mass(direction: Direction) -> float:
    """By how much the tolerance of one element grows in a sum with these (positive) weights."""
    parts = direction if isinstance(direction, tuple) else (direction,)
    return sum(float(part.sum()) for part in parts)


def _fast_mismatch(
    case: Case,
    settings: Settings,
    a: Tensor,
    n: object,
    output: int,
    number: int,
    place: int,
) -> Exception:
    """The error of fast mode, with the Jacobians of slow mode."""
    numerical: Any = numerical_jacobians(
        case.function, case.inputs, None, case.result, eps=settings.eps, forward=case.forward
    )[number][place]
    if case.forward:
        analytical: Any = forward_jacobians(case.function, case.inputs, case.result)[number][place]
    else:
        found = jacobians_twice(case.inputs, case.result[place], float("inf"))
        analytical = found.jacobians[number]
    text = in_slow_mode(
        numerical,
        analytical,
        (numerical - analytical).abs().max(),
        _close(analytical, numerical, settings.rtol, settings.atol),
    )
    message = jacobian_mismatch(case, a, n, output, number) + text
    return mismatch_error(message, analytical, numerical)
