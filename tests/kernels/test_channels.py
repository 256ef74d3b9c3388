"""batch_norm in C beside its neutral twin, of rows and with given statistics, for every build."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS
from retrograd.ops.neural.batch_normalization import _follow
from retrograd.ops.neural.normalization import Layout

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
Array = Any
FLOATS = (np.float32, np.float64)
SHAPES = [(3, 4, 1), (40, 7, 1), (9, 1030, 1), (2, 512, 1), (700, 1, 1)]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3, dtype)


def layout_of(shape: tuple[int, int, int]) -> Layout:
    return Layout(shape, shape, (shape[1], 1))


def neutral(name: str, *arguments: Any) -> Any:
    """The neutral kernel in float64, where its own rounding does not matter."""
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in arguments]
    with np.errstate(all="ignore"):
        return KERNELS[name][0](CPU.xp, *wide)


def same(found: tuple[Any, ...], exact: tuple[Any, ...], dtype: Any) -> None:
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    for ours, theirs in zip(found, exact, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            scale = tolerance * (1 + np.abs(theirs).max())
            assert ours.shape == theirs.shape and ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=scale)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameters", ["", "w", "b", "wb"])
def test_forward_and_gradients(
    build: str, shape: tuple[int, int, int], parameters: str, dtype: Any
) -> None:
    layout, channels = layout_of(shape), shape[1]
    x, grad = numbers(shape, dtype) + 5, numbers(shape, dtype, 1)
    weight = numbers((channels,), dtype, 2) if "w" in parameters else None
    bias = numbers((channels,), dtype, 3) if "b" in parameters else None
    found = rows.channel_norm(x, weight, bias, None, None, shape, 1e-2)
    same(found, neutral("_batch_norm", x, weight, bias, None, None, True, layout, 1e-2), dtype)
    mean, inverse = found[1:3]
    for needs in ((True, weight is not None, bias is not None), (False, weight is not None, False)):
        arguments = (grad, needs, x, weight, (channels,), mean, inverse, layout)
        ours = rows.channel_norm_gradients(grad, x, weight, mean, inverse, shape, False, needs)
        same(ours, neutral("_norm_gradients", *arguments, "_batch_norm_gradient"), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 33), (40, 7, 1), (9, 1030, 1)])
def test_given_statistics(build: str, shape: tuple[int, int, int], dtype: Any) -> None:
    layout, channels = layout_of(shape), shape[1]
    x, grad, weight = (
        numbers(shape, dtype),
        numbers(shape, dtype, 1),
        numbers((channels,), dtype, 2),
    )
    mean, variance = numbers((channels,), dtype, 3), np.abs(numbers((channels,), dtype, 4)) + 1
    found = rows.channel_norm(x, weight, weight, mean, variance, shape, 1e-3)
    same(
        found, neutral("_batch_norm", x, weight, weight, mean, variance, False, layout, 1e-3), dtype
    )
    needs = (True, True, True)
    ours = rows.channel_norm_gradients(grad, x, weight, *found[1:3], shape, True, needs)
    theirs = neutral(
        "_fixed_gradients", grad, needs, x, weight, (channels,), *found[1:3], layout, ""
    )
    same(ours, theirs, dtype)


def test_what_is_not_finite(build: str) -> None:
    shape = (50, 3, 1)
    for value in (np.nan, np.inf, -np.inf):
        for place in ((0, 0, 0), (3, 2, 0)):
            x = numbers(shape, np.float32)
            x[place] = value
            found = rows.channel_norm(x, None, None, None, None, shape, 1e-5)
            exact = neutral("_batch_norm", x, None, None, None, None, True, layout_of(shape), 1e-5)
            for ours, theirs in zip(found, exact, strict=True):
                assert np.array_equal(np.isnan(ours), np.isnan(theirs))
                assert np.array_equal(np.isinf(ours), np.isinf(theirs))


def test_a_mean_far_from_zero_costs_no_digits(build: str) -> None:
    x = (numbers((4000, 3, 1), np.float32) + 1e4).astype(np.float32)
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(0)) / wide.std(0)
    result = rows.channel_norm(x, None, None, None, None, (4000, 3, 1), 0.0)[0]
    assert np.abs(result - exact).max() < 5e-4


def test_what_is_not_taken() -> None:
    x, shape = numbers((24, 5), np.float32), (24, 5, 1)
    vector = np.ones(5, np.float32)

    def norm(x: Any = x, w: Any = None, m: Any = None, v: Any = None, s: Any = shape) -> Any:
        return rows.channel_norm(x, w, None, m, v, s, 1e-5)

    assert norm() is not None and norm(m=vector[:4], v=vector[:4], s=(6, 4, 5)) is not None
    bytes_ = np.zeros(x.nbytes + 1, np.uint8)
    shifted = bytes_[1:].view(np.float32).reshape(24, 5)
    for other in (x.astype(np.float16), x.astype(">f4"), x[:, ::2], x[:0], shifted, x.tolist()):
        assert norm(x=other) is None
    for other in (vector[:4], vector.astype(np.float64), np.ones(10, np.float32)[::2], [1.0] * 5):
        assert norm(w=other) is None
        assert norm(m=other, v=vector) is None and norm(m=vector, v=other) is None
    assert norm(m=vector) is None and norm(v=vector) is None
    for other in ((24, 5), (6, 4, 5), (24, 5, 1, 1), (2**62, 6, 5), (0, 6, 5), (-24, -5, 1)):
        assert norm(s=other) is None
    needs = (True, True, True)
    for pair in ((vector[:4], vector), (vector, None), (None, vector)):
        assert rows.channel_norm_gradients(x, x, None, *pair, shape, False, needs) is None
    rest = (None, vector, vector, shape, False)
    assert rows.channel_norm_gradients(x[:23], x, *rest, needs) is None
    assert rows.channel_norm_gradients(x, x.astype(np.float64), *rest, needs) is None
    with pytest.raises(TypeError, match="tuple of three"):
        rows.channel_norm_gradients(x, x, *rest, True)
    with pytest.raises(TypeError, match="takes 7 arguments"):
        rows.channel_norm(x)
    with pytest.raises(OverflowError):
        norm(s=(2**70, 6, 5))


def test_gradients_in_any_layout(build: str) -> None:
    x, grad = numbers((24, 5), np.float32), numbers((24, 5), np.float32, 1)
    _, mean, inverse, _ = rows.channel_norm(x, None, None, None, None, (24, 5, 1), 1e-5)
    rest = (x, None, mean, inverse, (24, 5, 1), False, (True, True, True))
    for found, expected in zip(
        rows.channel_norm_gradients(np.asfortranarray(grad), *rest),
        rows.channel_norm_gradients(grad, *rest),
        strict=True,
    ):
        assert np.array_equal(found, expected)


def test_modules_use_them() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 6, requires_grad=True)
    layer = torch.nn.BatchNorm1d(6)
    layer(x).square().sum().backward()
    assert x.grad is not None and layer.weight.grad is not None
    assert torch.allclose(layer.running_mean, 0.1 * x.detach().mean(0), atol=1e-6)
    layer.eval()
    scale = (layer.running_var + layer.eps).rsqrt()
    x.grad = None
    (layer(x) * 2).sum().backward()
    assert torch.allclose(x.grad, (2 * scale).expand(40, 6))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("momentum", [0.1, 0.0, 1, 0.37])
def test_running_statistics_have_the_bits_of_the_twin(dtype: Any, momentum: float) -> None:
    found = [numbers((37,), dtype, seed) for seed in range(2)]
    twin = [array.copy() for array in found]
    mean, variance = (numbers((1, 37, 1), dtype, seed) for seed in (2, 3))
    mean[0, 3, 0], variance[0, 4, 0], twin[0][5] = np.nan, np.inf, np.inf
    found[0][5] = np.inf
    assert rows.follow(*found, mean, variance, momentum, 37 / 36) is True
    _follow(twin[0], mean, momentum)
    _follow(twin[1], variance * dtype(37 / 36), momentum)
    for ours, theirs in zip(found, twin, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_running_statistics_that_are_not_taken() -> None:
    plain = np.ones(4, np.float32)
    fixed = plain.copy()
    fixed.flags.writeable = False
    shifted = np.zeros(plain.nbytes + 1, np.uint8)[1:].view(np.float32)
    odd = [np.ones(4), np.ones(8, np.float32)[::2], np.ones(3, np.float32), plain.astype(">f4")]
    for other in (*odd, shifted, fixed, plain.tolist(), None):
        for place in range(2 if other is fixed else 4):
            arrays = [np.full(4, 2, np.float32) for _ in range(4)]
            arrays[place] = other
            assert rows.follow(*arrays, 0.1, 1.0) is False
            assert all(np.all(array == 2) for array in arrays if array is not other)
    with pytest.raises(TypeError, match="must be real number"):
        rows.follow(plain, plain, plain, plain, None, 1.0)


def test_layers_follow_where_the_kernel_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    x, found = torch.randn(5, 3, 2, 2), []
    for refuse in (False, True):
        if refuse:
            monkeypatch.setattr(rows, "follow", lambda *arguments: False)
        layer = torch.nn.BatchNorm2d(3)
        layer(x)
        found.append((layer.running_mean.tolist(), layer.running_var.tolist()))
    assert found[0] == found[1]
