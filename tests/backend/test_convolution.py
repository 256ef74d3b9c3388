"""Convolution kernels without PyTorch: adjoints, shapes, types, corner cases."""

import doctest
import importlib
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.neutral import convolution as conv
from tests.backend.bound import bound

conv = bound(conv)

# (input, weight, stride, padding, dilation, groups)
CASES = [
    ((2, 3, 9), (4, 3, 3), (1,), (1,), (1,), 1),
    ((2, 4, 11), (6, 2, 3), (2,), (2,), (2,), 2),
    ((3, 2, 7, 6), (5, 2, 3, 2), (1, 1), (0, 1), (1, 1), 1),
    ((2, 3, 8, 9), (4, 3, 3, 3), (2, 3), (1, 2), (1, 2), 1),
    ((2, 8, 5, 5), (8, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 6, 6), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 4, 6, 6), (8, 1, 2, 2), (2, 2), (0, 0), (1, 1), 4),
    ((2, 3, 5, 5), (4, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 5, 5), (4, 3, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 3, 3, 3), (2, 3, 1, 1), (1, 1), (2, 2), (1, 1), 1),
    ((2, 3, 8, 8), (4, 3, 4, 4), (4, 4), (0, 0), (1, 1), 1),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
    ((1, 2, 3, 4, 4), (2, 2, 2, 2, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
]


def draw(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


@pytest.mark.parametrize("name", ["folding", "convolution", "pooling", "resampling", "scatter"])
def test_docstring_examples(name):
    module = importlib.import_module(f"retrograd.backend.neutral.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("block", [1 << 18, 100])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_adjoint(case, block, monkeypatch):
    monkeypatch.setattr(
        "retrograd.backend.neutral.convolution._BLOCK_ELEMENTS", block
    )  # small: blocks of a few rows
    input_shape, weight_shape, *options = case
    input, weight = draw(input_shape), draw(weight_shape)
    output = conv.convolution(input, weight, *options)
    assert output.shape == conv.convolution_output_shape(input_shape, weight_shape, *options[:3])
    grad = draw(output.shape, seed=1)
    back = conv.convolution_input_gradient(grad, weight, input_shape, *options)
    turned = conv.convolution_weight_gradient(grad, input, weight_shape, *options)
    assert back.shape == input_shape and turned.shape == weight_shape
    expected = np.vdot(output, grad)
    np.testing.assert_allclose(np.vdot(input, back), expected, rtol=1e-10)
    np.testing.assert_allclose(np.vdot(weight, turned), expected, rtol=1e-10)


def test_against_the_definition():
    input, weight = draw((2, 4, 6, 7)), draw((6, 2, 3, 2))
    output = conv.convolution(input, weight, (2, 1), (1, 1), (1, 2), 2)
    padded = np.pad(input, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for n, o, y, x in product(*(range(size) for size in output.shape)):
        first = 2 * (o // 3)
        window = padded[n, first : first + 2, 2 * y : 2 * y + 3, x : x + 3 : 2]
        np.testing.assert_allclose(output[n, o, y, x], (window * weight[o]).sum(), rtol=1e-10)


@pytest.mark.parametrize("stride", [(1,), (2,), (3,)])
@pytest.mark.parametrize("extra", [0, 1])
def test_transposed_shape_reaches_every_output(stride, extra):
    weight = draw((3, 2, 3))
    grad = draw((2, 3, 5))
    shape = conv.transposed_output_shape(grad.shape, (3, 2, 3), stride, (1,), (extra,), (2,), 1)
    assert shape == (2, 2, 4 * stride[0] - 2 + 4 + extra + 1)
    output = conv.convolution_input_gradient(grad, weight, shape, stride, (1,), (2,), 1)
    input = draw(shape, seed=2)
    window = conv.convolution(input, weight, stride, (1,), (2,), 1)[:, :, :5]
    np.testing.assert_allclose(np.vdot(output, input), np.vdot(window, grad), rtol=1e-10)


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.complex64, np.int64, np.uint8]
)
def test_types_are_kept(dtype):
    input, weight = (2 * draw((2, 3, 5))).astype(dtype), (2 * draw((4, 3, 3))).astype(dtype)
    options = ((1,), (1,), (1,), 1)
    output = conv.convolution(input, weight, *options)
    back = conv.convolution_input_gradient(output, weight, input.shape, *options)
    turned = conv.convolution_weight_gradient(output, input, weight.shape, *options)
    assert output.dtype == back.dtype == turned.dtype == dtype
    wide = np.complex128 if dtype is np.complex64 else np.float64
    if np.dtype(dtype).kind not in "iu":
        expected = conv.convolution(input.astype(wide), weight.astype(wide), *options)
        close = 0.02 if np.dtype(dtype).itemsize == 2 else 1e-5
        np.testing.assert_allclose(output.astype(wide), expected, rtol=close, atol=10 * close)


def test_half_precision_sums_in_single():
    ones = np.ones((1, 4096, 3), ml_dtypes.bfloat16)  # a running bfloat16 sum would stop at 256
    assert conv.convolution(ones, ones[:, :, :1], (1,), (0,), (1,), 1)[0, 0, 0] == 4096


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("input_shape", [(0, 4, 5, 5), (2, 4, 5, 5)])
def test_empty_batches_and_outputs(input_shape, groups):
    weight = draw((4, 4 // groups, 3, 3))
    for channels in (4, 0):
        options = ((1, 1), (1, 1), (1, 1), groups)
        part = weight[:channels]
        output = conv.convolution(draw(input_shape), part, *options)
        assert output.shape == (input_shape[0], channels, 5, 5)
        back = conv.convolution_input_gradient(output, part, input_shape, *options)
        turned = conv.convolution_weight_gradient(output, draw(input_shape), part.shape, *options)
        assert back.shape == input_shape and turned.shape == part.shape
        if 0 in output.shape:
            assert not back.any() and not turned.any()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layout_of_the_input_does_not_matter(case):
    input_shape, weight_shape, *options = case
    input, weight = draw(input_shape), draw(weight_shape)
    output = conv.convolution(input, weight, *options)
    assert output.flags.c_contiguous
    turned = [np.asfortranarray(array) for array in (input, weight, output)]
    frozen = [array.copy() for array in (input, weight, output)]
    for array in frozen:
        array.flags.writeable = False
    for x, w, g in (turned, frozen):
        np.testing.assert_allclose(conv.convolution(x, w, *options), output, rtol=1e-10, atol=1e-10)
        back = conv.convolution_input_gradient(g, w, input_shape, *options)
        expected = conv.convolution_input_gradient(output, weight, input_shape, *options)
        np.testing.assert_allclose(back, expected, rtol=1e-10, atol=1e-10)
        back = conv.convolution_weight_gradient(g, x, weight_shape, *options)
        expected = conv.convolution_weight_gradient(output, input, weight_shape, *options)
        np.testing.assert_allclose(back, expected, rtol=1e-10, atol=1e-10)
