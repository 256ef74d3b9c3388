"""`extremes`: the smallest and largest element, compiled and with NumPy."""

import math
from typing import Any

import numpy as np
import pytest

from retrograd.backend import kernels
from retrograd.backend.kernels import twins

ARRAYS = [
    np.float32([2.5, -1.0, 7.0]),
    np.array(3.0),
    np.array([[4, -9], [2**62, 0]]),
    np.arange(12.0).reshape(3, 4)[:, ::2].T,
    np.broadcast_to(np.float32(0.1), (3, 2)),
    np.array([-0.0, math.inf, -math.inf]),
]
NOTHING = [np.zeros((0, 3)), np.array([1.0, math.nan]), np.array([True]), [1.0], np.float16([1.0])]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_both_ways_agree(array: Any) -> None:
    found = kernels.extremes(array)
    assert found == twins.extremes(array) == (array.min(), array.max())
    assert type(found[0]) is type(found[1]) is type(array.flat[0].item())


@pytest.mark.parametrize("array", NOTHING, ids=str)
def test_nothing_to_compare(array: Any) -> None:
    for function in (kernels.extremes, twins.extremes):
        assert all(map(math.isnan, function(array)))
