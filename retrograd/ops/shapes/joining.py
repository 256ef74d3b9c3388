"""Tensors joined into one: cat, stack and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU, backend_of
from retrograd.backend.neutral.arrangement import arranged, is_channels_last
from retrograd.ops import errors
from retrograd.ops.calling.examples import by_example
from retrograd.ops.kinds import Array, Arrays, Index, Ints, Namespace, wrap_dim
from retrograd.ops.registry import (
    PUBLIC,
    RECORDED,
    Table,
    composite,
    function_only,
    inner_op,
    method_only,
    op,
)
from retrograd.ops.shapes.broadcasting import meshgrid
from retrograd.ops.sizes import Shape, as_size, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor, wrap

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


# ------------------------------------------------------------------------------- cat and stack


def _is_skipped(shape: Shape) -> bool:
    """An empty vector joins with anything, whatever its number of dimensions."""
    return shape == (0,)


def _cat_parts(m: Table, g: Tensor, dim: int, shapes: tuple[Shape, ...]) -> list[Tensor]:
    parts: list[Any] = []
    start = 0
    place = dim if dim >= 0 else dim + g.ndim
    for shape in shapes:
        if _is_skipped(shape):
            parts.append(m._zeros(g, shape))
            continue
        size = shape[place]
        parts.append(m.slice(g, place, start, start + size, 1))
        start += size
    return parts


@op(
    tensors=lambda m, g, dim, tensors_shape: _cat_parts(m, g, dim, tensors_shape),
    promote=True,
    moves=True,
    methods=(),
    public=("cat", "concat", "concatenate"),
    out=True,
    samples=lambda: [
        Sample([T(2, 3), T(4, 3)], dtypes=_MOVED),
        Sample([T(2, 3), T(2, 1)], 1),
        Sample([T(2, 3), T(2, 3), T(2, 3)], dim=-1),
        Sample((T(2), T(3))),
        Sample([T(2, 3)]),
        Sample([T(0), T(2, 3)]),
        Sample([T(2, 3), T(0)], -1),
        Sample([T(0), T(0)], 1, grad=False),
        Sample([T(0, 3), T(2, 3)]),
        Sample([T(2), T(2, dtype="int64")], grad=False),
        Sample([T(2, dtype="int32"), T(2, dtype="bool")], grad=False),
        Sample([T(2, dtype="float64"), T(2, dtype="float32")], grad=False),
        Sample([T(0, dtype="float64"), T(2, dtype="float32")], grad=False),
        Sample([]),
        Sample(T(2, 2)),
        Sample([T(2), 3]),
        Sample([T(2, 3), T(2, 2)]),
        Sample([T(2, 3), T(3)]),
        Sample([T(2, 3), T()]),
        Sample([T(2, 3), T(2, 3)], 2),
    ],
    autocast="widest",
)
def cat(xp: Namespace, tensors: Arrays, dim: int = 0) -> Array:
    """The tensors one after the other along a dimension."""
    if not tensors:
        raise errors.explained(
            ValueError("torch.cat(): expected a non-empty list of Tensors"), code="RG206"
        )
    kept: list[Array] = []
    for number, array in enumerate(tensors):
        if array.ndim == 0:
            raise errors.runtime_error(
                f"zero-dimensional tensor (at position {number}) cannot be concatenated",
                code="RG206",
            )
        if not _is_skipped(array.shape):
            kept.append(array)
    if not kept:
        return xp.zeros((0,), tensors[0].dtype)
    place = wrap_dim(dim, kept[0].ndim)
    try:
        result: Array = xp.concatenate(kept, axis=place)
    except ValueError:
        raise _cat_error(tensors, kept[0], place) from None
    if result.ndim > 3 and all(map(is_channels_last, kept)):
        return arranged(xp, result, kept[0])
    return result if result.flags.c_contiguous else xp.ascontiguousarray(result)


def _cat_error(tensors: Arrays, first: Array, place: int) -> Exception:
    for number, array in enumerate(tensors):
        if _is_skipped(array.shape):
            continue
        if array.ndim != first.ndim:
            return errors.runtime_error(
                f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}",
                code="RG206",
            )
        for dim, (wanted, size) in enumerate(zip(first.shape, array.shape, strict=True)):
            if dim != place and wanted != size:
                return errors.runtime_error(
                    f"Sizes of tensors must match except in dimension {place}. Expected size "
                    f"{wanted} but got size {size} for tensor number {number} in the list.",
                    code="RG206",
                )
    raise AssertionError("cat failed on tensors that fit")


@op(
    tensors=lambda m, g, dim, tensors_shape: [
        m.select(g, dim, index) for index in range(len(tensors_shape))
    ],
    promote=True,
    moves=True,
    methods=(),
    out=True,
    samples=lambda: [
        Sample([T(2, 3), T(2, 3)], dtypes=_MOVED),
        Sample([T(2, 3), T(2, 3)], 1),
        Sample((T(2, 3), T(2, 3)), dim=-1),
        Sample([T(), T()]),
        Sample([T(0, 2), T(0, 2)], 2),
        Sample([T(2), T(2, dtype="int64")], grad=False),
        Sample([]),
        Sample([T(2, 3), T(2)]),
        Sample([T(2, 3)], 3),
    ],
    autocast="widest",
)
def stack(xp: Namespace, tensors: Arrays, dim: int = 0) -> Array:
    """The tensors, all of one shape, side by side along a new dimension."""
    if not tensors:
        raise errors.runtime_error("stack expects a non-empty TensorList", code="RG206")
    shape = tensors[0].shape
    place = wrap_dim(dim, len(shape) + 1)
    for number, array in enumerate(tensors):
        if array.shape != shape:
            raise errors.runtime_error(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(array.shape)} at entry {number}",
                code="RG206",
            )
    result: Array = xp.empty((*shape[:place], len(tensors), *shape[place:]), tensors[0].dtype)
    around: Index = (slice(None),) * place
    for number, array in enumerate(tensors):
        result[(*around, number)] = array
    return result


def _tensor_list(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise errors.argument_type(name, "tensors", 1, "tuple of Tensors", tensors)
    if not tensors:
        raise errors.runtime_error(f"{name} expects a non-empty TensorList", code="RG206")
    for place, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(item).__name__}"
            )
    return list(tensors)


def _lifted(tensors: list[Tensor], ndim: int) -> list[Tensor]:
    return [PUBLIC["torch"][f"atleast_{ndim}d"](tensor) for tensor in tensors]


def _joined(tensors: list[Tensor], dim: int, out: Tensor | None) -> Tensor:
    return RECORDED.cat(tensors, dim, out=out)


@function_only(
    samples=lambda: [
        Sample([T(2), T(3)]),
        Sample([T(2, 3), T(2, 1)]),
        Sample([T(), T()]),
        Sample([]),
        Sample([T(2, 3), T(3)]),
    ]
)
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Side by side: along dimension 1, or 0 for vectors."""
    items = _lifted(_tensor_list("hstack", tensors), 1)
    return _joined(items, 0 if items[0]._array.ndim == 1 else 1, out)


@function_only(
    public=("vstack", "row_stack"),
    samples=lambda: [Sample([T(3), T(3)]), Sample([T(2, 3), T(3)]), Sample([T(), T()])],
)
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """One below the other: along dimension 0, vectors as rows."""
    return _joined(_lifted(_tensor_list("vstack", tensors), 2), 0, out)


@function_only(
    samples=lambda: [Sample([T(3), T(3)]), Sample([T(2, 3), T(2, 3)]), Sample([T(), T()])]
)
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """One behind the other: along dimension 2."""
    return _joined(_lifted(_tensor_list("dstack", tensors), 3), 2, out)


@function_only(
    samples=lambda: [Sample([T(3), T(3, 2)]), Sample([T(), T()]), Sample([T(2, 3), T(2, 1)])]
)
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Side by side, vectors as columns."""
    items = [
        RECORDED.reshape(item, (item._array.size, 1)) if item._array.ndim <= 1 else item
        for item in _tensor_list("column_stack", tensors)
    ]
    return _joined(items, 1, out)


# ------------------------------------------------------------------------------ blocks, grids


def _block_size(shape: Shape) -> tuple[int, int]:
    return shape if len(shape) == 2 else (1, shape[0] if shape else 1)


def _block_parts(m: Table, g: Tensor, shapes: tuple[Shape, ...]) -> list[Tensor]:
    parts: list[Any] = []
    row = column = 0
    for shape in shapes:
        rows, columns = _block_size(shape)
        part = m.slice(m.slice(g, 0, row, row + rows, 1), 1, column, column + columns, 1)
        parts.append(part if len(shape) == 2 else m.reshape(part, shape))
        row, column = row + rows, column + columns
    return parts


@op(
    tensors=lambda m, g, tensors_shape: _block_parts(m, g, tensors_shape),
    promote=True,
    moves=True,
    aten="block_diag",
)
def _block_diag(xp: Namespace, tensors: Arrays) -> Array:
    sizes = [_block_size(array.shape) for array in tensors]
    shape = (sum(rows for rows, _ in sizes), sum(columns for _, columns in sizes))
    result: Array = xp.zeros(shape, tensors[0].dtype)
    row = column = 0
    for array, (rows, columns) in zip(tensors, sizes, strict=True):
        result[row : row + rows, column : column + columns] = array
        row, column = row + rows, column + columns
    return result


@function_only(
    samples=lambda: [
        Sample(T(2, 3), T(1, 2), dtypes=_MOVED),
        Sample(T(3), T(), T(2, 2)),
        Sample(T(2), T(2, dtype="int64"), grad=False),
        Sample(),
        Sample(T(2, 2, 2)),
    ]
)
@forms(
    "(*tensors: Tensor) -> Tensor",
    "(tensors: Sequence[Tensor], /) -> Tensor",
)
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    if not tensors:
        return wrap(CPU.xp.zeros((1, 0), dtypes.get_default_dtype().numpy))
    errors.require_list_of_tensors(tensors)
    for place, item in enumerate(tensors):
        if item._array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{place} has {item._array.ndim} dimensions"
            )
    return RECORDED._block_diag(tensors)


def _check_vector(tensor: Tensor) -> None:
    if tensor._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._array.shape)}")


@function_only(
    samples=lambda: [
        Sample(T(3), T(2)),
        Sample(T(3), T(2), T(2)),
        Sample(T(3)),
        Sample(T(3), T(2, 2)),
        Sample(),
    ]
)
@forms("(*tensors: Tensor) -> Tensor")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, one per row.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])).shape
    torch.Size([4, 2])
    """
    items = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list) else tensors
    errors.require_list_of_tensors(items)
    for item in items:
        _check_vector(item)
    if len(items) == 1:
        return items[0]
    grids = meshgrid(*items, indexing="ij")
    count = grids[0]._array.size
    return RECORDED.stack([RECORDED.reshape(grid, (count,)) for grid in grids], 1)


@composite(
    samples=lambda: [
        Sample(T(4)),
        Sample(T(4), 3),
        Sample(T(3), 2, True),
        Sample(T(3), 1),
        Sample(T(3), 0, grad=False),
        Sample(T(2), 3),
        Sample(T(3), -1),
        Sample(T(2, 2)),
    ]
)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector, in order, one per row."""
    require_tensor("combinations", input)
    _check_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    xp = backend_of(input._array).xp
    if r == 0:
        return wrap(xp.empty((0,), input._array.dtype))
    grids = meshgrid(*[input] * r, indexing="ij")
    places = xp.indices(grids[0]._array.shape)
    follows = places[:-1] <= places[1:] if with_replacement else places[:-1] < places[1:]
    mask = wrap(xp.asarray(follows.all(axis=0)))
    return RECORDED.stack([RECORDED.masked_select(grid, mask) for grid in grids], 1)


# --------------------------------------------------------------------------------- repetition


def _repeat_gradient(m: Table, g: Tensor, shape: Shape, repeats: Shape) -> Tensor:
    """Sum over the copies: each repeated dimension is split into (copy, element)."""
    if 0 in repeats:
        return m._zeros(g, shape)
    lead = len(repeats) - len(shape)
    if lead:
        g = m.sum(g, tuple(range(lead)), False)
    split: list[int] = []
    copies: list[int] = []
    for size, count in zip(shape, repeats[lead:], strict=True):
        if count != 1:
            copies.append(len(split))
            split.append(count)
        split.append(size)
    return m.sum(m.reshape(g, tuple(split)), tuple(copies), False) if copies else g


@inner_op(
    input=lambda m, g, input_shape, repeats: _repeat_gradient(m, g, input_shape, repeats),
    moves=True,
)
def repeat(xp: Namespace, input: Array, repeats: Shape) -> Array:
    """Copies of the tensor along its dimensions; new dimensions come first."""
    lead = len(repeats) - input.ndim
    shape = (1,) * lead + input.shape
    wanted = tuple(size * count for size, count in zip(shape, repeats, strict=True))
    pairs = tuple(n for pair in zip(repeats, shape, strict=True) for n in pair)
    parts = tuple(n for size in shape for n in (1, size))
    return xp.array(xp.broadcast_to(input.reshape(parts), pairs), order="C").reshape(wanted)


def _repeated(input: Tensor, repeats: Shape) -> Tensor:
    shape = input._array.shape
    if len(repeats) < len(shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    lead = (1,) * (len(repeats) - len(shape))
    sizes = [size * count for size, count in zip(lead + shape, repeats, strict=True)]
    for count, size in zip(repeats, sizes, strict=True):
        if count < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {sizes}")
    return RECORDED.repeat(input, repeats)


@method_only(
    samples=lambda: [
        Sample(T(2, 3), 2, 3, dtypes=_MOVED),
        Sample(T(2, 3), 2, 1, 3),
        Sample(T(3), (2,)),
        Sample(T(), 3),
        Sample(T(2, 3), 1, 1),
        Sample(T(2, 3), 0, 1),
        Sample(T(0, 3), 2, 2),
        Sample(T(2, 3), 2),
        Sample(T(2, 3), 2, -1),
        Sample(T(2, 3)),
    ]
)
@forms(*sized(before="self: Tensor", name="repeats"))
def _repeat(self: Tensor, *repeats: Tensor | int | None, **named: object) -> Tensor:
    """Copies of the tensor along its dimensions.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return _repeated(self, as_size("repeat", "repeats", (named["repeats"],) if named else repeats))


@function_only(
    samples=lambda: [
        Sample(T(2, 3), (2,)),
        Sample(T(3), (2, 2)),
        Sample(T(2, 3), ()),
        Sample(T(2), (-1,)),
    ]
)
def _tile_function(input: Tensor, dims: Ints) -> Tensor:
    """Copies of the tensor; `dims` is counted from the last dimension."""
    require_tensor("tile", input)
    return _tile(input, dims)


@method_only(samples=lambda: [Sample(T(2, 3), 2), Sample(T(2, 3), 2, 1, 2), Sample(T(3), (2, 2))])
@forms(*sized(before="self: Tensor", name="dims"))
def _tile(self: Tensor, *dims: Ints) -> Tensor:
    """Copies of the tensor; `dims` is counted from the last dimension."""
    counts = as_size("tile", "dims", dims)
    return _repeated(self, (1,) * (self._array.ndim - len(counts)) + counts)


@composite(
    samples=lambda: [
        Sample(T(2, 3), 2, dtypes=_MOVED),
        Sample(T(2, 3), 2, 0),
        Sample(T(2, 3), 3, dim=-1),
        Sample(T(2, 3), 0, 0),
        Sample(T(), 2),
        Sample(T(3, 2), T(values=[1, 0, 2], dtype="int64"), 0),
        Sample(T(2, 2), T(values=[1, 0, 2, 1], dtype="int64")),
        Sample(T(3, 2), T(values=[2], dtype="int64"), 0),
        Sample(T(3, 2), T(values=2, dtype="int64"), 1),
        Sample(T(3, 2), T(values=[1, 0, 2], dtype="int64"), 0, output_size=3),
        Sample(T(3, 2), T(values=[1, 0, 2], dtype="int64"), 0, output_size=5),
        Sample(T(values=[1, 0, 2], dtype="int64"), grad=False),
        Sample(T(values=[1.0, 0.0]), grad=False),
        Sample(T(2, 3), -1),
        Sample(T(2, 3), 2, 5),
        Sample(T(3, 2), T(values=[1, 2], dtype="int64"), 0),
        Sample(T(3, 2), T(values=[1, -2, 1], dtype="int64"), 0),
        Sample(T(3, 2), T(values=[1.0, 2.0, 1.0]), 0),
        Sample(T(3, 2), 2.5),
    ]
)
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | int | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element repeated in place: a number of times, or each its own number of times.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    require_tensor("repeat_interleave", input)
    if not isinstance(repeats, (int, Tensor, NoneType)) or isinstance(repeats, bool):
        raise errors.invalid_combination("repeat_interleave", (repeats,))
    if repeats is None:
        return _repeated_positions(input, output_size)  # type: ignore[no-any-return]
    if isinstance(repeats, Tensor) and repeats._array.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if dim is None:
        input, dim = RECORDED.reshape(input, (input._array.size,)), 0
    place = wrap_dim(dim, input._array.ndim)
    if not isinstance(repeats, Tensor):
        return _repeat_evenly(input, repeats, place)
    size = input._array.shape[place]
    if repeats._array.size == 1:
        repeats = RECORDED.expand(RECORDED.reshape(repeats, (1,)), (size,))
    elif repeats._array.size != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._array.size} and input.size({place}) = {size}"
        )
    index = _repeated_positions(repeats, output_size)
    return RECORDED.index_select(input, place, index)


def _repeat_evenly(input: Tensor, count: int, place: int) -> Tensor:
    """The same number of copies of every element: expand, copy, join the two dimensions."""
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    lifted = RECORDED.unsqueeze(input, place + 1)
    shape = input._array.shape
    wide = RECORDED.expand(lifted, (*shape[: place + 1], count, *shape[place + 1 :]))
    joined = (*shape[:place], shape[place] * count, *shape[place + 1 :])
    return RECORDED.view(RECORDED._contiguous_copy(wide), joined)


@by_example
def _repeated_positions(repeats: Tensor, output_size: int | None) -> Tensor:
    counts = repeats._array
    if counts.dtype not in (dtypes.I64, dtypes.int32.numpy):
        raise errors.explained(
            NotImplementedError(
                f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.type_name}'"
            ),
            code="RG304",
        )
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if not backend_of(counts).holds:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return wrap(backend_of(counts).xp.empty(output_size, counts.dtype))
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    xp = backend_of(counts).xp
    found = xp.repeat(xp.arange(len(counts), dtype=counts.dtype), counts)
    if output_size is not None and output_size != len(found):
        raise RuntimeError("allocated size does not match required size")
    return wrap(found)
