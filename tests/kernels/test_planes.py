"""Compiled batch_norm and group_norm beside their neutral twins, for every build."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import windows
from retrograd.backend.device import KERNELS
from retrograd.ops.neural import normalization
from retrograd.ops.neural.normalization import Layout

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(windows is None, reason="the kernels for windows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
SHAPES = [(1, 1, 4), (3, 2, 5), (2, 6, 7, 9), (5, 4, 33), (2, 4, 5000), (1, 8, 3, 4, 5)]
SHORT = [(3, 8), (2, 6, 1), (5, 34, 1, 1), (2, 6, 3), (1, 4, 2)]


@pytest.fixture(params=() if windows is None else windows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = windows.use_build(request.param)
    yield request.param
    windows.use_build(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def layouts(shape: tuple[int, ...]) -> list[Layout]:
    """That of batch_norm, and of group_norm with one, two and all channels in a group."""
    samples, channels = shape[:2]
    planes = samples, channels, int(np.prod(shape[2:]))
    found = [Layout(planes, planes, (channels, 1))]
    for groups in {1, channels, channels // 2 or 1}:
        grouped = 1, samples * groups, channels // groups * planes[2]
        found.append(Layout(grouped, planes, (channels, 1)))
    return found


def wide(array: Array | None) -> Array | None:
    return None if array is None else array.astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES + SHORT)
@pytest.mark.parametrize("parameters", ["", "w", "b", "wb"])
def test_planes(build: str, shape: tuple[int, ...], parameters: str, dtype: Any) -> None:
    x, grad = numbers(shape, dtype) + 5, numbers(shape, dtype, 1)
    channels = shape[1]
    weight = numbers((channels,), dtype, 2) if "w" in parameters else None
    bias = numbers((channels,), dtype, 3) if "b" in parameters else None
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    needs = (True, weight is not None, bias is not None)
    for layout in layouts(shape):
        found = windows.planes_norm(x, weight, bias, *layout[:2], 1e-3)
        if shape in SHORT and layout.grouped == layout.scaled:
            assert found is None  # columns: `channel_norm` has these
            continue
        exact = normalization.normalized(CPU.xp, wide(x), wide(weight), wide(bias), layout, 1e-3)
        for ours, theirs in zip(found, exact, strict=True):
            assert ours.shape == theirs.shape and ours.dtype == dtype
            scale = 1 + np.abs(theirs).max()
            assert np.abs(ours - theirs).max() <= tolerance * scale
        mean, inverse = found[1:3]
        ours = windows.planes_norm_gradients(grad, x, weight, mean, inverse, *layout[:2], needs)
        arrays = wide(grad), needs, wide(x), wide(weight), (channels,), wide(mean), wide(inverse)
        theirs = KERNELS["_norm_gradients"][0](CPU.xp, *arrays, layout, "")
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                scale = max(1.0, float(inverse.max())) * (1 + np.abs(other).max())
                assert np.abs(one - other).max() <= tolerance * scale


def test_a_mean_far_from_zero_costs_no_digits(build: str) -> None:
    x = (numbers((3, 2, 4096), np.float32) + 1e4).astype(np.float32)
    result = windows.planes_norm(x, None, None, *layouts(x.shape)[0][:2], 0.0)[0]
    exact = (wide(x) - wide(x).mean((0, 2), keepdims=True)) / wide(x).std((0, 2), keepdims=True)
    assert np.abs(result - exact).max() < 3e-4  # half a unit of x, over the deviation


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_group(build: str, odd: float) -> None:
    x = numbers((2, 4, 21), np.float32)
    x[1, 2, 20] = odd
    for layout in layouts(x.shape):
        with np.errstate(all="ignore"):
            exact = normalization.normalized(CPU.xp, x, None, None, layout, 1e-5)[0]
        found = windows.planes_norm(x, None, None, *layout[:2], 1e-5)[0]
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)


def test_any_layout(build: str) -> None:
    x, layout = numbers((3, 4, 10), np.float32), layouts((3, 4, 10))[0]
    plain = windows.planes_norm(x, None, None, *layout[:2], 1e-5)
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    shifted[...] = x
    twice = np.repeat(x, 2, axis=2)[..., ::2]
    for other in (shifted, twice, np.asfortranarray(x), np.broadcast_to(x, x.shape)):
        for ours, theirs in zip(
            windows.planes_norm(other, None, None, *layout[:2], 1e-5), plain, strict=True
        ):
            assert np.array_equal(ours, theirs)
    needs = (True, False, True)
    first = windows.planes_norm_gradients(x, x, None, *plain[1:3], *layout[:2], needs)
    again = windows.planes_norm_gradients(shifted, twice, None, *plain[1:3], *layout[:2], needs)
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[2], again[2])


def test_what_is_not_taken() -> None:
    x = numbers((2, 4, 3, 3), np.float32)
    layout, grouped, *_ = (found[:2] for found in layouts(x.shape))
    others: list[Array] = [x.astype(np.float16), x.astype(np.int64), x.astype(">f4"), x.tolist()]
    others += [x.view(np.ma.MaskedArray), x[:1], x[:, :3], x[..., :2], x[:0], x[0, 0, 0]]
    statistics = np.ones((1, 4, 1), np.float32)
    needs = (True, False, False)
    for other in others:
        assert windows.planes_norm(other, None, None, *layout, 1e-5) is None
        for pair in ((x, other), (other, x)):
            found = windows.planes_norm_gradients(
                *pair, None, statistics, statistics, *layout, needs
            )
            assert found is None
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert windows.planes_norm(last, None, None, *layout, 1e-5) is None
    for parameter in (np.ones(4), np.ones(3, np.float32), np.ones(8, np.float32)[::2], [1.0] * 4):
        assert windows.planes_norm(x, parameter, None, *layout, 1e-5) is None
        assert windows.planes_norm(x, None, parameter, *layout, 1e-5) is None
        arguments = x, x, None, parameter, statistics, *layout, needs
        assert windows.planes_norm_gradients(*arguments) is None
    for wrong in ((1, 3, 24), (2, 4, 8), (1, 8), [2, 4, 9], (1, 16, 4), (2, 8, 9), (0, 4, 9)):
        assert windows.planes_norm(x, None, None, wrong, layout[1], 1e-5) is None
        assert windows.planes_norm(x, None, None, grouped[0], wrong, 1e-5) is None
    with pytest.raises(TypeError, match="must be real number"):
        windows.planes_norm(x, None, None, *layout, "no")
    with pytest.raises(TypeError, match="takes 8 arguments, 1 were given"):
        windows.planes_norm_gradients(x)


def test_ops_run_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the neutral kernel ran")

    for name in ("_centred", "_gradient_kernel"):
        monkeypatch.setattr(normalization, name, refuse)
    x = torch.randn(2, 4, 5, 5, requires_grad=True)
    for layer in (torch.nn.BatchNorm2d(4), torch.nn.GroupNorm(2, 4), torch.nn.InstanceNorm2d(4)):
        layer(x).sum().backward()
    assert x.grad is not None
