"""Interpolation and grid sampling without PyTorch: adjoints, differences, types, corner cases."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.neutral import grid_sampling, resampling
from tests.backend.bound import bound

grid_sampling = bound(grid_sampling)
resampling = bound(resampling)

rng = np.random.default_rng(0)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops switch them off
PADDINGS = ("zeros", "border", "reflection")


@pytest.mark.parametrize("mode", resampling.MODES)
@pytest.mark.parametrize("size", [(7,), (5, 6), (3, 4, 5)], ids=str)
def test_interpolate_gradient_is_adjoint(size, mode):
    for factor, align, antialias in product((0.4, 1, 1.7, 3), (False, True), (False, True)):
        if (antialias and mode not in ("linear", "cubic")) or (align and "near" in mode):
            continue
        output = [max(1, int(n * factor)) for n in size]
        scales = [factor] * len(size) if factor == 1.7 else None
        options = (mode, align, scales, antialias)
        input = rng.standard_normal((2, 3, *size))
        result = resampling.interpolate(input, output, *options)
        assert result.shape == (2, 3, *output) and result.flags.c_contiguous
        grad = rng.standard_normal(result.shape)
        back = resampling.interpolate_gradient(grad, size, *options)
        assert back.shape == input.shape and back.flags.c_contiguous
        np.testing.assert_allclose(np.vdot(result, grad), np.vdot(input, back), rtol=1e-9)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_keeps_constants_and_corners(mode):
    for antialias in (False, True):
        ones = resampling.interpolate(np.ones((1, 9, 8)), (5, 20), mode, antialias=antialias)
        np.testing.assert_allclose(ones, 1, rtol=1e-12)
    line = rng.standard_normal((1, 6))
    aligned = resampling.interpolate(line, (11,), mode, align_corners=True)
    np.testing.assert_allclose(aligned[:, ::2], line, rtol=1e-12)


def test_an_infinity_stays_in_its_neighbourhood():
    grad = np.zeros((1, 12))
    grad[0, 0] = np.inf
    # The second source has weight zero in the first result: nan there, in PyTorch too.
    assert np.isfinite(resampling.interpolate_gradient(grad, (6,), "linear")[0, 2:]).all()
    image = np.zeros((1, 1, 4, 4))
    image[0, 0, 0, 0] = np.inf
    grid = np.full((1, 1, 1, 2), -3.0)
    assert grid_sampling.grid_sample(image, grid, "bilinear", "zeros", False).item() == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_types_layouts_and_empty_batches(dtype):
    input = rng.standard_normal((2, 3, 5, 4)).astype(dtype)
    grid = rng.uniform(-1, 1, (2, 3, 3, 2)).astype(dtype)
    for mode in resampling.MODES:
        expected = resampling.interpolate(input.astype(np.float32), (7, 3), mode)
        for array in (input, np.asfortranarray(input), input[:0]):
            result = resampling.interpolate(array, (7, 3), mode)
            assert result.dtype == dtype and result.shape == (len(array), 3, 7, 3)
            np.testing.assert_allclose(
                result.astype(np.float32), expected[: len(array)], rtol=0.02, atol=0.02
            )
            back = resampling.interpolate_gradient(result, (5, 4), mode)
            assert back.dtype == dtype and back.shape == array.shape
    for mode in ("bilinear", "nearest", "bicubic"):
        for count in (2, 0):
            options = (mode, "border", False)
            x, points = np.asfortranarray(input[:count]), np.asfortranarray(grid[:count])
            result = grid_sampling.grid_sample(x, points, *options)
            assert result.dtype == dtype and result.shape == (count, 3, 3, 3)
            back = grid_sampling.grid_sample_input_gradient(result, points, x.shape, *options)
            assert back.dtype == dtype and back.shape == x.shape
            slope = grid_sampling.grid_sample_grid_gradient(result, x, points, *options)
            assert slope.dtype == dtype and slope.shape == points.shape


def test_weights_on_whole_numbers_are_refused():
    image = np.arange(4, dtype=np.uint8).reshape(1, 4)
    assert resampling.interpolate(image, (2,), "nearest").dtype == np.uint8
    with pytest.raises(TypeError, match="uint8"):
        resampling.interpolate(image, (2,), "linear")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(5, 4), (3, 4, 5)], ids=str)
def test_grid_sample_gradients(size, align, padding, mode):
    if mode == "bicubic" and len(size) == 3:
        pytest.skip("volumes have no bicubic mode")
    options = (mode, padding, align)
    input = rng.standard_normal((2, 3, *size))
    grid = rng.uniform(-1.7, 1.7, (2, *[3] * len(size), len(size)))
    output = grid_sampling.grid_sample(input, grid, *options)
    grad = rng.standard_normal(output.shape)
    back = grid_sampling.grid_sample_input_gradient(grad, grid, input.shape, *options)
    np.testing.assert_allclose(np.vdot(output, grad), np.vdot(input, back), rtol=1e-9)
    slope = grid_sampling.grid_sample_grid_gradient(grad, input, grid, *options)
    step = 1e-7
    for axis in range(len(size)):
        move = np.zeros(len(size))
        move[axis] = step
        after = grid_sampling.grid_sample(input, grid + move, *options)
        before = grid_sampling.grid_sample(input, grid - move, *options)
        numeric = ((after - before) * grad).sum(1) / (2 * step)
        np.testing.assert_allclose(slope[..., axis], numeric, rtol=1e-5, atol=1e-5)


def test_the_identity_map_samples_the_image():
    image = rng.standard_normal((1, 2, 5, 6))
    for align in (False, True):
        base = grid_sampling.affine_base_grid((5, 6), align, np.float64)
        grid = (base @ np.array([[1.0, 0, 0], [0, 1, 0]]).T)[None]
        result = grid_sampling.grid_sample(image, grid, "bilinear", "zeros", align)
        np.testing.assert_allclose(result, image, rtol=1e-9, atol=1e-9)


def test_unknown_modes_are_named():
    image, grid = np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 1, 2))
    with pytest.raises(ValueError, match="lanczos"):
        grid_sampling.grid_sample(image, grid, "lanczos", "zeros", False)
    with pytest.raises(ValueError, match="mirror"):
        grid_sampling.grid_sample(image, grid, "bilinear", "mirror", False)
    with pytest.raises(ValueError, match="lanczos"):
        resampling.interpolate(image, (3, 3), "lanczos")
