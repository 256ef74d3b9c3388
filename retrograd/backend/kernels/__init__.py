"""Arithmetic for small arrays, compiled where a compiler was at hand.

For an array of a few elements, most of the time of a NumPy call is spent before the first
addition. The functions here take the place of the NumPy functions that an autograd engine calls
most. Small, contiguous float32 and float64 arrays (and Python numbers beside them) are computed by
a compiled loop; every other call goes on to NumPy as it is, with its keywords, its results and its
errors.

- `add`, `subtract`, `multiply`, `divide`, `maximum`, `minimum`, `negative`, `square`, `sqrt`,
  `exp`, `log`, `tanh`, `sin`, `cos`: NumPy's functions of these names.
- `iadd(target, other)`: `target += other`, for adding up gradients.
- `add_matching(target, other)`: the same for arrays that are alike in shape, dtype and layout; says
  whether it was done.
- `sum_all(x)`: the sum of all elements, compiled for contiguous arrays of any size.
- `sum_to(x, shape)`: a small array summed over what broadcasting adds to `shape`; None, meaning
  that NumPy should do it, for anything but leading or trailing dimensions.
- `filled(shape, value, dtype=None)`: a new array of one value, as the gradient of a sum is.
- `matmul2d(a, b)`: `np.matmul`, called by a shorter way (that of `np.dot`) for matrices.
- `from_numbers(data, dtype, default)`: an array of nested lists of Python's numbers; `default` is
  the dtype of floats where None is wanted. None: Python should look at it more closely.
- `extremes(x)`: the smallest and the largest element of a small array, as numbers.
- `set_threads(count)`: in how many threads large arrays are worked on; the number that holds.
- `largest_places(rows, count)`: the indices of the largest numbers of each row, the largest first;
  None where equal ones would have to be told apart.
- `Stream`: the base of generators, whose words the compiled draws read.
- `draw_uniform(generator, shape, dtype)` and the other `draw_...`: random numbers as
  `retrograd.random` makes them, also into an array in place of `shape`; None, with nothing drawn,
  where that should do it.

Two rules differ from NumPy's, on purpose. The functions **always return arrays**: a result without
dimensions is a 0-d array, never a NumPy scalar. And they never warn: dividing by zero gives inf or
nan silently, whatever `np.errstate` says.

    >>> import numpy as np
    >>> from retrograd.backend import kernels
    >>> kernels.add(np.float32([1, 2]), 0.5)
    array([1.5, 2.5], dtype=float32)
    >>> kernels.sum_all(np.float32([1, 2]))
    array(3., dtype=float32)

Without the compiled module, or with `RETROGRAD_KERNELS=0` in the environment, NumPy does all of
it, with the same results bit for bit; `AVAILABLE` and `status()` tell which of the two is in use.
"""

from __future__ import annotations

import os

from .built import check_sources

AVAILABLE: bool
"""Whether the compiled kernels are in use."""

_status: str

try:
    if os.environ.get("RETROGRAD_KERNELS") == "0":
        raise ImportError("switched off by RETROGRAD_KERNELS=0")
    from . import _tiny

    check_sources(_tiny)
    from ._tiny import (
        Stream,
        add,
        add_matching,
        cos,
        divide,
        draw_again,
        draw_cauchy,
        draw_chances,
        draw_exponential,
        draw_geometric,
        draw_indices,
        draw_integers,
        draw_log_normal,
        draw_normal,
        draw_ones,
        draw_order,
        draw_scores,
        draw_uniform,
        exp,
        extremes,
        filled,
        from_numbers,
        iadd,
        largest_places,
        log,
        matmul2d,
        maximum,
        minimum,
        multiply,
        negative,
        set_threads,
        sin,
        sqrt,
        square,
        start_twister,
        subtract,
        sum_all,
        sum_to,
        tanh,
        twist,
    )
except (ImportError, RuntimeError) as error:  # RuntimeError: built for a newer NumPy than this one
    from .twins import (
        Stream,
        add,
        add_matching,
        cos,
        divide,
        draw_again,
        draw_cauchy,
        draw_chances,
        draw_exponential,
        draw_geometric,
        draw_indices,
        draw_integers,
        draw_log_normal,
        draw_normal,
        draw_ones,
        draw_order,
        draw_scores,
        draw_uniform,
        exp,
        extremes,
        filled,
        from_numbers,
        iadd,
        largest_places,
        log,
        matmul2d,
        maximum,
        minimum,
        multiply,
        negative,
        set_threads,
        sin,
        sqrt,
        square,
        start_twister,
        subtract,
        sum_all,
        sum_to,
        tanh,
        twist,
    )

    AVAILABLE = False
    _status = f"The compiled kernels are not in use ({error}); NumPy gives the same results."
else:
    AVAILABLE = True
    _status = "The compiled kernels are in use."


def status() -> str:
    """A sentence that says whether the compiled kernels are in use and, if not, why.

    >>> status().startswith("The compiled kernels are")
    True
    """
    return _status


__all__ = [
    "AVAILABLE",
    "Stream",
    "add",
    "add_matching",
    "cos",
    "divide",
    "draw_again",
    "draw_cauchy",
    "draw_chances",
    "draw_exponential",
    "draw_geometric",
    "draw_indices",
    "draw_integers",
    "draw_log_normal",
    "draw_normal",
    "draw_ones",
    "draw_order",
    "draw_scores",
    "draw_uniform",
    "exp",
    "extremes",
    "filled",
    "from_numbers",
    "iadd",
    "largest_places",
    "log",
    "matmul2d",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "set_threads",
    "sin",
    "sqrt",
    "square",
    "start_twister",
    "status",
    "subtract",
    "sum_all",
    "sum_to",
    "tanh",
    "twist",
]
