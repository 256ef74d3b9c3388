"""Indexing with tensors: the ops `index` and `index_put`, for integers and for masks.

An op has four places for index tensors, which are kept (and checked for later writes) as any saved
tensor is; `dims` says at which dimension each of them starts. With more than four, the
first place holds all of them, stacked.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU, backend_of, is_array, xp_of
from retrograd.backend.memory_order import axes_by_memory, laid_along, steps_within
from retrograd.backend.neutral import scatter
from retrograd.engine.saved_names import indices_of, raw_indices_of
from retrograd.engine.views import bump
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.indexing.gathering import in_place
from retrograd.ops.indexing.masking import can_write_directly
from retrograd.ops.indexing.vectors import sum_slices
from retrograd.ops.kinds import Array, Index, Namespace, copy_as_it_lies, copy_to_write
from retrograd.ops.registry import RECORDED, composite, inner_op, op
from retrograd.ops.shapes.copying import cast_array
from retrograd.ops.sizes import broadcast_shapes
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

Dims = tuple[int, ...]

_ALL = slice(None)
_PLACES = 4
_INTEGERS = (dtypes.I64, dtypes.int32.numpy)


# ------------------------------------------------------------------------- from dims to NumPy


def _arrays(dims: Dims, first: Array, *others: Array | None) -> tuple[Array, ...]:
    if len(dims) > _PLACES:
        return tuple(first)
    return (first, *[array for array in others if array is not None])


def numpy_index(shape: tuple[int, ...], dims: Dims, arrays: Sequence[Array]) -> tuple[Any, ...]:
    """The index that reads the same places in NumPy; masks must have the shape they cover."""
    parts: list[Any] = []
    reached = 0
    for dim, array in zip(dims, arrays, strict=True):
        if dim > reached:
            parts.extend([_ALL] * (dim - reached))
        if array.dtype is dtypes.B8:
            covered = shape[dim : dim + array.ndim]
            if covered != array.shape:
                raise _mask_error(shape, dim, array.shape)
            reached = dim + array.ndim
        else:
            reached = dim + 1
        parts.append(array)
    if reached > len(shape):
        raise errors.explained(
            IndexError(f"too many indices for tensor of dimension {len(shape)} (got {reached})"),
            code="RG204",
        )
    return tuple(parts)


def _mask_error(shape: tuple[int, ...], dim: int, mask: tuple[int, ...]) -> Exception:
    for offset, size in enumerate(mask):
        place = dim + offset
        if place >= len(shape):
            return errors.explained(
                IndexError(
                    f"too many indices for tensor of dimension {len(shape)} (got {dim + len(mask)})"
                ),
                code="RG204",
            )
        if size != shape[place]:
            break
    return errors.explained(
        IndexError(
            f"The shape of the mask {list(mask)} at index {offset} does not match the shape of the "
            f"indexed tensor {list(shape)} at index {place}"
        ),
        code="RG204",
    )


def _integers(dims: Dims, arrays: Sequence[Array]) -> list[tuple[int, Array]]:
    """Index arrays with their dimension; a mask becomes one array for each it covers."""
    found: list[tuple[int, Array]] = []
    for dim, array in zip(dims, arrays, strict=True):
        if array.dtype is dtypes.B8:
            found += [
                (dim + offset, part) for offset, part in enumerate(xp_of(array).nonzero(array))
            ]
        else:
            found.append((dim, array))
    return found


def result_shape(shape: tuple[int, ...], dims: Dims, arrays: Sequence[Array]) -> tuple[int, ...]:
    """The shape of the indexed tensor: index dimensions stand where they are if side by side."""
    found = _integers(dims, arrays)
    indexed = [dim for dim, _ in found]
    try:
        common = broadcast_shapes(*[array.shape for _, array in found])
    except ValueError:
        shapes = ", ".join(str(list(array.shape)) for _, array in found)
        raise errors.explained(
            IndexError(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{shapes}"
            ),
            code="RG201",
        ) from None
    place, rest = _places(indexed, shape)
    return (*rest[:place], *common, *rest[place:])


def _refused(shape: tuple[int, ...], dims: Dims, arrays: Sequence[Array]) -> tuple[int, ...]:
    """After NumPy refused an index: raise PyTorch's error for it.

    Where the result is empty PyTorch reads no index, so a wrong one is no error: then the shape of
    that result is returned.
    """
    wanted = result_shape(shape, dims, arrays)
    found = _integers(dims, arrays)
    if any(shape[dim] == 0 and array.size for dim, array in found):
        raise errors.explained(
            IndexError("index is out of bounds for dimension with size 0"), code="RG204"
        )
    if prod(wanted):
        for number, (dim, array) in enumerate(found):
            outside = array[(array >= shape[dim]) | (array < -shape[dim])]
            if outside.size:
                raise errors.explained(
                    IndexError(
                        f"index {int(outside.reshape(-1)[0])} is out of bounds for dimension "
                        f"{number} with size {shape[dim]}"
                    ),
                    code="RG204",
                )
    return wanted


# -------------------------------------------------------------------------------------- index


@inner_op(
    input=lambda m, g, input_shape, dims, first, second, third, fourth: m._index_gradient(
        g, input_shape, dims, first, second, third, fourth
    ),
    moves=True,
    saved_names={"indices": indices_of, "_raw_saved_indices": raw_indices_of},
)
def index(
    xp: Namespace,
    input: Array,
    dims: Dims,
    first: Array,
    second: Array | None = None,
    third: Array | None = None,
    fourth: Array | None = None,
) -> Array:
    """The elements in the places that index tensors name together, copied."""
    try:
        if second is None and len(dims) == 1 and first.dtype is not dtypes.B8:
            if input.flags.c_contiguous:
                return input.take(first, axis=dims[0])
        parts = numpy_index(input.shape, dims, _arrays(dims, first, second, third, fourth))
        found = input[parts]
    except IndexError as error:
        if error.args and "at index" in str(error.args[0]):
            raise
        shape = _refused(input.shape, dims, _arrays(dims, first, second, third, fourth))
        return xp.empty(shape, input.dtype)
    if input.flags.c_contiguous:
        return found if found.flags.c_contiguous else xp.ascontiguousarray(found)
    arrays = _arrays(dims, first, second, third, fourth)
    return laid_along(found, axes_by_memory(found.shape, _steps_of_index(input, dims, arrays)))


def _steps_of_index(input: Array, dims: Dims, arrays: Sequence[Array]) -> list[Sequence[int]]:
    """The strides of the indexed array and of the indices in the result's dimensions."""
    found = _integers(dims, arrays)
    common = broadcast_shapes(*[array.shape for _, array in found])
    place, rest = _places([dim for dim, _ in found], input.strides)
    own = [*rest[:place], *[0] * len(common), *rest[place:]]
    before, after = [0] * place, [0] * (len(rest) - place)
    return [own, *([*before, *steps_within(a, common), *after] for _, a in found)]


def _places(indexed: Sequence[int], facts: Sequence[int]) -> tuple[int, list[int]]:
    """Where the index dimensions stand in a result, and the facts of the dimensions beside them."""
    adjacent = indexed[-1] - indexed[0] == len(indexed) - 1
    rest = [fact for dim, fact in enumerate(facts) if dim not in indexed]
    return indexed[0] if adjacent else 0, rest


@op(
    g=lambda m, g, dims, first, second, third, fourth: m.index(
        g, dims, first, second, third, fourth
    ),
    holomorphic=False,
    node_name="IndexPutBackward0",
    forward="linear",
    event="retrograd::index_gradient",
)
def _index_gradient(
    xp: Namespace,
    g: Array,
    shape: tuple[int, ...],
    dims: Dims,
    first: Array,
    second: Array | None,
    third: Array | None,
    fourth: Array | None,
) -> Array:
    """Zeros with the gradient added where `index` read."""
    result = xp.zeros(shape, g.dtype)
    if not g.size:
        return result
    if second is None and len(dims) == 1:
        if first.dtype is dtypes.B8:
            at: Index = (*(_ALL,) * dims[0], first)
            result[at] = g  # a mask names no place twice
            return result
        if first.ndim == 1:
            size = shape[dims[0]]
            return sum_slices(xp, shape, dims[0], xp.where(first < 0, first + size, first), g)
    _put_into(result, dims, _arrays(dims, first, second, third, fourth), g, True)
    return result


# ---------------------------------------------------------------------------------- index_put


def _fills_mask(dims: Dims, first: Array, values: Array, accumulate: bool) -> bool:
    """One element for a single mask: PyTorch calls masked_fill, which converts dtypes."""
    single = len(dims) == 1 and first.dtype is dtypes.B8
    return single and values.size == 1 and not accumulate


def _put_into(
    target: Array, dims: Dims, arrays: Sequence[Array], values: Array, accumulate: bool
) -> None:
    """Write (or add) values into the named places of an array, in place."""
    parts = numpy_index(target.shape, dims, arrays)
    if values.dtype is not target.dtype:
        if not _fills_mask(dims, arrays[0], values, accumulate):
            raise _type_error(target, dims, arrays, values)
        values = cast_array(values, target.dtype)
    try:
        if values.ndim > _result_rank(target.ndim, arrays):
            raise ValueError("more dimensions than the result has")
        if accumulate:
            scatter.add_at(xp_of(target), target, _plain(parts), values)
        else:
            target[parts] = values
    except IndexError:
        _refused(target.shape, dims, arrays)
    except (ValueError, TypeError):
        raise _value_error(result_shape(target.shape, dims, arrays), values) from None


def _result_rank(rank: int, arrays: Sequence[Array]) -> int:
    common = 0
    for array in arrays:
        is_mask = array.dtype is dtypes.B8
        rank -= array.ndim if is_mask else 1
        common = max(common, 1 if is_mask else array.ndim)
    return rank + common


def _value_error(wanted: tuple[int, ...], values: Array) -> Exception:
    return errors.runtime_error(
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
        f"indexing result of shape {list(wanted)}",
        code="RG201",
    )


def _type_error(target: Array, dims: Dims, arrays: Sequence[Array], values: Array) -> Exception:
    """Values of another dtype; shapes that do not fit are reported first."""
    wanted = result_shape(target.shape, dims, arrays)
    try:
        if broadcast_shapes(wanted, values.shape) != wanted:
            return _value_error(wanted, values)
    except ValueError:
        return _value_error(wanted, values)
    ours, theirs = (dtypes.from_numpy_dtype(a.dtype).type_name for a in (target, values))
    return errors.runtime_error(
        "Index put requires the source and destination dtypes match, got "
        f"{ours} for the destination and {theirs} for the source.",
        code="RG301",
    )


def _plain(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same index with integers for masks, which `add_at` wants where both occur."""
    kinds = {part.dtype.kind for part in parts if is_array(part)}
    if kinds != {"b", "i"}:
        return parts
    plain: list[Any] = []
    for part in parts:
        is_mask = is_array(part) and part.dtype is dtypes.B8
        plain += list(xp_of(part).nonzero(part)) if is_mask else [part]
    return tuple(plain)


def _check_put(
    input: Array, values: Array, dims: Dims, accumulate: bool, first: Array, *others: Any
) -> None:
    """Before half precision is widened: the dtypes must agree."""
    if input.dtype is not values.dtype and not _fills_mask(dims, first, values, accumulate):
        arrays = _arrays(dims, first, *others)
        numpy_index(input.shape, dims, arrays)
        raise _type_error(input, dims, arrays, values)


@inner_op(
    input=lambda m, g, dims, accumulate, first, second, third, fourth: (
        g if accumulate else m._index_zero(g, dims, first, second, third, fourth)
    ),
    values=lambda m, g, dims, first, second, third, fourth: m.index(
        g, dims, first, second, third, fourth
    ),
    holomorphic=False,
    inplace="index_put_",
    check=_check_put,
    forward="linear",
)
def index_put(
    xp: Namespace,
    input: Array,
    values: Array,
    dims: Dims,
    accumulate: bool,
    first: Array,
    second: Array | None = None,
    third: Array | None = None,
    fourth: Array | None = None,
) -> Array:
    """A copy of `input` with values written (or added) in the places that index tensors name."""
    result = copy_as_it_lies(xp, input)
    _put_into(result, dims, _arrays(dims, first, second, third, fourth), values, accumulate)
    return result


@op(
    input=lambda m, g, dims, first, second, third, fourth: m._index_zero(
        g, dims, first, second, third, fourth
    ),
    moves=True,
    node_name="IndexPutBackward0",
)
def _index_zero(
    xp: Namespace,
    input: Array,
    dims: Dims,
    first: Array,
    second: Array | None,
    third: Array | None,
    fourth: Array | None,
) -> Array:
    """A copy of `input` with zeros in the places that index tensors name."""
    result = copy_to_write(xp, input)
    result[numpy_index(input.shape, dims, _arrays(dims, first, second, third, fourth))] = 0
    return result


# ----------------------------------------------------------------------------- calls and names


def packed(target: Tensor, found: list[tuple[int, Tensor]]) -> tuple[Dims, list[Tensor]]:
    """Index tensors as the ops take them: their dimensions, and at most four of them."""
    shape = target._array.shape
    tensors = [_beside(target, _usable(tensor)) for _, tensor in found]
    dims = tuple([dim for dim, _ in found])
    if len(found) <= _PLACES:
        return dims, tensors
    arrays = [tensor._array for tensor in tensors]
    numpy_index(shape, dims, arrays)
    result_shape(shape, dims, arrays)
    pairs = _integers(dims, arrays)
    xp = xp_of(arrays[0])
    together = xp.broadcast_arrays(*[array for _, array in pairs])
    return tuple(dim for dim, _ in pairs), [wrap(xp.stack(together).astype(dtypes.I64))]


def _beside(target: Tensor, index: Tensor) -> Tensor:
    """An index on the CPU goes to where the indexed tensor is, as in PyTorch."""
    if type(index._array) is CPU.array and type(target._array) is not CPU.array:
        there = backend_of(target._array)
        # a mask says how many elements it takes where none are looked at
        return index.to(target.device) if there.holds else wrap(there.beside(index._array))
    return index


def _usable(tensor: Tensor) -> Tensor:
    """An index tensor: int64 and int32 are integers, bool (and, once, uint8) are masks."""
    kind = tensor._array.dtype
    if kind is dtypes.I64 or kind is dtypes.B8 or kind in _INTEGERS:
        return tensor
    if kind is dtypes.U8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.",
            UserWarning,
            stacklevel=user_level(),
        )
        return RECORDED.ne(tensor, 0)
    raise errors.explained(
        IndexError("tensors used as indices must be long, int, byte or bool tensors"), code="RG305"
    )


def _listed(name: str, indices: object) -> list[tuple[int, Tensor]]:
    """The `indices` of index_put: tensors for the first dimensions, one after the other."""
    if not isinstance(indices, (tuple, list)):
        raise errors.argument_type(name, "indices", 2, "tuple of Tensors", indices)
    if not indices:
        raise RuntimeError(f"{name}(): expected at least one index tensor")
    found: list[tuple[int, Tensor]] = []
    dim = 0
    for position, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 1, but got "
                f"{type(item).__name__}"
            )
        found.append((dim, item))
        dim += item._array.ndim if item._array.dtype in (dtypes.B8, dtypes.U8) else 1
    return found


def _put_samples() -> list[Sample]:
    everything = (*FLOATS, *HALVES, *COMPLEX)
    row = T(values=[2, 0], dtype="int64")
    column = T(values=[3, 1], dtype="int64")
    mask = T(values=[True, False, True], dtype="bool")
    twice = T(values=[1, 1, -1], dtype="int64")
    return [
        Sample(T(3, 4), (row,), T(2, 4), dtypes=everything),
        Sample(T(3, 4), (row, column), T(2), dtypes=everything),
        Sample(T(3, 4), (row, column), T()),
        Sample(T(3, 4), (row,), T(4), accumulate=True),
        Sample(T(3, 4), (twice,), T(3, 4), accumulate=True, dtypes=everything),
        Sample(T(3, 4), (twice,), T(1, 4), True),
        Sample(T(3, 4), (mask,), T(2, 4)),
        Sample(T(3, 4), (mask, column), T(2)),
        Sample(T(3, 4), (mask, column), T(2), accumulate=True),
        Sample(T(3, 4), (T(3, 4, dtype="bool"),), T()),
        Sample(T(3, 4), (T(3, 4, dtype="bool"),), T(), accumulate=True),
        Sample(T(3, 4), (T(values=[[0], [2]], dtype="int64"), column), T(2, 2)),
        Sample(T(3, 4), [row], T(2, 4)),
        Sample(T(3, 4, dtype="int64"), (row,), T(4, dtype="int64"), grad=False),
        Sample(T(3, 4, dtype="int64"), (mask,), T(dtype="float64"), grad=False),
        Sample(T(3, 4), (T(values=[3], dtype="int64"),), T(1, 4)),
        Sample(T(3, 4), (T(values=[3], dtype="int64"),), T(1, 4), accumulate=True),
        Sample(T(3, 4), (row,), T(3, 4)),
        Sample(T(3, 4), (row,), T(3, 4), accumulate=True),
        Sample(T(3, 4), (row,), T(2, 4, dtype="int64")),
        Sample(T(3, 4), (row, twice), T()),
        Sample(T(3, 4), (row, row, row), T()),
        Sample(T(3, 4), (T(values=[True, False], dtype="bool"),), T()),
        Sample(T(3, 4), (T(2, dtype="float32"),), T()),
        Sample(T(3, 4), row, T()),
        Sample(T(3, 4), (None, row), T()),
        Sample(T(3, 4), (row,), 1.0),
    ]


@composite(samples=_put_samples)
def _index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy of `input` with `values` in the places that the index tensors name together.

    >>> torch.zeros(3).index_put((torch.tensor([0, 2]),), torch.tensor(1.0))
    tensor([1., 0., 1.])
    """
    if not isinstance(values, Tensor):
        raise errors.argument_type("index_put", "values", 3, "Tensor", values)
    dims, tensors = packed(input, _listed("index_put", indices))
    return RECORDED.index_put(input, values, dims, accumulate, *tensors)


@composite(
    methods=("index_put_",),
    samples=lambda: [
        Sample(T(3), (T(values=[0, 2], dtype="int64"),), T(2), grad=False),
        Sample(T(3, 2), (T(values=[0, 0], dtype="int64"),), T(2, 2), True, grad=False),
        Sample(T(3), (T(values=[0, 7], dtype="int64"),), T(2), grad=False),
    ],
)
def _index_put_(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write `values` in the places that the index tensors name together."""
    if not isinstance(values, Tensor):
        raise errors.argument_type("index_put_", "values", 3, "Tensor", values)
    return put_(input, _listed("index_put_", indices), values, accumulate)


def put_(
    target: Tensor, found: list[tuple[int, Tensor]], values: Tensor, accumulate: bool
) -> Tensor:
    """`index_put_` with index tensors and the dimensions they start at."""
    dims, tensors = packed(target, found)
    half = target._array.dtype in dtypes.WIDER and accumulate
    if not half and can_write_directly(target, values, *tensors):
        arrays = [tensor._array for tensor in tensors]
        if len(dims) > _PLACES:
            arrays = list(arrays[0])
        _put_into(target._array, dims, arrays, values._array, accumulate)
        bump(target, "index_put_")
        return target
    missing = [None] * (_PLACES - len(tensors))
    return in_place("index_put", target, values, dims, accumulate, *tensors, *missing)
