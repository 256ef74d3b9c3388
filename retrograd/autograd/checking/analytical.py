"""The Jacobians that backward gives, one row of gradients per element of the output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from retrograd.autograd.api import grad
from retrograd.autograd.checking.case import Settings, checked_inputs
from retrograd.autograd.checking.sparse_inputs import dense_gradient
from retrograd.autograd.gradcheck import GradcheckError
from retrograd.notices import explained
from retrograd.ops.making.creation import zeros
from retrograd.tensor import Tensor

# For each input, the gradients that a series of runs sent to it; None where nothing arrived.
Rows = list[list[Tensor | None]]

_NOT_REPEATABLE = """

Where the function relies on operations that are not deterministic this may be expected: pass
`nondet_tol=<tolerance>` to gradcheck or gradgradcheck to allow such differences.
"""


@dataclass(frozen=True)
class Jacobians:
    """One Jacobian per input of an output, and what two runs showed of them."""

    jacobians: tuple[Tensor, ...]
    repeatable: bool
    sizes_right: bool
    dtypes_right: bool


def checked_jacobians(
    inputs: tuple[object, ...], output: Tensor, settings: Settings, direction: Tensor | None = None
) -> tuple[Tensor, ...]:
    """The Jacobians of an output, or its products with a direction, after all checks of them."""
    found = jacobians_twice(inputs, output, settings.nondet_tol, direction)
    if not found.dtypes_right and settings.grad_dtypes:
        raise explained(GradcheckError("Gradient has dtype mismatch"), code="RG614")
    if not found.sizes_right:
        raise explained(GradcheckError("Analytical gradient has incorrect size"), code="RG614")
    if not found.repeatable:
        raise explained(
            GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient.The tolerance for nondeterminism was {settings.nondet_tol}."
                + _NOT_REPEATABLE
            ),
            code="RG614",
        )
    return found.jacobians


def jacobians_twice(
    inputs: tuple[object, ...], output: Tensor, tolerance: float, direction: Tensor | None = None
) -> Jacobians:
    """Compute the Jacobians of an output twice, to see whether backward repeats itself."""
    sources = checked_inputs(inputs)

    def gradients(start: Tensor) -> tuple[Tensor | None, ...]:
        found: tuple[Tensor | None, ...] = grad(
            output, sources, start, retain_graph=True, allow_unused=True
        )
        return found

    if direction is None:
        first, second = (_unit_rows(gradients, output) for _ in range(2))
        width = output.numel()
    else:
        start = direction.reshape(output.shape)
        first, second = ([[_copy(g)] for g in gradients(start)] for _ in range(2))
        width = 1
    jacobians, sizes_right, dtypes_right = _stacked(first, sources, width)
    again, _, _ = _stacked(second, sources, width)
    repeatable = not any(
        a.numel() and bool((a - b).abs().max() > tolerance)
        for a, b in zip(jacobians, again, strict=True)
    )
    return Jacobians(jacobians, repeatable, sizes_right, dtypes_right)


def _unit_rows(gradients: Callable[[Tensor], tuple[Tensor | None, ...]], output: Tensor) -> Rows:
    """Gradients from a start of one at a single element, for each element in turn."""
    start = zeros(output.shape, dtype=output.dtype, device=output.device)
    flat = start.view(-1)
    rows: Rows = []
    for place in range(flat.numel()):
        flat.zero_()
        flat[place] = 1.0
        found = gradients(start)
        if not rows:
            rows = [[] for _ in found]
        for row, gradient in zip(rows, found, strict=True):
            row.append(_copy(gradient))
    return rows


def _copy(gradient: Tensor | None) -> Tensor | None:
    copied: Tensor | None = None if gradient is None else gradient.clone()  # may be the start
    return copied


def _stacked(
    rows: Rows, sources: list[Tensor], width: int
) -> tuple[tuple[Tensor, ...], bool, bool]:
    """One Jacobian per input; and whether all gradients had its shape, and its dtype."""
    jacobians = [
        zeros((source.numel(), width), dtype=source.dtype, device=source.device)
        for source in sources
    ]
    sizes_right = dtypes_right = True
    for source, jacobian, gradients in zip(sources, jacobians, rows, strict=False):
        for column, gradient in enumerate(gradients):
            if gradient is None:
                continue
            sizes_right = sizes_right and gradient.shape == source.shape
            dtypes_right = dtypes_right and gradient.dtype == source.dtype
            if gradient.numel() != source.numel():
                raise AssertionError(
                    f"Expected out_jacobian column to have {gradient.numel()} elements, but got "
                    f"{source.numel()}"
                )
            jacobian[:, column] = dense_gradient(gradient).reshape(-1)
    return tuple(jacobians), sizes_right, dtypes_right
