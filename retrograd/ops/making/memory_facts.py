"""Facts of a tensor's memory that few programs ask for, and the old ways to resize.

`memory` has the common ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd.above import above
from retrograd.dtypes import dtype
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops.kinds import Ints
from retrograd.ops.making.arguments import size_argument
from retrograd.ops.making.memory import TypedStorage
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, tensor_method, tensor_property


@tensor_property
def _cdata(self: Tensor) -> int:
    """A number that no other living tensor has: PyTorch's is the address of its C++ part."""
    return id(self)


@tensor_property
def name(self: Tensor) -> None:
    """The name of a tensor: PyTorch no longer keeps any."""
    return None


@tensor_method
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, to be read only."""
    return self.data_ptr()


@tensor_method
def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[Any] = False) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory.

    >>> torch.empty(2, 3).t().dim_order()
    (1, 0)
    """
    strides = self.stride()
    if ambiguity_check is True and len(set(strides)) < len(strides):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given "
            "memory formats."
        )
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


@above
def storage_class(kind: dtype) -> type[TypedStorage]:
    """The class of the storages of a dtype."""
    raise NotImplementedError


@tensor_method
def storage_type(self: Tensor) -> Any:
    """The class of the typed storages of this dtype (deprecated in PyTorch)."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()",
        user_level(),
    )
    return storage_class(self.dtype)


def _resized(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    if math.prod(shape) != self._array.size:
        sizes = ["x".join(str(size) for size in found) for found in (shape, self.shape)]
        raise RuntimeError(
            f"requested resize to {sizes[0]} ({math.prod(shape)} elements in total), but the "
            f"given tensor has a size of {sizes[1]} ({self._array.size} elements). autograd's "
            "resize can only change the shape of a given tensor, while preserving the number of "
            "elements. "
        )
    return RECORDED.reshape(self, shape)


@tensor_method
def resize(self: Tensor, *sizes: Ints) -> Tensor:
    """Deprecated: `reshape` to sizes with as many elements."""
    warn_once("non-inplace resize is deprecated", user_level())
    return _resized(self, size_argument("resize", sizes, {}))


@tensor_method
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Deprecated: `reshape` to the size of a tensor with as many elements."""
    warn_once("non-inplace resize_as is deprecated", user_level())
    return _resized(self, tuple(tensor.shape))


@tensor_method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module puts in place of this tensor when it loads `other`: a copy into it, or that."""
    with no_grad():
        found: Tensor = (other if assign else self.copy_(other)).detach()
    return found
