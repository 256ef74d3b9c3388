"""Polynomials and Chebyshev series, which special functions are approximated by."""

from collections.abc import Sequence

from retrograd.backend.arrays import Array
from retrograd.backend.namespace import Namespace


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Evaluate a polynomial by Horner's rule, highest power first."""
    total = x * coefficients[0]
    total += coefficients[1]
    for coefficient in coefficients[2:]:
        total *= x
        total += coefficient
    return total


def chebyshev_series(xp: Namespace, x: Array, coefficients: Sequence[float]) -> Array:
    """Evaluate a Chebyshev series by Clenshaw's recurrence, highest order first, ``x`` in [-2, 2].

    This is the convention of Cephes: the last coefficient counts half.
    """
    older = newer = xp.zeros_like(x)
    current = xp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        older, newer = newer, current
        current = x * newer
        current -= older
        current += coefficient
    return 0.5 * (current - older)
