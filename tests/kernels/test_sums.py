"""Sums and extremes over any dimensions in C beside NumPy: what docs/design.md promises."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend.cpu_rows import rows

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
SHAPES = [(1100, 1), (400, 3), (9, 129), (3, 1030, 2), (700, 2, 1), (5, 1, 7, 90), (2, 3, 4, 5, 20)]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def axes_of(ndim: int) -> list[tuple[int, ...]]:
    return [c for n in range(1, ndim + 1) for c in itertools.combinations(range(ndim), n)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_dimensions(build: str, shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(shape, dtype)
    wide = x.astype(np.longdouble)
    for axes, keep in itertools.product(axes_of(x.ndim), (False, True)):
        exact = wide.sum(axes, keepdims=keep)
        total, mean = (rows.sum_over(x, axes, keep, flag) for flag in (False, True))
        if all(shape[axis] == 1 for axis in axes):
            assert total is None
            continue
        assert total.shape == mean.shape == exact.shape and total.dtype == mean.dtype == dtype
        bound = 4 * np.finfo(dtype).eps * np.abs(wide).sum(axes, keepdims=keep)
        assert np.all(np.abs(total - exact) <= bound), axes
        count = np.prod([shape[axis] for axis in axes])
        assert np.array_equal(mean, total / dtype(count))


def test_the_axes_may_be_one_or_all(build: str) -> None:
    x = numbers((40, 5, 31), np.float32)
    assert np.array_equal(rows.sum_over(x, 1, False, False), rows.sum_over(x, (1,), False, False))
    assert np.array_equal(rows.sum_over(x, -1, True, False), rows.sum_over(x, (2,), True, False))
    assert rows.sum_over(x, None, False, False) == rows.sum_over(x, (0, 1, 2), False, False)


def test_what_is_not_finite(build: str) -> None:
    x = numbers((70, 33), np.float32)
    x[3, 5], x[4, 6], x[4, 7], x[:, 9], x[12, 20] = np.nan, np.inf, -np.inf, -0.0, np.inf
    with np.errstate(all="ignore"):
        for axes in (0, 1, (0, 1)):
            exact, found = x.sum(axes), rows.sum_over(x, axes, False, False)
            assert np.array_equal(np.isnan(found), np.isnan(exact))
            assert np.array_equal(np.isinf(found), np.isinf(exact))
    assert not np.signbit(rows.sum_over(x, 0, False, False)[9])


def test_errors_do_not_grow_with_the_size(build: str) -> None:
    x = np.full((300_000, 3), 0.1, np.float32)
    exact = 300_000 * np.float64(np.float32(0.1))
    for table, axis in ((x, 0), (x.T.copy(), 1)):
        assert np.all(np.abs(rows.sum_over(table, axis, False, False) / exact - 1) < 4e-6)


def test_all_elements(build: str) -> None:
    for dtype, size in itertools.product(FLOATS, (1025, 65_536, 131_072, 200_001)):
        x = numbers((size,), dtype)
        wide = x.astype(np.longdouble)
        found = rows.sum_all(x)
        assert found.shape == () and found.dtype == dtype
        # the bound of NumPy's pairwise sum is larger: it grows with the logarithm of the size
        assert abs(found - wide.sum()) <= 4 * np.finfo(dtype).eps * np.abs(wide).sum()
    for other in (x[:1024], x[::2], x[:1024].reshape(32, 32).T, np.arange(3000), x[:0]):
        assert rows.sum_all(other).tobytes() == np.sum(other).tobytes()


EXTREMES = {"largest_over": np.max, "smallest_over": np.min}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [*SHAPES, (150_001,), (2, 140_000), (140_001, 2)])
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(build: str, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(shape, dtype)
    some = np.random.default_rng(1).integers(0, x.size, 4)
    for special in (None, np.nan, np.inf, -np.inf):
        if special is not None:
            x.flat[some] = special
        for axes, keep in itertools.product(axes_of(x.ndim), (False, True)):
            found = getattr(rows, name)(x, axes, keep)
            if all(shape[axis] == 1 for axis in axes):
                assert found is None
                continue
            expected = EXTREMES[name](x, axis=axes, keepdims=keep)
            assert found.dtype == dtype and found.shape == expected.shape
            assert np.array_equal(found, expected, equal_nan=True), axes


def test_extremes_of_what_is_not_taken() -> None:
    x = numbers((40, 40), np.float32)
    for name in EXTREMES:
        for other in (x.astype(np.float16), x[:, ::2], x.T, x[:0], x[:20], x.tolist()):
            assert getattr(rows, name)(other, 0, False) is None
        with pytest.raises(TypeError, match="takes 3 arguments, 1 were given"):
            getattr(rows, name)(x)


def test_the_rectifier_has_the_bits_of_numpy(build: str) -> None:
    for dtype, size in itertools.product(FLOATS, (1025, 1031, 1100, 4099)):
        x = numbers((size,), dtype)
        x[::5] = [np.nan, np.inf, -np.inf, -0.0, 0.0] * (size // 25) + [-0.0] * (
            -(-size // 5) - size // 25 * 5
        )
        assert rows.relu(x).tobytes() == np.maximum(dtype(0), x).tobytes()


def test_what_is_not_taken() -> None:
    x = numbers((40, 40), np.float32)
    bytes_ = np.zeros(x.nbytes + 1, np.uint8)
    shifted = bytes_[1:].view(np.float32).reshape(40, 40)
    others: list[Any] = [x.astype(np.float16), x.astype(">f4"), x.view(np.ma.MaskedArray), shifted]
    others += [x[:, ::2], x.T, x[:0], x[:20], x.tolist(), x.astype(np.complex64)]
    for other in others:
        assert rows.sum_over(other, 0, False, False) is None
    for axes in (2, -3, (0, 0), (0, -2), [0], 1.0, True, 2**70, (), "0"):
        assert rows.sum_over(x, axes, False, False) is None
    deep = np.ones((2,) * 11, np.float32)
    assert rows.sum_over(deep, tuple(range(0, 11, 2)), False, False) is None
    with pytest.raises(TypeError, match="takes 4 arguments, 1 were given"):
        rows.sum_over(x)


def test_ops_use_them() -> None:
    x = torch.ones(30, 50, 2, requires_grad=True)
    assert torch.equal(x.sum((0, 2)), torch.full((50,), 60.0))
    assert torch.equal(x.mean(1, keepdim=True), torch.ones(30, 1, 2))
    assert x.sum(0, dtype=torch.float64).dtype is torch.float64
    assert torch.equal(x.amax((0, 2)), x.amin((0, 2))) and x.max() == 1
    x.mean((0, 1)).sum().backward()
    assert x.grad is not None and torch.equal(x.grad, torch.full_like(x, 1 / 1500))
