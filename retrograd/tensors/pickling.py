"""Copies and pickles of tensors.

A pickle holds the elements and `requires_grad`, never a graph: a tensor comes back as a leaf.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any, SupportsIndex

import numpy as np

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import CPU, backend_of
from retrograd.engine.hooks import warn_if_has_hooks
from retrograd.engine.inference import flag_leaf, mark_inference
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.state import STATE
from retrograd.notices import runtime_error
from retrograd.ops.making.construction import as_class, shared_array
from retrograd.ops.making.creation import strided_array
from retrograd.ops.making.memory import address_of, owner_of, region, strides_of
from retrograd.reduced_dtypes import PUBLIC_NAMES, UnavailableDtype
from retrograd.tensor import Array, Tensor, cell_of, meta_of, tensor_method, wrap
from retrograd.tensor.size import backend_at


def rebuilt(kind: type[Tensor], array: Array, requires_grad: bool) -> Tensor:
    made = as_class(wrap(array), kind)
    if STATE.inference:
        mark_inference(made)
    else:  # PyTorch puts memory into an empty tensor, which counts as a write
        cell_of(made).version = 1
    flag_leaf(made, requires_grad)
    return made


# ----------------------------------------------------------------------------------------- copy


@tensor_method
def __copy__(self: Tensor) -> Tensor:
    """A tensor of its own that shares the memory; a leaf, as in PyTorch."""
    warn_if_has_hooks(self)
    made = rebuilt(type(self), self._array, self.requires_grad)
    made.__dict__.update(self.__dict__)
    return made


@tensor_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with memory of its own; tensors that share memory share it in the copy too."""
    if self.grad_fn is not None:
        raise runtime_error(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001",
            code="RG112",
        )
    done: Tensor | None = memo.get(id(self))
    if done is not None:
        return done
    made = rebuilt(type(self), _deep_copy(self, memo), self.requires_grad)
    memo[id(self)] = made
    meta = self._meta
    if meta is not None and meta.grad is not None:
        meta_of(made).grad = copy.deepcopy(meta.grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def _deep_copy(tensor: Tensor, memo: dict[int, Any]) -> Array:
    array = tensor._array
    if type(array) is SPARSE_ARRAY:
        return array.copy()
    owner = owner_of(array)
    if owner is array or (tensor._view is None and owner.nbytes > array.nbytes):
        # a result that lies in a larger block by accident takes only its own elements along
        if id(array) not in memo:
            memo[id(array)] = array.copy(order="K")
        found: Array = memo[id(array)]
        return found
    if id(owner) not in memo:
        memo[id(owner)] = owner.copy(order="K")
    storage: Array = memo[id(owner)]
    if storage.strides != owner.strides:
        return array.copy(order="K")
    offset = (address_of(array) - address_of(owner)) // array.itemsize
    return region(storage.reshape(-1, order="A"), array.shape, offset, strides_of(array))


# --------------------------------------------------------------------------------------- pickle


def rebuild_tensor(
    kind: type[Tensor],
    array: Array,
    axes: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, object],
    where: str = "cpu",
) -> Tensor:
    """A tensor from its pickle."""
    if not array.flags.writeable:
        array = array.copy()  # a buffer that came out of band
    array = backend_at(where).from_numpy(shared_array(array))
    made = rebuilt(kind, array.transpose(axes), requires_grad)
    made.__dict__.update(attributes)
    return made


def rebuild_meta(
    kind: type[Tensor],
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, object],
) -> Tensor:
    """A tensor without elements from its pickle."""
    array = strided_array(backend_at("meta").xp, shape, strides, dtype.numpy)
    made = rebuilt(kind, array, requires_grad)
    made.__dict__.update(attributes)
    return made


@above
def pickled_sparse(tensor: Tensor) -> tuple[Any, ...]:
    """The same for a sparse tensor."""
    raise NotImplementedError


@tensor_method
def __reduce_ex__(self: Tensor, protocol: SupportsIndex) -> tuple[Any, ...]:
    warn_if_has_hooks(self)
    array = self._array
    if type(array) is SPARSE_ARRAY:
        return pickled_sparse(self)
    backend = backend_of(array)
    if not backend.holds:
        facts = (type(self), self.dtype, array.shape, strides_of(array))
        return rebuild_meta, (*facts, self.requires_grad, dict(self.__dict__))
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    turned = backend.to_numpy(array.transpose(axes))
    packed = np.ascontiguousarray(turned).reshape([array.shape[i] for i in axes])
    order = tuple(int(i) for i in np.argsort(axes))
    arguments = (type(self), packed, order, self.requires_grad, dict(self.__dict__))
    return (rebuild_tensor, arguments if backend is CPU else (*arguments, str(self.device)))


def rebuild_dtype(name: str) -> UnavailableDtype:
    """A data type without tensors, from its pickle."""
    found: UnavailableDtype = PUBLIC_NAMES[name]
    return found


def _reduce_dtype(kind: UnavailableDtype) -> tuple[Any, ...]:
    return (rebuild_dtype, (kind.name,))


copyreg.pickle(UnavailableDtype, _reduce_dtype)
