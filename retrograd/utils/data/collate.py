"""From samples to a batch: tensors are stacked, numbers become tensors, containers are kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from retrograd.dtypes import float64
from retrograd.ops.making.construction import as_tensor, tensor
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Array, Tensor

CollateMap = dict[type | tuple[type, ...], Callable[..., object]]

UNKNOWN = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: object) -> Any:
    """NumPy arrays and numbers in `data` as tensors; everything else stays as it is.

    >>> import numpy as np
    >>> torch.utils.data.default_convert({"x": np.array([0, 1]), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and not isinstance(data, np.str_):
        if isinstance(data, np.ndarray) and _holds_text_or_objects(data):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Join the samples of a batch, element by element of their containers.

    `collate_fn_map` gives the function for each type of element; a function takes the list of
    elements and the map.

    >>> from retrograd.utils.data.collate import collate
    >>> collate([("a", 1), ("b", 2)], collate_fn_map={str: lambda batch, **_: "".join(batch),
    ...                                               int: lambda batch, **_: sum(batch)})
    ['ab', 3]
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        join = collate_fn_map.get(kind)
        if join is None:
            join = next(
                (found for known, found in collate_fn_map.items() if isinstance(first, known)),
                None,
            )
        if join is not None:
            return join(batch, collate_fn_map=collate_fn_map)

    def joined(elements: object) -> object:
        return collate(elements, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like_mapping(first, {key: joined([item[key] for item in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(joined(column) for column in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(first, [joined(column) for column in zip(*batch, strict=True)])
    raise TypeError(UNKNOWN.format(kind))


def default_collate(batch: object) -> Any:
    """Join samples into a batch; the loader's choice unless it is given a `collate_fn`.

    >>> torch.utils.data.default_collate([{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b"}])
    {'x': tensor([1.5000, 2.5000], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _holds_text_or_objects(array: Array) -> bool:
    return array.dtype.kind in "SUO"


def _like_mapping(original: Any, items: dict[object, object]) -> Any:
    """`items` in a mapping of the kind of `original`, with its further attributes if possible."""
    try:
        if not isinstance(original, MutableMapping):
            return type(original)(items)
        clone = copy.copy(original)
        clone.update(items)
        return clone
    except TypeError:  # this kind of mapping cannot be copied, updated or built
        return items


def _like_sequence(original: Any, items: list[object]) -> Any:
    """`items` in a sequence of the kind of `original`; a plain tuple gives a list, by tradition."""
    if isinstance(original, tuple):
        return items
    try:
        if not isinstance(original, MutableSequence):
            return type(original)(items)
        clone = copy.copy(original)
        for i, item in enumerate(items):
            clone[i] = item
        return clone
    except TypeError:  # this kind of sequence cannot be copied, written or built
        return items


def collate_tensor_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors of one shape, stacked along a new first dimension."""
    stacked: Tensor = PUBLIC["torch"]["stack"](batch, 0)
    return stacked


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays of one shape, as one tensor."""
    if _holds_text_or_objects(batch[0]):
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """NumPy's numbers, as a tensor of their type."""
    return as_tensor(batch)


def collate_float_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Python floats, as a tensor with all their digits."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: object, *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Python integers and booleans, as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Iterable[object], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Texts stay as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
