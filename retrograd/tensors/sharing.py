"""Tensors in memory that processes share: `share_memory_`, and how they travel.

A process that is forked sees the memory as it is. One that is spawned, or gets the tensor through a
queue, gets the descriptor of the memory in the tensor's pickle.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU, shared_memory
from retrograd.engine.hooks import warn_if_has_hooks
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.notices import explained
from retrograd.ops.making.memory import owner_of
from retrograd.ops.making.storages import address_of
from retrograd.tensor import Array, Tensor, tensor_method, wrap
from retrograd.tensors.pickling import rebuilt


@tensor_method
def is_shared(self: Tensor) -> bool:
    """Whether other processes see what is written here.

    >>> torch.zeros(2).share_memory_().is_shared()
    True
    """
    return type(self._array) is CPU.array and shared_memory.memory_of(self._array) is not None


@tensor_method
def share_memory_(self: Tensor) -> Tensor:
    """Move the elements, and all tensors that lie among them, to memory that processes share.

    What one process writes there, all see. Arrays that `numpy()` gave keep the old memory.

    >>> x = torch.zeros(3)
    >>> first = x[0]
    >>> x.share_memory_().fill_(1)
    tensor([1., 1., 1.])
    >>> first
    tensor(1.)
    """
    alone = _references(self) <= _ALONE  # before a variable here counts, too
    array = self._array
    if self.is_meta:
        raise RuntimeError("_share_fd_: only available on CPU")
    if type(array) is not CPU.array or not shared_memory.SHARES:
        what = (
            "of a sparse tensor" if type(array) is SPARSE_ARRAY else "outside of the CPU's memory"
        )
        what = what if shared_memory.SHARES else "on a system without fork"
        raise explained(
            NotImplementedError(f"retrograd does not support share_memory_() {what}"),
            code="RG901",
        )
    if shared_memory.memory_of(array) is not None:
        return self
    owner = owner_of(array)
    moved = shared_memory.copied(owner)
    lie_alike = zip(owner.shape, owner.strides, moved.strides, strict=True)
    if owner.size and any([size > 1 and before != after for size, before, after in lie_alike]):
        raise explained(
            NotImplementedError(
                "retrograd does not support share_memory_() of a tensor over foreign memory with "
                "gaps: share a clone of it"
            ),
            code="RG901",
        )
    for tensor in [self] if alone and owner is array else _over(owner):
        _move(tensor, owner, moved)
    _travels(Tensor)
    _travels(type(self))
    return self


def _references(tensor: Tensor) -> int:
    array = tensor._array
    return sys.getrefcount(array)


_array_of = Tensor.__dict__["_array"].__get__
_ALONE = _references(wrap(CPU.xp.zeros(1)))


def _over(owner: Array) -> list[Tensor]:
    """All tensors over the memory of an array. Takes a look at every object that there is."""
    # by their types: `isinstance` asks an object for its `__class__`, and any may answer in its way
    tensors: Any = [thing for thing in gc.get_objects() if issubclass(type(thing), Tensor)]
    return [tensor for tensor in tensors if _lies_in(tensor, owner)]


def _lies_in(tensor: Tensor, owner: Array) -> bool:
    try:
        array = _array_of(tensor)  # also of classes that refuse to show theirs
    except AttributeError:  # a parameter without memory as yet
        return False
    return type(array) is CPU.array and owner_of(array) is owner


def _move(tensor: Tensor, before: Array, after: Array) -> None:
    """Let a tensor lie in `after` as it lay in `before`."""
    array = tensor._array
    offset = address_of(array) - address_of(before) if array.size else 0
    memory = shared_memory.memory_of(after)
    assert memory is not None
    tensor._array = shared_memory.placed(memory, offset, array.dtype, array.shape, array.strides)


# ------------------------------------------------------------------------------------ travelling


def _travels(kind: type[Tensor]) -> None:
    """Let tensors of this class be sent with their memory, where it is shared."""
    from multiprocessing.reduction import ForkingPickler  # many modules, for the few who share

    if kind.__reduce_ex__ is Tensor.__reduce_ex__:  # a Parameter sends a plain tensor
        ForkingPickler.register(kind, _sent)


def _sent(tensor: Tensor) -> tuple[Any, ...]:
    """What stands for a tensor in a pickle for another process."""
    from multiprocessing.reduction import DupFd

    array = tensor._array
    memory = shared_memory.memory_of(array) if type(array) is CPU.array else None
    if memory is None:
        found: tuple[Any, ...] = tensor.__reduce_ex__(2)
        return found
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    warn_if_has_hooks(tensor)
    offset = address_of(array) - memory.address if array.size else 0
    lies = (offset, array.shape, array.strides)
    parts = (DupFd(memory.descriptor), len(memory), tensor.dtype, lies)
    return _received, (type(tensor), *parts, tensor.requires_grad, dict(tensor.__dict__))


def _received(
    kind: type[Tensor],
    descriptor: Any,
    size: int,
    dtype: dtypes.dtype,
    lies: tuple[int, tuple[int, ...], tuple[int, ...]],
    requires_grad: bool,
    attributes: dict[str, object],
) -> Tensor:
    """The tensor of such a pickle."""
    memory = shared_memory.opened(descriptor.detach(), size)
    offset, shape, strides = lies
    array = shared_memory.placed(memory, offset, dtype.numpy, shape, strides)
    made = rebuilt(kind, array, requires_grad)
    made.__dict__.update(attributes)
    _travels(Tensor)
    _travels(kind)
    return made
