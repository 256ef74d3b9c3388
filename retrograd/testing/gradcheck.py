"""Gradient checks: what autograd computes against finite differences.

Whole Jacobians cost one run per element; here both sides are projected on random directions, which
finds the same mistakes with two runs (`torch.autograd.gradcheck` calls that fast mode).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.autograd.api import grad
from retrograd.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """A gradient disagrees with finite differences."""


def gradcheck(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    seed: int = 0,
) -> bool:
    """Check the gradients of ``function(*inputs)`` in one random direction per input.

    Inputs are float64 (or complex128) tensors; those with ``requires_grad`` are checked.

    >>> import retrograd as torch
    >>> from retrograd.testing.gradcheck import gradcheck
    >>> gradcheck(torch.sin, [torch.tensor([0.5], dtype=torch.float64, requires_grad=True)])
    True
    """
    generator = np.random.default_rng(seed)
    leaves = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    outputs = _outputs(function(*inputs))
    if not outputs:
        return True
    weights = [_direction(output._array, generator) for output in outputs]
    found = grad(outputs, leaves, [wrap(w) for w in weights], allow_unused=True)
    for index, (leaf, gradient) in enumerate(zip(leaves, found, strict=True)):
        step = _direction(leaf._array, generator)
        before = leaf._array.copy()
        values = []
        try:
            for sign in (1, -1):
                leaf._array[...] = before + sign * eps * step
                shifted = _outputs(function(*inputs))
                values.append(
                    sum(
                        float(np.vdot(w, o._array).real)
                        for w, o in zip(weights, shifted, strict=True)
                    )
                )
        finally:
            leaf._array[...] = before
        numeric = (values[0] - values[1]) / (2 * eps)
        analytic = 0.0 if gradient is None else float(np.vdot(gradient._array, step).real)
        if not abs(numeric - analytic) <= atol + rtol * abs(numeric):
            raise GradcheckError(
                f"input {index}: autograd gives {analytic:.8g} along a random direction, finite "
                f"differences give {numeric:.8g}"
            )
    return True


def gradgradcheck(function: Callable[..., Any], inputs: Sequence[Any], **options: Any) -> bool:
    """Check second derivatives: `gradcheck` of the gradient as a function of the inputs."""
    leaves = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    generator = np.random.default_rng(1)
    first = _outputs(function(*inputs))
    if not first:
        return True
    starts = [wrap(_direction(output._array, generator)) for output in first]
    for start in starts:
        start.requires_grad = True

    def gradients(*values: Any) -> tuple[Any, ...]:
        outputs = _outputs(function(*values[: len(inputs)]))
        found = grad(
            outputs, leaves, list(values[len(inputs) :]), create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, [*inputs, *starts], **options)


def _outputs(result: Any) -> list[Tensor]:
    flat = result if isinstance(result, (tuple, list)) else [result]
    return [x for x in flat if isinstance(x, Tensor) and x.requires_grad]


def _direction(like: Any, generator: np.random.Generator) -> Any:
    direction = generator.standard_normal(like.shape)
    if like.dtype.kind == "c":
        direction = direction + 1j * generator.standard_normal(like.shape)
    return np.asarray(direction).astype(like.dtype)
