"""Elements kept or replaced by a mask, exactly: a product would turn ``inf * 0`` into nan."""

from __future__ import annotations

from retrograd.backend.arrays import Array
from retrograd.backend.namespace import Namespace


def keep_where(xp: Namespace, values: Array, mask: Array) -> Array:
    """`values` where `mask` is true, else zero.

    >>> import numpy as np
    >>> keep_where(np, np.array([1.0, np.inf]), np.array([True, False]))
    array([1., 0.])
    """
    return xp.where(mask, values, xp.zeros((), values.dtype))


def not_below_zero(xp: Namespace, values: Array) -> Array:
    """``max(values, 0)``, whose zero is the one of `values` where that is a zero.

    >>> import numpy as np
    >>> not_below_zero(np, np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return xp.maximum(0, values)
