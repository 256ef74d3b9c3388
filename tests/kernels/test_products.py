"""The compiled products of matrices beside NumPy's: what docs/design.md promises of them.

Every build that the processor has is tried, and each way that a product can be taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend.cpu import CPU
from retrograd.backend.cpu_rows import rows

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
ACROSS, TURNED, BLAS = range(3)
# (rows, inner, columns): parts of vectors, tiles and panels, whole ones and one more; one term
SIZES = [
    *((1, 1, 1), (1, 3, 2), (5, 1, 9), (6, 16, 64), (7, 17, 65), (64, 32, 64), (13, 40, 33)),
    *((97, 5, 31), (96, 3, 48), (100, 20, 130), (2, 70, 190), (200, 2, 17)),
]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def in_layout(array: Array, layout: str) -> Array:
    """The same numbers, elsewhere in memory."""
    if layout == "by columns":
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "apart":
        return np.repeat(np.repeat(array, 3, axis=-2), 2, axis=-1)[..., ::3, ::2]
    if layout == "part of rows":
        return np.concatenate([array, array], axis=-1)[..., : array.shape[-1]]
    if layout == "backwards":
        return np.ascontiguousarray(array[..., ::-1, ::-1])[..., ::-1, ::-1]
    return array


LAYOUTS = ("dense", "by columns", "apart", "part of rows", "backwards")


def check(found: Array, a: Array, b: Array) -> None:
    """Within two roundings for each term of the sum of the absolute products."""
    assert found is not None and found.dtype == a.dtype
    assert found.flags.c_contiguous and found.flags.writeable and found.flags.owndata
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    bound = np.matmul(np.abs(a), np.abs(b))
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= 2 * a.shape[-1] * np.finfo(a.dtype).eps * bound).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("way", [ACROSS, TURNED])
def test_odd_sizes_in_every_layout(build: str, way: int, sizes: Any, dtype: Any) -> None:
    rows_, inner, columns = sizes
    if build == "portable":
        way = BLAS  # it has no loops for products
    for one in LAYOUTS:
        for other in LAYOUTS:
            a = in_layout(numbers(rows_, inner, dtype=dtype), one)
            b = in_layout(numbers(inner, columns, dtype=dtype, seed=1), other)
            found = rows.product(a, b, way)
            check(CPU.xp.matmul2d(a, b) if found is None else found, a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_way_that_is_chosen(build: str, dtype: Any) -> None:
    """From single rows to more terms than a panel has."""
    for sizes in [(1, 64, 300), (8, 16, 128), (64, 256, 256), (9, 2100, 40), (64, 1100, 1030)]:
        for one in ("dense", "by columns"):
            for other in ("dense", "by columns"):
                a = in_layout(numbers(*sizes[:2], dtype=dtype), one)
                b = in_layout(numbers(*sizes[1:], dtype=dtype, seed=1), other)
                check(CPU.xp.matmul2d(a, b), a, b)


@pytest.mark.parametrize("batch", [(1,), (5,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (64, 32, 64), (7, 33, 66)])
def test_batches(build: str, sizes: Any, batch: Any) -> None:
    a, b = numbers(*batch, *sizes[:2]), numbers(*batch, *sizes[1:], seed=1)
    for one in LAYOUTS:
        for other in LAYOUTS:
            check(CPU.xp.matmul(in_layout(a, one), in_layout(b, other)), a, b)
    moved = np.ascontiguousarray(np.moveaxis(a, 0, -1))  # the batch lies innermost
    check(CPU.xp.matmul(np.moveaxis(moved, -1, 0), b), a, b)
    spread = np.broadcast_to(b[(0,) * len(batch)], b.shape)
    check(CPU.xp.matmul(a, spread), a, spread)


@pytest.mark.parametrize("way", [ACROSS, TURNED])
def test_nan_and_infinity(build: str, way: int) -> None:
    a, b = numbers(70, 20), numbers(20, 70, seed=1)
    a[3, 4], a[10, 0], b[5, 6] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        expected = a @ b
        found = rows.product(a, b, way)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert np.isfinite(found[0, 0]) and np.isnan(found[3]).all()


@pytest.mark.parametrize("way", [ACROSS, TURNED])
def test_zeros_have_the_sign_that_matmul_gives_them(build: str, way: int) -> None:
    a, b = np.full((3, 1), -1, np.float32), np.zeros((1, 4), np.float32)
    found = rows.product(a, b, way)
    assert not np.signbit(np.matmul(a, b) if found is None else found).any()


def test_misaligned_arrays_are_left_to_numpy() -> None:
    raw = np.zeros(6 * 8 * 4 + 1, np.uint8)
    bent = raw[1:].view(np.float32).reshape(6, 8)
    bent[...] = numbers(6, 8)
    assert rows.product(bent, numbers(8, 3)) is None
    np.testing.assert_allclose(
        CPU.xp.matmul2d(bent, numbers(8, 3)), bent @ numbers(8, 3), rtol=1e-5, atol=1e-6
    )


def test_what_is_not_taken() -> None:
    a, b = numbers(3, 4), numbers(4, 5)
    assert rows.product(a, b) is not None
    for bad in [
        (a, b.astype(np.float64)),
        (a.astype(np.int64), b.astype(np.int64)),
        (a, b[:3]),
        (a[:0], b),
        (a[:, :0], b[:0]),
        (a[0], b),
        (a[None], b),
        (numbers(2, 3, 4), numbers(3, 4, 5)),
        (a.astype(">f4"), b),
        ([1.0], b),
    ]:
        assert rows.product(*bad) is None
    with pytest.raises(TypeError, match="takes 2 arguments"):
        rows.product(a)
    with pytest.raises(TypeError):
        rows.product(a, b, "across")


def test_threads_change_no_bit() -> None:
    before = torch.get_num_threads()
    pairs = [
        (numbers(300, 200), numbers(200, 260, seed=1)),
        (numbers(64, 512), numbers(700, 512, seed=1).T),
        (numbers(40, 64, 100), numbers(40, 100, 70, seed=1)),
    ]
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append([rows.product(a, b).tobytes() for a, b in pairs])
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_rules_in_c_and_in_python_have_the_same_bits() -> None:
    for sizes in [(1, 1), (4, 1), (64, 70), (9, 300)]:
        x = torch.from_numpy(numbers(33, sizes[0])).requires_grad_()
        w = torch.from_numpy(numbers(sizes[1], sizes[0], seed=1)).requires_grad_()
        b = torch.from_numpy(numbers(sizes[1], seed=2)).requires_grad_()

        def run(x: Any = x, w: Any = w, b: Any = b) -> list[bytes]:
            result = torch.nn.functional.linear(x, w, b)
            parts = torch.autograd.grad((result * result).sum(), (x, w))
            return [t.detach().numpy().tobytes() for t in (result, *parts)]

        found = run()
        with torch.autograd.set_detect_anomaly(True):
            assert run() == found
