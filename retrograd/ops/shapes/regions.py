"""Views of some elements: select, slice, diagonal, sliding windows.

Each view has a gradient op that puts a gradient back into zeros of the input's shape, and whose
own rule is the view again: so derivatives of every order follow. The `*_scatter` ops write such a
region into a copy.
"""

from __future__ import annotations

import builtins

from retrograd.notices import explained, runtime_error
from retrograd.ops.kinds import Array, Index, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, composite, inner_op, op, table_entry
from retrograd.ops.sizes import Shape, as_integer, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves
_range = builtins.slice  # this module has an op of that name
_ALL: Index = (_range(None),)


@op(half="move", aten="zeros")
def _zeros(xp: Namespace, input: Array, shape: Shape) -> Array:
    """Zeros of a shape in the dtype of `input`."""
    return xp.zeros(shape, input.dtype)


# ------------------------------------------------------------------------------------- select


@inner_op(
    input=lambda m, g, input_shape, dim, index: m._select_gradient(g, input_shape, dim, index),
    view="always",
    aten="select.int",
)
def select(xp: Namespace, input: Array, dim: int, index: int) -> Array:
    """A view of one index of a dimension, without that dimension."""
    if dim == 0:
        try:
            return input[index, ...]
        except IndexError:
            pass  # explained below
    shape = input.shape
    if not shape:
        raise explained(IndexError("select() cannot be applied to a 0-dim tensor."), code="RG204")
    place = dim if 0 <= dim < len(shape) else wrap_dim(dim, len(shape))
    if not -shape[place] <= index < shape[place]:
        raise explained(
            IndexError(
                f"select(): index {index} out of range for tensor of size {list(shape)} at "
                f"dimension {place}"
            ),
            code="RG204",
        )
    return input[(*_ALL * place, index, ...)]


@op(
    gradient=lambda m, g, dim, index: m.select(g, dim, index),
    moves=True,
)
def _select_gradient(xp: Namespace, gradient: Array, shape: Shape, dim: int, index: int) -> Array:
    result: Array = xp.zeros(shape, gradient.dtype)
    xp.raw.select(result, dim, index)[...] = gradient
    return result


@composite(
    samples=lambda: [
        Sample(T(3, 4), 0, 1, dtypes=_MOVED),
        Sample(T(2, 3, 4), -1, -2),
        Sample(T(3), 0, 0),
        Sample(T(3, 4), 0, 3),
        Sample(T(3, 4), 2, 0),
        Sample(T(), 0, 0),
    ]
)
def _select(input: Tensor, dim: int, index: int | Tensor) -> Tensor:
    """A view of one index of a dimension, without that dimension."""
    return RECORDED.select(input, dim, as_integer(index, "select", "index", 3))


# ------------------------------------------------------------------------------ slice, narrow


@inner_op(
    input=lambda m, g, input_shape, dim, start, stop, step: m._slice_gradient(
        g, input_shape, dim, start, stop, step
    ),
    view="always",
    saved_names={"end": "stop"},
)
def slice(
    xp: Namespace, input: Array, dim: int, start: int | None, stop: int | None, step: int
) -> Array:
    """A view of every `step`-th index of a dimension from `start` to before `stop`.

    Bounds are Python's: None, negative and beyond the end are allowed.
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    place = wrap_dim(dim, input.ndim)
    if place == 0:
        return input[start:stop:step]
    return input[(*_ALL * place, _range(start, stop, step))]


@op(
    gradient=lambda m, g, dim, start, stop, step: m.slice(g, dim, start, stop, step),
    moves=True,
)
def _slice_gradient(
    xp: Namespace,
    gradient: Array,
    shape: Shape,
    dim: int,
    start: int | None,
    stop: int | None,
    step: int,
) -> Array:
    result: Array = xp.zeros(shape, gradient.dtype)
    xp.raw.slice(result, dim, start, stop, step)[...] = gradient
    return result


table_entry(
    "narrow",
    lambda xp, input, dim, start, length: xp.raw.slice(input, dim, start, start + length, 1),
    lambda input, dim, start, length: RECORDED.slice(input, dim, start, start + length, 1),
)


@composite(
    samples=lambda: [
        Sample(T(3, 4), 0, 1, 2, dtypes=_MOVED),
        Sample(T(3, 4), -1, -2, 2),
        Sample(T(3, 4), 0, 3, 0),
        Sample(T(3, 4), 0, 2, 2),
        Sample(T(3, 4), 0, 4, 0),
        Sample(T(3, 4), 0, 0, -1),
        Sample(T(3, 4), 2, 0, 1),
        Sample(T(), 0, 0, 1),
    ]
)
def narrow(input: Tensor, dim: int, start: Tensor | float, length: int) -> Tensor:
    """A view of `length` indices of a dimension from `start` on.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    require_tensor("narrow", input)
    shape = input._array.shape
    if not shape:
        raise runtime_error("narrow() cannot be applied to a 0-dim tensor.", code="RG204")
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    first = as_integer(start, "narrow", "start", 3)
    count = as_integer(length, "narrow", "length", 4)
    if count < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    place = wrap_dim(dim, len(shape))
    size = shape[place]
    if not -size <= first <= size:
        raise explained(
            IndexError(
                f"start out of range (expected to be in range of [-{size}, {size}], but got "
                f"{first})"
            ),
            code="RG204",
        )
    if first < 0:
        first += size
    if first + count > size:
        raise runtime_error(
            f"start ({first}) + length ({count}) exceeds dimension size ({size}).", code="RG204"
        )
    return RECORDED.slice(input, place, first, first + count, 1)


# ----------------------------------------------------------------------------------- diagonal


def diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """The two dimensions of a diagonal, counted from the front."""
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@op(
    input=lambda m, g, input_shape, offset, dim1, dim2: m._diagonal_gradient(
        g, input_shape, offset, dim1, dim2
    ),
    view="always",
    samples=lambda: [
        Sample(T(3, 4), dtypes=_MOVED),
        Sample(T(3, 4), 1),
        Sample(T(3, 4), -2),
        Sample(T(3, 4), 7),
        Sample(T(2, 3, 4), 0, 1, 2),
        Sample(T(2, 3, 4), offset=1, dim1=-1, dim2=0),
        Sample(T(3, 3), 0, 0, 0),
        Sample(T(3, 3), 0, 0, 5),
        Sample(T(3)),
    ],
)
def diagonal(xp: Namespace, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A view of the diagonal of two dimensions, as a new last dimension."""
    first, second = diagonal_dims(dim1, dim2, input.ndim)
    return xp.writable(input.diagonal(offset, first, second), input)


@op(
    gradient=lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2),
    moves=True,
)
def _diagonal_gradient(
    xp: Namespace, gradient: Array, shape: Shape, offset: int, dim1: int, dim2: int
) -> Array:
    result: Array = xp.zeros(shape, gradient.dtype)
    xp.raw.diagonal(result, offset, dim1, dim2)[...] = gradient
    return result


# ------------------------------------------------------------------------------------- unfold


@inner_op(
    input=lambda m, g, input_shape, dimension, size, step: m._unfold_gradient(
        g, input_shape, dimension, size, step
    ),
    view="always",
    methods=("unfold",),
    samples=lambda: [
        Sample(T(7), 0, 3, 1, dtypes=_MOVED),
        Sample(T(7), 0, 3, 2),
        Sample(T(2, 6, 3), 1, 2, 3),
        Sample(T(2, 6, 3), -1, 3, 1),
        Sample(T(), 0, 1, 1),
        Sample(T(3), 0, 0, 1),
        Sample(T(3), 0, 4, 1),
        Sample(T(3), 0, 2, 0),
        Sample(T(3), 0, -1, 1),
        Sample(T(3), 3, 1, 1),
    ],
)
def unfold(xp: Namespace, input: Array, dimension: int, size: int, step: int) -> Array:
    """A view of all windows of `size` along a dimension, as a new last dimension."""
    shape, strides = input.shape or (1,), input.strides or (input.itemsize,)
    place = wrap_dim(dimension, input.ndim)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > shape[place]:
        raise RuntimeError(
            f"maximum size for tensor at dimension {place} is {shape[place]} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.ndim:
        return xp.strided(input, (size,), (input.itemsize,))
    windows = (shape[place] - size) // step + 1
    return xp.strided(
        input,
        (*shape[:place], windows, *shape[place + 1 :], size),
        (*strides[:place], strides[place] * step, *strides[place + 1 :], strides[place]),
    )


@op(
    gradient=lambda m, g, dimension, size, step: m.unfold(g, dimension, size, step),
    holomorphic=False,
    forward="linear",
)
def _unfold_gradient(
    xp: Namespace, gradient: Array, shape: Shape, dimension: int, size: int, step: int
) -> Array:
    """Each element gets the sum over the windows that show it."""
    result: Array = xp.zeros(shape, gradient.dtype)
    if not shape:
        return xp.sum(gradient, axis=None, keepdims=False)
    place = wrap_dim(dimension, len(shape))
    windows = gradient.shape[place]
    for offset in range(size):
        # no two windows have the same element at the same offset
        stop = offset + (windows - 1) * step + 1
        result[(*_ALL * place, _range(offset, stop, step))] += gradient[..., offset]
    return result


# ----------------------------------------------------------------------------- regions written


def _write_region(region: Array, src: Array) -> None:
    if region.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(region.shape)}"
        )
    region[...] = src


@op(
    input=lambda m, g, src_shape, dim, index: m.select_scatter(
        g, m._zeros(g, src_shape), dim, index
    ),
    src=lambda m, g, dim, index: m.select(g, dim, index),
    moves=True,
    samples=lambda: [
        Sample(T(3, 4), T(4), 0, 1, dtypes=(*FLOATS, *HALVES)),
        Sample(T(2, 3, 4), T(2, 3), -1, -2),
        Sample(T(3), T(), 0, 0),
        Sample(T(3, 4), T(4, dtype="float64"), 0, 1, grad=False),
        Sample(T(3, 4), T(3), 0, 1),
        Sample(T(3, 4), T(4), 0, 3),
    ],
)
def select_scatter(xp: Namespace, input: Array, src: Array, dim: int, index: int) -> Array:
    """A copy with one index of a dimension replaced by `src`."""
    result = input.copy(order="K")
    _write_region(xp.raw.select(result, dim, index), src)
    return result


@op(
    input=lambda m, g, src_shape, dim, start, end, step: m.slice_scatter(
        g, m._zeros(g, src_shape), dim, start, end, step
    ),
    src=lambda m, g, dim, start, end, step: m.slice(g, dim, start, end, step),
    moves=True,
    samples=lambda: [
        Sample(T(3, 4), T(3, 4)),
        Sample(T(3, 4), T(2, 4), 0, 1, dtypes=(*FLOATS, *HALVES)),
        Sample(T(3, 4), T(3, 2), dim=-1, start=0, end=4, step=2),
        Sample(T(3, 4), T(3, 2), 1, -3, -1),
        Sample(T(3, 4), T(3), 0),
        Sample(T(3, 4), T(3, 4), 0, 0, 3, 0),
    ],
)
def slice_scatter(
    xp: Namespace,
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """A copy with a slice of a dimension replaced by `src`."""
    result = input.copy(order="K")
    _write_region(xp.raw.slice(result, dim, start, end, step), src)
    return result


@op(
    input=lambda m, g, src_shape, offset, dim1, dim2: m.diagonal_scatter(
        g, m._zeros(g, src_shape), offset, dim1, dim2
    ),
    src=lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2),
    moves=True,
    samples=lambda: [
        Sample(T(3, 4), T(3), dtypes=_MOVED),
        Sample(T(3, 4), T(3), 1),
        Sample(T(2, 3, 4), T(3, 2), dim1=0, dim2=-1),
        Sample(T(3, 4), T(2)),
    ],
)
def diagonal_scatter(
    xp: Namespace, input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """A copy with a diagonal replaced by `src`."""
    result = input.copy(order="K")
    _write_region(xp.raw.diagonal(result, offset, dim1, dim2), src)
    return result
