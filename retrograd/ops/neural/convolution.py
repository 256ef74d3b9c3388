"""Convolution and transposed convolution in one to three dimensions.

Three bilinear functions are enough for derivatives of every order: convolution itself, its adjoint
with respect to the input, which is also the transposed convolution, and its adjoint with respect to
the weight.
"""

from __future__ import annotations

import warnings

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first
from retrograd.backend.neutral import convolution as kernels
from retrograd.backend.neutral.arrangement import arranged
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Index, Ints, Namespace
from retrograd.ops.neural.convolution_checks import (
    check_options,
    check_shapes,
    check_transposed,
    check_types,
    check_windows,
    expanded,
)
from retrograd.ops.neural.windows import Sizes, also_in_torch, spread, window_option
from retrograd.ops.registry import RECORDED, Table, functional, inner_op, op
from retrograd.ops.sizes import Shape, as_integer
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES)


# --------------------------------------------------------------------------------------- rules


def _input_rule(
    m: Table,
    g: Tensor,
    weight: Tensor,
    input_shape: Shape,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
    if transposed:
        return m._convolution_at(g, weight, input_shape[2:], stride, padding, dilation, groups)
    return m._convolution_input_gradient(g, weight, input_shape, stride, padding, dilation, groups)


def _weight_rule(
    m: Table,
    g: Tensor,
    input: Tensor,
    weight_shape: Shape,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    groups: int,
) -> Tensor:
    small, large = (input, g) if transposed else (g, input)
    return m._convolution_weight_gradient(
        small, large, weight_shape, stride, padding, dilation, groups
    )


def _bias_rule(m: Table, g: Tensor, stride: Sizes) -> Tensor:
    return m.sum(g, (0, *range(2, 2 + len(stride))), False)


# ----------------------------------------------------------------------------------------- ops


@inner_op(
    input=_input_rule,
    weight=_weight_rule,
    bias=_bias_rule,
    saved_names={"input": "input", "self": ""},  # PyTorch's own name here is `input`
    check=check_types,
)
def convolution(
    xp: Namespace,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Array:
    """Convolution or transposed convolution of a batch; options have one entry per dimension."""
    if transposed:
        shape = kernels.transposed_output_shape(
            input.shape, weight.shape, stride, padding, output_padding, dilation, groups
        )
        result = kernels.convolution_input_gradient(
            xp, input, weight, shape, stride, padding, dilation, groups
        )
    else:
        result = kernels.convolution(xp, input, weight, stride, padding, dilation, groups)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * len(stride))
    if len(stride) == 3 and result.dtype == dtypes.F64:  # PyTorch's plain kernel for volumes
        return result
    return arranged(xp, result, input, weight)


@op(
    gradient=lambda m, g, weight, gradient_shape, stride, padding, dilation, groups: (
        m._convolution_at(g, weight, gradient_shape[2:], stride, padding, dilation, groups)
    ),
    weight=lambda m, g, gradient, weight_shape, stride, padding, dilation, groups: (
        m._convolution_weight_gradient(gradient, g, weight_shape, stride, padding, dilation, groups)
    ),
    node_name="ConvolutionBackwardBackward0",
    saved_names={"grad_output": "gradient"},
    forward="multilinear",
    event="retrograd::convolution_input_gradient",
)
def _convolution_input_gradient(
    xp: Namespace,
    gradient: Array,
    weight: Array,
    input_shape: Shape,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    return kernels.convolution_input_gradient(
        xp, gradient, weight, input_shape, stride, padding, dilation, groups
    )


@op(
    gradient=lambda m, g, input, gradient_shape, stride, padding, dilation, groups: (
        m._convolution_at(input, g, gradient_shape[2:], stride, padding, dilation, groups)
    ),
    input=lambda m, g, gradient, input_shape, stride, padding, dilation, groups: (
        m._convolution_input_gradient(gradient, g, input_shape, stride, padding, dilation, groups)
    ),
    node_name="ConvolutionBackwardBackward0",
    saved_names={"grad_output": "gradient"},
    forward="multilinear",
    event="retrograd::convolution_weight_gradient",
)
def _convolution_weight_gradient(
    xp: Namespace,
    gradient: Array,
    input: Array,
    weight_shape: Shape,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    return kernels.convolution_weight_gradient(
        xp, gradient, input, weight_shape, stride, padding, dilation, groups
    )


@op(
    input=lambda m, g, weight, input_shape, stride, padding, dilation, groups: (
        m._convolution_input_gradient(g, weight, input_shape, stride, padding, dilation, groups)
    ),
    weight=lambda m, g, input, weight_shape, stride, padding, dilation, groups: (
        m._convolution_weight_gradient(g, input, weight_shape, stride, padding, dilation, groups)
    ),
    node_name="ConvolutionBackwardBackward0",
    saved_names={"grad_output": "input"},
    forward="multilinear",
)
def _convolution_at(
    xp: Namespace,
    input: Array,
    weight: Array,
    windows: Shape,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    """The convolution at the first `windows` positions: output padding may have left more room."""
    result: Array = kernels.convolution(xp, input, weight, stride, padding, dilation, groups)
    if result.shape[2:] != windows:
        first: Index = (..., *(slice(count) for count in windows))
        result = xp.ascontiguousarray(result[first])
    return result


compiled_first("convolution", "convolution")
compiled_first("_convolution_at", "convolution_at")
compiled_first("_convolution_input_gradient", "convolution_input_gradient")
compiled_first("_convolution_weight_gradient", "convolution_weight_gradient")


# ---------------------------------------------------------------------------- public functions


def _batched(function: str, input: Tensor, dimensions: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it came with one."""
    found = input._array.ndim
    if found == dimensions + 2:
        return input, True
    if found == dimensions + 1:
        return RECORDED.unsqueeze(input, 0), False
    raise errors.runtime_error(
        f"Expected {dimensions + 1}D (unbatched) or {dimensions + 2}D (batched) input to "
        f"{function}, but got input of size: {list(input.shape)}",
        code="RG210",
    )


def _check_tensors(
    function: str, input: Tensor, weight: Tensor | None, bias: Tensor | None, *options: object
) -> None:
    tensors = [input, weight] if bias is None else [input, weight, bias]
    if all(isinstance(value, Tensor) for value in tensors):
        return
    if "transpose" in function:
        raise errors.not_tensors(function, input=input, weight=weight, bias=bias)
    # A layer gives all options, as tuples; a program seldom gives any.
    complete = any(isinstance(option, tuple) for option in options)
    given = [input, weight, bias, *options] if complete else tensors
    raise errors.invalid_combination(function, given)


def _option(function: str, dimensions: int, name: str, position: int, value: object) -> Sizes:
    """A number stands for all dimensions of the function; a sequence is taken as it is."""
    if type(value) is int:
        return (value,) * dimensions
    try:
        return window_option(function, name, position, value)
    except TypeError:
        if "transpose" in function:
            raise
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got (Tensor, Tensor, "
            f"{name}={type(value).__name__}), but expected one of:"
        ) from None


def _same_padding(
    input: Tensor, weight: Tensor, stride: Sizes, dilation: Sizes
) -> tuple[Tensor, Sizes]:
    """The input and the padding that make the result as large as the input was."""
    dimensions = weight._array.ndim - 2
    for name, values in (("stride", stride), ("dilation", dilation)):
        if len(values) not in (1, dimensions):
            raise RuntimeError(f"{name} cannot broadcast to {dimensions} dimensions")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    kernel, dilation = weight._array.shape[2:], spread(dilation, dimensions)
    total = [gap * (size - 1) for size, gap in zip(kernel, dilation, strict=True)]
    if any(amount % 2 for amount in total):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created",
            UserWarning,
            stacklevel=user_level(),
        )
        pad = [side for amount in reversed(total) for side in (0, amount % 2)]
        input = RECORDED.constant_pad_nd(input, tuple(pad), 0)
    return input, tuple(amount // 2 for amount in total)


def _convolve(
    function: str,
    dimensions: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints | None,
    padding: Ints | str,
    dilation: Ints,
    groups: int,
) -> Tensor:
    _check_tensors(function, input, weight, bias, stride, padding, dilation, groups)
    values, batched = _batched(function, input, dimensions)
    stride = _option(function, dimensions, "stride", 4, stride)
    dilation = _option(function, dimensions, "dilation", 6, dilation)
    groups = as_integer(groups, function, "groups", 7)
    shape = weight._array.shape
    if len(shape) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if padding == "same":
        values, padding = _same_padding(values, weight, stride, dilation)
    elif padding == "valid":
        padding = (0,) * dimensions
    elif isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    else:
        padding = _option(function, dimensions, "padding", 5, padding)
    stride = expanded("stride", stride, len(shape) - 2)
    padding = expanded("padding", padding, len(shape) - 2)
    dilation = expanded("dilation", dilation, len(shape) - 2)
    nothing = (0,) * len(stride)
    check_options(stride, padding, dilation, nothing, groups, False)
    bias_shape = None if bias is None else bias._array.shape
    check_shapes(values._array.shape, shape, bias_shape, groups, False)
    check_windows(values._array.shape, shape, padding, dilation)
    result: Tensor = RECORDED.convolution(
        values, weight, bias, stride, padding, dilation, False, nothing, groups
    )
    return result if batched else RECORDED.squeeze(result, 0)


def _convolve_transposed(
    function: str,
    dimensions: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints | None,
    padding: Ints | str,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
) -> Tensor:
    _check_tensors(function, input, weight, bias)
    values, batched = _batched(function, input, dimensions)
    shape = weight._array.shape
    if len(shape) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    given = {"stride": (4, stride), "padding": (5, padding)}
    given |= {"output_padding": (6, output_padding), "dilation": (8, dilation)}
    stride, padding, output_padding, dilation = (
        expanded(name, _option(function, dimensions, name, position, value), len(shape) - 2)
        for name, (position, value) in given.items()
    )
    groups = as_integer(groups, function, "groups", 7)
    check_options(stride, padding, dilation, output_padding, groups, True)
    bias_shape = None if bias is None else bias._array.shape
    check_shapes(values._array.shape, shape, bias_shape, groups, True)
    check_transposed(values._array.shape, shape, stride, padding, output_padding, dilation, groups)
    result: Tensor = RECORDED.convolution(
        values, weight, bias, stride, padding, dilation, True, output_padding, groups
    )
    return result if batched else RECORDED.squeeze(result, 0)


def _samples_1d() -> list[Sample]:
    return [
        Sample(T(2, 3, 7), T(4, 3, 3), T(4), dtypes=_ALL),
        Sample(T(2, 3, 7), T(4, 3, 2), stride=2, padding=1),
        Sample(T(3, 7), T(4, 3, 3), T(4)),
        Sample(T(1, 4, 9), T(6, 2, 3), T(6), 2, 1, 2, 2),
        Sample(T(1, 2, 7), T(3, 2, 3), padding="same", dilation=2),
        Sample(T(1, 2, 6), T(3, 2, 4), padding="same"),
        Sample(T(1, 2, 7), T(3, 2, 3), padding="valid", stride=(2,)),
        Sample(T(0, 2, 7), T(3, 2, 3), T(3)),
        Sample(T(1, 2, 5), T(3, 2, 2), T(3), dtypes=COMPLEX),
        Sample(T(1, 2, 5, dtype="int64"), T(3, 2, 2, dtype="int64"), grad=False),
        Sample(T(1, 2, 5, dtype="int32"), T(3, 2, 2, dtype="int32"), grad=False),
        Sample(T(1, 2, 5, dtype="int32"), T(3, 2, 2, dtype="int32"), dilation=2, grad=False),
        Sample(T(1, 2, 5, dtype="bool"), T(3, 2, 2, dtype="bool"), grad=False),
        Sample(T(1, 3, 2), T(4, 3, 3)),
        Sample(T(8), T(4, 3, 3)),
        Sample(T(1, 3, 8), T(4, 3)),
        Sample(T(1, 3, 8), T(4, 3, 3, 3)),
        Sample(T(1, 3, 8), T(4, 3, 3), padding="same", dilation=(2, 2)),
    ]


def _samples_2d() -> list[Sample]:
    image, kernel = T(1, 3, 5, 6), T(4, 3, 3, 3)
    return [
        Sample(T(2, 3, 5, 6), T(4, 3, 3, 2), T(4), dtypes=_ALL),
        Sample(T(2, 2, 7, 6), T(3, 2, 3, 3), T(3), stride=2, padding=1),
        Sample(T(1, 2, 7, 8), T(3, 2, 2, 3), None, (2, 3), (1, 2), (2, 1)),
        Sample(T(1, 4, 5, 5), T(6, 2, 3, 3), T(6), padding=1, groups=2),
        Sample(T(1, 3, 5, 5), T(6, 1, 3, 3), T(6), groups=3, stride=2),
        Sample(T(2, 3, 4, 4), T(5, 3, 1, 1), T(5)),
        Sample(T(2, 3, 4, 4), T(5, 3, 1, 1), stride=2),
        Sample(T(1, 2, 3, 3), T(40, 2, 2, 2), T(40)),
        Sample(T(2, 16, 4, 3), T(4, 16, 3, 3), padding=1),
        Sample(T(3, 5, 6), T(4, 3, 3, 3), T(4), padding=1),
        Sample(T(1, 2, 5, 6), T(3, 2, 3, 3), padding="same"),
        Sample(T(1, 2, 5, 6), T(3, 2, 2, 4), T(3), padding="same"),
        Sample(T(0, 2, 5, 6), T(3, 2, 2, 2), T(3)),
        Sample(T(1, 2, 4, 4), T(3, 2, 2, 2), T(3), padding=1, dtypes=COMPLEX),
        *(Sample(T(1, 2, 8, 8), kernel), Sample(T(1, 4, 8, 8), kernel, groups=2)),
        *(Sample(T(1, 4, 8, 8), T(3, 2, 3, 3), groups=2), Sample(image, kernel, groups=0)),
        *(Sample(T(1, 3, 2, 2), kernel), Sample(T(1, 3, 4, 4), kernel, dilation=2)),
        *(Sample(T(8, 8), kernel), Sample(T(1, 3, 2, 8, 8), kernel), Sample(image, T(4, 3, 3))),
        *(Sample(image, kernel, T(3)), Sample(image, kernel, T(4, 1)), Sample(image, kernel, 3)),
        *(Sample(image, kernel, stride=0), Sample(image, kernel, stride=(1, 1, 1))),
        *(Sample(image, kernel, stride=(2,)), Sample(image, kernel, stride=1.5)),
        *(Sample(image, kernel, padding=-1), Sample(image, kernel, dilation=0)),
        *(Sample(image, kernel, padding="same", stride=2), Sample(image, kernel, padding="full")),
        *(Sample(T(1, 3, 0, 8), kernel, padding=2), Sample(image, T(0, 3, 3, 3))),
        *(Sample(image, T(4, 3, 3, 3, dtype="int64"), grad=False), Sample(3, kernel)),
        Sample(T(1, 3, 5, 6, dtype="float64"), T(4, 3, 3, 3, dtype="float32"), grad=False),
        Sample(T(1, 3, 5, 6), T(4, 3, 3, 3), T(4, dtype="float16"), grad=False),
    ]


def _samples_3d() -> list[Sample]:
    return [
        Sample(T(1, 2, 3, 4, 5), T(3, 2, 2, 3, 2), T(3)),
        Sample(T(1, 2, 4, 3, 5), T(2, 1, 3, 2, 2), T(2), (2, 1, 2), (1, 0, 1), groups=2),
        Sample(T(2, 3, 3, 3), T(2, 2, 2, 2, 2), padding="same"),
        Sample(T(1, 2, 4, 4, 4), T(2, 2, 2, 2, 2), dilation=2),
        Sample(T(2, 2), T(2, 2, 2, 2, 2)),
        Sample(T(1, 2, 1, 4, 4), T(2, 2, 2, 2, 2)),
    ]


@functional(samples=_samples_1d, autocast="lower")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of sequences `(N, C, L)` or `(C, L)` by a weight `(O, C / groups, K)`.

    >>> torch.conv1d(torch.arange(4.0).view(1, 4), torch.ones(1, 1, 2))
    tensor([[1., 3., 5.]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@functional(samples=_samples_2d, autocast="lower")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images `(N, C, H, W)` or `(C, H, W)` by a weight `(O, C / groups, KH, KW)`.

    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@functional(samples=_samples_3d, autocast="lower")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transposed_samples_1d() -> list[Sample]:
    return [
        Sample(T(2, 3, 5), T(3, 4, 3), T(4), 2, 1, 1, dtypes=_ALL),
        Sample(T(3, 5), T(3, 4, 3)),
        Sample(T(1, 4, 5), T(4, 3, 2), T(6), groups=2, dilation=2),
        Sample(T(1, 2, 4), T(2, 2, 3), stride=1, dilation=2, output_padding=1),
        Sample(T(1, 2, 4), T(2, 2, 3), padding=1, dtypes=COMPLEX),
        Sample(T(8), T(3, 4, 3)),
        Sample(T(1, 2, 4, dtype="int64"), T(2, 2, 3, dtype="int64"), grad=False),
    ]


def _transposed_samples_2d() -> list[Sample]:
    image, kernel = T(1, 3, 4, 4), T(3, 4, 3, 3)
    return [
        Sample(T(2, 3, 4, 5), T(3, 4, 3, 2), T(4), dtypes=_ALL),
        Sample(T(1, 3, 3, 4), T(3, 2, 3, 3), T(2), 2, 1, 1),
        Sample(T(1, 2, 3, 4), T(2, 3, 2, 3), None, (2, 3), (0, 1), (1, 2)),
        Sample(T(1, 4, 3, 3), T(4, 2, 3, 3), T(4), groups=2, stride=2),
        Sample(T(1, 2, 3, 3), T(2, 2, 2, 2), T(2), dilation=(2, 3), output_padding=(1, 2)),
        Sample(T(1, 3, 3, 3), T(3, 4, 3, 3), padding=2),
        Sample(T(3, 4, 4), T(3, 4, 3, 3)),
        Sample(T(0, 3, 4, 4), T(3, 4, 3, 3), T(4)),
        *(Sample(T(1, 2, 8, 8), kernel), Sample(image, T(3, 2, 3, 3), groups=2)),
        *(Sample(image, kernel, T(3)), Sample(image, kernel, stride=2, output_padding=2)),
        *(Sample(image, kernel, output_padding=1), Sample(image, kernel, padding=5)),
        *(Sample(image, kernel, stride=2, output_padding=-1), Sample(image, kernel, padding=-1)),
        *(Sample(image, kernel, padding="same"), Sample(T(8, 8), kernel)),
        *(Sample(T(1, 3, 0, 8), kernel), Sample(image, kernel, stride=2, output_padding=(1, 1, 1))),
        Sample(T(1, 3, 4, 4), T(3, 4, 3, 3, dtype="int64"), grad=False),
        Sample(T(1, 2, 4, 4, dtype="int32"), T(2, 2, 3, 3, dtype="int32"), grad=False),
    ]


def _transposed_samples_3d() -> list[Sample]:
    return [
        Sample(T(1, 2, 2, 3, 2), T(2, 3, 2, 2, 3), T(3), 2, 1, 1),
        Sample(T(2, 2, 2, 2), T(2, 2, 2, 2, 2), groups=2),
        Sample(T(2, 2), T(2, 2, 2, 2, 2)),
    ]


@functional(samples=_transposed_samples_1d, autocast="lower")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of sequences by a weight `(C, O / groups, K)`.

    >>> torch.conv_transpose1d(torch.ones(1, 3), torch.ones(1, 1, 2))
    tensor([[1., 2., 2., 1.]])
    """
    return _convolve_transposed(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@functional(samples=_transposed_samples_2d, autocast="lower")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of images by a weight `(C, O / groups, KH, KW)`.

    >>> torch.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), stride=2).shape
    torch.Size([1, 1, 4, 4])
    """
    return _convolve_transposed(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@functional(samples=_transposed_samples_3d, autocast="lower")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints | None = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of volumes by a weight `(C, O / groups, KD, KH, KW)`."""
    return _convolve_transposed(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


also_in_torch(conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d)
