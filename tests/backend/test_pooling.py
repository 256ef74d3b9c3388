"""Pooling kernels without PyTorch: adjoints, ties, nan, types, corner cases."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.neutral import pooling
from tests.backend.bound import bound

pooling = bound(pooling)

rng = np.random.default_rng(0)
SIZES = [(9,), (8, 7), (5, 6, 4)]


def windows(size, kernel, stride, padding, dilation=1, ceil_mode=False):
    """Every window along one dimension as the list of its elements inside the input."""
    for window in range(pooling.pooled_size(size, kernel, stride, padding, dilation, ceil_mode)):
        places = [window * stride - padding + offset * dilation for offset in range(kernel)]
        yield [place for place in places if 0 <= place < size]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool_by_definition(size, ceil_mode):
    count = len(size)
    input = rng.integers(0, 4, (2, 3, *size)).astype(np.float64)  # many ties
    for kernel, stride, padding, dilation in product((1, 2, 3), (1, 2, 3), (0, 1), (1, 2)):
        if 2 * padding > kernel:
            continue
        options = [(value,) * count for value in (kernel, stride, padding, dilation)]
        values, indices = pooling.max_pool(input, *options, ceil_mode)
        for batch in np.ndindex(2, 3):
            chosen = [windows(n, kernel, stride, padding, dilation, ceil_mode) for n in size]
            expected = []
            for axes in product(*chosen):
                places = list(product(*axes))
                best = max(places, key=lambda place, batch=batch: input[batch + place])  # the first
                expected.append(np.ravel_multi_index(best, size))
            assert indices[batch].reshape(-1).tolist() == expected
            assert (values[batch].reshape(-1) == input[batch].reshape(-1)[expected]).all()


def test_long_windows_agree_with_short_ones(monkeypatch):
    input = rng.integers(0, 9, (2, 3, 12, 14)).astype(np.float32)
    input[0, 0, 3:8, 2:6] = np.nan
    input[0, 1] = -np.inf
    for kernel, stride, padding in (((6, 7), (6, 7), (0, 0)), ((6, 6), (5, 5), (3, 3))):
        results = []
        for limit in (0, 1000):
            monkeypatch.setattr("retrograd.backend.neutral.pooling._SHORT_WINDOW", limit)
            results.append(pooling.max_pool(input, kernel, stride, padding, (1, 1)))
        for by_search, by_offset in zip(*results, strict=True):
            np.testing.assert_array_equal(by_search, by_offset)


def test_the_last_nan_wins_and_padding_never_does():
    nan = np.nan
    values, indices = pooling.max_pool(
        np.array([[[1, nan, 3], [2, nan, 1.0]]]), (2, 3), (1, 1), (0, 0), (1, 1)
    )
    assert np.isnan(values).all() and indices.tolist() == [[[4]]]
    lowest = np.full((1, 3, 3), -np.inf)
    _, indices = pooling.max_pool(lowest, (2, 2), (2, 2), (1, 1), (1, 1))
    assert indices.tolist() == [[[0, 1], [3, 4]]]
    _, indices = pooling.max_pool(lowest, (2, 2), (2, 2), (1, 1), (2, 2))
    assert indices.tolist() == [[[4, 4], [4, 4]]]
    _, indices = pooling.max_pool(
        np.full((1, 3), np.iinfo(np.int32).min, np.int32), (2,), (1,), (1,), (1,)
    )
    assert indices.tolist() == [[0, 0, 1, 2]]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_gather_and_scatter_are_adjoint(size):
    count = len(size)
    input = rng.standard_normal((2, 3, *size))
    for kernel, stride in ((2, 2), (3, 1)):
        options = [(value,) * count for value in (kernel, stride, 0, 1)]
        values, indices = pooling.max_pool(input, *options)
        assert (pooling.gather_at_indices(input, indices, count) == values).all()
        grad, other = rng.standard_normal(values.shape), rng.standard_normal(input.shape)
        back = pooling.scatter_to_indices(grad, indices, size)
        read = pooling.gather_at_indices(other, indices, count)
        np.testing.assert_allclose(np.vdot(back, other), np.vdot(grad, read), rtol=1e-9)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_avg_pool_gradient_is_adjoint(size, ceil_mode, include):
    count = len(size)
    input = rng.standard_normal((2, 3, *size))
    for kernel, stride, padding, divisor in product((1, 2, 4), (1, 2, 5), (0, 1, 2), (None, 7)):
        if 2 * padding > kernel:
            continue
        options = [(value,) * count for value in (kernel, stride, padding)]
        output = pooling.avg_pool(input, *options, ceil_mode, include, divisor)
        grad = rng.standard_normal(output.shape)
        back = pooling.avg_pool_gradient(grad, size, *options, include, divisor)
        np.testing.assert_allclose(np.vdot(output, grad), np.vdot(input, back), rtol=1e-8)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("output", [1, 2, 3, 4, 7, 12])
def test_adaptive_avg_pool_gradient_is_adjoint(size, output):
    input = rng.standard_normal((2, 3, *size))
    result = pooling.adaptive_avg_pool(input, (output,) * len(size))
    grad = rng.standard_normal(result.shape)
    back = pooling.adaptive_avg_pool_gradient(grad, size)
    np.testing.assert_allclose(np.vdot(result, grad), np.vdot(input, back), rtol=1e-9)
    starts, stops = pooling.adaptive_spans(size[0], output)
    line = pooling.adaptive_avg_pool(input.reshape(2, 3, size[0], -1)[..., 0], (output,))
    for window in range(output):
        part = input.reshape(2, 3, size[0], -1)[:, :, starts[window] : stops[window], 0]
        np.testing.assert_allclose(line[:, :, window], part.mean(-1), rtol=1e-9)


def test_an_infinity_stays_in_its_windows():
    input = np.zeros((1, 7))
    input[0, 0] = np.inf
    assert np.isfinite(pooling.avg_pool(input, (2,), (1,), (0,))[0, 1:]).all()
    assert np.isfinite(pooling.adaptive_avg_pool(input, (3,))[0, 1:]).all()
    assert np.isfinite(pooling.adaptive_avg_pool_gradient(input[:, :3], (7,))[0, 3:]).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_types_layouts_and_empty_batches(dtype):
    input = rng.standard_normal((2, 3, 8, 7)).astype(dtype)
    turned = np.asfortranarray(input)
    options = ((3, 3), (2, 2), (1, 1))
    for array in (input, turned, input[:0]):
        samples = len(array)
        values, indices = pooling.max_pool(array, *options, (1, 1))
        spread = pooling.scatter_to_indices(values, indices, (8, 7))
        mean = pooling.avg_pool(array, *options)
        back = pooling.avg_pool_gradient(mean, (8, 7), *options)
        adaptive = pooling.adaptive_avg_pool(array, (3, 2))
        adaptive_back = pooling.adaptive_avg_pool_gradient(adaptive, (8, 7))
        largest, places = pooling.adaptive_max_pool(array, (3, 2))
        placed = pooling.max_unpool(largest, places, (8, 7))
        read = pooling.gather_at_indices(array, places, 2)
        results = (values, spread, mean, back, adaptive, adaptive_back, largest, placed, read)
        assert all(result.dtype == dtype and len(result) == samples for result in results)
        assert all(result.flags.c_contiguous for result in results)
        assert indices.dtype == places.dtype == np.int64
        if samples:
            wide = pooling.avg_pool(input.astype(np.float64), *options)
            np.testing.assert_allclose(mean.astype(np.float64), wide, rtol=0.02, atol=0.02)
            assert (read == largest).all()
            assert (values == pooling.max_pool(input, *options, (1, 1))[0]).all()


def test_sums_of_half_precision_do_not_saturate():
    ones = np.ones((1, 64, 64), ml_dtypes.bfloat16)
    assert pooling.adaptive_avg_pool(ones, (1, 1))[0, 0, 0] == 1
    assert pooling.avg_pool(ones, (64, 64), (1, 1), (0, 0))[0, 0, 0] == 1


def test_unpool_checks_its_indices():
    with pytest.raises(IndexError, match="index 9"):
        pooling.max_unpool(np.ones((1, 2)), np.array([[0, 9]]), (4,))
