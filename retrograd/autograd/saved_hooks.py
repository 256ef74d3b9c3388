"""Contexts for saved-tensor hooks: what happens to a tensor that is kept for backward."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from typing import Any

from retrograd.core import shortcut
from retrograd.engine.state import COUNTS, STATE, Block, set_saved_hooks
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, wrap


class saved_tensors_hooks(Block):
    """A context in which every saved tensor goes through ``pack_hook(tensor)``.

    What it returns is kept in the graph instead. When a backward pass needs the tensor,
    ``unpack_hook(packed)`` has to give it back. Of nested contexts the innermost counts. The packed
    object should not be the tensor itself, which may hold the node that keeps the object.

    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> pack, unpack = lambda tensor: tensor.numpy(force=True), torch.from_numpy
    >>> with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 2.7183])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _inside(self) -> dict[str, object]:
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                "_push_saved_tensors_default_hooks(): incompatible function arguments. The "
                "following argument types are supported:\n    1. (pack_hook: function, "
                "unpack_hook: function) -> None"
            )
        refuse_if_disabled()
        return {"saved_hooks": (*STATE.saved_hooks, (self.pack_hook, self.unpack_hook))}

    @shortcut("leave_last", STATE, COUNTS, "saved_hooks")
    def __exit__(self, *exception: object) -> None:
        set_saved_hooks(STATE.saved_hooks[:-1])


def refuse_if_disabled() -> None:
    """Raise the message of `disable_saved_tensors_hooks`, if such a context is open."""
    if STATE.saved_hooks_refused is not None:
        code = "RG609" if STATE.transforms else "RG617"
        raise runtime_error(STATE.saved_hooks_refused, code=code)


def disable_saved_tensors_hooks(error_message: str) -> AbstractContextManager[None]:
    """A context in which `saved_tensors_hooks` raises `error_message`.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here...
    """
    return _Refusing(error_message)


class _Refusing(Block, ContextDecorator):
    def __init__(self, message: str) -> None:
        self.message = message

    def _inside(self) -> dict[str, object]:
        if STATE.saved_hooks:
            raise runtime_error(self.message, code="RG617")
        return {"saved_hooks_refused": self.message}


class save_on_cpu(saved_tensors_hooks):
    """A context in which saved tensors are kept in main memory.

    They are there already. With ``pin_memory=True`` each is copied, as in PyTorch.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            if pin_memory:
                return tensor.device, wrap(tensor._array.copy())
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)
