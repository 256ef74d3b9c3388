"""Square brackets: `x[index]` and `x[index] = value`.

An index is read from left to right into steps, each a view of the one before (`select`, `slice`,
`unsqueeze`), and into tensors with the dimension that each of them indexes. Without tensors the
result is the last view; with them it is the op `index` on that view, which copies. Writing is the
same with `copy_`, `fill_` or `index_put_` at the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from retrograd import core, dtypes
from retrograd.backend import CPU, can_write, xp_of
from retrograd.backend.quiet import quiet
from retrograd.engine.views import bump
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained
from retrograd.ops.indexing.masking import is_unrecorded
from retrograd.ops.indexing.tensors import index as _index
from retrograd.ops.indexing.tensors import packed, put_
from retrograd.ops.kinds import Array
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import RECORDED, method_only
from retrograd.ops.shapes.copying import cast_array, loses_parts
from retrograd.ops.shapes.regions import select as _select
from retrograd.ops.shapes.regions import slice as _slice
from retrograd.ops.shapes.shape import unsqueeze as _unsqueeze
from retrograd.tensor import Tensor, tensor_method, wrap

Step = tuple[str, tuple[Any, ...]]  # the name of a view op and its options
Found = list[tuple[int, Tensor]]  # index tensors with the dimension that each starts at

# x[False], x[True]
_BOOLEANS = (wrap(CPU.xp.empty(0, dtypes.I64)), wrap(CPU.xp.zeros(1, dtypes.I64)))
_INT64_LIMIT = 2**63

_FIRST = (0,)
_ALL = slice(None)
_VIEWS = {"select": _select, "slice": _slice, "unsqueeze": _unsqueeze}


# ------------------------------------------------------------------------------------ reading


@method_only(name="__getitem__")
@core.shortcut("getitem", _select, _slice, _unsqueeze, _index, _FIRST)
def _getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for numbers, slices, None and Ellipsis; a copy for tensors and lists.

    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> x[0], x[:, 1], x[x > 2]
    (tensor([1, 2]), tensor([2, 4]), tensor([3, 4]))
    """
    kind = type(index)
    if kind is int:
        try:
            return _select(self, 0, index)  # type: ignore[no-any-return]
        except IndexError:
            raise _select_error(self._array.shape, 0, index, 0) from None
    if kind is slice:
        shape = self._array.shape
        if not shape:
            raise explained(
                IndexError("slice() cannot be applied to a 0-dim tensor."), code="RG204"
            )
        start, stop, step = _bounds(index, shape[0])
        return _slice(self, 0, start, stop, step)  # type: ignore[no-any-return]
    if kind is Tensor:
        array, rank = index._array, self._array.ndim
        if array.dtype is dtypes.I64 and array.ndim and rank:
            return _index(self, _FIRST, index)  # type: ignore[no-any-return]
        if array.dtype is dtypes.B8 and 0 < array.ndim <= rank:
            return _index(self, _FIRST, index)  # type: ignore[no-any-return]
    elif index is None:
        return _unsqueeze(self, 0)  # type: ignore[no-any-return]
    elif kind is tuple and len(index) == 2:
        # a column, or one element of a matrix
        rows, column = index
        shape = self._array.shape
        if type(column) is int and len(shape) > 1 and -shape[1] <= column < shape[1]:
            if type(rows) is slice and rows == _ALL:
                return _select(self, 1, column)  # type: ignore[no-any-return]
            if type(rows) is int and -shape[0] <= rows < shape[0]:
                return _select(_select(self, 0, rows), 0, column)  # type: ignore[no-any-return]
    steps, found = _parse(self._array.shape, index)
    result = self
    for name, options in steps:
        result = _VIEWS[name](result, *options)
    if found:
        dims, tensors = packed(result, found)
        return _index(result, dims, *tensors)  # type: ignore[no-any-return]
    return RECORDED.alias(self) if result is self else result


# ------------------------------------------------------------------------------------ parsing


def _parse(shape: tuple[int, ...], index: object) -> tuple[list[Step], Found]:
    """An index as view steps and tensors, after PyTorch's rules and in its order of checks."""
    items = index if type(index) is tuple else _as_items(index)
    entries: list[Any] = []
    taken = 0  # dimensions that the index names
    for item in items:
        kind = type(item)
        if kind is int or kind is slice:
            taken += 1
        elif item is None or item is Ellipsis or kind is bool:
            pass
        else:
            if not isinstance(item, Tensor):
                item = _converted(item)
            taken += _dimensions_taken(item)
        entries.append(item)
    if taken > len(shape):
        raise explained(
            IndexError(f"too many indices for tensor of dimension {len(shape)}"), code="RG204"
        )
    steps: list[Step] = []
    found: Found = []
    sizes = list(shape)
    dim = 0
    for position, item in enumerate(entries):
        kind = type(item)
        if dim > len(sizes) and item is not Ellipsis:
            raise IndexError("an index can only have a single ellipsis ('...')")
        if kind is slice:
            size = sizes[dim]
            if not _takes_all(item, size):
                start, stop, step = _bounds(item, size)
                sizes[dim] = len(range(start, stop, step))
                steps.append(("slice", (dim, start, stop, step)))
            dim += 1
        elif kind is int or (isinstance(item, Tensor) and _is_number(item)):
            number = item if kind is int else int(item._array)
            if dim >= len(sizes) or not -sizes[dim] <= number < sizes[dim]:
                raise _select_error(tuple(sizes), dim, number, position)
            del sizes[dim]
            steps.append(("select", (dim, number)))
        elif item is Ellipsis:
            dim += len(shape) - taken
        elif item is None:
            sizes.insert(dim, 1)
            steps.append(("unsqueeze", (dim,)))
            dim += 1
        elif kind is bool or (item._array.ndim == 0 and item._array.dtype in _MASKS):
            # a single truth value adds a dimension and keeps all of it or nothing
            sizes.insert(dim, 1)
            steps.append(("unsqueeze", (dim,)))
            truth = item if kind is bool else bool(item._array)
            found.append((dim, _BOOLEANS[truth]))
            dim += 1
        else:
            found.append((dim, item))
            dim += item._array.ndim if item._array.dtype in _MASKS else 1
    return steps, found


_MASKS = (dtypes.B8, dtypes.U8)


def _dimensions_taken(item: object) -> int:
    if isinstance(item, Tensor) and item._array.dtype in _MASKS:
        return item._array.ndim
    return 1


def _is_number(tensor: Tensor) -> bool:
    """A 0-d integer tensor selects as a number does."""
    array = tensor._array
    if tensor._level:
        return False  # another number for each example
    return array.ndim == 0 and array.dtype.kind in "iu" and array.dtype is not dtypes.U8


def _takes_all(item: slice, size: int) -> bool:
    """A slice that leaves a dimension as it is needs no view of its own."""
    start, stop, step = item.start, item.stop, item.step
    return (
        (start is None or (type(start) is int and start == 0))
        and (stop is None or (type(stop) is int and stop >= size))
        and (step is None or (type(step) is int and step == 1))
    )


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    """Start, stop and step within a dimension; steps backwards are not supported by PyTorch."""
    start, stop, step = item.indices(size)
    if step < 0:
        raise ValueError("step must be greater than zero")
    return start, stop if stop > start else start, step


def _select_error(shape: tuple[int, ...], dim: int, number: int, position: int) -> Exception:
    if not -_INT64_LIMIT <= number < _INT64_LIMIT:
        return ValueError("Overflow when unpacking long long")
    if not shape and number == 0:
        return explained(
            IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            ),
            code="RG204",
        )
    size = shape[dim] if dim < len(shape) else 0
    return explained(
        IndexError(f"index {number} is out of bounds for dimension {position} with size {size}"),
        code="RG204",
    )


def _as_items(index: object) -> Sequence[object]:
    """What is not a tuple counts as one index, except (still) some nested lists."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32:
        nested = (Tensor, list, tuple, range, CPU.array, str, slice)
        if any(isinstance(x, nested) or x is None or x is Ellipsis for x in index):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated and will "
                "be changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 "
                "this will be interpreted as tensor index, x[torch.tensor(seq)], which will "
                "result either in an error or a different result",
                UserWarning,
                stacklevel=user_level(),
            )
            return index
    return (index,)


def _converted(item: Any) -> Tensor | int:
    """A NumPy integer as a number, a sequence or array as an index tensor."""
    if isinstance(item, Integral) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, (list, tuple, range)):
        item = CPU.xp.asarray(_without_tensors(item))
    elif isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    elif not isinstance(item, CPU.array):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {_type_name(item)})"
        )
    if item.dtype.kind not in "biuf":
        raise TypeError(f"can't use an array of type {item.dtype} as an index")
    return wrap(item if item.dtype in _MASKS else item.astype(dtypes.I64))


def _without_tensors(items: object) -> Any:
    if isinstance(items, Tensor):
        return items.tolist()
    return [_without_tensors(x) for x in items] if isinstance(items, (list, tuple)) else items


def _type_name(value: object) -> str:
    """A type as C names it: with its module unless it is a builtin."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# ------------------------------------------------------------------------------------ writing


@tensor_method
def __delitem__(self: Tensor, index: object) -> None:
    """Refuse: the elements of a tensor cannot be taken out."""
    raise TypeError("Tensor does not support deleting items")


@method_only(name="__setitem__")
def _setitem(self: Tensor, index: object, value: Tensor | complex) -> None:
    """`x[index] = value`, with a number or a tensor that broadcasts to what the index names.

    >>> x = torch.zeros(3)
    >>> x[1:] = 5
    >>> x
    tensor([0., 5., 5.])
    """
    if _is_plain(index) and _write_plain(self, index, value):
        return
    if not isinstance(value, Tensor):
        value = _as_value(self, value)
    if index is False:
        return
    if index is None or index is True:
        steps: list[Step] = [("unsqueeze", (0,))]
        found: Found = []
    elif type(index) is int and not self._array.shape:
        raise _select_error((), 0, index, 0)
    elif type(index) is slice and not self._array.shape:
        raise explained(IndexError("slice() cannot be applied to a 0-dim tensor."), code="RG204")
    else:
        steps, found = _parse(self._array.shape, index)
    if not found and is_unrecorded(self, value) and can_write(self._array):
        if not loses_parts(value._array.dtype, self._array.dtype):
            _write(self, steps, value._array)
            return
    target = self
    for name, options in steps:
        target = _VIEWS[name](target, *options)
    if found:
        put_(target, found, _without_leading_ones(value, always=False), False)
    elif target._array.shape == value._array.shape:
        target.copy_(value)
    elif value._array.ndim == 0 and 0 not in target._array.strides:
        target.fill_(value)
    else:
        source = _without_leading_ones(value, always=True)
        if source._array.shape != target._array.shape:
            source = source.expand(target._array.shape)
        target.copy_(source)


def _is_plain(index: Any) -> bool:
    """Whether NumPy reads the index as PyTorch does: numbers, slices forwards, or one tensor."""
    kind = type(index)
    if kind is int:
        return True
    if kind is slice:
        return index.step is None or (type(index.step) is int and index.step > 0)
    if kind is tuple:
        return all(type(item) is int or (type(item) is slice and _is_plain(item)) for item in index)
    if kind is Tensor:
        array = index._array
        return array.ndim > 0 and (array.dtype is dtypes.I64 or array.dtype is dtypes.B8)
    return False


def _write_plain(self: Tensor, index: Any, value: Any) -> bool:
    """The short way for the most frequent writes; False, with nothing written, if there is none.

    An index or a value that NumPy refuses goes the long way too, which finds PyTorch's error.
    """
    array = self._array
    kind = type(value)
    if kind is float or kind is int:
        if not (array.dtype is dtypes.F32 or array.dtype is dtypes.F64) or not -3e38 < value < 3e38:
            return False
        written = value
    elif kind is Tensor and value._array.dtype is array.dtype:
        written = value._array
    else:
        return False
    if not is_unrecorded(self, value, index):
        return False
    try:
        array[index._array if type(index) is Tensor else index] = written
    except (IndexError, ValueError, TypeError):
        return False
    bump(self, "__setitem__")
    return True


def _as_value(target: Tensor, value: Any) -> Tensor:
    """A number as a 0-d tensor of the target's dtype."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {_type_name(value)} to a {target.type()}")
    kind, xp = target._array.dtype, xp_of(target._array)
    if kind is dtypes.B8:
        return wrap(xp.asarray(bool(value)))
    # half precision takes what is too large as infinite
    checked = dtypes.float64 if kind in dtypes.HALF_TYPES else target.dtype
    with quiet():
        return wrap(xp.asarray(as_element(value, checked)).astype(kind))


def _without_leading_ones(value: Tensor, *, always: bool) -> Tensor:
    shape = value._array.shape
    ones = 0
    while ones < len(shape) and shape[ones] == 1:
        ones += 1
    if not ones and not always:
        return value
    return RECORDED.view(value, shape[ones:])


def _write(self: Tensor, steps: list[Step], values: Array) -> None:
    """Write without history: into the region of the array itself."""
    region = self._array[...]
    for name, options in steps:
        dim = options[0]
        part: Any = None
        if name == "select":
            part = options[1]
        elif name == "slice":
            part = slice(*options[1:])
        region = region[(*(slice(None),) * dim, part, ...)]
    written = values
    if values.dtype is not region.dtype:
        with quiet():
            written = cast_array(values, region.dtype)
    try:
        region[...] = written
    except ValueError:
        _without_leading_ones(wrap(values), always=False).expand(region.shape)  # raises
        raise
    bump(self, "__setitem__")
