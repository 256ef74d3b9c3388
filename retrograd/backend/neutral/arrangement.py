"""How results lie in memory: rows of channels (channels-last) if the input does, else contiguous.

PyTorch's image functions follow their input in this, and whatever fills memory in order, such as
the mask of a dropout, follows their result.
"""

from __future__ import annotations

from retrograd.backend.arrays import Array
from retrograd.backend.namespace import Namespace

__all__ = ["arranged", "is_channels_last"]

_FASTEST_FIRST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def is_channels_last(array: Array) -> bool:
    """Whether the channels of images or volumes lie next to each other.

    >>> import numpy as np
    >>> is_channels_last(np.zeros((2, 4, 4, 3)).transpose(0, 3, 1, 2))
    True
    """
    strides = array.strides
    dimensions = len(strides)
    if not 3 < dimensions < 6 or not 0 < strides[1] <= strides[-1]:
        return False  # nearly all arrays
    shape = array.shape
    least = 0
    for axis in _FASTEST_FIRST[dimensions]:
        if not shape[axis] or strides[axis] < least:
            return False
        if axis == 0 and least == strides[1]:  # one element per sample: either way
            return False
        least = strides[axis] * shape[axis]
    return True


def arranged(xp: Namespace, result: Array, *models: Array) -> Array:
    """`result`, channels-last if one of `models` is, else contiguous; a copy only if it was not.

    >>> import numpy as np
    >>> images = np.zeros((2, 4, 4, 3)).transpose(0, 3, 1, 2)
    >>> arranged(np, np.zeros((2, 5, 2, 2)), images).strides
    (160, 8, 80, 40)
    """
    for model in models:
        if is_channels_last(model):
            break
    else:
        return result if result.flags.c_contiguous else xp.ascontiguousarray(result)
    samples, channels, *spatial = result.shape
    target: Array = xp.moveaxis(xp.empty((samples, *spatial, channels), result.dtype), -1, 1)
    if result.strides == target.strides:
        return result
    target[...] = result
    return target
