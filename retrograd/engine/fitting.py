"""Gradients in the shape and the type of what they are for; broadcasting is undone here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import BACKENDS, backend_of
from retrograd.engine import failures
from retrograd.engine.node import AnyDtype, Node
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.tensor import Array

if TYPE_CHECKING:
    from retrograd.engine.node import Part


def cast(gradient: Array, dtype: np.dtype | AnyDtype) -> Array:
    """A gradient in the type of the value it belongs to; a real value gets the real part."""
    if type(dtype) is AnyDtype:
        return gradient if dtype.takes(gradient.dtype) else real_part(gradient)
    wanted = dtypes.from_numpy_dtype(dtype).numpy  # a sparse leaf's is another object
    if gradient.dtype == wanted:
        return gradient if type(gradient) is SPARSE_ARRAY else gradient.view(wanted)
    if gradient.dtype in dtypes.COMPLEX_TYPES and wanted not in dtypes.COMPLEX_TYPES:
        gradient = real_part(gradient)
    return gradient.astype(wanted)


def real_part(array: Array) -> Array:
    """The real parts: NumPy has none of complex32."""
    return array.view(dtypes.F16)[..., ::2] if array.dtype is dtypes.C32 else array.real


def rounded(node: Node, results: tuple[object, ...]) -> tuple[Any, ...]:
    """What a half-precision node computed in float32, rounded where nothing else will round it.

    That is for leaves whose `grad_dtype` is None: they keep the type that the op would give.
    """
    if not any([target is not None and type(target.dtype) is AnyDtype for target in node.edges]):
        return results
    dtype = node.dtype[0] if isinstance(node.dtype, list) else node.dtype
    if dtype not in dtypes.WIDER:
        return results
    return tuple(
        [
            as_array(part).astype(dtype)
            if part is not None and target is not None and type(target.dtype) is AnyDtype
            else part
            for part, target in zip(results, node.edges, strict=True)
        ]
    )


def as_array(part: object) -> Any:
    """What a rule gave, as an array: NumPy gives numbers where there are no dimensions."""
    if type(part) in BACKENDS or type(part) is SPARSE_ARRAY:
        return part
    return np.asarray(part)


def fit_raw(node: Node, position: int, part: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the dimensions that broadcasting added."""
    if not expands(shape, part.shape):
        raise failures.invalid_gradient(node.name(), position, part.shape, shape)
    lead = len(part.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, size in enumerate(shape) if size == 1 and part.shape[i + lead] != 1
    )
    backend = backend_of(part)
    xp = backend.xp
    if backend.sums_halves:
        summed: Array | None = xp.sum_to(part, shape)
        if summed is not None:
            return summed
    total: Array = xp.asarray(xp.sum(part, axis=axes, dtype=_sum_dtype(part)))
    return total.reshape(shape)


def _sum_dtype(array: Array) -> np.dtype | None:
    # half precision saturates when summed in its own type
    return dtypes.WIDER.get(array.dtype)


def expands(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Whether broadcasting can turn the one shape into the other."""
    if len(shape) > len(larger):
        return False
    return all(
        small in (size, 1) for small, size in zip(reversed(shape), reversed(larger), strict=False)
    )


def fit(node: Node, position: int, part: Any, shape: tuple[int, ...], as_tensors: bool) -> Any:
    """A gradient in the shape of what it is for; Tensors are summed by a recorded op."""
    if not as_tensors:
        part = as_array(part)
        return part if part.shape == shape else fit_raw(node, position, part, shape)
    if part._array.shape == shape:
        return part
    if not expands(shape, part._array.shape):
        raise failures.invalid_gradient(node.name(), position, part._array.shape, shape)
    return part.sum_to_size(shape)


def as_dtype(part: Any, dtype: Any, as_tensors: bool) -> Any:
    """A gradient in the type of what it is for."""
    if not as_tensors:
        return part if part.dtype is dtype else cast(part, dtype)
    if part._array.dtype is dtype:
        return part
    if type(dtype) is AnyDtype:
        return part if dtype.takes(part._array.dtype) else part.real
    if part._array.dtype in dtypes.COMPLEX_TYPES and dtype not in dtypes.COMPLEX_TYPES:
        part = part.real
    return part.to(dtypes.from_numpy_dtype(dtype))


def fitted(node: Node, results: list[Part], as_tensors: bool) -> list[Part]:
    """Gradients in the shape and type of what they are for, as hooks are to see them."""
    found: list[Part] = []
    for position, part in enumerate(results):
        target = node.edges[position]
        if part is None or target is None:
            found.append(part)
            continue
        shape, dtype = target.shape, target.dtype
        if isinstance(shape, list):
            number = 0 if node.edge_numbers is None else node.edge_numbers[position]
            shape, dtype = shape[number], dtype[number]
        part = fit(node, position, part, shape, as_tensors)
        found.append(as_dtype(part, dtype, as_tensors))
    return found
