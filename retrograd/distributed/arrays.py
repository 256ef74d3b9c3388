"""Tensors as engines see them: flat arrays in memory, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.distributed.group import GroupMember, ProcessGroup, require
from retrograd.distributed.names import ReduceOp, supports_complex
from retrograd.distributed.transports.interface import Flat, Transport
from retrograd.lifecycle.site import user_level
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor

# What PyTorch's Gloo carries; complex tensors go as pairs of numbers.
_CARRIED = frozenset(
    (
        *(dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int8),
        *(dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.bool_, dtypes.complex64),
        dtypes.complex128,
    )
)


class Carried:
    """A tensor for the time of an exchange: `flat` is its memory, or a copy that is written back.

    It is a copy where elements do not lie one after the other, or lie where the engine does not
    reach them.
    """

    __slots__ = ("_copied", "_tensor", "flat")

    def __init__(self, tensor: Tensor, transport: Transport) -> None:
        array: Any = tensor._array
        self._tensor = tensor
        if type(array) in transport.arrays and array.flags.c_contiguous:
            self.flat: Flat = array.reshape(-1)
            self._copied = False
        else:
            taken: Any = array
            if type(array) not in transport.arrays:
                taken = tensor.detach().cpu()._array
            self.flat = taken.copy().reshape(-1)  # the engine writes to it
            self._copied = True

    def back(self) -> None:
        """Let the tensor have what the engine wrote. As in PyTorch its version stays as it was."""
        if self._copied:
            from retrograd.engine.grad_mode import no_grad
            from retrograd.tensor import wrap

            tensor = self._tensor
            found = self.flat.reshape(tensor._array.shape)
            if type(found) is type(tensor._array):
                tensor._array[...] = found
            else:
                with no_grad():
                    tensor.copy_(wrap(found).to(tensor.device))


def here(group: object, name: str, rooted: bool = False) -> ProcessGroup | None:
    """The group of an exchange; None, with a warning, where this process does not belong to it.

    rooted  whether a process of the group is named, which cannot be found from outside
    """
    if group is not None and group == GroupMember.NON_GROUP_MEMBER:
        if rooted:
            raise ValueError("Invalid process group specified")
        rank = require().rank()
        warnings.warn(
            f"Running {name} on global rank {rank} which does not belong to the given group.",
            stacklevel=user_level(),
        )
        return None
    return require(group)


def one(value: object, name: str) -> None:
    """Check that an argument is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def several(values: object, name: str) -> None:
    """Check that an argument is a list of tensors."""
    if not isinstance(values, list):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"List[torch.Tensor]\n             but got {type(values)} instead."
        )
    if not all(isinstance(each, Tensor) for each in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"List[torch.Tensor]\n             but got {type(values)} with elements of type "
            f"{[type(each) for each in values]}."
        )


def same_dtype(*tensors: Tensor | Sequence[Tensor]) -> None:
    """Check that all tensors have one dtype."""
    found: dtypes.dtype | None = None
    for group in tensors:
        for tensor in [group] if isinstance(group, Tensor) else group:
            if found is None:
                found = tensor.dtype
            elif tensor.dtype is not found:
                raise ValueError(
                    f"Invalid usage of tensors with different dtypesFound {found} and  "
                    f"{tensor.dtype}"
                )


def carried(group: ProcessGroup, tensor: Tensor, name: str, *, as_bytes: bool = False) -> Carried:
    """A tensor as the engine takes it; an error for what no engine takes.

    A message between two processes is bytes, of numbers of any type (`as_bytes`).
    """
    if tensor.is_sparse or tensor.is_sparse_csr:
        raise NotImplementedError(
            f"torch.distributed.{name} of a sparse tensor is not supported by retrograd: "
            "exchange tensor.to_dense()"
        )
    if tensor.is_meta:
        raise NotImplementedError(f"torch.distributed.{name} of a tensor without data (meta)")
    if tensor.dtype not in _CARRIED and not as_bytes:
        raise RuntimeError("Invalid scalar type")
    return Carried(tensor, group._transport)


def told(tensor: Tensor) -> str:
    """A tensor's kind as messages name it: ``float32[2, 3]``."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def kind(tensor: Tensor) -> str:
    """What of a tensor must be the same in all processes."""
    return f"{tensor.dtype} {tensor._array.size}"


def reducible(group: ProcessGroup, op: object, dtype: dtypes.dtype, name: str) -> ReduceOp:
    """The way to reduce, if numbers of this type can be reduced so."""
    if not isinstance(op, ReduceOp) or op in (ReduceOp.PREMUL_SUM, ReduceOp.UNUSED):
        raise TypeError(f"{name}(): incompatible function arguments: op is {op!r}, not a ReduceOp")
    if dtype not in _CARRIED:
        raise RuntimeError("Invalid scalar type")
    if op not in group._transport.ops:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with {group.name().upper()}")
    if dtype.is_complex and not supports_complex(op):
        raise RuntimeError(f"{name} does not support {op} on complex tensors")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and dtype.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is ReduceOp.AVG and not (dtype.is_floating_point or dtype.is_complex):
        text = f"result type Float can't be cast to the desired output type {_SPOKEN[dtype]}"
        raise runtime_error(text, code="RG303")
    return op


_SPOKEN = {
    dtypes.int8: "Char",
    dtypes.uint8: "Byte",
    dtypes.int32: "Int",
    dtypes.int64: "Long",
    dtypes.bool_: "Bool",
}
