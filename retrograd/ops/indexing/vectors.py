"""One index vector along one dimension: index_select, index_add, index_copy and index_fill."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU, xp_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.backend.neutral import scatter
from retrograd.engine.views import bump
from retrograd.notices import explained, runtime_error
from retrograd.ops.indexing.gathering import first_outside, in_place
from retrograd.ops.indexing.masking import can_write_directly, fill_value
from retrograd.ops.kinds import Array, Namespace, Operand, copy_as_it_lies, copy_to_write, wrap_dim
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import RECORDED, Table, composite, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = slice(None)


def _name(array: Array) -> str:
    return dtypes.from_numpy_dtype(array.dtype).type_name


def along(dim: int, index: Array) -> tuple[Any, ...]:
    """NumPy's index for the slices that a vector names along `dim`."""
    return (*(_ALL,) * dim, index if index.ndim else index.reshape(1))


def vector_shape(index: Array, rank: int, dim: int) -> Array:
    """An index vector in the rank of the tensor it indexes, for broadcasting."""
    return index.reshape(-1, *(1,) * (rank - dim - 1))


def _lined(array: Array) -> Array:
    return array if array.ndim else array.reshape(1)


def check_source(
    name: str, input: Array, dim: int, index: Array, source: Array, *_: object, **__: object
) -> None:
    """The arguments of index_add and index_reduce, in PyTorch's order of checks."""
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{_name(index)} and size: {list(index.shape)}"
        )
    if index.dtype is not dtypes.I64 and index.dtype != dtypes.int32.numpy:
        raise runtime_error(
            f"{name}(): Expected dtype int32/int64 for index but got: {_name(index)}", code="RG305"
        )
    if input.dtype is not source.dtype:
        raise runtime_error(
            f"{name}(): self ({_name(input)}) and source ({_name(source)}) must have the same "
            "scalar type",
            code="RG301",
        )
    if dim and dim >= source.ndim:
        raise runtime_error(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source.ndim}",
            code="RG205",
        )
    count = source.shape[dim] if source.ndim else 1
    if index.size != count:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({count}), for dim: {dim}"
        )
    ours, theirs = list(input.shape), list(source.shape)
    if ours[:dim] + ours[dim + 1 :] != theirs[:dim] + theirs[dim + 1 :] or len(ours) != len(theirs):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {ours} source.shape = {theirs}"
        )


def _check_vector_bounds(index: Array, size: int, dim: int) -> None:
    outside = first_outside(index, size)
    if outside is not None:
        raise runtime_error(
            f"index {outside} is out of bounds for dimension {dim} with size {size}", code="RG204"
        )


# ------------------------------------------------------------------------------- index_select


def _vector(*values: int, dtype: str = "int64") -> T:
    return T(values=list(values), dtype=dtype)


@op(
    input=lambda m, g, input_shape, dim, index: m._index_select_gradient(
        g, input_shape, dim, index
    ),
    moves=True,
    out="index_select(): self and result must have the same scalar type",
    samples=lambda: [
        Sample(T(3, 4), 0, _vector(2, 0, 2), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(3, 4), -1, _vector(3, 3, 1, 0, 0), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(2, 3, 4), 1, _vector(1, 1, dtype="int32")),
        Sample(T(3, 4), 1, T(values=2, dtype="int64")),
        Sample(T(5), 0, _vector(4)),
        Sample(T(), 0, _vector(0)),
        Sample(T(), 0, T(values=0, dtype="int64")),
        Sample(T(3, 4), 0, T(0, dtype="int64")),
        Sample(T(3, 4, dtype="bool"), 0, _vector(1), grad=False),
        Sample(T(3, 4), 0, _vector(3)),
        Sample(T(3, 4), 0, _vector(-1)),
        Sample(T(3, 4), 1, _vector(4)),
        Sample(T(3, 4), 0, T(1, 1, dtype="int64")),
        Sample(T(3, 4), 0, T(1, dtype="float32")),
        Sample(T(), 0, _vector(0, 0)),
        Sample(T(3, 4), 2, _vector(0)),
    ],
)
def index_select(xp: Namespace, input: Array, dim: int, index: Array) -> Array:
    """The slices along `dim` that a vector of indices names.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1]))
    tensor([[3, 4]])
    """
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype is not dtypes.I64 and index.dtype != dtypes.int32.numpy:
        raise runtime_error("index_select(): Expected dtype int32 or int64 for index", code="RG305")
    if not input.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    size = input.shape[dim] if input.ndim else 1
    outside = first_outside(index, size)
    if outside is not None:
        if dim == 1:
            raise runtime_error(
                f"INDICES element is out of DATA bounds, id={outside} axis_dim={size}", code="RG204"
            )
        raise explained(IndexError("index out of range in self"), code="RG204")
    if not input.ndim:
        return input.copy()
    if input.flags.c_contiguous:
        return input.take(index if index.ndim else index.reshape(1), axis=dim)
    return xp.ascontiguousarray(input[along(dim, index)])


compiled_first(
    "index_select",
    lambda input, dim, index: (
        None if index.ndim > 1 else rows.take_slices(input, dim, _lined(index))
    ),
    short=True,
)


@op(
    g=lambda m, g, dim, index: m.index_select(g, dim, index),
    holomorphic=False,
    node_name="IndexAddBackward0",
    forward="linear",
)
def _index_select_gradient(
    xp: Namespace, g: Array, shape: tuple[int, ...], dim: int, index: Array
) -> Array:
    """Zeros with the gradient added to the slices that `index_select` read."""
    if not shape:
        return g.copy()
    return sum_slices(xp, shape, wrap_dim(dim, len(shape)), index, g)


compiled_first(
    "_index_select_gradient",
    lambda g, shape, dim, index: rows.add_slices(shape, dim, _lined(index), g),
)


def sum_slices(
    xp: Namespace, shape: tuple[int, ...], dim: int, index: Array, values: Array
) -> Array:
    """Zeros of `shape` with slices of `values` added to the slices that a vector names."""
    vector = index.reshape(-1)
    if dim == 0:
        return scatter.embedding_gradient(xp, vector, values, shape[0])
    rows = scatter.embedding_gradient(xp, vector, xp.moveaxis(values, dim, 0), shape[dim])
    return xp.ascontiguousarray(xp.moveaxis(rows, 0, dim))


# ---------------------------------------------------------------------------------- index_add


def _source_samples() -> list[Sample]:
    return [
        Sample(T(3, 4), 0, _vector(2, 0), T(2, 4), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(3, 4), -1, _vector(3, 0), T(3, 2), dtypes=(*FLOATS, *HALVES)),
        Sample(T(2, 3, 4), 1, _vector(1, 2), T(2, 2, 4)),
        Sample(T(5), 0, _vector(4), T(1)),
        Sample(T(3, 4), 0, T(values=1, dtype="int64"), T(1, 4)),
        Sample(T(), 0, T(values=0, dtype="int64"), T()),
        Sample(T(3, 4), 0, T(0, dtype="int64"), T(0, 4)),
        Sample(T(3, 4, dtype="int64"), 0, _vector(1), T(1, 4, dtype="int64"), grad=False),
        Sample(T(3, 4), 0, _vector(3), T(1, 4)),
        Sample(T(3, 4), 0, _vector(-1), T(1, 4)),
        Sample(T(3, 4), 0, _vector(1, 1), T(1, 4)),
        Sample(T(3, 4), 0, _vector(1), T(1, 3)),
        Sample(T(3, 4), 0, _vector(1), T(4)),
        Sample(T(3, 4), 0, T(values=1, dtype="int64"), T(4)),
        Sample(T(3, 4), 0, _vector(1), T(1, 4, dtype="int64")),
        Sample(T(3, 4), 0, T(1, 1, dtype="int64", low=0), T(1, 4)),
        Sample(T(3, 4), 0, T(1, dtype="float32"), T(1, 4)),
        Sample(T(3, 4), 2, _vector(1), T(1, 4)),
    ]


def _check_add(input: Array, dim: int, index: Array, source: Array, *, alpha: complex = 1) -> None:
    check_source("index_add_", input, dim, index, source)


@op(
    input=lambda m, g: g,
    source=lambda m, g, dim, index, source, alpha: _source_gradient(
        m, g, dim, index, source, alpha
    ),
    inplace=True,
    out=True,
    check=_check_add,
    samples=lambda: [
        *_source_samples(),
        Sample(T(3, 4), 0, _vector(2, 2, 2), T(3, 4), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(3, 4), 1, _vector(1, 1), T(3, 2), alpha=2.5),
        Sample(T(3, 4), 1, _vector(1, 1, dtype="int32"), T(3, 2), alpha=-1),
        Sample(T(2, dtype="int64"), 0, _vector(1, 1), T(2, dtype="int64"), alpha=3, grad=False),
    ],
    forward="linear",
)
def index_add(
    xp: Namespace, input: Array, dim: int, index: Array, source: Array, *, alpha: complex = 1
) -> Array:
    """A copy of `input` with `alpha` times slices of `source` added to slices along `dim`.

    >>> torch.zeros(2).index_add(0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]))
    tensor([0., 5.])
    """
    result = copy_to_write(xp, input)
    _add_into(xp, result, dim, index, source, alpha)
    return result


def _add_into(
    xp: Namespace, target: Array, dim: int, index: Array, source: Array, alpha: complex
) -> None:
    check_source("index_add_", target, dim, index, source)
    dim = wrap_dim(dim, target.ndim)
    _check_vector_bounds(index, target.shape[dim] if target.ndim else 1, dim)
    source = _scaled(xp, source, alpha)
    scatter.add_at(xp, _lined(target), along(dim, index), _lined(source))


def _scaled(xp: Namespace, source: Array, alpha: complex) -> Array:
    if alpha == 1:
        return source
    kind = dtypes.from_numpy_dtype(source.dtype)
    factor = as_element(alpha, kind) if source.dtype.kind in "iu" else alpha
    scaled: Array = source * xp.asarray(factor, source.dtype)
    return scaled


def _compiled_add(
    input: Array, dim: int, index: Array, source: Array, *, alpha: complex = 1
) -> Array | None:
    if source.dtype not in (dtypes.F32, dtypes.F64):
        return None
    found: Array | None = rows.add_slices(input, dim, index, _scaled(CPU.xp, source, alpha))
    return found


compiled_first("index_add", _compiled_add)


def _source_gradient(
    m: Table, g: Tensor, dim: int, index: Tensor, source: Tensor, alpha: complex = 1
) -> Tensor:
    """The slices of the gradient that the source went to."""
    taken = m.index_select(g, dim, index)
    if tuple(taken.shape) != tuple(source.shape):
        taken = m.reshape(taken, tuple(source.shape))
    return taken if alpha == 1 else m.mul(taken, alpha)


@method_only()
def _index_add_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: complex = 1
) -> Tensor:
    """Add `alpha` times slices of `source` to slices along `dim`, in place."""
    if isinstance(index, Tensor) and isinstance(source, Tensor):
        if self._array.dtype not in dtypes.HALF_TYPES and can_write_directly(self, index, source):
            _add_into(xp_of(self._array), self._array, dim, index._array, source._array, alpha)
            bump(self, "index_add_")
            return self
    return in_place("index_add", self, dim, index, source, alpha=alpha)


# --------------------------------------------------------------------------------- index_copy


@op(
    input=lambda m, g, dim, index: m.index_fill(g, dim, index, 0),
    source=lambda m, g, dim, index, source: _source_gradient(m, g, dim, index, source),
    moves=True,
    inplace=True,
    out=True,
    samples=lambda: [*_source_samples(), Sample(T(3), 0, _vector(1, dtype="int32"), T(1))],
    autocast="widest",
)
def index_copy(xp: Namespace, input: Array, dim: int, index: Array, source: Array) -> Array:
    """A copy of `input` with slices along `dim` replaced by those of `source`.

    >>> torch.zeros(3).index_copy(0, torch.tensor([1]), torch.tensor([2.0]))
    tensor([0., 2., 0.])
    """
    result = copy_to_write(xp, input)
    _copy_into(result, dim, index, source)
    return result


def _copy_into(target: Array, dim: int, index: Array, source: Array) -> None:
    dim = wrap_dim(dim, target.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if source.ndim != target.ndim and source.ndim and target.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            f"must match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({target.ndim})"
        )
    if index.dtype is not dtypes.I64:
        raise runtime_error(
            f"index_copy_(): Expected a long tensor for index, but got {_name(index)}", code="RG305"
        )
    if target.dtype is not source.dtype:
        raise runtime_error(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{_name(target)} and (source) {_name(source)}",
            code="RG301",
        )
    _check_slices(target.shape, dim, index.size, source.shape)
    size = target.shape[dim] if target.ndim else 1
    outside = first_outside(index, size)
    if outside is not None:
        raise explained(
            IndexError(
                f"index_copy_(): index {outside} is out of bounds for dimension {dim} with size "
                f"{size}"
            ),
            code="RG204",
        )
    _lined(target)[along(dim, index)] = source


def _check_slices(target: tuple[int, ...], dim: int, count: int, source: tuple[int, ...]) -> None:
    ours = target[:dim] + target[dim + 1 :]
    theirs = source[:dim] + source[dim + 1 :]
    if ours != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, ours))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, theirs))} at dimension 0."
        )
    if source and source[dim] != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) "
            f"({source[dim]})"
        )


@method_only()
def _index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write the slices of `source` over slices along `dim`."""
    if isinstance(index, Tensor) and isinstance(source, Tensor):
        if can_write_directly(self, index, source):
            _copy_into(self._array, dim, index._array, source._array)
            bump(self, "index_copy_")
            return self
    return in_place("index_copy", self, dim, index, source)


# --------------------------------------------------------------------------------- index_fill


def _fill_into(target: Array, dim: int, index: Array, value: Operand) -> None:
    if index.dtype is not dtypes.I64:
        raise explained(IndexError("index_fill_(): Expected dtype int64 for index."), code="RG305")
    dim = wrap_dim(dim, target.ndim)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    size = target.shape[dim] if target.ndim else 1
    if index.size and (index.max() >= size or index.min() < -size):
        outside = int(index[(index >= size) | (index < -size)].reshape(-1)[0])
        raise explained(
            IndexError(f"index {outside} is out of bounds for dimension {dim} with size {size}"),
            code="RG204",
        )
    _lined(target)[along(dim, index)] = value


def _number(xp: Namespace, value: complex, target: Array) -> Array:
    if isinstance(value, complex) and target.dtype not in dtypes.COMPLEX_TYPES:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return fill_value(xp, value, target.dtype)


@inner_op(
    input=lambda m, g, dim, index: m.index_fill(g, dim, index, 0),
    half="move",
    holomorphic=False,
    inplace=True,
    forward="elementwise",
    aten="index_fill.int_Scalar",
)
def index_fill(xp: Namespace, input: Array, dim: int, index: Array, value: complex) -> Array:
    """A copy of `input` with a number in the slices along `dim` that a vector names."""
    result = copy_as_it_lies(xp, input)
    _fill_into(result, dim, index, _number(xp, value, input))
    return result


@op(
    input=lambda m, g, dim, index: m.index_fill(g, dim, index, 0),
    # a slice that is named twice is written once
    value=lambda m, g, dim, index: m.sum(
        m.index_select(g, dim, m._distinct(index, g.shape[dim] if g.shape else 1))
    ),
    moves=True,
    inplace="_index_fill_tensor_",
    node_name="IndexFillBackward1",
    aten="index_fill.int_Tensor",
    aten_inplace="index_fill_.int_Tensor",
)
def _index_fill_tensor(xp: Namespace, input: Array, dim: int, index: Array, value: Array) -> Array:
    """A copy of `input` with the element of a 0-d tensor in slices along `dim`."""
    if value.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    result = copy_as_it_lies(xp, input)
    _fill_into(result, dim, index, _number(xp, value.item(), input))
    return result


@op(half="move")
def _distinct(xp: Namespace, index: Array, size: int) -> Array:
    """The places that an index names, counted from the front, each once."""
    return xp.unique(xp.where(index < 0, index + size, index))


def _fill_samples() -> list[Sample]:
    places = (_vector(2, 0), _vector(-1, 2), _vector(1, 1))
    # PyTorch itself cannot differentiate with respect to the value where an index is negative
    found = [
        Sample(T(3, 4), 0, index, value, dtypes=(*FLOATS, *HALVES, *COMPLEX))
        for index, value in (
            *((index, 1.5) for index in places),
            *((index, T()) for index in places[::2]),
            (places[1], T(grad=False)),
        )
    ]
    return [
        *found,
        Sample(T(2, 3, 4), -1, places[0], 2),
        Sample(T(2, 3, 4), 1, places[2], T()),
        Sample(T(3, 4), 0, T(values=1, dtype="int64"), 1.5),
        Sample(T(), 0, T(values=0, dtype="int64"), 1.5),
        Sample(T(), 0, T(values=0, dtype="int64"), T()),
        Sample(T(3, 4), 0, T(0, dtype="int64"), 1.5),
        Sample(T(3, dtype="int64"), 0, places[0], 1.5, grad=False),
        Sample(T(3), 0, _vector(3), 1.5),
        Sample(T(3), 0, _vector(-4), 1.5),
        Sample(T(3), 0, _vector(1, dtype="int32"), 1.5),
        Sample(T(3), 0, T(1, 1, dtype="int64", low=0), 1.5),
        Sample(T(3), 0, _vector(1), 1j),
        Sample(T(3), 0, _vector(1), T(1)),
        Sample(T(3), 1, _vector(1), 1.5),
    ]


@composite(samples=_fill_samples)
def _index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    """A copy of `input` with `value` in the slices along `dim` that `index` names.

    >>> torch.zeros(3).index_fill(0, torch.tensor([0, 2]), 1.0)
    tensor([1., 0., 1.])
    """
    name = "_index_fill_tensor" if isinstance(value, Tensor) else "index_fill"
    result: Tensor = getattr(RECORDED, name)(input, dim, index, value)
    return result


@method_only()
def _index_fill_(self: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    """Write `value` into the slices along `dim` that `index` names."""
    is_tensor = isinstance(value, Tensor)
    if (
        isinstance(index, Tensor)
        and not isinstance(value, Tensor)
        and can_write_directly(self, index)
    ):
        _fill_into(self._array, dim, index._array, _number(xp_of(self._array), value, self._array))
        bump(self, "index_fill_")
        return self
    return in_place("_index_fill_tensor" if is_tensor else "index_fill", self, dim, index, value)
