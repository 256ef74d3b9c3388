"""Rearranging images: windows into columns and back, channels into pixels and back.

Each function here is linear; `im2col` and `col2im` are each other's adjoint, as are `pixel_shuffle`
and `pixel_unshuffle`, and two channel shuffles.
"""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend.neutral import folding as kernels
from retrograd.backend.neutral.arrangement import arranged
from retrograd.engine.saved_names import size_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.neural.windows import Sizes, also_in_torch, refuse_types, sizes_text
from retrograd.ops.registry import RECORDED, functional, inner_op, op
from retrograd.ops.sizes import as_integer, as_integers, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_MOVED = (*FLOATS, *HALVES, *COMPLEX)


# -------------------------------------------------------------------------------- unfold, fold


def _check_columns(kernel: str, input: Array) -> None:
    refuse_types(kernel, input, lambda kind: kind.category != dtypes.INTEGER)


@inner_op(
    input=lambda m, g, input_shape, kernel_size, dilation, padding, stride: m.col2im(
        g, input_shape[-2:], kernel_size, dilation, padding, stride
    ),
    images=4,
    moves=True,
    check=lambda input, *options: _check_columns("im2col_out_cpu", input),
    saved_names={
        "self_sym_argsize_minus_1": size_of("self", -1),
        "self_sym_argsize_minus_2": size_of("self", -2),
    },
)
def im2col(
    xp: Namespace, input: Array, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Array:
    """The windows of images, one column each."""
    batch = input if input.ndim == 4 else input[None]
    columns = kernels.unfold(xp, batch, kernel_size, dilation, padding, stride)
    return columns if input.ndim == 4 else columns[0]


@inner_op(
    input=lambda m, g, kernel_size, dilation, padding, stride: m.im2col(
        g, kernel_size, dilation, padding, stride
    ),
    images=3,
    holomorphic=False,
    check=lambda input, *options: _check_columns("col2im_out_cpu", input),
    forward="linear",
)
def col2im(
    xp: Namespace,
    input: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Array:
    """Images from the sums of columns at the windows they stand for."""
    batch = input if input.ndim == 3 else input[None]
    if batch.dtype.kind == "b":  # a sum of truth values says whether one was true
        counts = kernels.fold(
            xp, batch.view(xp.uint8), output_size, kernel_size, dilation, padding, stride
        )
        images: Array = counts != 0
    else:
        images = kernels.fold(xp, batch, output_size, kernel_size, dilation, padding, stride)
    return images if input.ndim == 3 else images[0]


def _pairs(function: str, **options: object) -> list[Sizes]:
    """Options of two entries each; one number stands for both."""
    found: list[Sizes] = []
    for position, (name, value) in enumerate(options.items(), start=2):
        given = value if isinstance(value, (tuple, list)) else (value, value)
        sizes = as_integers(function, name, position, given)
        if len(sizes) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(sizes)}")
        found.append(sizes)
    return found


def _check_windows(kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    checks = (("kernel size", "kernel", kernel), ("stride", "stride", stride))
    for words, name, (height, width) in (*checks, ("dilation", "dilation", dilation)):
        if height <= 0 or width <= 0:
            raise RuntimeError(
                f"{words} should be greater than zero, but got {name}_height: {height} "
                f"{name}_width: {width}"
            )
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: "
            f"{padding[1]}"
        )


def _count_windows(
    spatial: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Sizes:
    sizes = zip(spatial, kernel, stride, padding, dilation, strict=True)
    return tuple(kernels.window_count(*numbers) for numbers in sizes)


@functional(
    samples=lambda: [
        Sample(T(2, 3, 4, 5), 2, dtypes=_MOVED),
        Sample(T(2, 3, 4, 5), (2, 3), (2, 1), (1, 0), (1, 2)),
        Sample(T(3, 4, 5), 3, padding=1, stride=2),
        Sample(T(0, 3, 4, 5), 2),
        Sample(T(1, 1, 4, 5, dtype="bool"), 2, grad=False),
        Sample(T(1, 1, 4, 5, dtype="int64"), 2, grad=False),
        *(Sample(T(2, 3), 2), Sample(T(1, 2, 3, 4, 5), 2), Sample(T(2, 3, 4, 5), (2, 2, 2))),
        *(Sample(T(2, 3, 4, 5), 6), Sample(T(2, 3, 4, 5), 2, 0), Sample(T(2, 3, 4, 5), 0)),
        *(Sample(T(2, 3, 4, 5), 2, 1, -1), Sample(T(2, 3, 4, 5), 2, 1, 0, 0)),
        *(Sample(T(2, 0, 4, 5), 2), Sample(T(2, 3, 4, 0), 2), Sample(T(2, 3, 4, 5), 2.5)),
        *(Sample(T(2, 3, 4, 5), (2,)), Sample(3, 2)),
    ]
)
def unfold(
    input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints | None = 1
) -> Tensor:
    """The windows of images `(N, C, H, W)` as columns `(N, C * KH * KW, windows)`.

    >>> torch.nn.functional.unfold(torch.arange(4.0).view(1, 2, 2), (1, 2))
    tensor([[0., 2.],
            [1., 3.]])
    """
    require_tensor("im2col", input)
    kernel, gaps, pads, steps = _pairs(
        "im2col", kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    _check_windows(kernel, gaps, pads, steps)
    shape = input._array.shape
    if len(shape) < 3:
        raise errors.dimension_range(max(len(shape), 1), len(shape))
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise errors.runtime_error(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}",
            code="RG210",
        )
    windows = _count_windows(shape[-2:], kernel, gaps, pads, steps)
    if min(windows) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={kernel}, dilation={gaps}, "
            f"padding={pads}, calculated shape of the array of sliding blocks as {windows}, but "
            "its components must be at least one."
        )
    return RECORDED.im2col(input, kernel, gaps, pads, steps)


@functional(
    samples=lambda: [
        Sample(T(2, 12, 12), (4, 5), 2, dtypes=_MOVED),
        Sample(T(2, 12, 12), (4, 5), (2, 3), (2, 1), (1, 0), (1, 1)),
        Sample(T(9, 6), (4, 6), 3, padding=1, stride=2),
        Sample(T(2, 4, 9), 4, 2),
        Sample(T(0, 4, 9), 4, 2),
        Sample(T(1, 4, 9, dtype="bool"), 4, 2, grad=False),
        Sample(T(1, 4, 9, dtype="int64"), 4, 2, grad=False),
        *(Sample(T(2, 3, 4, 9), 4, 2), Sample(T(9), 4, 2), Sample(T(2, 3, 9), 4, 2)),
        *(Sample(T(2, 4, 8), 4, 2), Sample(T(2, 4, 9), (4, 4, 4), 2), Sample(T(2, 4, 9), 4, 0)),
        *(Sample(T(2, 4, 9), 4, 2, 0), Sample(T(2, 4, 9), 4, 2, 1, -1)),
        *(Sample(T(2, 4, 9), 4, 2, 1, 0, 0), Sample(T(2, 4, 9), 1, 2), Sample(T(2, 0, 9), 4, 2)),
    ]
)
def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = 1,
    padding: Ints = 0,
    stride: Ints | None = 1,
) -> Tensor:
    """Images of `output_size` from columns `(N, C * KH * KW, windows)`, summed where they overlap.

    >>> torch.nn.functional.fold(torch.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    require_tensor("col2im", input)
    size, kernel, gaps, pads, steps = _pairs(
        "col2im",
        output_size=output_size,
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )
    _check_windows(kernel, gaps, pads, steps)
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise errors.runtime_error(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}",
            code="RG210",
        )
    if shape[-2] % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    windows = _count_windows(size, kernel, gaps, pads, steps)
    count = windows[0] * windows[1]
    if shape[-1] != count or min(windows) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gaps}, padding={pads}, "
            f"stride={steps}, expected size of input's dimension 2 to match the calculated number "
            f"of sliding blocks {sizes_text(windows, ' * ')} = {count}, but got "
            f"input.size(2)={shape[-1]}."
        )
    return RECORDED.col2im(input, size, kernel, gaps, pads, steps)


# -------------------------------------------------------------------------------------- shuffles


def _check_shuffle(function: str, name: str, input: Array, factor: object) -> int:
    if input.ndim < 3:
        raise RuntimeError(
            f"{function} expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    number = as_integer(factor, function, name, 2)
    if number <= 0:
        raise RuntimeError(f"{function} expects a positive {name}, but got {number}")
    return number


@op(
    input=lambda m, g, upscale_factor: m.pixel_unshuffle(g, upscale_factor),
    moves=True,
    namespace="nn.functional",
    samples=lambda: [
        Sample(T(2, 8, 3, 4), 2, dtypes=_MOVED),
        *(Sample(T(9, 2, 3), 3), Sample(T(2, 1, 4, 2, 2), 2), Sample(T(1, 2, 2, 2), 1)),
        *(Sample(T(0, 4, 2, 2), 2, grad=False), Sample(T(1, 0, 2, 2), 2, grad=False)),
        *(Sample(T(2, 8, 3, 4), 3), Sample(T(8, 3), 2), Sample(T(2, 8, 3, 4), 0)),
        *(Sample(T(2, 8, 3, 4), 2.0), Sample(T(1, 4, 2, 2, dtype="int64"), 2, grad=False)),
    ],
)
def pixel_shuffle(xp: Namespace, input: Array, upscale_factor: int) -> Array:
    """Images `(*, C * r * r, H, W)` to larger ones `(*, C, H * r, W * r)`.

    >>> torch.pixel_shuffle(torch.arange(4.0).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    factor = _check_shuffle("pixel_shuffle", "upscale_factor", input, upscale_factor)
    *lead, channels, height, width = input.shape
    if channels % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by "
            f"{factor * factor}"
        )
    kept = channels // (factor * factor)
    parts = input.reshape(*lead, kept, factor, factor, height, width)
    first = len(lead)
    order = (*range(first + 1), first + 3, first + 1, first + 4, first + 2)
    result: Array = xp.array(parts.transpose(order), order="C")
    return arranged(xp, result.reshape(*lead, kept, height * factor, width * factor), input)


@op(
    input=lambda m, g, downscale_factor: m.pixel_shuffle(g, downscale_factor),
    moves=True,
    namespace="nn.functional",
    samples=lambda: [
        Sample(T(2, 2, 4, 6), 2, dtypes=_MOVED),
        *(Sample(T(1, 6, 3), 3), Sample(T(2, 1, 1, 2, 2), 2)),
        *(Sample(T(2, 2, 3, 4), 2), Sample(T(2, 2, 4, 5), 2), Sample(T(4, 4), 2)),
        *(Sample(T(2, 2, 4, 4), 0), Sample(T(2, 2, 4, 4), -1), Sample(T(1, 2, 2, 2), 1)),
    ],
)
def pixel_unshuffle(xp: Namespace, input: Array, downscale_factor: int) -> Array:
    """Images `(*, C, H * r, W * r)` to smaller ones `(*, C * r * r, H, W)`.

    >>> torch.pixel_unshuffle(torch.arange(4.0).view(1, 2, 2), 2).shape
    torch.Size([4, 1, 1])
    """
    factor = _check_shuffle("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    *lead, channels, height, width = input.shape
    for name, place, size in (("height", -2, height), ("width", -1, width)):
        if size % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={size} is not divisible by {factor}"
            )
    shape = (height // factor, width // factor)
    parts = input.reshape(*lead, channels, shape[0], factor, shape[1], factor)
    first = len(lead)
    order = (*range(first + 1), first + 2, first + 4, first + 1, first + 3)
    result: Array = xp.array(parts.transpose(order), order="C")
    return arranged(xp, result.reshape(*lead, channels * factor * factor, *shape), input)


@op(
    input=lambda m, g, input_shape, groups: m.channel_shuffle(g, input_shape[1] // groups or 1),
    moves=True,
    namespace="nn.functional",
    samples=lambda: [
        Sample(T(2, 6, 3, 4), 2, dtypes=_MOVED),
        *(Sample(T(2, 6, 3), 3), Sample(T(1, 4, 1, 2, 2), 4), Sample(T(0, 4, 2, 2), 2)),
        *(Sample(T(2, 4, 3), 1), Sample(T(2, 4, 3, 4), 3), Sample(T(2, 4, 3), 0)),
        *(Sample(T(2, 4, 3), -2), Sample(T(2, 4), 2), Sample(T(2, 4, 3), 2.0)),
    ],
)
def channel_shuffle(xp: Namespace, input: Array, groups: int) -> Array:
    """Interleave `groups` groups of channels of `(N, C, *)`.

    >>> torch.channel_shuffle(torch.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    number = as_integer(groups, "channel_shuffle", "groups", 2)
    samples, channels, *spatial = input.shape
    if number <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{number}"
        )
    if channels % number:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {number} "
            "groups."
        )
    parts = input.reshape(samples, number, channels // number, *spatial).swapaxes(1, 2)
    result: Array = xp.array(parts, order="C")
    return arranged(xp, result.reshape(input.shape), input)


also_in_torch(pixel_shuffle, pixel_unshuffle, channel_shuffle)
