"""Views taken again: `_view_func` of another base, and the way back from a view to its base.

By default a view is found again by its place in memory. Inside of
`torch.autograd._force_original_view_tracking(True)` its own view ops are called instead.

>>> import retrograd as torch
>>> row = torch.arange(4).view(2, 2)[1]
>>> row._view_func(torch.tensor([5, 6, 7, 8]))
tensor([7, 8])
"""

from __future__ import annotations

from typing import Any

from retrograd.engine.grad_mode import SWITCHES
from retrograd.notices import explained
from retrograd.ops.making.memory import address_of, owner_of
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, tensor_method


@tensor_method
def _view_func(
    self: Tensor,
    new_base: Tensor,
    symint_visitor_fn: object = None,
    tensor_visitor_fn: object = None,
) -> Tensor | None:
    """The same view of another base, or None: for no view, or for a base of another geometry."""
    _refuse_visitors(symint_visitor_fn, tensor_visitor_fn)
    info = self._view
    if info is None or _geometry(new_base) != _geometry(info.base):
        return None
    return _again(self, new_base)


@tensor_method
def _view_func_unsafe(
    self: Tensor,
    new_base: Tensor,
    symint_visitor_fn: object = None,
    tensor_visitor_fn: object = None,
) -> Tensor | None:
    """The same view of another base, whatever its geometry; None for no view."""
    _refuse_visitors(symint_visitor_fn, tensor_visitor_fn)
    return None if self._view is None else _again(self, new_base)


@tensor_method
def _rev_view_func_unsafe(self: Tensor, new_view: Tensor) -> Tensor | None:
    """A base with `new_view` as its view, which must lie in a storage as large; None for no view.

    >>> row = torch.arange(4).view(2, 2)[1]
    >>> with torch.autograd._force_original_view_tracking(True):
    ...     row._rev_view_func_unsafe(row.detach())
    tensor([0, 1, 2, 3])
    """
    if self._view is None:
        return None
    base = self._view.base
    if not SWITCHES.view_replay and self.dtype is base.dtype:
        raise RuntimeError("No _rev_view_func() found")
    size, stride, offset = tuple(base.shape), base.stride(), base.storage_offset()
    if base.is_complex() and not new_view.is_complex():
        pairs = tuple([2 * step for step in stride])
        parts = new_view.as_strided((*size, 2), (*pairs, 1), 2 * offset)
        return RECORDED.view_as_complex(parts)
    if base.dtype is new_view.dtype:
        same = new_view
    elif new_view.is_complex():
        same = RECORDED.view_as_real(new_view)
    else:
        same = new_view.view(base.dtype)
    return same.as_strided(size, stride, offset)


def _again(view: Tensor, base: Tensor) -> Tensor:
    info = view._view
    assert info is not None
    if not SWITCHES.view_replay and view.dtype is info.base.dtype:
        return base.as_strided(tuple(view.shape), view.stride(), view.storage_offset())
    for step in info.chain:
        base = step.recorded(base)
    return base


def _geometry(tensor: Tensor) -> tuple[Any, ...]:
    """Sizes, strides where they matter, the place in the storage, and its size."""
    array = tensor._array
    unit = array.itemsize
    storage = owner_of(array)
    pairs = zip(array.strides, array.shape, strict=True)
    strides = tuple([stride // unit for stride, size in pairs if size > 1])
    offset = (address_of(array) - address_of(storage)) // unit if array.size else 0
    return array.shape, strides, offset, storage.nbytes // unit


def _refuse_visitors(symint_visitor_fn: object, tensor_visitor_fn: object) -> None:
    if symint_visitor_fn is not None or tensor_visitor_fn is not None:
        raise explained(
            NotImplementedError(
                "retrograd does not support functions that visit what a view has saved"
            ),
            code="RG901",
        )
