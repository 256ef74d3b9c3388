"""Windows, unfold and fold without PyTorch."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.neutral import folding
from tests.backend.bound import bound

folding = bound(folding)

OPTIONS = list(product((1, 2, 3), (1, 2), (0, 1, 2), (1, 2, 4)))


@pytest.mark.parametrize(("size", "dimensions"), [((9,), 1), ((9, 7), 2), ((5, 4, 6), 3)])
def test_fold_is_the_adjoint_of_unfold(size, dimensions):
    rng = np.random.default_rng(0)
    for kernel, spread, pad, step in OPTIONS:
        if spread * (kernel - 1) + 1 > min(size) + 2 * pad:
            continue
        options = [(value,) * dimensions for value in (kernel, spread, pad, step)]
        input = rng.standard_normal((2, 3, *size))
        columns = folding.unfold(input, *options)
        values = rng.standard_normal(columns.shape)
        back = folding.fold(values, size, *options)
        np.testing.assert_allclose(np.vdot(columns, values), np.vdot(input, back), rtol=1e-9)


def test_long_windows_in_few_places():
    input = np.arange(24.0).reshape(1, 1, 24)
    options = ((20,), (1,), (0,), (2,))
    columns = folding.unfold(input, *options)
    counts = folding.fold(np.ones_like(columns), (24,), *options)
    assert counts[0, 0].tolist() == [1, 1, 2, 2, *[3] * 16, 2, 2, 1, 1]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.complex64])
def test_types_and_layouts(dtype):
    options = ((3, 3), (1, 1), (1, 1), (1, 1))
    input = np.ones((2, 3, 5, 4), dtype)
    columns = folding.unfold(input, *options)
    turned = folding.unfold(np.asfortranarray(input), *options)
    assert columns.dtype == dtype and (columns == turned).all()
    back = folding.fold(columns, (5, 4), *options)
    again = folding.fold(np.asfortranarray(columns), (5, 4), *options)
    assert back.dtype == dtype and (back == again).all() and back[0, 0, 2, 2] == 9


def test_empty_batch():
    options = ((2, 2), (1, 1), (0, 0), (1, 1))
    columns = folding.unfold(np.zeros((0, 3, 4, 4)), *options)
    assert columns.shape == (0, 12, 9)
    assert folding.fold(columns, (4, 4), *options).shape == (0, 3, 4, 4)
