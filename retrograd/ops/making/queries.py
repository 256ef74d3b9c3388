"""Questions about tensors and types: `is_tensor`, `numel`, `result_type` and their relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.engine.views import bump, check_writable
from retrograd.ops import errors
from retrograd.ops.kinds import wrap_dims
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.making.memory import TypedStorage, UntypedStorage
from retrograd.ops.registry import RECORDED, attach, composite, function_only
from retrograd.tensor import Tensor, tensor_method, wrap


@function_only()
def is_tensor(obj: Tensor | float) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


@function_only()
def is_storage(obj: UntypedStorage | float) -> bool:
    """Whether `obj` is the storage of a tensor."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


@function_only()
def numel(input: Tensor) -> int:
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise errors.argument_type("numel", "input", 1, "Tensor", input)
    return input._array.size


@composite()
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point one."""
    return input.dtype.is_floating_point


@composite()
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.dtype.is_complex


@composite()
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


@composite()
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input._meta is not None and input._meta.inference


@composite()
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is waiting to be conjugated: never, conjugation is done at once."""
    return False


@composite()
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is waiting to be negated: never, negation is done at once."""
    return False


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is done at once."""
    return input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is done at once."""
    return input


@function_only()
def result_type(tensor1: Tensor | float, tensor2: complex | Tensor) -> dtypes.dtype:
    """The dtype of an arithmetic result of two tensors or numbers.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return dtypes.result_dtype(
        [x._array if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    )


@function_only()
def typename(obj: object) -> str:
    """The full name of a value's type; of a tensor, its legacy type.

    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    module = kind.__module__
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


@tensor_method
def __reversed__(self: Tensor) -> Tensor:
    return self if self.ndim == 0 else RECORDED.flip(self, (0,))


@tensor_method
def __contains__(self: Tensor, element: object) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    equal = self == element
    return bool(equal.any())


@tensor_method
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by ``callable(element)``; slow, one Python call each."""
    return each(self, "apply_", callable)


@tensor_method
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by ``callable(element, element of tensor)``; slow."""
    return each(self, "map_", callable, tensor)


def each(target: Tensor, name: str, function: Callable[..., Tensor], *others: Tensor) -> Tensor:
    """Replace every element by what a Python function makes of it and of those of `others`."""
    if target.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use "
            f"var.detach().{name}() instead."
        )
    check_writable(target, name)
    lists = [x.expand(target.shape).reshape(-1).tolist() for x in (target, *others)]
    values = [function(*row) for row in zip(*lists, strict=True)]
    target._array[...] = target.new_tensor(values)._array.reshape(target._array.shape)
    bump(target, name)
    return target


@tensor_method
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace every element by ``callable(element, element of x, element of y)``; slow."""
    return each(self, "map2_", callable, x, y)


def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Tensor | None = None
) -> Tensor:
    """The bits of all elements, as 64 bit numbers, in one exclusive or.

    >>> torch.hash_tensor(torch.tensor([1, 2, 3]))
    tensor(0, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype.is_complex or input.dtype in dtypes.UNSIGNED:
        raise errors.explained(
            NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{input.dtype.type_name}'"),
            code="RG304",
        )
    whole = input.dtype.category < dtypes.FLOAT
    wide = input._array.astype(np.int64 if whole else np.float64).view(np.uint64)
    dims = tuple(dim) if isinstance(dim, (list, tuple)) else (int(dim),)
    axes = wrap_dims(dims, input.ndim)
    for place in axes if dims else ():
        if not input.shape[place]:
            raise IndexError(f"hash_tensor: Expected reduction dim {place} to have non-zero size.")
    if not dims and not input.numel():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    xor: Any = np.bitwise_xor  # whose stubs know `keepdims` as a literal only
    found = xor.reduce(wide, axis=axes or None, keepdims=keepdim)
    return finish("hash_tensor", wrap(np.asarray(found)), out)


attach(hash_tensor, methods=("hash_tensor",), public=("hash_tensor",))
