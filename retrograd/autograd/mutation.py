"""`allow_mutation_on_saved_tensors`: a saved tensor is copied when it is about to be written."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from retrograd.autograd.saved_hooks import saved_tensors_hooks
from retrograd.engine.accumulate import with_grad_mode
from retrograd.engine.state import STATE
from retrograd.notices import explained, runtime_error
from retrograd.ops.making.memory import owner_of
from retrograd.tensor import Array, Tensor

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph "
    "was originally recorded."
)


_UNSEEN = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: it was written in a way that 'allow_mutation_on_saved_tensors' does not see, such "
    "as accumulation into .grad or torch.autograd.graph.increment_version()."
)


class _Handle:
    """What the graph keeps in place of a tensor; lives as long as somebody needs the tensor."""

    __slots__ = ("__weakref__", "tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = ref(tensor)  # another one may get its id once it is gone
        self.version = tensor._version


class _AllowMutationOnSavedContext:
    """The tensors that were saved in a context, and the copies of those that were written since.

    Everything is held by its handle alone: what the graph lets go of disappears here too.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        # by tensor and version, since one tensor is often saved more than once
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int, int], _Handle]
        self.tid_to_weakhandle = WeakValueDictionary()
        # by memory, since a tensor can be written through any of its views
        self.sid_to_tid: dict[int, set[tuple[int, int, int]]] = {}

    def clear(self) -> None:
        """Forget all of them: backward passes that need one will fail."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Keep a tensor that is being saved."""
        tid = (id(tensor), tensor._array.ctypes.data, tensor._version)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None or handle.tensor() is not tensor:
            handle = self.tid_to_weakhandle[tid] = _Handle(tensor)
            self.original[handle] = tensor
        self.sid_to_tid.setdefault(_memory_of(tensor._array), set()).add(tid)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """A kept tensor as it was when it was saved."""
        if STATE.mutation is None:
            raise explained(AssertionError(_OUTSIDE), code="RG617")
        found = self.cloned.get(handle)
        if found is not None:
            return found
        found = self.original.get(handle)
        if found is None:
            raise explained(AssertionError(_OUTSIDE), code="RG617")
        if found._version != handle.version:
            raise runtime_error(_UNSEEN, code="RG102")
        return found

    def before_write(self, tensor: Tensor) -> None:
        """Copy what is kept of a tensor's memory, which is about to be written."""
        for tid in self.sid_to_tid.pop(_memory_of(tensor._array), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                kept = self.original.pop(handle)
                self.cloned[handle] = with_grad_mode(False, kept.clone)


def _memory_of(array: Array) -> int:
    """A number for the block of memory that an array lies in."""
    return id(owner_of(array))


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Generator[_AllowMutationOnSavedContext, None, None]:
    """A context in which tensors may be written in place although backward needs them.

    A tensor that was saved is copied just before it is written. The backward pass has to run in the
    same context, at whose end the copies are let go of.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     total = (y * y).sum()
    ...     y.zero_()
    ...     total.backward()
    tensor([0., 0.], grad_fn=<ZeroBackward0>)
    >>> x.grad
    tensor([2., 4.])
    """
    if STATE.mutation is not None:
        raise runtime_error(
            "allow_mutation_on_saved_tensors contexts cannot be nested", code="RG617"
        )
    context = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        STATE.mutation = context
        try:
            yield context
        finally:
            STATE.mutation = None
            context.clear()
