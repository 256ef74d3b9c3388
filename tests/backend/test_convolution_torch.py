"""Convolution and folding kernels against real PyTorch, forward and by its own autograd."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from retrograd.backend.neutral import convolution as conv
from retrograd.backend.neutral import folding
from tests.backend.bound import bound

conv = bound(conv)
folding = bound(folding)

pytestmark = pytest.mark.torch
functional = torch.nn.functional


def draw(shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def close(actual, expected, rtol=1e-9):
    expected = expected.detach().numpy()
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


GRID = list(
    product((1, 2, 3), ((1, 1), (3, 2), (5, 3)), (1, 2), (0, 1, 2), (1, 2), (1, 2))
)  # dimensions, kernel sizes, stride, padding, dilation, groups


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_convolution_and_its_gradients(dimensions, dtype):
    for count, (long, short), step, pad, spread, groups in GRID:
        if count != dimensions:
            continue
        kernel = (long, short, 2)[:count]
        size = (11, 9, 6)[:count]
        options = ((step,) * count, (pad,) * count, (spread,) * count)
        input = draw((2, 4, *size), dtype).requires_grad_()
        weight = draw((6, 4 // groups, *kernel), dtype).requires_grad_()
        operation = (functional.conv1d, functional.conv2d, functional.conv3d)[count - 1]
        output = operation(input, weight, None, *options, groups)
        x, w = input.detach().numpy(), weight.detach().numpy()
        close(conv.convolution(x, w, *options, groups), output)
        grad = draw(output.shape, dtype)
        back, turned = torch.autograd.grad(output, (input, weight), grad)
        g = grad.numpy()
        close(
            conv.convolution_input_gradient(g, w.conj(), x.shape, *options, groups),
            back.resolve_conj(),
        )
        close(
            conv.convolution_weight_gradient(g, x.conj(), w.shape, *options, groups),
            turned.resolve_conj(),
        )


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_transposed_convolution(dimensions):
    operation = (
        functional.conv_transpose1d,
        functional.conv_transpose2d,
        functional.conv_transpose3d,
    )[dimensions - 1]
    for step, pad, extra, spread, groups in product((1, 2, 3), (0, 1), (0, 1), (1, 2), (1, 2)):
        if extra >= max(step, spread):
            continue
        stride, padding, more, dilation = ((v,) * dimensions for v in (step, pad, extra, spread))
        input, weight = draw((2, 4, *(5, 4, 3)[:dimensions])), draw((4, 3, *(3, 2, 2)[:dimensions]))
        expected = operation(input, weight, None, stride, padding, more, groups, dilation)
        shape = conv.transposed_output_shape(
            input.shape, weight.shape, stride, padding, more, dilation, groups
        )
        options = (stride, padding, dilation, groups)
        close(
            conv.convolution_input_gradient(input.numpy(), weight.numpy(), shape, *options),
            expected,
        )


@pytest.mark.parametrize(
    "shape", [(4, 3, 28, 28, 8, 5), (4, 32, 8, 8, 64, 3), (2, 16, 40, 40, 16, 3)]
)
def test_single_precision_at_real_sizes(shape):
    samples, channels, height, width, out, kernel = shape
    input = draw((samples, channels, height, width), torch.float32).requires_grad_()
    weight = draw((out, channels, kernel, kernel), torch.float32).requires_grad_()
    output = functional.conv2d(input, weight, None, 1, 1)
    grad = draw(output.shape, torch.float32)
    back, turned = torch.autograd.grad(output, (input, weight), grad)
    x, w, g = input.detach().numpy(), weight.detach().numpy(), grad.numpy()
    options = ((1, 1), (1, 1), (1, 1), 1)
    for actual, expected in (
        (conv.convolution(x, w, *options), output),
        (conv.convolution_input_gradient(g, w, x.shape, *options), back),
        (conv.convolution_weight_gradient(g, x, w.shape, *options), turned),
    ):
        scale = expected.detach().abs().max().item()
        assert np.abs(actual - expected.detach().numpy()).max() < 2e-5 * scale


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8], ids=str)
def test_whole_numbers(dtype):
    input = torch.randint(0, 9, (2, 3, 5, 5)).to(dtype)
    weight = torch.randint(0, 9, (4, 3, 3, 3)).to(dtype)
    options = ((1, 1), (0, 0), (1, 1))
    expected = functional.conv2d(input, weight, None, *options)
    actual = conv.convolution(input.numpy(), weight.numpy(), *options, 1)
    assert (actual == expected.numpy()).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.complex64], ids=str)
def test_unfold_and_fold(dtype):
    for kernel, spread, pad, step in product(((1, 1), (3, 2), (4, 4)), (1, 2), (0, 1), (1, 2, 3)):
        options = ((spread,) * 2, (pad,) * 2, (step,) * 2)
        input = draw((2, 3, 9, 8), torch.complex64 if dtype.is_complex else dtype)
        columns = functional.unfold(input, kernel, *options)
        actual = folding.unfold(input.numpy(), kernel, *options)
        assert (actual == columns.numpy()).all()
        expected = functional.fold(columns, (9, 8), kernel, *options)
        rtol = 5e-3 if dtype is torch.float16 else 1e-5
        close(folding.fold(actual, (9, 8), kernel, *options), expected, rtol)
