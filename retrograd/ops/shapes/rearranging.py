"""Elements moved to other places: flip, roll, rot90, triangles and diagonals."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import dtypes
from retrograd.backend.memory_order import as_it_lies
from retrograd.backend.neutral.arrangement import arranged, is_channels_last
from retrograd.notices import explained
from retrograd.ops.kinds import Array, Ints, Namespace, wrap_dim, wrap_dims
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.registry import RECORDED, composite, function_only, inner_op, method_only, op
from retrograd.ops.shapes.regions import diagonal_dims
from retrograd.ops.sizes import Shape, as_integer, as_integers, as_size, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import Device, backend_at, layout

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


# -------------------------------------------------------------------------------- flip, rotate


@inner_op(input=lambda m, g, dims: m.flip(g, dims), moves=True, lies="together")
def flip(xp: Namespace, input: Array, dims: Shape) -> Array:
    """The order of elements reversed along dimensions."""
    axes = wrap_dims(dims, input.ndim) if len(dims) else ()
    return xp.flip(input, axes).copy(order="K")


@function_only(
    samples=lambda: [
        Sample(T(2, 3), (0,), dtypes=_MOVED),
        Sample(T(2, 3), [0, -1]),
        Sample(T(2, 3), ()),
        Sample(T(), (0,)),
        Sample(T(0, 3), (0,)),
        Sample(T(2, 3), 0),
        Sample(T(2, 3), (0, 0)),
        Sample(T(2, 3), (5,)),
    ]
)
def _flip_function(input: Tensor, dims: Ints) -> Tensor:
    """The order of elements reversed along dimensions, as a copy."""
    require_tensor("flip", input)
    return RECORDED.flip(input, as_integers("flip", "dims", 2, dims))


@method_only(samples=lambda: [Sample(T(2, 3), 0, 1), Sample(T(2, 3), (1,)), Sample(T(2, 3))])
@forms(*sized(before="self: Tensor", name="dims"))
def _flip_method(self: Tensor, *dims: Ints, **named: object) -> Tensor:
    """The order of elements reversed along dimensions, as a copy."""
    return RECORDED.flip(self, as_size("flip", "dims", (named["dims"],) if named else dims))


@composite(samples=lambda: [Sample(T(2, 3)), Sample(T(3))])
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    require_tensor("fliplr", input)
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return RECORDED.flip(input, (1,))


@composite(samples=lambda: [Sample(T(2, 3)), Sample(T())])
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    require_tensor("flipud", input)
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return RECORDED.flip(input, (0,))


@op(
    input=lambda m, g, k, dims: m.rot90(g, -k, dims),
    moves=True,
    samples=lambda: [
        *(Sample(T(2, 3), k, dtypes=_MOVED) for k in (0, 1, 2, 3, -1, 5)),
        Sample(T(2, 3)),
        Sample(T(2, 3, 4), 1, (0, 2)),
        Sample(T(2, 3, 4), 1, [-1, 0]),
        Sample(T(2, 3), 1, (0, 0)),
        Sample(T(2, 3), 1, (0, 5)),
        Sample(T(2, 3), 1, (0,)),
        Sample(T(3)),
    ],
)
def rot90(xp: Namespace, input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """Turned by `k` quarter turns in the plane of two dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (wrap_dim(dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if not turns:
        return xp.copy_in_rows(input)
    flipped = xp.flip(input, {1: (second,), 2: (first, second), 3: (first,)}[turns])
    laid = as_it_lies(xp.array(flipped, order="C"), input)
    return laid if turns == 2 else xp.swapaxes(laid, first, second)


@inner_op(
    input=lambda m, g, shifts, dims: m.roll(g, tuple(-shift for shift in shifts), dims),
    moves=True,
)
def roll(xp: Namespace, input: Array, shifts: Shape, dims: Shape) -> Array:
    """Elements moved around in a circle along dimensions; () is all of them as one."""
    if not dims:
        return xp.array(xp.roll(input, shifts[0]), order="C")
    moved = xp.array(xp.roll(input, shifts, dims), order="C")
    # as `cat` of the two parts lies
    return arranged(xp, moved, input) if input.ndim > 3 and is_channels_last(input) else moved


@composite(
    samples=lambda: [
        Sample(T(2, 3), 1, dtypes=_MOVED),
        Sample(T(2, 3), 1, 0),
        Sample(T(2, 3), -2, -1),
        Sample(T(2, 3), (1, 2), (0, 1)),
        Sample(T(4), (1, 1), (0, 0)),
        Sample(T(), 1),
        Sample(T(0, 3), 1, 0),
        Sample(T(2, 3), (1, 2), 0),
        Sample(T(2, 3), (1, 2)),
        Sample(T(2, 3), ()),
        Sample(T(2, 3), 1, 5),
        Sample(T(), 1, 0),
    ]
)
def _roll(input: Tensor, shifts: Ints, dims: Ints = ()) -> Tensor:
    """Elements moved around in a circle, along dimensions or as one long line.

    >>> torch.roll(torch.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    require_tensor("roll", input)
    steps = _int_or_tuple("shifts", 2, shifts)
    places = _int_or_tuple("dims", 3, () if dims is None else dims)
    if not steps:
        raise RuntimeError("`shifts` required")
    if len(steps) != len(places) and not (not places and len(steps) == 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(places)}"
        )
    ndim = input._array.ndim
    if places and not ndim:
        raise explained(
            IndexError("Dimension specified as 0 but tensor has no dimensions"), code="RG205"
        )
    return RECORDED.roll(input, steps, tuple(wrap_dim(dim, ndim) for dim in places))


def _int_or_tuple(name: str, position: int, value: object) -> Shape:
    if isinstance(value, (tuple, list)):
        return as_integers("roll", name, position, value)
    return (as_integer(value, "roll", name, position),)


# ----------------------------------------------------------------------------------- triangles


def _triangle(xp: Namespace, array: Array, name: str, keep_lower: bool, diagonal: int) -> Array:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = array.shape[-2:]
    if keep_lower:
        kept = xp.tri(rows, columns, diagonal, dtype=bool)
    else:
        kept = ~xp.tri(rows, columns, diagonal - 1, dtype=bool)
    return xp.ascontiguousarray(xp.keep_where(array, kept))


def _triangle_samples() -> list[Sample]:
    return [
        Sample(T(3, 4), dtypes=_MOVED),
        Sample(T(3, 4), 1),
        Sample(T(4, 3), diagonal=-1),
        Sample(T(2, 3, 3), 2),
        Sample(T(0, 3)),
        Sample(T(3, 3, dtype="int64"), grad=False),
        Sample(T(3, 3, dtype="bool"), grad=False),
        Sample(T(3)),
    ]


@op(
    input=lambda m, g, diagonal: m.tril(g, diagonal),
    moves=True,
    inplace=True,
    out="structured",
    samples=_triangle_samples,
)
def tril(xp: Namespace, input: Array, diagonal: int = 0) -> Array:
    """Matrices with zeros above a diagonal."""
    return _triangle(xp, input, "tril", True, diagonal)


@op(
    input=lambda m, g, diagonal: m.triu(g, diagonal),
    moves=True,
    inplace=True,
    out="structured",
    samples=_triangle_samples,
)
def triu(xp: Namespace, input: Array, diagonal: int = 0) -> Array:
    """Matrices with zeros below a diagonal."""
    return _triangle(xp, input, "triu", False, diagonal)


def _count_below(row: int, col: int, offset: int) -> int:
    """How many elements of a matrix lie on and below a diagonal."""
    least, most = offset + 1, offset + row  # in the first row and in the last, were there no edge
    low, high = max(least, 1), min(most, col)
    growing = (low + high) * (high - low + 1) // 2 if high >= low else 0
    return growing + col * max(most - max(col, least - 1), 0)


def _triangle_indices(name: str, keep_lower: bool) -> None:
    """`tril_indices` and `triu_indices`: the places of a triangle, rows in the first row."""

    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = None,
        device: Device = None,
        pin_memory: bool = False,
    ) -> Tensor:
        place = backend_at(device)
        xp = place.xp
        for label, value in (("row", row), ("col", col)):
            if value < 0:
                raise RuntimeError(f"{label} must be non-negative, got{value}")
        kind = dtypes.int64 if dtype is None else dtype
        if kind.category != dtypes.INTEGER:
            raise explained(
                NotImplementedError(f"\"{name}\" not implemented for '{kind.type_name}'"),
                code="RG304",
            )
        if not place.holds:
            below = _count_below(row, col, offset if keep_lower else offset - 1)
            return wrap(xp.empty((2, below if keep_lower else row * col - below), kind.numpy))
        if keep_lower:
            kept = xp.tri(row, col, offset, dtype=bool)
        else:
            kept = ~xp.tri(row, col, offset - 1, dtype=bool)
        return wrap(xp.stack(xp.nonzero(kept)).astype(kind.numpy))

    indices.__doc__ = f"Rows and columns of the places that `{name[:4]}` keeps."
    composite(
        name=name,
        methods=(),
        samples=lambda: [
            *(Sample(3, 4, offset) for offset in (0, 1, -1, 5, -5)),
            Sample(0, 3),
            Sample(4, 2, offset=1, dtype="dtype:int32"),
            Sample(3, 3, dtype="dtype:float32"),
            Sample(-1, 3),
        ],
    )(indices)


_triangle_indices("tril_indices", True)
_triangle_indices("triu_indices", False)


# ----------------------------------------------------------------------------------- diagonals


@op(
    input=lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2),
    moves=True,
    samples=lambda: [
        Sample(T(3), dtypes=_MOVED),
        Sample(T(2, 3), 1),
        Sample(T(2, 3), -1, 0, 2),
        Sample(T(2, 3), offset=0, dim1=1, dim2=0),
        Sample(T(0)),
        Sample(T(2, 3), 0, 0, 0),
        Sample(T(2, 3), 0, 0, 5),
        Sample(T()),
    ],
)
def diag_embed(
    xp: Namespace, input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Array:
    """Matrices with the last dimension of the input on a diagonal and zeros elsewhere."""
    first, second = diagonal_dims(dim1, dim2, input.ndim + 1)
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for place in sorted((first, second)):
        shape.insert(place, size)
    result: Array = xp.zeros(tuple(shape), input.dtype)
    xp.raw.diagonal(result, offset, first, second)[...] = input
    return result


@op(
    input=lambda m, g, input_shape, offset: m._diagonal_gradient(g, input_shape, offset, 0, 1),
    moves=True,
    node_name="DiagonalBackward0_copy",
    aten="diagonal_copy",
)
def _diagonal_copy(xp: Namespace, input: Array, offset: int) -> Array:
    return input.diagonal(offset).copy()


@composite(
    samples=lambda: [
        Sample(T(3), dtypes=_MOVED),
        Sample(T(3), 1),
        Sample(T(3, 4)),
        Sample(T(3, 4), -1),
        Sample(T(3, 4), diagonal=4),
        Sample(T()),
        Sample(T(2, 2, 2)),
    ],
    out="structured",
)
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a copy.

    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    require_tensor("diag", input)
    ndim = input._array.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return finish("diag", RECORDED.diag_embed(input, diagonal), out)
    return finish("diag", RECORDED._diagonal_copy(input, diagonal), out)


@composite(samples=lambda: [Sample(T(3)), Sample(T(2, 2), 1), Sample(T(), offset=-1)])
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of the input on its diagonal."""
    require_tensor("diagflat", input)
    return RECORDED.diag_embed(RECORDED.reshape(input, (input._array.size,)), offset)


@op(
    input=lambda m, g, input_shape: m._diagonal_gradient(
        m.expand(g, (min(input_shape),)), input_shape, 0, 0, 1
    ),
    holomorphic=False,
    samples=lambda: [
        Sample(T(3, 3), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(3, 4)),
        Sample(T(0, 4)),
        Sample(T(3, 3, dtype="int32"), grad=False),
        Sample(T(3, 3, dtype="bool"), grad=False),
        Sample(T(3)),
    ],
    forward="linear",
    autocast="float32",
)
def trace(xp: Namespace, input: Array) -> Array:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype.kind == "b":
        raise explained(NotImplementedError("\"trace\" not implemented for 'Bool'"), code="RG304")
    kind = dtypes.I64 if input.dtype.kind in "iu" else input.dtype
    return xp.sum(input.diagonal(), dtype=kind)
