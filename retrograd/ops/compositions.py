"""Rarer functions that are a few other ops: old norms, shuffles, diagonals, counted indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.ops import errors
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.registry import PUBLIC, RECORDED, attach, composite, function_only, method_only
from retrograd.samples import COMPLEX, FLOATS, Sample, T
from retrograd.tensor import Tensor, wrap


@function_only(
    samples=lambda: [
        Sample(T(3, 4), [0, 1], dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(3, 4), 1),
        Sample(T(2, 3, 4), (0, 2), True),
        Sample(T(2, 3), dim=[1], keepdim=True),
        Sample(T(2, 2, 2), [0, 1, 2], error=(RuntimeError, "Expected at most 2 dimensions")),
    ]
)
def frobenius_norm(
    input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares over one or two dimensions."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return finish("frobenius_norm", RECORDED.linalg_vector_norm(input, 2, dims, keepdim), out)


@function_only(
    samples=lambda: [
        Sample(T(3, 4), second=False),
        Sample(T(3, 4), True, second=False),
        Sample(T(2, 3, 4), (1, 2), second=False),
        Sample(T(2, 3, 3), second=False),
    ]
)
def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values."""
    if isinstance(dim, bool):  # the form (input, keepdim)
        dim, keepdim = (-2, -1), dim
    result: Tensor = PUBLIC["linalg"]["matrix_norm"](input, "nuc", tuple(dim), keepdim)
    return finish("nuclear_norm", result, out)


@composite(
    samples=lambda: [
        *(Sample(T(3, 4, dtype="bool"), size=n, grad=False) for n in (0, 2, 20)),
        Sample(T(4, dtype="int64"), size=5, fill_value=7, grad=False),
        Sample(T(dtype="int64"), size=2, grad=False),
        Sample(T(4), size=6, grad=False),
        Sample(T(4), size=-1, error=(RuntimeError, "nonzero_static: 'size' must be an non-n")),
    ],
)
def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """`nonzero` with a fixed number of rows: cut off, or filled up with `fill_value`.

    >>> torch.nonzero_static(torch.tensor([0, 5, 6]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    backend = backend_of(input._array)
    rows = backend.xp.full((size, input.ndim), fill_value, dtypes.I64)
    if backend.holds:
        found = RECORDED.nonzero(input.detach())._array[:size]
        rows[: len(found)] = found
    return finish("nonzero_static", wrap(rows), out)


@method_only(
    samples=lambda: [
        *(Sample(T(*shape), 5.0, grad=False) for shape in ((3, 3), (5, 2), (2, 5), (2, 2, 2))),
        *(Sample(T(*shape), 5, True, grad=False) for shape in ((7, 3), (3, 7), (4, 3), (3, 3))),
        Sample(T(3), 5.0, grad=False, error=(RuntimeError, "dimensions must larger than 1")),
        Sample(T(2, 3, 2), 5.0, grad=False, error=(RuntimeError, "all dimensions of input")),
    ]
)
def fill_diagonal_(self: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Write a number along the main diagonal; with `wrap`, begin again below in tall matrices.

    >>> torch.zeros(2, 2).fill_diagonal_(1)
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = self.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, offset = sum(self.stride()), self.storage_offset()
    size = min(shape)
    self.as_strided((size,), (step,), offset).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        # one row stays as it is, and then the diagonal starts anew
        rows, columns = shape
        for start in range(columns + 1, rows, columns + 1):
            length = min(columns, rows - start)
            begin = offset + start * self.stride(0)
            self.as_strided((length,), (step,), begin).fill_(fill_value)
    return self


@function_only(
    samples=lambda: [
        # PyTorch does not differentiate this one
        Sample(T(1, 4, 2), 2, grad=False),
        Sample(T(2, 6, 2, 3), 3, grad=False),
        Sample(T(2, 5, 2), 2, error=(RuntimeError, "")),
    ],
)
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of `groups` groups taken in turn; `nn.functional.channel_shuffle`."""
    result: Tensor = PUBLIC["torch"]["channel_shuffle"](input, groups)
    return result


@function_only(
    samples=lambda: [
        Sample(T(6, 2, 3), T(2, 3, 4), T(4)),
        Sample(T(6, 2, 3), T(3, 3, 4), T(4), 1),
        Sample(T(6, 3), T(2, 3, 4), T(4), error=(RuntimeError, "Input must have 3 dims: time,")),
        Sample(T(6, 2, 3), T(2, 3), T(4), error=(RuntimeError, "Weight tensor must have 3 dim")),
        Sample(T(6, 2, 3), T(2, 3, 4), T(3), error=(RuntimeError, "Bias size must equal dim")),
        Sample(T(6, 2, 2), T(2, 3, 4), T(4), error=(RuntimeError, "")),
    ],
    autocast="lower",
)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time of an input laid out as (time, batch, channels)."""
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    found = PUBLIC["torch"]["conv1d"](
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    result: Tensor = found.permute(2, 0, 1)
    return result


def _permuted_samples() -> list[Sample]:
    return [
        Sample((2, 3), (0, 0), error=(RuntimeError, "Duplicate dim not allowed")),
        Sample((2, 3), (0,), error=(RuntimeError, "Number of dimensions in size does not")),
        Sample((2, 3), (0, 2), error=(RuntimeError, "Dimension out of range (expected to be")),
        Sample((2, 0), (1, 0), grad=False),
    ]


@function_only(samples=_permuted_samples)
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], **options: object
) -> Tensor:
    """Uninitialised memory whose dimensions lie in the order `physical_layout`, outermost first.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    order, count = tuple(physical_layout), len(size)
    if len(order) != count:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {count} is not equal to len(physical_layout) = {len(order)}"
        )
    for place, dim in enumerate(order):
        if not 0 <= dim < count:
            raise errors.runtime_error(
                f"Dimension out of range (expected to be between 0 and {count - 1}, but got {dim} "
                f"at index {place}).  NB: negative dims not currently supported; file an issue if "
                "you want it.",
                code="RG205",
            )
        if dim in order[:place]:
            raise errors.runtime_error("Duplicate dim not allowed", code="RG205")
    made = PUBLIC["torch"]["empty"]([size[dim] for dim in order], **options)
    back = [order.index(dim) for dim in range(count)]
    made._array = made._array.transpose(back)
    return made  # type: ignore[no-any-return]


@function_only(samples=lambda: [Sample(T(3), grad=False), Sample(3, error=(TypeError, ""))])
def get_device(input: Tensor) -> int:
    """The number of the device that holds a tensor: -1 for the CPU."""
    if not isinstance(input, Tensor):
        raise errors.argument_type("get_device", "input", 1, "Tensor", input)
    return -1


attach(conv_tbc, namespace="nn.functional", public=("conv_tbc",))
attach(native_channel_shuffle, namespace="nn.functional", public=("native_channel_shuffle",))


# ------------------------------------------------------------------------ by their inner names


def _convolution_samples() -> list[Sample]:
    return [
        Sample(T(1, 2, 6), T(3, 2, 2), T(3), [1], [0], [1], False, [0], 1),
        Sample(T(2, 2, 5, 5), T(4, 1, 3, 3), None, [2, 1], [1, 0], [1, 1], False, [0, 0], 2),
        Sample(T(1, 2, 4, 4), T(2, 3, 3, 3), T(3), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
        Sample(T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2), None, [1], [0], [1], False, [0], 1),
        Sample(T(1, 2, 5), T(2, 3, 2), None, [2], [0], [1], True, [1], 1),
    ]


@function_only(samples=_convolution_samples, autocast="off")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Any convolution: `conv1d` to `conv3d` and `conv_transpose1d` to `conv_transpose3d`."""
    dims = weight.ndim - 2
    if dims not in (1, 2, 3):
        raise errors.unsupported(f"convolution() over {dims} dimensions")
    space = PUBLIC["torch"]
    result: Tensor
    if transposed:
        result = space[f"conv_transpose{dims}d"](
            input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    else:
        result = space[f"conv{dims}d"](input, weight, bias, stride, padding, dilation, groups)
    return result


_SAMPLING = ("bilinear", "nearest", "bicubic")
_PADDING = ("zeros", "border", "reflection")


@function_only(
    samples=lambda: [
        Sample(T(1, 2, 4, 4), T(1, 3, 2, 2, low=-1.1, high=1.1), mode, padding, corners)
        for mode, padding, corners in ((0, 0, False), (1, 1, True), (2, 2, False), (0, 1, True))
    ],
    autocast="float32",
)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` of images, with numbers for the modes."""
    sample = PUBLIC["nn.functional"]["grid_sample"]
    modes = _SAMPLING[interpolation_mode], _PADDING[padding_mode]
    result: Tensor = sample(input, grid, *modes, align_corners)
    return result


@function_only(
    samples=lambda: [
        Sample(T(1, 2, 3, 3, 3), T(1, 2, 2, 2, 3, low=-1.1, high=1.1), mode, padding, corners)
        for mode, padding, corners in ((0, 0, False), (1, 1, True), (0, 2, True))
    ],
    autocast="float32",
)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` of volumes, with numbers for the modes."""
    sample = PUBLIC["nn.functional"]["grid_sample"]
    modes = _SAMPLING[interpolation_mode], _PADDING[padding_mode]
    result: Tensor = sample(input, grid, *modes, align_corners)
    return result
