"""What convolutions refuse: wrong dtypes, shapes and options, in PyTorch's words and order."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend.neutral.convolution import transposed_output_shape
from retrograd.ops import errors
from retrograd.ops.kinds import Array
from retrograd.ops.neural.windows import Sizes, sizes_text, spread
from retrograd.ops.sizes import Shape

_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
}  # fmt: skip


def check_types(
    input: Array, weight: Array, bias: Array | None, stride: object, padding: object,
    dilation: Sizes, transposed: bool, output_padding: object, groups: int,
) -> None:  # fmt: skip
    """Input, weight and bias must have one dtype that convolution is implemented for."""
    kind, weight_kind = (dtypes.from_numpy_dtype(x.dtype) for x in (input, weight))
    if kind is dtypes.bool_:
        raise errors.not_implemented_for("slow_conv2d_cpu", input.dtype)
    # A transposed convolution looks at its weight first.
    if transposed and weight_kind is not kind:
        raise errors.runtime_error(_unlike_weight(kind, weight_kind), code="RG301")
    if bias is not None and bias.dtype != input.dtype:
        bias_kind = dtypes.from_numpy_dtype(bias.dtype)
        raise errors.runtime_error(
            f"Input type ({_C_NAMES[kind.name]}) and bias type "
            f"({_C_NAMES.get(bias_kind.name, bias_kind.name)}) should be the same",
            code="RG301",
        )
    if weight_kind is not kind:
        raise errors.runtime_error(_unlike_weight(kind, weight_kind), code="RG301")
    if kind.category == dtypes.INTEGER and kind is not dtypes.int64:
        if transposed:
            raise errors.not_implemented_for("slow_conv_transpose2d_out_cpu", input.dtype)
        if any(step != 1 for step in dilation):
            raise errors.not_implemented_for("slow_conv_dilated<>", input.dtype)


def _unlike_weight(kind: dtypes.dtype, weight: dtypes.dtype) -> str:
    """What is said of a weight of another dtype: it depends on who computes for the input's."""
    if kind is not dtypes.bfloat16 and kind.category != dtypes.COMPLEX:
        return f"expected scalar type {kind.type_name} but found {weight.type_name}"
    text = f"Input type ({kind.tensor_name}) and weight type ({weight.tensor_name}) "
    text += "should be the same"
    if kind is dtypes.bfloat16:
        text += " or input should be a MKLDNN tensor and weight is a dense tensor"
    return text


def expanded(name: str, values: Sizes, dimensions: int) -> Sizes:
    """An option with one entry per dimension."""
    found = spread(values, dimensions)
    if len(found) != dimensions:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dimensions} values to "
            f"match the convolution dimensions, but got {name}={list(values)}"
        )
    return found


def check_options(
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    output_padding: Sizes,
    groups: int,
    transposed: bool,
) -> None:
    """Strides and the like must be positive, padding at least zero."""
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero{_shown(dilation, transposed)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _shown(dilation: Sizes, transposed: bool) -> str:
    """How PyTorch shows a dilation of zero; sequences are images of height 1 there."""
    if min(dilation) < 0:
        return ""
    values = (1, *dilation) if len(dilation) == 1 else dilation
    if not transposed:
        return f", but got {list(values)}"
    names = ("depth", "height", "width")[-len(values) :]
    pairs = zip(names, values, strict=True)
    return ", but got " + ", ".join(f"dilation_{name}: {value}" for name, value in pairs)


def check_shapes(
    shape: Shape, weight: Shape, bias: Shape | None, groups: int, transposed: bool
) -> None:
    """Input, weight and bias must agree on the channels."""
    if len(shape) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
            f"{list(weight)}, but got {len(shape)}-dimensional input of size {list(shape)} instead"
        )
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight)} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight)}] instead"
        )
    given = f"Given transposed=1, weight of size {list(weight)}"
    channels, results = weight[0], weight[1] * groups
    if not transposed:
        given = f"Given groups={groups}, weight of size {list(weight)}"
        channels, results = results, channels
    if shape[1] != channels:
        raise errors.runtime_error(
            f"{given}, expected input{list(shape)} to have {channels} channels, but got "
            f"{shape[1]} channels instead",
            code="RG210",
        )
    if bias is not None and bias != (results,):
        given = given if transposed else f"Given weight of size {list(weight)}"
        raise RuntimeError(
            f"{given}, expected bias to be 1-dimensional with {results} elements, but got bias of "
            f"size {list(bias)} instead"
        )


def check_windows(shape: Shape, weight: Shape, padding: Sizes, dilation: Sizes) -> None:
    """The padded input must have room for one window."""
    room = [size + 2 * pad for size, pad in zip(shape[2:], padding, strict=True)]
    reach = [step * (size - 1) + 1 for size, step in zip(weight[2:], dilation, strict=True)]
    if any(have < need for have, need in zip(room, reach, strict=True)):
        raise errors.runtime_error(
            f"Calculated padded input size per channel: ({sizes_text(room, ' x ')}). Kernel "
            f"size: ({sizes_text(reach, ' x ')}). Kernel size can't be greater than actual "
            "input size",
            code="RG210",
        )
    _check_not_empty(shape, weight)


def check_transposed(
    shape: Shape,
    weight: Shape,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> None:
    """The result of a transposed convolution must have a size, and a gradient."""
    for extra, step, gap in zip(output_padding, stride, dilation, strict=True):
        if extra >= step and extra >= gap:
            axes = ("depth", "height", "width")[-max(len(stride), 2) :]
            numbers = (("output_padding", output_padding, 0), ("stride", stride, 1))
            parts = [
                f"{option}_{axis}: {value}"
                for option, values, flat in (*numbers, ("dilation", dilation, 1))
                # PyTorch sees a sequence as a flat image.
                for axis, value in zip(axes, (flat, *values)[-len(axes) :], strict=True)
            ]
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                + " ".join(parts)
            )
    _check_not_empty(shape, weight)
    result = transposed_output_shape(
        shape, weight, stride, padding, output_padding, dilation, groups
    )
    if min(result[2:]) < 1:
        height = (1,) if len(shape) == 3 else ()  # PyTorch sees a sequence as a flat image
        raise RuntimeError(
            f"Given input size per channel: ({sizes_text((*height, *shape[2:]), ' x ')}). "
            f"Calculated output size per channel: ({sizes_text((*height, *result[2:]), ' x ')}). "
            "Output size is too small"
        )


def _check_not_empty(shape: Shape, weight: Shape) -> None:
    if 0 in shape[2:] and 0 not in shape[:2]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(shape)}"
        )
    if 0 in weight[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(weight[2:])}")
