"""Hook tables, the handles that remove hooks, and the checks on what hooks return."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from retrograd.notices import explained
from retrograd.tensor import Tensor


class HookTable(dict[int, Callable[..., Any]]):
    """Hooks in order of registration, by handle number."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Add a hook and return the handle that removes it."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class RemovableHandle:
    """Removes its hook: ``handle.remove()``, or at the end of a ``with handle:`` block."""

    _next_id = itertools.count()

    def __init__(self, hooks: HookTable) -> None:
        self.id = next(RemovableHandle._next_id)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def check_hook(before: Tensor | None, after: Any, hook: Callable[..., Any]) -> None:
    """A hook may replace a gradient only by a Tensor of the same size and dtype."""
    if not isinstance(after, Tensor):
        raise explained(TypeError(f"expected Variable, but hook returned '{type(after).__name__}'"))
    if before is None:
        raise explained(RuntimeError("can't replace a None gradient with a non-None value"))
    name = getattr(hook, "__name__", type(hook).__name__)
    if after._array.shape != before._array.shape:
        raise explained(RuntimeError(f"hook '{name}' has changed the size of value"))
    if after.dtype is not before.dtype:
        raise explained(
            RuntimeError(
                f"hook '{name}' has changed the type of value (was torch.{before.dtype.type_name}"
                f"Tensor got torch.{after.dtype.type_name}Tensor)"
            )
        )


def check_node_hook(
    before: tuple[Tensor | None, ...], after: Any, hook: Callable[..., Any]
) -> tuple[Any, ...]:
    """What a hook on a node returned: a tuple like the one it may replace."""
    if not isinstance(after, tuple):
        raise explained(TypeError(f"expected tuple, but hook returned '{type(after).__name__}'"))
    if len(after) != len(before):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise explained(
            RuntimeError(
                f"hook '{name}' has returned an incorrect number of values (got {len(after)}, but "
                f"expected {len(before)})"
            )
        )
    for old, new in zip(before, after, strict=True):
        if new is not None:
            check_hook(old, new, hook)
    return after
