"""Where the values of a stream go in an array of any strides.

PyTorch fills memory, not indices: the axis with the smallest stride runs fastest, so a transposed
array receives its values in the order in which they lie in memory.
"""

from __future__ import annotations

from retrograd.backend import backend_of, xp_of
from retrograd.notices import runtime_error
from retrograd.random.generator import Array

__all__ = ["fill_", "fill_order", "in_fill_order", "is_dense", "new_like"]


def fill_order(array: Array) -> tuple[int, ...]:
    """The axes of ``array`` from the slowest to the fastest.

    >>> import numpy as np
    >>> fill_order(np.empty((2, 3)).T)
    (1, 0)
    """
    shape, strides = array.shape, array.strides
    order = list(range(array.ndim))[::-1]  # fastest first

    def compare(a: int, b: int) -> int:
        """Positive if axis a, now the faster one, should be slower than b; 0 if undecided."""
        if strides[a] == 0 or strides[b] == 0:
            return 0
        if strides[a] != strides[b]:
            return strides[a] - strides[b]
        return int(shape[a] > shape[b])

    # An insertion sort in which undecided pairs leave the question to the next axis.
    for i in range(1, array.ndim):
        moving = i
        for other in range(i - 1, -1, -1):
            verdict = compare(order[other], order[moving])
            if verdict > 0:
                order[other], order[moving] = order[moving], order[other]
                moving = other
            elif verdict < 0:
                break
    return tuple(order[::-1])


def fill_(target: Array, values: Array) -> Array:
    """Store flat ``values`` in ``target`` in fill order, and return ``target``.

    >>> import numpy as np
    >>> fill_(np.empty((2, 2)).T, np.arange(4.0))
    array([[0., 2.],
           [1., 3.]])
    """
    if (
        0 in target.strides
        and target.size
        and any(
            stride == 0 and size > 1
            for stride, size in zip(target.strides, target.shape, strict=True)
        )
    ):
        raise runtime_error(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.",
            code="RG115",
        )
    view = target if target.flags.c_contiguous else target.transpose(fill_order(target))
    backend = backend_of(target)
    made = values.reshape(view.shape)
    view[...] = made if type(made) is backend.array else backend.from_numpy(made)
    return target


def in_fill_order(values: Array, target: Array) -> Array:
    """``values``, of the shape of ``target``, flat in the order in which ``target`` is filled.

    >>> import numpy as np
    >>> in_fill_order(np.array([[0, 2], [1, 3]]), np.empty((2, 2)).T)
    array([0, 1, 2, 3])
    """
    if target.flags.c_contiguous:
        return values.reshape(-1)
    return values.transpose(fill_order(target)).reshape(-1)


def is_dense(array: Array) -> bool:
    """Whether an array's elements fill their memory without gaps, in some order of the axes.

    >>> import numpy as np
    >>> is_dense(np.empty((2, 3)).T), is_dense(np.empty((2, 3))[:, 1:])
    (True, False)
    """
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def new_like(array: Array) -> Array:
    """An uninitialised array of this shape, dtype and order of axes in memory, without gaps.

    >>> import numpy as np
    >>> new_like(np.empty((2, 6))[:, ::2].T).strides
    (8, 24)
    """
    order = fill_order(array)
    memory = xp_of(array).empty([array.shape[axis] for axis in order], array.dtype)
    return memory.transpose(sorted(range(len(order)), key=order.__getitem__))
