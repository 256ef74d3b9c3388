"""Compiled pooling beside its neutral twin: maxima and places are equal, averages to rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import windows
from retrograd.backend.neutral import pooling as neutral

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(windows is None, reason="the kernels for windows are not in use here"),
]
Array = Any
Sizes = tuple[int, ...]
FLOATS = (np.float32, np.float64)

# input, kernel, stride, padding, dilation
Case = tuple[Sizes, Sizes, Sizes, Sizes, Sizes]
CASES: dict[str, Case] = {
    "line": ((2, 3, 17), (3,), (2,), (1,), (1,)),
    "halves": ((2, 3, 8, 10), (2, 2), (2, 2), (0, 0), (1, 1)),
    "halves of odd sizes": ((2, 3, 9, 11), (2, 2), (2, 2), (1, 0), (1, 1)),
    "overlapping": ((2, 3, 9, 11), (3, 3), (1, 2), (1, 1), (1, 1)),
    "unbatched": ((5, 9, 11), (3, 2), (2, 3), (0, 1), (1, 1)),
    "dilated": ((1, 2, 12, 13), (3, 3), (2, 1), (1, 1), (2, 3)),
    "with gaps": ((1, 2, 12, 13), (1, 2), (3, 4), (0, 0), (1, 1)),
    "whole": ((2, 2, 5, 7), (5, 7), (1, 1), (0, 0), (1, 1)),
    "volume": ((2, 2, 5, 6, 7), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1)),
    "volume, dilated": ((2, 6, 7, 8), (2, 2, 3), (1, 2, 1), (0, 1, 1), (2, 1, 2)),
}
COUNTS: list[tuple[Sizes, Sizes]] = [
    ((2, 3, 8, 10), (4, 5)),
    ((2, 3, 7, 11), (3, 5)),
    ((3, 7, 11), (1, 1)),
    ((2, 3, 4, 5), (6, 7)),
    ((1, 2, 5, 6, 7), (2, 4, 3)),
]


@pytest.fixture(params=() if windows is None else windows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = windows.use_build(request.param)
    yield request.param
    windows.use_build(before)


def numbers(shape: Sizes, dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(found: Array, run: Callable[..., Array], array: Array) -> None:
    """Within 8 roundings of the sum of the absolute values, of what `run` gives in float64."""
    exact, most = run(array.astype(np.float64)), run(abs(array).astype(np.float64))
    assert found is not None and found.shape == exact.shape and found.dtype == array.dtype
    assert found.flags.c_contiguous
    assert np.all(np.abs(found - exact) <= 8 * np.finfo(found.dtype).eps * most)


def equal(found: tuple[Array, Array], exact: tuple[Array, Array]) -> None:
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.dtype == theirs.dtype and ours.flags.c_contiguous
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_maxima(build: str, name: str, dtype: Any, ceil_mode: bool) -> None:
    shape, *options = CASES[name]
    spatial = shape[-len(options[0]) :]
    plain, odd, ties, low = (numbers(shape, dtype) for _ in range(4))
    odd.flat[::5] = np.nan
    odd.flat[::7] = np.inf
    odd.flat[::3] = -np.inf
    ties[...] = np.round(ties)
    low[...] = -np.inf
    for x in (plain, odd, ties, low):
        found = windows.max_pool(x, *options, ceil_mode)
        with np.errstate(all="ignore"):
            equal(found, neutral.max_pool(CPU.xp, x, *options, ceil_mode))
        grad = numbers(found[0].shape, dtype, 1)
        scattered = windows.scatter_places(grad, found[1], spatial)
        exact = neutral.scatter_to_indices(CPU.xp, grad, found[1], spatial)
        np.testing.assert_allclose(scattered, exact, rtol=1e-6, atol=1e-6)
        if len(spatial) > 1:
            function = getattr(windows, f"max_pool{len(spatial)}d_gradient")
            np.testing.assert_array_equal(function(grad, x, found[1]), scattered)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "counts"), COUNTS)
def test_adaptive(build: str, shape: Sizes, counts: Sizes, dtype: Any) -> None:
    x = numbers(shape, dtype)
    x.flat[::9] = np.nan
    found = windows.adaptive_max_pool(x, counts)
    with np.errstate(all="ignore"):
        equal(found, neutral.adaptive_max_pool(CPU.xp, x, counts))
    x = numbers(shape, dtype)
    average = windows.adaptive_avg_pool(x, counts)
    close(average, lambda x: neutral.adaptive_avg_pool(CPU.xp, x, counts), x)
    grad = numbers(average.shape, dtype, 1)
    spatial = shape[-len(counts) :]
    slopes = getattr(windows, f"adaptive_avg_pool{len(counts)}d_gradient")(grad, x)
    close(slopes, lambda g: neutral.adaptive_avg_pool_gradient(CPU.xp, g, spatial), grad)


@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [name for name in CASES if "dilated" not in name])
def test_averages(
    build: str, name: str, dtype: Any, ceil_mode: bool, include: bool, divisor: int | None
) -> None:
    shape, *options, _ = CASES[name]
    x = numbers(shape, dtype)
    rest = (*options, ceil_mode, include, divisor)
    found = windows.avg_pool(x, *rest)
    close(found, lambda x: neutral.avg_pool(CPU.xp, x, *rest), x)
    grad = numbers(found.shape, dtype, 1)
    spatial = shape[-len(options[0]) :]
    slopes = windows.avg_pool_gradient(grad, x, *rest)
    back = neutral.avg_pool_gradient
    close(slopes, lambda g: back(CPU.xp, g, spatial, *options, include, divisor), grad)


def test_averages_of_what_is_not_finite(build: str) -> None:
    x = numbers((2, 2, 9, 9), np.float32)
    x.flat[::17], x.flat[::23], x.flat[::31] = np.nan, np.inf, -np.inf
    options = (3, 3), (2, 2), (1, 1), False, True, None
    with np.errstate(all="ignore"):
        exact = neutral.avg_pool(CPU.xp, x, *options)
    np.testing.assert_allclose(windows.avg_pool(x, *options), exact, rtol=1e-5)


def test_any_layout(build: str) -> None:
    x = numbers((2, 3, 8, 9), np.float32)
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    shifted[...] = x
    wide = np.zeros((2, 3, 8, 18), np.float32)
    wide[..., ::2] = x
    places = (2, 2), (2, 2), (0, 0)
    expected, where = windows.max_pool(x, *places, (1, 1), False)
    for other in (shifted, wide[..., ::2], x[::-1].copy()[::-1], np.broadcast_to(x, x.shape)):
        equal(windows.max_pool(other, *places, (1, 1), False), (expected, where))
        found = windows.avg_pool(other, *places, False, True, None)
        assert np.array_equal(found, windows.avg_pool(x, *places, False, True, None))
    one = np.broadcast_to(np.float32(1), expected.shape)
    total = windows.scatter_places(one, where, (8, 9))
    assert total.sum() == expected.size


def test_what_is_not_taken() -> None:
    x = numbers((2, 3, 8, 9), np.float32)
    plain = (2, 2), (2, 2), (0, 0), (1, 1), False
    values, places = windows.max_pool(x, *plain)
    others: list[Array] = [x.astype(np.float16), x.astype(np.int64), x.astype(">f4"), x.tolist()]
    others += [x.view(np.ma.MaskedArray), x[:0], x[0, 0], x[None], x[..., :0]]
    others += [np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)]
    for other in others:
        assert windows.max_pool(other, *plain) is None
        assert windows.adaptive_max_pool(other, (2, 2)) is None
        assert windows.adaptive_avg_pool(other, (2, 2)) is None
        assert windows.avg_pool(other, *plain[:3], False, True, None) is None
        assert windows.scatter_places(other, places, (8, 9)) is None
        if other is not others[-1]:
            assert windows.avg_pool_gradient(values, other, *plain[:3], False, True, None) is None
            assert windows.adaptive_avg_pool2d_gradient(values, other) is None
        assert windows.avg_pool_gradient(other, x, *plain[:3], False, True, None) is None
    wrong: list[tuple[Any, ...]] = [
        ((0, 2), *plain[1:]),
        ((9, 2), *plain[1:]),
        ([2, 2], *plain[1:]),
    ]
    wrong += [((2, 2), (0, 1), *plain[2:]), ((2, 2), (2,), *plain[2:]), ((2.0, 2.0), *plain[1:])]
    wrong += [((2, 2), (2, 2), (-1, 0), *plain[3:]), ((2, 2), (2, 2), (3, 3), *plain[3:])]
    wrong += [((2, 2), (2, 2), (0, 0), (0, 1), False), ((2**40, 2), *plain[1:]), ((), *plain[1:])]
    for options in wrong:
        assert windows.max_pool(x, *options) is None, options
    assert windows.avg_pool(x, *plain[:3], False, True, -2) is None
    assert windows.adaptive_max_pool(x, (0, 2)) is None


def test_places_are_checked_before_anything_is_written() -> None:
    grad = numbers((1, 1, 2, 2), np.float32)
    for wrong in (-1, 16, 2**40, -(2**63)):
        places = np.array([[[[0, 1], [wrong, 3]]]])
        assert windows.scatter_places(grad, places, (4, 4)) is None
        assert windows.max_pool2d_gradient(grad, np.zeros((1, 1, 4, 4), np.float32), places) is None
    places = np.zeros((1, 1, 2, 2), np.int64)
    for other in (places.astype(np.int32), places.astype(">i8"), places[..., :1], places[0]):
        assert windows.scatter_places(grad, other, (4, 4)) is None
    for spatial in ((), (0, 4), (4, 4, 4, 4), [4, 4], (2**40, 2**40)):
        assert windows.scatter_places(grad, places, spatial) is None


@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "adaptive_max_pool", "scatter_places"])
def test_wrong_calls_say_so(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}.. takes . arguments, 1 were given"):
        getattr(windows, name)(numbers((1, 1, 3), np.float32))


def test_ops_run_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the neutral kernel ran")

    for name in ("max_pool", "avg_pool", "avg_pool_gradient", "scatter_to_indices"):
        monkeypatch.setattr(neutral, name, refuse)
    for name in ("adaptive_max_pool", "adaptive_avg_pool", "adaptive_avg_pool_gradient"):
        monkeypatch.setattr(neutral, name, refuse)
    functional = torch.nn.functional
    for shape, dimensions in (((2, 3, 8), 1), ((2, 3, 8, 8), 2), ((2, 3, 8, 8, 8), 3)):
        x = torch.randn(*shape, requires_grad=True)
        for name in ("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool"):
            getattr(functional, f"{name}{dimensions}d")(x, 3).sum().backward()
        assert x.grad is not None
