"""What a wrong Jacobian looks like: a guess at the mistake, from the two tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.gradcheck import GradcheckError

_ENOUGH = 1e-3  # how well a guess must explain the difference, relative to the largest entry


def mismatch_error(message: str, analytical: Any, numerical: Any) -> Exception:
    """The error of a Jacobian that differs from finite differences, with what it looks like."""
    from retrograd.lifecycle import why

    try:
        looks = likely_mistake(analytical.detach().numpy(), numerical.detach().numpy())
    except Exception:  # the error itself matters more than the guess
        looks = None
    return why.coded_error(message, GradcheckError, looks=looks, code="RG614")


def likely_mistake(analytical: Any, numerical: Any) -> str | None:
    """One sentence about how the first table differs from the second; None without a pattern.

    Rows are elements of the input, columns elements of the output.

    >>> import numpy as np
    >>> likely_mistake(2.0 * np.eye(2), np.eye(2))
    "autograd's derivative is 2 times the numerical one: look for a factor too much or too few"
    """
    a, n = np.asarray(analytical), np.asarray(numerical)
    if a.shape != n.shape or not a.size or not (np.isfinite(a).all() and np.isfinite(n).all()):
        return None
    largest = max(float(np.abs(a).max()), float(np.abs(n).max()))

    def same(x: Any, y: Any) -> bool:
        return float(np.abs(x - y).max()) <= _ENOUGH * largest

    if not a.any():
        return (
            "autograd's derivative is zero everywhere: the path may be cut by detach(), .data, "
            "no_grad() or a backward that returns None"
        )
    if same(n, 0):
        return (
            "the function does not move at all when this input does: it rounds, or the step eps "
            "is too small for the dtype"
        )
    if same(a, -n):
        return "autograd's derivative has the opposite sign of the numerical one"
    if np.iscomplexobj(a) and same(a, n.conj()):
        return "autograd's derivative is the complex conjugate of the numerical one"
    factor = np.vdot(n, a) / np.vdot(n, n)
    if same(a, factor * n):
        number = f"{factor.real:.3g}" if abs(factor.imag) <= _ENOUGH else f"{factor:.3g}"
        return (
            f"autograd's derivative is {number} times the numerical one: look for a factor too "
            "much or too few"
        )
    if a.ndim == 2 and a.shape[0] == a.shape[1] and same(a, n.T):
        return "autograd's derivative is the numerical one transposed: the order of a product"
    wrong = np.abs(a - n) > _ENOUGH * largest
    if 0 < wrong.sum() <= wrong.size // 4:
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        return (
            f"only {int(wrong.sum())} of {wrong.size} entries differ, the first at element {row} "
            f"of the input and {column} of the output: look at the values there, it may be a kink"
        )
    return None
