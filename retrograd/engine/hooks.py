"""Hook tables, the handles that remove hooks, and the checks on what hooks return."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor

_F = TypeVar("_F", bound=Callable[..., object])


class Table(Protocol):
    """Something with hooks by the numbers of their handles."""

    def pop(self, number: int, default: None, /) -> object: ...


class HookTable(OrderedDict[int, Callable[..., object]]):
    """Hooks in order of registration, by handle number."""

    def add(self, hook: Callable[..., object]) -> RemovableHandle:
        """Add a hook and return the handle that removes it."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class RemovableHandle:
    """Removes its hook: ``handle.remove()``, or at the end of a ``with handle:`` block.

    hooks_dict   the table the hook is in; only weakly held
    extra_dict   one more table, or a list of them, that has entries under the same number

    >>> x = torch.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10):
    ...     x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """

    id: int
    next_id: int = 0
    _numbers = itertools.count()

    def __init__(self, hooks_dict: Table, *, extra_dict: Table | list[Table] | None = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(RemovableHandle._numbers)
        RemovableHandle.next_id = self.id + 1
        tables = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(table) for table in tables if table is not None)

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[object, ...]:
        extra = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extra)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        table = state[0]
        # without its table the handle has nothing to remove
        self.hooks_dict_ref = weakref.ref(OrderedDict() if table is None else table)
        self.id = state[1]
        if self.id >= RemovableHandle.next_id:
            RemovableHandle.next_id = self.id + 1
            RemovableHandle._numbers = itertools.count(RemovableHandle.next_id)
        extra = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)


# ------------------------------------------------------------------------ hooks and pickles


def unserializable_hook(f: _F) -> _F:
    """Mark a hook as one that pickles leave out, so that they do not warn about it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of every hook of a tensor that its pickle will leave out."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=user_level(),
            )


# ------------------------------------------------------------------------ what hooks return


def hook_name(hook: Callable[..., object]) -> str:
    """A hook's name in messages."""
    return str(getattr(hook, "__name__", "<unknown>"))


def _type_of(tensor: Tensor) -> str:
    name = tensor.dtype.type_name
    return f"CPU{name}Type" if tensor.dtype.is_complex else f"torch.{name}Tensor"


def check_hook(before: Tensor | None, after: object, hook: Callable[..., object]) -> Tensor:
    """A hook may replace a gradient only by a Tensor of the same size and dtype."""
    if before is None:
        raise runtime_error("can't replace a None gradient with a non-None value", code="RG403")
    if not isinstance(after, Tensor):
        raise explained(
            TypeError(f"expected Variable, but hook returned '{type(after).__name__}'"),
            code="RG403",
        )
    if after.dtype is not before.dtype:
        raise runtime_error(
            f"hook '{hook_name(hook)}' has changed the type of value (was "
            f"{_type_of(before)} got {_type_of(after)})",
            code="RG403",
        )
    if after._array.shape != before._array.shape:
        raise runtime_error(f"hook '{hook_name(hook)}' has changed the size of value", code="RG403")
    return after


def check_node_hook(
    before: tuple[Tensor | None, ...], after: object, hook: Callable[..., object]
) -> tuple[Tensor | None, ...]:
    """What a hook on a node returned: a tuple like the one it may replace."""
    if not isinstance(after, tuple):
        raise explained(
            TypeError(f"expected tuple, but hook returned '{type(after).__name__}'"), code="RG403"
        )
    if len(after) != len(before):
        raise runtime_error(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(after)}, but expected {len(before)})",
            code="RG403",
        )
    for old, new in zip(before, after, strict=True):
        if new is not None:
            check_hook(old, new, hook)
    return after
