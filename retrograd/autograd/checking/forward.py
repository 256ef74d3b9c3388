"""What forward mode gives for `gradcheck`: Jacobians, and its rules about tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.checking.case import (
    as_tuple,
    carries_gradient,
    checked_inputs,
    is_checked,
)
from retrograd.autograd.checking.texts import BATCHED_FORWARD, batched_failure, batched_mismatch
from retrograd.autograd.gradcheck import GradcheckError
from retrograd.notices import explained
from retrograd.ops.elementwise.comparison import allclose
from retrograd.ops.making.creation import zeros, zeros_like
from retrograd.ops.random.sampling import randn_like
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def forward_jacobians(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    result: tuple[Any, ...],
    check_dtypes: bool = False,
) -> list[list[Tensor | None]]:
    """For each input that requires grad, a Jacobian per output (None if it is not floating)."""
    jacobians: list[list[Tensor | None]] = []
    for place, source in enumerate(checked_inputs(inputs)):
        found: list[Tensor | None] = [
            zeros((source.numel(), output.numel()), dtype=output.dtype, device=output.device)
            if carries_gradient(output)
            else None
            for output in result
        ]
        for row in range(source.numel()):
            unit = zeros(source.numel(), dtype=source.dtype, device=source.device)
            unit[row] = 1.0
            parts = forward_products(function, inputs, place, unit, check_dtypes)
            for jacobian, part in zip(found, parts, strict=True):
                if jacobian is not None and part is not None:
                    jacobian[row] = part.reshape(-1)
        jacobians.append(found)
    return jacobians


def forward_products(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    place: int,
    direction: Tensor,
    check_dtypes: bool = False,
) -> list[Tensor | None]:
    """The tangent of each output when one input moves in a direction; None where there is none.

    The inputs that count are those that require grad; the others stay plain tensors.
    """
    sources = checked_inputs(inputs)
    if any(source.is_complex() for source in sources):
        raise ValueError(
            "Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad."
        )
    tangents = [zeros_like(source.detach()) for source in sources]
    tangents[place] = direction.reshape(sources[place].shape)
    return _tangents_of(function, inputs, tangents, check_dtypes)


def _tangents_of(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    tangents: Sequence[Tensor | None],
    check_dtypes: bool = False,
) -> list[Tensor | None]:
    """Run the function on inputs with these tangents (None: a plain tensor)."""
    from retrograd.autograd.forward_ad import dual_level, make_dual, unpack_dual

    found: list[Tensor | None] = []
    with dual_level():
        rest = iter(tangents)
        values: list[Any] = []
        for value in inputs:
            if not is_checked(value):
                values.append(value)
                continue
            tangent = next(rest)
            plain = value.detach()
            # a copy: the function may write into it, and must not find it to be a view
            values.append(plain if tangent is None else make_dual(plain, tangent.clone()))
        for output in as_tuple(function(*values)):
            if not carries_gradient(output):
                found.append(None)
                continue
            primal, tangent = unpack_dual(output)
            if check_dtypes and tangent is not None:
                if primal.is_complex() != tangent.is_complex():
                    raise explained(
                        GradcheckError("Forward AD gradient has dtype mismatch."), code="RG614"
                    )
            found.append(None if tangent is None else tangent.detach().clone())
    return found


def check_undefined_tangents(
    function: Callable[..., object], inputs: tuple[object, ...], directions: Sequence[Tensor]
) -> None:
    """An input without a tangent must count as one whose tangent is zero."""
    sources = checked_inputs(inputs)
    full = [u.reshape(source.shape) for u, source in zip(directions, sources, strict=True)]
    for place, source in enumerate(sources):
        zero = zeros_like(source.detach())
        with_zero = _tangents_of(function, inputs, [*full[:place], zero, *full[place + 1 :]])
        without = _tangents_of(function, inputs, [*full[:place], None, *full[place + 1 :]])
        for number, (got, expected) in enumerate(zip(with_zero, without, strict=True)):
            if got is None or expected is None or allclose(got, expected):
                continue
            raise explained(
                GradcheckError(
                    f"Mismatch in tangent values for output with index: {number} when input: "
                    f"{source} has an undefined tangent value.  Got: {got} but expected: {expected}"
                ),
                code="RG614",
            )


def check_batched_tangents(function: Callable[..., object], inputs: tuple[object, ...]) -> None:
    """A batch of tangents at once must give what one by one gives."""
    from retrograd.autograd.forward_ad import dual_level, make_dual, unpack_dual
    from retrograd.transforms.vmap import map_directly

    for place, source in enumerate(inputs):
        if not is_checked(source) or not carries_gradient(source):
            continue

        def product(
            tangent: Tensor, place: int = place, source: Tensor = source
        ) -> tuple[Tensor, ...]:
            found: list[Tensor] = []
            with dual_level():
                values = [v.detach() if isinstance(v, Tensor) else v for v in inputs]
                values[place] = make_dual(source.detach(), tangent)
                for output in as_tuple(function(*values)):
                    if output is None:
                        continue
                    primal, part = unpack_dual(output)
                    if part is None:
                        part = zeros((), dtype=primal.dtype, device=primal.device).expand(
                            primal.shape
                        )
                    found.append(part)
            return tuple(found)

        tangents = [randn_like(source.detach()) for _ in range(2)]
        single = [product(tangent) for tangent in tangents]
        expected = [RECORDED.stack(parts) for parts in zip(*single, strict=True)]
        try:
            batched = map_directly(product, RECORDED.stack(tangents))
        except RuntimeError as error:
            raise explained(
                GradcheckError(batched_failure(error, BATCHED_FORWARD)), code="RG614"
            ) from error
        for number, (got, wanted) in enumerate(zip(batched, expected, strict=True)):
            if not allclose(got, wanted):
                raise explained(
                    GradcheckError(batched_mismatch(number, number, got, wanted, BATCHED_FORWARD)),
                    code="RG614",
                )
