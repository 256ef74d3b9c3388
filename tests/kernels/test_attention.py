"""Compiled attention beside its neutral form: what docs/design.md promises, for every build."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
# batch, heads, queries, keys, width: blocks of queries and tiles of keys and columns, whole and not
SIZES = [
    (1, 1, 1, 1, 1),
    (2, 3, 5, 7, 3),
    (1, 2, 33, 40, 16),
    (2, 1, 70, 65, 33),
    (1, 1, 4, 130, 50),
    (2, 2, 20, 16, 16),
    (1, 1, 9, 17, 8),
]
NEEDS = (True, True, True)


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def operands(sizes: tuple[int, ...], dtype: Any) -> list[Array]:
    """Query, key, value, and a gradient of the result."""
    batch, heads, queries, keys, width = sizes
    random = np.random.default_rng(sizes)
    lengths = (queries, keys, keys, queries)
    return [random.standard_normal((batch, heads, n, width)).astype(dtype) for n in lengths]


def causal(queries: int, keys: int, dtype: Any) -> Array:
    return np.where(np.tri(queries, keys, dtype=bool), 0, -np.inf).astype(dtype)


def compare(query: Array, key: Array, value: Array, grad: Array, mask: Array | None) -> None:
    facts = (query, key, value, mask, 0.4)
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in (grad, *facts)]
    bound = 64 * np.finfo(query.dtype).eps
    found, exact = rows.attention(*facts), KERNELS["_attention"][0](CPU.xp, *wide[1:])
    assert found.dtype == query.dtype and found.flags.c_contiguous and found.flags.writeable
    np.testing.assert_allclose(found, exact, rtol=bound, atol=bound * np.abs(exact).max())
    slopes = rows.attention_gradients(grad, NEEDS, *facts)
    exact = KERNELS["_attention_gradients"][0](CPU.xp, wide[0], NEEDS, *wide[1:])
    for one, other in zip(slopes, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound * np.abs(other).max())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", SIZES)
def test_odd_sizes_and_masks(build: str, sizes: tuple[int, ...], dtype: Any) -> None:
    batch, heads, queries, keys, _ = sizes
    four = operands(sizes, dtype)
    hidden = np.random.default_rng(1).random((batch, 1, 1, keys)) < 0.4
    hidden[..., 0] = False
    added = np.random.default_rng(2).standard_normal((batch, heads, queries, keys)).astype(dtype)
    column = added[0, 0, :, :1]
    padding = np.where(hidden, -np.inf, 0).astype(dtype)
    for mask in (None, causal(queries, keys, dtype), padding, added, added[:, :1], column):
        compare(*four, mask)


def test_layouts(build: str) -> None:
    """Heads that are parts of one projection, and the gradient of a sum, which has no strides."""
    packed = np.random.default_rng(0).standard_normal((2, 40, 3, 4, 9)).astype(np.float32)
    query, key, value = (packed[:, :, n].swapaxes(1, 2) for n in range(3))
    mask = np.asfortranarray(causal(40, 40, np.float32))
    compare(query, key, value, np.broadcast_to(np.float32(1), query.shape), mask)
    compare(query[..., ::-1], key[..., ::-1], value[:, :, ::-1], query, None)


def test_queries_that_see_nothing_give_zeros(build: str) -> None:
    query, key, value, grad = operands((1, 2, 40, 20, 8), np.float32)
    mask = np.zeros((40, 20), np.float32)
    mask[3] = mask[35:] = -np.inf
    found = rows.attention(query, key, value, mask, 1.0)
    assert not found[:, :, [3, *range(35, 40)]].any() and found[:, :, 4].any()
    of_query, *_ = rows.attention_gradients(grad, NEEDS, query, key, value, mask, 1.0)
    assert not of_query[:, :, [3, 36]].any()
    compare(query, key, value, grad, mask)


def test_nan_and_infinity_stay_in_their_row(build: str) -> None:
    query, key, value, _ = operands((1, 2, 40, 20, 8), np.float32)
    query[0, 0, 3, 2], query[0, 1, 36, 0] = np.nan, np.inf
    found = rows.attention(query, key, value, None, 1.0)
    with np.errstate(all="ignore"):
        exact = KERNELS["_attention"][0](CPU.xp, query, key, value, None, 1.0)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    assert np.isnan(found[0, 0, 3]).all() and np.isfinite(found[0, 0, 4:]).all()


def test_some_gradients_and_threads() -> None:
    query, key, value, grad = operands((3, 4, 50, 50, 16), np.float32)
    facts = (query, key, value, causal(50, 50, np.float32), 0.3)
    every = rows.attention_gradients(grad, NEEDS, *facts)
    for place in range(3):
        needs = tuple(n == place for n in range(3))
        some = rows.attention_gradients(grad, needs, *facts)
        assert [x is not None for x in some] == list(needs)
        np.testing.assert_array_equal(some[place], every[place])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        again = rows.attention_gradients(grad, NEEDS, *facts)
    finally:
        torch.set_num_threads(before)
    for one, other in zip(every, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_not_taken() -> None:
    query, key, value, grad = operands((2, 2, 5, 6, 4), np.float32)
    good = (query, key, value, None, 0.5)
    for place, bad in [
        (0, query[0]),
        (0, query[:, :, :0]),
        (0, query.astype(np.float64)),
        (1, key[:, :1]),
        (1, key[..., :3]),
        (2, value[:, :, :5]),
        (3, np.zeros((5, 6))),
        (3, np.zeros((4, 6), np.float32)),
        (3, np.zeros((5, 6), bool)),
    ]:
        arguments: list[Any] = list(good)
        arguments[place] = bad
        assert rows.attention(*arguments) is None, place
        assert rows.attention_gradients(grad, NEEDS, *arguments) is None, place
    assert rows.attention_gradients(grad[:, :, 1:], NEEDS, *good) is None
    with pytest.raises(TypeError, match="takes 5 arguments"):
        rows.attention(query)
