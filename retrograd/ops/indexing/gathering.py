"""Reading and writing along a dimension through an index of the same rank: gather and scatter.

An index is data, not a variable: nothing here
has a derivative with respect to it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU, xp_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.backend.neutral import scatter as scattering
from retrograd.engine.views import bump
from retrograd.ops import errors
from retrograd.ops.indexing.masking import can_write_directly, fill_value
from retrograd.ops.kinds import Array, Namespace, Operand, copy_to_write, wrap_dim
from retrograd.ops.registry import OPS, RECORDED, composite, inner_op, method_only, op
from retrograd.ops.sizes import broadcast_shapes
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_INDEX_TYPES = (dtypes.I64, dtypes.int32.numpy)
_UNSIGNED: dict[int, Any] = {8: dtypes.uint64.numpy, 4: dtypes.uint32.numpy}


# ------------------------------------------------------------------------------------- checks


def check_index_type(name: str, index: Array, what: str = "int32/int64") -> None:
    """An index of gather and scatter holds int64 or int32; an empty one may hold anything."""
    if index.dtype not in _INDEX_TYPES and index.size:
        raise errors.runtime_error(f"{name}(): Expected dtype {what} for index", code="RG305")


def first_outside(index: Array, size: int) -> int | None:
    """The first value of an index that is not in [0, size), or None."""
    if not index.size:
        return None
    # seen as unsigned, a negative number is large: one pass checks both ends
    unsigned = index.view(_UNSIGNED[index.itemsize])
    return None if unsigned.max() < size else int(index[unsigned >= size].reshape(-1)[0])


def check_bounds(index: Array, size: int, dim: int) -> None:
    """gather and scatter raise RuntimeError where plain indexing raises IndexError."""
    outside = first_outside(index, size)
    if outside is not None:
        raise errors.runtime_error(
            f"index {outside} is out of bounds for dimension {dim} with size {size}", code="RG204"
        )


def _size(shape: tuple[int, ...], dim: int) -> int:
    """The size of a dimension, where a 0-d tensor counts as one element in one dimension."""
    if not shape:
        return 1
    if dim >= len(shape):
        raise errors.dimension_range(dim, len(shape))
    return shape[dim]


def _rank(array: Array) -> int:
    return array.ndim or 1


def _check_gather(input: Array, dim: int, index: Array) -> None:
    if _rank(index) != _rank(input):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    larger = _larger(index.shape, input.shape, dim)
    if larger is not None:
        raise RuntimeError(
            f"Size does not match at dimension {larger} expected index {list(index.shape)} to be "
            f"no larger than self {list(input.shape)} apart from dimension {dim}"
        )
    check_bounds(index, _size(input.shape, dim), dim)


def _larger(shape: tuple[int, ...], limit: tuple[int, ...], dim: int | None) -> int | None:
    """The first dimension, other than `dim`, in which a shape goes beyond the limit."""
    for d in range(len(shape) or 1):
        if d != dim and _size(shape, d) > _size(limit, d):
            return d
    return None


def _check_scatter(input: Array, dim: int, index: Array, src: Array | None) -> None:
    """The shapes of a scatter; the order of the checks decides which error is seen."""
    if _rank(input) != _rank(index):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    wrong = _larger(index.shape, input.shape, dim) is not None
    start = (
        f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart "
        f"from dimension {dim}"
    )
    if src is not None:
        wrong = wrong or _larger(index.shape, src.shape, None) is not None
        if _rank(src) != _rank(index):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        start += f" and to be no larger size than src {list(src.shape)}"
    if wrong:
        raise RuntimeError(start)
    check_bounds(index, _size(input.shape, dim), dim)


def check_source_type(input: Array, dim: int, index: Array, src: Array, *_: object) -> None:
    if input.dtype is not src.dtype:
        raise errors.runtime_error(
            "scatter(): Expected self.dtype to be equal to src.dtype", code="RG301"
        )


# ------------------------------------------------------------------------------------ the core


def _places(xp: Namespace, dim: int, index: Array) -> tuple[Array, ...]:
    """An index that reads or writes, through NumPy, the places named along `dim`."""
    if index.ndim == 1:
        return (index,)
    last = index.ndim - 1
    return tuple(
        [index if d == dim else _counting(xp, n, last - d) for d, n in enumerate(index.shape)]
    )


def _counting(xp: Namespace, size: int, after: int) -> Array:
    """0, 1, 2 ... along a dimension with `after` more behind it."""
    return _short_counting(xp, size, after) if size <= _SHORT else _new_counting(xp, size, after)


def _new_counting(xp: Namespace, size: int, after: int) -> Array:
    return xp.arange(size).reshape(size, *(1,) * after)


_SHORT = 4096
_short_counting = lru_cache(maxsize=256)(_new_counting)  # shared, so never written


def _lined(array: Array) -> Array:
    """A 0-d array as one element in one dimension."""
    return array if array.ndim else array.reshape(1)


def _leading(src: Array, index: Array) -> Array:
    """The part of a source that the index has places for."""
    return src if src.shape == index.shape else src[tuple(slice(n) for n in index.shape)]


def _write(xp: Namespace, target: Array, dim: int, index: Array, values: Operand) -> None:
    """Write along a dimension in place, into an array that was checked."""
    if index.size:
        index = _lined(index)
        _lined(target)[_places(xp, dim, index)] = values


# ------------------------------------------------------------------------------------- gather


def _gather_samples() -> list[Sample]:
    everything = (*FLOATS, *HALVES, *COMPLEX)
    one = T(values=[[1], [0], [3]], dtype="int64")
    wide = T(values=[[1, 1, 0, 3, 2], [0, 0, 0, 1, 2]], dtype="int64")
    return [
        Sample(T(3, 4), 1, one, dtypes=everything),
        Sample(T(3, 4), -1, wide, dtypes=everything),
        Sample(T(3, 4), 0, T(values=[[2, 2, 0]], dtype="int32")),
        Sample(T(5), 0, T(values=[4, 0, 4], dtype="int64")),
        Sample(T(2, 3, 4), 1, T(values=[[[2, 0], [1, 1]]], dtype="int64")),
        Sample(T(), 0, T(values=0, dtype="int64")),
        Sample(T(), 0, T(values=[0, 0], dtype="int64")),
        Sample(T(3), 0, T(values=2, dtype="int64")),
        Sample(T(3, 4), 1, T(0, 4, dtype="int64")),
        Sample(T(3, 4), 1, T(0, dtype="int64")),
        Sample(T(3, 4, dtype="int64"), 1, one, grad=False),
        Sample(T(3, 4, dtype="bool"), 1, one, grad=False),
        Sample(T(3, 4), 1, one, sparse_grad=False),
        Sample(T(3, 4), 1, T(values=[[4]], dtype="int64")),
        Sample(T(3, 4), 1, T(values=[[-1]], dtype="int64")),
        Sample(T(3, 4), 1, T(values=[0], dtype="int64")),
        Sample(T(3, 4), 0, T(1, 5, dtype="int64", low=0, high=2)),
        Sample(T(3, 4), 2, one),
        Sample(T(3, 4), 1, T(3, 1, dtype="float32")),
        Sample(T(3, 4), 1, T(3, 1, dtype="int16", low=0)),
    ]


@op(
    # PyTorch keeps the input too, though only its shape is read
    input=lambda m, g, input, dim, index: m._gather_gradient(g, tuple(input.shape), dim, index),
    moves=True,
    out=True,
    samples=_gather_samples,
    lies="rows",
)
def gather(
    xp: Namespace, input: Array, dim: int, index: Array, *, sparse_grad: bool = False
) -> Array:
    """The elements that `index` names along `dim`.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    if sparse_grad:
        raise errors.unsupported("gather(sparse_grad=True)")
    dim = wrap_dim(dim, input.ndim)
    check_index_type("gather", index)
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    _check_gather(input, dim, index)
    found: Array = _lined(input)[_places(xp, dim, _lined(index))]
    return found.reshape(index.shape)


compiled_first(
    "gather",
    lambda input, dim, index, *, sparse_grad=False: (
        None if sparse_grad else rows.take_along(input, dim, index)
    ),
    short=True,
)


@op(
    g=lambda m, g, dim, index: m.gather(g, dim, index),
    holomorphic=False,
    node_name="ScatterAddBackward0",
    forward="linear",
)
def _gather_gradient(
    xp: Namespace, g: Array, shape: tuple[int, ...], dim: int, index: Array
) -> Array:
    """Zeros with the gradient added where `gather` read."""
    result = xp.zeros(shape, g.dtype)
    if not g.size:
        return result
    dim = wrap_dim(dim, len(shape))
    if shape and index.ndim and index.shape[dim] == 1:
        result[_places(xp, dim, index)] = g  # no place is named twice
        return result
    lined = scattering.scatter_reduce(xp, _lined(result), dim, _lined(index), _lined(g), "sum")
    return lined.reshape(shape)


compiled_first(
    "_gather_gradient",
    lambda g, shape, dim, index: rows.add_along(shape, dim, index, g),
)


# ------------------------------------------------------------------------------------ scatter


@inner_op(
    input=lambda m, g, dim, index: m._scatter_value(g, dim, index, 0),
    src=lambda m, g, dim, index: m.gather(g, dim, index),
    moves=True,
    inplace="scatter_",
    out=True,
    check=check_source_type,
    aten="scatter.src",
)
def scatter(xp: Namespace, input: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of `input` with the elements of `src` in the places that `index` names along `dim`."""
    result = copy_to_write(xp, input)
    _scatter_into(xp, result, dim, index, src)
    return result


def _scatter_into(xp: Namespace, target: Array, dim: int, index: Array, src: Array) -> None:
    dim = wrap_dim(dim, target.ndim)
    check_index_type("scatter", index)
    if index.size:
        _check_scatter(target, dim, index, src)
        _write(xp, target, dim, index, _leading(_lined(src), _lined(index)))


@op(
    input=lambda m, g, dim, index: m._scatter_value(g, dim, index, 0),
    half="move",
    holomorphic=False,
    inplace="scatter_",
    out=True,
    node_name="ScatterBackward1",
    forward="elementwise",
    aten="scatter.value",
)
def _scatter_value(xp: Namespace, input: Array, dim: int, index: Array, value: complex) -> Array:
    """A copy of `input` with a number in the places that `index` names along `dim`."""
    result = copy_to_write(xp, input)
    _scatter_value_into(xp, result, dim, index, value)
    return result


def _scatter_value_into(
    xp: Namespace, target: Array, dim: int, index: Array, value: complex
) -> None:
    dim = wrap_dim(dim, target.ndim)
    check_index_type("scatter", index)
    if index.size:
        _check_scatter(target, dim, index, None)
        _write(xp, target, dim, index, fill_value(xp, value, target.dtype))


@op(
    input=lambda m, g: g,
    src=lambda m, g, dim, index: m.gather(g, dim, index),
    holomorphic=False,
    inplace="scatter_add_",
    out=True,
    check=check_source_type,
    samples=lambda: _scatter_samples(repeated=True),
    forward="linear",
)
def scatter_add(xp: Namespace, input: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of `input` with `src` added in the places that `index` names along `dim`.

    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    return reduce_along(xp, input, dim, index, src, "sum", True)


compiled_first("scatter_add", "add_along")


def reduce_along(
    xp: Namespace, input: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool
) -> Array:
    dim = wrap_dim(dim, input.ndim)
    check_index_type("scatter", index)
    if not index.size:
        return input.copy()
    _check_scatter(input, dim, index, src)
    result = scattering.scatter_reduce(
        xp, _lined(input), dim, _lined(index), _lined(src), reduce, include_self
    )
    return result.reshape(input.shape)


def _scatter_samples(repeated: bool, value: bool = False) -> list[Sample]:
    everything = (*FLOATS, *HALVES, *COMPLEX)
    apart = T(values=[[1, 0], [0, 3]], dtype="int64")
    twice = T(values=[[1, 1], [0, 0]], dtype="int64") if repeated else apart

    def sent(*shape: int, **more: Any) -> float | T:
        return 1.5 if value else T(*shape, **more)

    found = [
        Sample(T(3, 4), 1, apart, sent(2, 2), dtypes=everything),
        Sample(T(3, 4), -1, twice, sent(2, 2), dtypes=everything),
        Sample(T(3, 4), 0, T(values=[[2, 1, 0, 2]], dtype="int32"), sent(1, 4)),
        Sample(T(5), 0, T(values=[4, 0], dtype="int64"), sent(2)),
        Sample(T(2, 3, 4), 1, T(values=[[[2, 0], [1, 1]]], dtype="int64"), sent(1, 2, 2)),
        Sample(T(), 0, T(values=0, dtype="int64"), sent()),
        Sample(T(), 0, T(values=[0], dtype="int64"), sent(1)),
        Sample(T(3), 0, T(values=2, dtype="int64"), sent()),
        Sample(T(3, 4), 1, T(0, 4, dtype="int64"), sent(0, 4)),
        Sample(T(3, 4, dtype="int64"), 1, apart, sent(2, 2, dtype="int64"), grad=False),
        Sample(T(3, 4, dtype="uint8"), 1, apart, sent(2, 2, dtype="uint8"), grad=False),
        Sample(T(3, 4), 1, T(values=[[4]], dtype="int64"), sent(1, 1)),
        Sample(T(3, 4), 1, T(values=[[-1]], dtype="int64"), sent(1, 1)),
        Sample(T(3, 4), 1, T(values=[0], dtype="int64"), sent(1)),
        Sample(T(3, 4), 0, T(1, 5, dtype="int64", low=0, high=2), sent(1, 5)),
        Sample(T(3, 4), 2, apart, sent(2, 2)),
        Sample(T(3, 4), 1, T(2, 2, dtype="float32"), sent(2, 2)),
    ]
    if value:
        return [*found, Sample(T(3, 4), 1, apart, 1j), Sample(T(3, 4), 1, apart, value=3)]
    return [
        *found,
        Sample(T(3, 4), 1, apart, T(3, 3), grad=False),
        Sample(T(3, 4), 1, apart, T(2, 1)),
        Sample(T(3, 4), 1, apart, T(2)),
        Sample(T(3, 4), 1, apart, T()),
        Sample(T(3, 4), 1, apart, T(2, 2, dtype="int64")),
    ]


def _all_scatter_samples() -> list[Sample]:
    apart = T(values=[[1, 0], [0, 3]], dtype="int64")
    twice = T(values=[[1, 1], [0, 3]], dtype="int64")
    reduced = [
        Sample(T(3, 4), 1, index, src, reduce=way, grad=False)
        for index in (apart, twice)
        for src in (T(2, 2), 1.5)
        for way in ("add", "multiply", "sum")
    ]
    plain = [
        Sample(T(3, 4), 1, apart, src=T(2, 2)),
        Sample(T(3, 4), dim=1, index=apart, src=T(2, 2)),
    ]
    return [*_scatter_samples(False), *_scatter_samples(False, value=True), *reduced, *plain]


def _scatter_form(name: str, index: Tensor, src: object, value: object, reduce: str | None) -> Any:
    """The source of a scatter, given as `src` or `value`, after checking the overload."""
    if value is not None and src is None:
        src = value
    elif value is not None or src is None:
        raise TypeError(f"{name}() received an invalid combination of arguments")
    if not isinstance(src, (Tensor, bool, int, float, complex, *CPU.relatives)):
        raise TypeError(f"{name}() received an invalid combination of arguments")
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return src


def _as_source(input: Tensor, index: Tensor, value: Any) -> Tensor:
    """A number as the source of a reducing scatter."""
    xp = xp_of(input._array)
    return wrap(xp.filled(index._array.shape, fill_value(xp, value, input._array.dtype)))


@composite(samples=_all_scatter_samples)
def _scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: complex | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `input` with `src`, a tensor or number, where `index` names places along `dim`.

    >>> torch.zeros(3).scatter(0, torch.tensor([2, 0]), torch.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    src = _scatter_form("scatter", index, src, value, reduce)
    if reduce is not None:
        if not isinstance(src, Tensor):
            src = _as_source(input, index, src)
        if reduce == "add":
            result: Tensor = RECORDED.scatter_add(input, dim, index, src, out=out)
        else:
            result = RECORDED.scatter_reduce(input, dim, index, src, "prod", out=out)
    elif isinstance(src, Tensor):
        result = RECORDED.scatter(input, dim, index, src, out=out)
    else:
        result = RECORDED._scatter_value(input, dim, index, src, out=out)
    return result


@method_only()
def _scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: complex | None = None,
    reduce: str | None = None,
) -> Tensor:
    """Write `src`, a tensor or number, where `index` names places along `dim`."""
    src = _scatter_form("scatter_", index, src, value, reduce)
    is_tensor = isinstance(src, Tensor)
    if reduce is not None:
        if not is_tensor:
            src = _as_source(self, index, src)
        name = "scatter_add" if reduce == "add" else "scatter_reduce"
        options = () if reduce == "add" else ("prod",)
        return in_place(name, self, dim, index, src, *options)
    if isinstance(index, Tensor) and can_write_directly(self, index, src):
        if not is_tensor:
            _scatter_value_into(xp_of(self._array), self._array, dim, index._array, src)
        else:
            check_source_type(self._array, dim, index._array, src._array)
            _scatter_into(xp_of(self._array), self._array, dim, index._array, src._array)
        bump(self, "scatter_")
        return self
    return in_place("scatter" if is_tensor else "_scatter_value", self, dim, index, src)


def in_place(name: str, *args: object, **options: object) -> Tensor:
    """Call the in-place twin of an op."""
    return OPS[name].in_place(*args, **options)


# ---------------------------------------------------------------------------- take_along_dim


@composite(
    samples=lambda: [
        Sample(T(3, 4), T(values=[[1], [0], [3]], dtype="int64"), 1),
        Sample(T(3, 4), T(values=[[1, 2, 2]], dtype="int64"), -1),
        Sample(T(3, 1), T(values=[[1, 2, 2]], dtype="int64"), 0),
        Sample(T(3, 4), T(values=[[11, 0]], dtype="int64")),
        Sample(T(3, 4), T(values=[[-1]], dtype="int64"), 1),
        Sample(T(3, 4), T(values=[1, 2], dtype="int64"), 1),
        Sample(T(3, 4), T(values=[[1]], dtype="int32"), 1),
        Sample(T(3, 4), T(values=[[1]], dtype="int64"), 2),
    ]
)
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements that `indices` names along `dim`; the other dimensions broadcast.

    >>> torch.take_along_dim(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0]]), 1)
    tensor([[1],
            [3]])
    """
    if indices._array.dtype is not dtypes.I64:
        kind = dtypes.from_numpy_dtype(indices._array.dtype).type_name
        raise errors.runtime_error(
            f"torch.take_along_dim(): dtype of indices should be Long but got {kind}", code="RG305"
        )
    if dim is None:
        return RECORDED.gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    rank = input._array.ndim
    if rank != indices._array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of "
            f"dimensions, but got {rank} dimensions for input, and {indices._array.ndim} "
            "dimensions for indices"
        )
    dim = wrap_dim(dim, rank)
    shapes = [list(input._array.shape), list(indices._array.shape)]
    size = input._array.shape[dim] if rank else 1
    lengths = [shape[dim] if rank else 1 for shape in shapes]
    for shape in shapes:
        if rank:
            shape[dim] = 1
    try:
        common = list(broadcast_shapes(*map(tuple, shapes)))
    except ValueError:
        raise errors.broadcast(*shapes) from None
    for tensor_shape, length in zip(shapes, lengths, strict=True):
        tensor_shape[:] = common
        if rank:
            tensor_shape[dim] = length
    return RECORDED.gather(
        input.expand(shapes[0]), dim, indices.expand(shapes[1]).remainder(size), out=out
    )
