"""Pooling kernels against real PyTorch, forward and by its own autograd."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from retrograd.backend.neutral import pooling
from tests.backend.bound import bound

pooling = bound(pooling)

pytestmark = pytest.mark.torch
functional = torch.nn.functional
SIZES = ((11,), (9, 8), (5, 6, 7))


def draw(shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def same(actual, expected, rtol=1e-9):
    expected = expected.detach()
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected.numpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_max_pool(dimensions):
    operation = getattr(functional, f"max_pool{dimensions}d")
    unpool = getattr(functional, f"max_unpool{dimensions}d")
    size = SIZES[dimensions - 1]
    input = (2 * draw((2, 3, *size))).round()  # ties
    input[0, 0, 2] = float("nan")
    input.requires_grad_()
    for kernel, step, pad, spread, ceil in product(
        (2, 3), (1, 2, 4), (0, 1), (1, 2), (False, True)
    ):
        values, indices = operation(input, kernel, step, pad, spread, ceil, return_indices=True)
        options = [(value,) * dimensions for value in (kernel, step, pad, spread)]
        array = input.detach().numpy()
        actual, places = pooling.max_pool(array, *options, ceil)
        np.testing.assert_array_equal(actual, values.detach().numpy())
        np.testing.assert_array_equal(places, indices.numpy())
        grad = draw(values.shape)
        (back,) = torch.autograd.grad(values, input, grad)
        same(pooling.scatter_to_indices(grad.numpy(), places, size), back)
        if step >= kernel and spread == 1 and not ceil:  # without overlap: each place once
            expected = unpool(values, indices, kernel, step, pad, size)
            np.testing.assert_array_equal(
                pooling.max_unpool(actual, places, size), expected.detach().numpy()
            )


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_avg_pool(dimensions):
    operation = getattr(functional, f"avg_pool{dimensions}d")
    size = SIZES[dimensions - 1]
    input = draw((2, 3, *size)).requires_grad_()
    for kernel, step, pad, ceil, include, divisor in product(
        (1, 2, 4), (1, 2, 3, 5), (0, 1, 2), (False, True), (False, True), (None, 5)
    ):
        if 2 * pad > kernel or (dimensions == 1 and divisor):
            continue
        last = () if dimensions == 1 else (divisor,)
        output = operation(input, kernel, step, pad, ceil, include, *last)
        options = [(value,) * dimensions for value in (kernel, step, pad)]
        same(pooling.avg_pool(input.detach().numpy(), *options, ceil, include, divisor), output)
        grad = draw(output.shape)
        (back,) = torch.autograd.grad(output, input, grad)
        same(pooling.avg_pool_gradient(grad.numpy(), size, *options, include, divisor), back)


def test_avg_pool_of_whole_numbers():
    input = torch.randint(-20, 20, (2, 3, 6, 6))
    expected = functional.avg_pool2d(input, 3, 2, 1)
    assert (pooling.avg_pool(input.numpy(), (3, 3), (2, 2), (1, 1)) == expected.numpy()).all()


@pytest.mark.parametrize(
    "dtype", [torch.int32, torch.uint8, torch.float16, torch.bfloat16], ids=str
)
def test_max_pool_types(dtype):
    input = (10 * draw((2, 3, 6, 6)).abs()).to(dtype)
    values, indices = functional.max_pool2d(input, 3, 2, 1, return_indices=True)
    array = input.numpy() if dtype is not torch.bfloat16 else input.float().numpy()
    actual, places = pooling.max_pool(array, (3, 3), (2, 2), (1, 1), (1, 1))
    assert (actual == values.to(torch.float32).numpy()).all() and (places == indices.numpy()).all()


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_adaptive_pools(dimensions):
    mean = getattr(functional, f"adaptive_avg_pool{dimensions}d")
    largest = getattr(functional, f"adaptive_max_pool{dimensions}d")
    size = SIZES[dimensions - 1]
    input = draw((2, 3, *size)).requires_grad_()
    broken = (2 * input.detach()).round()
    broken[1, 2, 3] = float("nan")
    for output in product((1, 2, 4, 7, 13), repeat=min(dimensions, 2)):
        target = (*output, 3)[:dimensions]
        result = mean(input, target)
        same(pooling.adaptive_avg_pool(input.detach().numpy(), target), result)
        grad = draw(result.shape)
        (back,) = torch.autograd.grad(result, input, grad)
        same(pooling.adaptive_avg_pool_gradient(grad.numpy(), size), back)
        values, indices = largest(broken, target, return_indices=True)
        actual, places = pooling.adaptive_max_pool(broken.numpy(), target)
        np.testing.assert_array_equal(actual, values.numpy())
        np.testing.assert_array_equal(places, indices.numpy())
