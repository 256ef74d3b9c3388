"""Interpolation and grid sampling against real PyTorch, forward and by its own autograd."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from retrograd.backend.neutral import grid_sampling, resampling
from tests.backend.bound import bound

grid_sampling = bound(grid_sampling)
resampling = bound(resampling)

pytestmark = pytest.mark.torch
functional = torch.nn.functional
SIZES = ((7,), (5, 8), (3, 5, 4))
NAMES = {
    "linear": ("linear", "bilinear", "trilinear"),
    "cubic": (None, "bicubic", None),
    "nearest": ("nearest",) * 3,
    "nearest-exact": ("nearest-exact",) * 3,
    "area": ("area",) * 3,
}


def draw(shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def same(actual, expected, rtol):
    expected = expected.detach().numpy()
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("mode", NAMES)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_interpolate(dimensions, mode, dtype):
    name = NAMES[mode][dimensions - 1]
    if name is None:
        pytest.skip("this number of dimensions has no such mode")
    size = SIZES[dimensions - 1]
    smooth = mode in ("linear", "cubic")
    input = draw((2, 3, *size), dtype).requires_grad_()
    rtol = 1e-4 if dtype is torch.float32 else 1e-9
    for factor, align, given in product(
        (0.3, 0.5, 1, 1.1, 1.7, 2, 3.3), (False, True) if smooth else (None,), (False, True)
    ):
        output = [max(1, int(n * factor)) for n in size]
        scales = [factor] * dimensions if given else None
        if given and min(n * factor for n in size) < 1:
            continue
        result = functional.interpolate(
            input,
            None if given else output,
            factor if given else None,
            name,
            align,
            recompute_scale_factor=False if given else None,
        )
        options = (mode, bool(align), scales)
        same(resampling.interpolate(input.detach().numpy(), output, *options), result, rtol)
        grad = draw(result.shape, dtype)
        (back,) = torch.autograd.grad(result, input, grad)
        if given and factor == 1.1 and mode in ("nearest", "cubic"):
            continue  # PyTorch's gradient is not its forward's where a factor keeps the size
        actual = resampling.interpolate_gradient(grad.numpy(), size, *options)
        same(actual, back, 10 * rtol)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_nearest_places_are_exact(mode, dtype):
    for size in range(1, 40, 3):
        input = torch.arange(size, dtype=dtype)[None, None]
        for output in range(1, 150, 2):
            expected = functional.interpolate(input, output, mode=mode).numpy()
            actual = resampling.interpolate(input.numpy(), (output,), mode)
            np.testing.assert_array_equal(actual, expected)
        for factor in (0.3, 0.7, 1.1, 1.3, 2.0, 2.7, 3.3):
            output = int(size * factor)
            if output:
                expected = functional.interpolate(input, scale_factor=factor, mode=mode).numpy()
                actual = resampling.interpolate(input.numpy(), (output,), mode, scales=[factor])
                np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8], ids=str)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_nearest_places_of_images_and_volumes(mode, dtype, dimensions):
    random = np.random.default_rng(0)
    for _ in range(40):
        size = [int(n) for n in random.integers(1, 9 if dimensions == 3 else 40, dimensions)]
        input = torch.arange(np.prod(size)).reshape(1, 1, *size).to(dtype)
        factors = [float(f) for f in random.choice([1, 1.05, 1.1, 2, 2.1, 3.3, 1.7], dimensions)]
        output = [int(n * f) for n, f in zip(size, factors, strict=True)]
        expected = functional.interpolate(input, scale_factor=factors, mode=mode).numpy()
        actual = resampling.interpolate(input.numpy(), output, mode, scales=factors)
        np.testing.assert_array_equal(actual, expected)
        output = [int(n) for n in random.integers(1, 30, dimensions)]
        expected = functional.interpolate(input, output, mode=mode).numpy()
        actual = resampling.interpolate(input.numpy(), output, mode)
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("align", [False, True])
def test_antialias(mode, align):
    input = draw((2, 3, 13, 10)).requires_grad_()
    for output in ((4, 3), (13, 5), (20, 7), (1, 1)):
        result = functional.interpolate(
            input, output, mode="bi" + mode, align_corners=align, antialias=True
        )
        options = (mode, align, None, True)
        same(resampling.interpolate(input.detach().numpy(), output, *options), result, 1e-9)
        grad = draw(result.shape)
        (back,) = torch.autograd.grad(result, input, grad)
        same(resampling.interpolate_gradient(grad.numpy(), (13, 10), *options), back, 1e-9)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(5, 4), (1, 6), (3, 4, 5)], ids=str)
def test_grid_sample(size, align, padding, mode):
    if mode == "bicubic" and len(size) == 3:
        pytest.skip("volumes have no bicubic mode")
    input = draw((2, 3, *size)).requires_grad_()
    grid = (1.3 * draw((2, *[4] * len(size), len(size)))).requires_grad_()
    output = functional.grid_sample(input, grid, mode, padding, align)
    options = (mode, padding, align)
    x, points = input.detach().numpy(), grid.detach().numpy()
    same(grid_sampling.grid_sample(x, points, *options), output, 1e-9)
    grad = draw(output.shape)
    back, slope = torch.autograd.grad(output, (input, grid), grad)
    g = grad.numpy()
    same(grid_sampling.grid_sample_input_gradient(g, points, x.shape, *options), back, 1e-9)
    same(grid_sampling.grid_sample_grid_gradient(g, x, points, *options), slope, 1e-8)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_grid_sample_at_corners_edges_and_nan(dimensions, align, padding):
    size = (4, 3, 2)[:dimensions]
    line = [-1.0, 1.0, -0.5, 0.0, 0.25, 2.0, -2.0, float("nan")]
    points = torch.tensor(list(product(line, repeat=dimensions)), dtype=torch.float64)
    input = draw((1, 2, *size))
    x = input.numpy()
    for mode in ("bilinear", "nearest"):
        options = (mode, padding, align)
        grid = points.reshape(1, -1, *[1] * (dimensions - 1), dimensions)
        output = functional.grid_sample(input, grid, *options)
        with np.errstate(all="ignore"):
            same(grid_sampling.grid_sample(x, grid.numpy(), *options), output, 1e-9)
        # PyTorch's own backward writes outside its memory at a nan: finite points only.
        grid = grid[:, ~grid.isnan().flatten(2).any(-1)[0]].requires_grad_()
        output = functional.grid_sample(input, grid, *options)
        grad = draw(output.shape)
        (slope,) = torch.autograd.grad(output, grid, grad)
        actual = grid_sampling.grid_sample_grid_gradient(
            grad.numpy(), x, grid.detach().numpy(), *options
        )
        same(actual, slope, 1e-9)


@pytest.mark.parametrize("size", [(3, 4), (1, 5), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_affine_grid(size, dtype):
    theta = draw((2, len(size), len(size) + 1), dtype)
    for align in (False, True):
        if align and 1 in size:
            continue  # PyTorch warns that this is not meant
        expected = functional.affine_grid(theta, [2, 1, *size], align)
        base = grid_sampling.affine_base_grid(size, align, theta.numpy().dtype)
        flat = base.reshape(-1, len(size) + 1)
        actual = (flat @ theta.numpy().swapaxes(1, 2)).reshape(expected.shape)
        same(actual, expected, 1e-5 if dtype is torch.float32 else 1e-12)
