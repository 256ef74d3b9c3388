"""Convolution over any number of spatial dimensions: cross-correlation and its two adjoints.

Layouts are PyTorch's: input `(N, C, *spatial)`, weight `(O, C / groups, *kernel)`, output
`(N, O, *windows)`. The three functions are bilinear and closed under differentiation: with inner
products written `<,>`,

    <grad, convolution(input, weight)> == <convolution_input_gradient(grad, weight), input>
                                       == <convolution_weight_gradient(grad, input), weight>

so a rule of any order needs nothing else. They are transposes: nothing is conjugated, which is
left to the caller for complex arrays.

Windows are copied into a block of columns that fits the cache, and each block goes through one
matrix product; memory beyond the result is a padded copy of the input and one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from retrograd.backend.namespace import Namespace

from .folding import (
    Array,
    add_to_windows,
    narrow,
    pad_spatial,
    widen,
    window_count,
    window_view,
    without_padding,
)

# Elements per block of columns: 1 MiB of float32, about half of a common second-level cache.
_BLOCK_ELEMENTS = 1 << 18


def convolution_output_shape(
    input_shape: Sequence[int],
    weight_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """Shape of `convolution(...)`; a spatial size below one means that the kernel does not fit.

    >>> convolution_output_shape((1, 3, 8, 8), (5, 3, 3, 3), (2, 2), (1, 1), (1, 1))
    (1, 5, 4, 4)
    """
    sizes = zip(input_shape[2:], weight_shape[2:], stride, padding, dilation, strict=True)
    return (input_shape[0], weight_shape[0], *(window_count(*size) for size in sizes))


def transposed_output_shape(
    input_shape: Sequence[int],
    weight_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> tuple[int, ...]:
    """Shape of the transposed convolution of an input `(N, C, *spatial)` by a weight
    `(C, O / groups, *kernel)`: the `input_shape` to give to `convolution_input_gradient`.

    >>> transposed_output_shape((1, 3, 4), (3, 5, 3), (2,), (1,), (1,), (1,), 1)
    (1, 5, 8)
    """
    sizes = zip(
        input_shape[2:], weight_shape[2:], stride, padding, output_padding, dilation, strict=True
    )
    spatial = (
        (size - 1) * step - 2 * pad + spread * (kernel - 1) + extra + 1
        for size, kernel, step, pad, extra, spread in sizes
    )
    return (input_shape[0], weight_shape[1] * groups, *spatial)


def convolution(
    xp: Namespace,
    input: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """Cross-correlate `input` with `weight`. Linear in `input` and in `weight`.

    >>> import numpy as np
    >>> image, kernel = np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2))
    >>> from retrograd.backend import CPU
    >>> convolution(CPU.xp, image, kernel, (1,), (0,), (1,), 1)
    array([[[1., 3., 5.]]])
    """
    shape = convolution_output_shape(input.shape, weight.shape, stride, padding, dilation)
    if not input.size or not weight.size:
        return xp.zeros(shape, input.dtype)
    wide_weight = widen(weight)
    samples, channels = shape[:2]
    positions = prod(shape[2:])
    windows = _Windows(
        xp, widen(input), weight.shape[2:], shape[2:], stride, padding, dilation, groups
    )
    result: Array = xp.empty((samples, channels, positions), wide_weight.dtype)
    matrix: Array
    if windows.channels_last:
        matrix = wide_weight.transpose(*range(2, weight.ndim), 1, 0).reshape(-1, channels)
        for chosen, where, columns in windows.blocks():
            values = (columns @ matrix).reshape(chosen.stop - chosen.start, -1, channels)
            result[chosen, :, where] = values.transpose(0, 2, 1)
    else:
        matrix = wide_weight.reshape(groups, channels // groups, -1)
        grouped = result.reshape(samples, groups, channels // groups, positions)
        for chosen, where, columns in windows.blocks():
            xp.matmul(matrix, columns, out=grouped[chosen, :, :, where])
    return narrow(result, input.dtype).reshape(shape)


def convolution_weight_gradient(
    xp: Namespace,
    grad: Array,
    input: Array,
    weight_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """The adjoint of `convolution` with respect to its weight. Linear in `grad` and in `input`.

    >>> import numpy as np
    >>> from retrograd.backend import CPU
    >>> convolution_weight_gradient(CPU.xp,
    ...     np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 1, 4), (1, 1, 2), (1,), (0,), (1,), 1
    ... )
    array([[[3., 6.]]])
    """
    if not grad.size or not input.size:
        return xp.zeros(tuple(weight_shape), grad.dtype)
    kernel = tuple(weight_shape[2:])
    samples, channels = grad.shape[:2]
    wide_grad = widen(grad).reshape(samples, channels, prod(grad.shape[2:]))
    windows = _Windows(xp, widen(input), kernel, grad.shape[2:], stride, padding, dilation, groups)
    if windows.channels_last:
        total: Array = xp.zeros((channels, prod(kernel) * weight_shape[1]), wide_grad.dtype)
        for chosen, where, columns in windows.blocks():
            rows = wide_grad[chosen, :, where].transpose(1, 0, 2).reshape(channels, -1)
            total += rows @ columns
        result = _channels_second(total.reshape(channels, *kernel, weight_shape[1]))
    else:
        depth = prod(kernel) * weight_shape[1]
        total = xp.zeros((groups, channels // groups, depth), wide_grad.dtype)
        grouped = wide_grad.reshape(samples, groups, channels // groups, -1)
        for chosen, where, columns in windows.blocks():
            products = xp.matmul(grouped[chosen, :, :, where], columns.swapaxes(-1, -2))
            total += products[0] if len(products) == 1 else products.sum(0)
        result = total.reshape(tuple(weight_shape))
    return narrow(xp.ascontiguousarray(result), grad.dtype)


def convolution_input_gradient(
    xp: Namespace,
    grad: Array,
    weight: Array,
    input_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """The adjoint of `convolution` with respect to its input, which is also the transposed
    convolution of `grad` by `weight`. Linear in `grad` and in `weight`.

    >>> import numpy as np
    >>> from retrograd.backend import CPU
    >>> convolution_input_gradient(CPU.xp,
    ...     np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1, 1, 4), (1,), (0,), (1,), 1
    ... )
    array([[[1., 2., 2., 1.]]])
    """
    if not grad.size or not weight.size:
        return xp.zeros(tuple(input_shape), grad.dtype)
    if _correlates_back(grad.shape, weight.shape, input_shape, stride, padding, dilation, groups):
        dimensions = len(stride)
        by_group = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        flipped = xp.flip(by_group.swapaxes(1, 2), tuple(range(3, 3 + dimensions)))
        mirrored = flipped.reshape(input_shape[1], weight.shape[0] // groups, *weight.shape[2:])
        sizes = zip(weight.shape[2:], padding, dilation, strict=True)
        margin = [spread * (kernel - 1) - pad for kernel, pad, spread in sizes]
        return convolution(xp, grad, mirrored, stride, margin, dilation, groups)
    return _scatter_windows(xp, grad, weight, input_shape, stride, padding, dilation, groups)


def _correlates_back(
    grad_shape: Sequence[int],
    weight_shape: Sequence[int],
    input_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> bool:
    """Whether the input gradient is best computed as a convolution by the mirrored weight.

    With a stride of one it can be, unless an output padding added rows that no window reaches. It
    reads windows of `O` channels where summing into windows writes `C`: worth it up to `O = 2 C`.
    """
    if any(step != 1 for step in stride) or weight_shape[0] > 2 * weight_shape[1] * groups:
        return False
    sizes = zip(grad_shape[2:], weight_shape[2:], input_shape[2:], padding, dilation, strict=True)
    return all(
        spread * (kernel - 1) >= pad and count + spread * (kernel - 1) - 2 * pad == size
        for count, kernel, size, pad, spread in sizes
    )


def _scatter_windows(
    xp: Namespace,
    grad: Array,
    weight: Array,
    input_shape: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """The input gradient for any stride: columns by a matrix product, then summed into windows."""
    samples, channels = grad.shape[:2]
    output, kernel = grad.shape[2:], weight.shape[2:]
    dimensions = len(kernel)
    wide_weight = widen(weight)
    matrix: Array
    wide_grad = widen(grad).reshape(samples, groups, channels // groups, prod(output))
    padded_size = [size + 2 * pad for size, pad in zip(input_shape[2:], padding, strict=True)]
    inner = without_padding(input_shape[2:], padding)
    per_row = input_shape[1] * prod(kernel) * prod(output[1:])
    blocks = _blocks(samples, output[0], per_row)
    row = prod(output[1:])
    # Longer runs of memory decide, as in _Windows; here each sum runs over the channels alone.
    if groups == 1 and prod(kernel) > 1 and input_shape[1] >= output[-1]:
        padded: Array = xp.zeros((samples, *padded_size, input_shape[1]), wide_grad.dtype)
        view = window_view(xp, padded, 1, kernel, output, stride, dilation)
        matrix = wide_weight.transpose(0, *range(2, weight.ndim), 1).reshape(channels, -1)
        for chosen, rows in blocks:
            part = wide_grad[chosen, 0, :, rows.start * row : rows.stop * row]
            columns = part.transpose(0, 2, 1).reshape(-1, channels) @ matrix
            target = view[chosen, rows]
            add_to_windows(target, columns.reshape(target.shape), 1, kernel, stride, dilation)
        result = _channels_second(padded[(slice(None), *inner[1:])])
    else:
        padded = xp.zeros((samples, input_shape[1], *padded_size), wide_grad.dtype)
        view = window_view(xp, padded, 2, kernel, output, stride, dilation)
        matrix = wide_weight.reshape(groups, channels // groups, -1).swapaxes(1, 2)
        kernel_last = (0, 1, *range(2 + dimensions, 2 + 2 * dimensions), *range(2, 2 + dimensions))
        for chosen, rows in blocks:
            columns = matrix @ wide_grad[chosen, :, :, rows.start * row : rows.stop * row]
            target = view[chosen, :, rows]
            shape = (*target.shape[:2], *kernel, *target.shape[2 : 2 + dimensions])
            values = columns.reshape(shape).transpose(kernel_last)
            add_to_windows(target, values, 2, kernel, stride, dilation)
        result = padded[inner]
    return narrow(xp.ascontiguousarray(result), grad.dtype)


class _Windows:
    """The windows of one input, served as blocks of columns for matrix products.

    Columns come in one of two layouts. *Channels first*, `(samples, groups, C/groups * kernel,
    positions)`, copies runs as long as an output row. *Channels last*,
    `(samples * positions, kernel * C)`, copies runs of channels, which are longer where images
    are small and channels many.
    """

    __slots__ = ("_groups", "_pointwise", "_view", "_xp", "channels_last")

    def __init__(
        self,
        xp: Namespace,
        input: Array,
        kernel: Sequence[int],
        output: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> None:
        self._xp = xp
        self._groups = groups
        self._pointwise = _is_pointwise(kernel, stride, padding)
        run = input.shape[1] * (kernel[-1] if dilation[-1] == 1 else 1)
        self.channels_last = groups == 1 and not self._pointwise and run >= output[-1]
        padded = pad_spatial(xp, input, padding, padding, channels_last=self.channels_last)
        first = 1 if self.channels_last else 2
        view = window_view(xp, padded, first, kernel, output, stride, dilation)
        if not self.channels_last:
            dimensions = len(kernel)
            last = range(2 + dimensions, 2 + 2 * dimensions)
            view = view.transpose((0, 1, *last, *range(2, 2 + dimensions)))
        self._view = view

    def blocks(self) -> Iterator[tuple[slice, slice, Array]]:
        """Yield `(samples, positions, columns)`; the columns are overwritten by the next block."""
        xp, view = self._xp, self._view
        dimensions = (view.ndim - 2) // 2
        row_axis = 1 if self.channels_last else 2 + dimensions
        samples, rows = view.shape[0], view.shape[row_axis]
        row = prod(view.shape[row_axis + 1 : row_axis + dimensions])
        if self._pointwise:
            columns: Array = view.reshape(samples, self._groups, -1, rows * row)
            yield slice(0, samples), slice(0, rows * row), columns
            return
        per_row = prod(view.shape[1:row_axis]) * prod(view.shape[row_axis + 1 :])
        buffer: Array = xp.empty(0, view.dtype)
        for chosen, lines in _blocks(samples, rows, per_row):
            if self.channels_last:
                source = view[chosen, lines]
            else:
                source = view[(chosen, *(slice(None),) * (row_axis - 1), lines)]
            if buffer.size < source.size:
                buffer = xp.empty(source.size, view.dtype)
            columns = buffer[: source.size].reshape(source.shape)
            columns[...] = source
            count = chosen.stop - chosen.start
            length = (lines.stop - lines.start) * row
            if self.channels_last:
                columns = columns.reshape(count * length, -1)
            else:
                columns = columns.reshape(count, self._groups, -1, length)
            yield chosen, slice(lines.start * row, lines.stop * row), columns


def _channels_second(array: Array) -> Array:
    """`(N, *spatial, C)` seen as `(N, C, *spatial)`."""
    return array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def _is_pointwise(kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> bool:
    """Whether the columns are the input itself."""
    return all(
        size == 1 and step == 1 and pad == 0
        for size, step, pad in zip(kernel, stride, padding, strict=True)
    )


def _blocks(samples: int, rows: int, per_row: int) -> Iterator[tuple[slice, slice]]:
    """Cut `samples` of `rows` rows into blocks of about `_BLOCK_ELEMENTS`: several whole samples
    at a time, or several rows of one sample where a sample alone is larger than a block.
    """
    if rows * per_row <= _BLOCK_ELEMENTS:
        step = _BLOCK_ELEMENTS // (rows * per_row)
        for start in range(0, samples, step):
            yield slice(start, min(start + step, samples)), slice(0, rows)
        return
    step = max(1, _BLOCK_ELEMENTS // per_row)
    for sample in range(samples):
        for start in range(0, rows, step):
            yield slice(sample, sample + 1), slice(start, min(start + step, rows))
