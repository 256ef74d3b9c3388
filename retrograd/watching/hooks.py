"""Hooks that are registered again and again on one parameter or module, and never removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.watching.lines import Step
from retrograd.watching.records import PiledHook
from retrograd.watching.replacing import Undo, replaced

OF_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")
OF_MODULES = (
    *("register_forward_hook", "register_forward_pre_hook"),
    *("register_full_backward_hook", "register_full_backward_pre_hook"),
)
MOST = 64  # of one line on one target that are counted

Key = tuple[int, str, int, int]  # id of the target, method, chain and line


class Hooks:
    """Counts the hooks of each line on each parameter and module that are still there.

    Those that no backward call lies between count as one: they are registered together.
    """

    def __init__(self) -> None:
        self.piled: dict[Key, PiledHook] = {}
        self._there: dict[Key, list[tuple[Any, int]]] = {}  # handles, with the calls before

    def install(
        self,
        torch: Any,
        safely: Callable[..., Any],
        here: Callable[[], list[Step]],
        calls: Callable[[], int],
    ) -> list[Undo]:
        """Put the patches in place; each of the results takes one away."""

        def watched(name: str, original: Any) -> Any:
            def register(target: Any, *args: object, **keywords: object) -> object:
                handle = original(target, *args, **keywords)
                safely(self._note, name, target, handle, here(), calls())
                return handle

            return register

        owners = [(torch.Tensor, name) for name in OF_TENSORS]
        owners += [(torch.nn.Module, name) for name in OF_MODULES]
        return [
            replaced(owner, name, watched(name, getattr(owner, name))) for owner, name in owners
        ]

    def _note(self, name: str, target: Any, handle: Any, stack: list[Step], calls: int) -> None:
        if name in OF_TENSORS and target.grad_fn is not None:
            return  # it goes with its graph
        if not stack:
            return
        key = id(target), name, stack[-1].chain, stack[-1].line
        there = [each for each in self._there.get(key, ()) if _is_there(each[0])]
        there.append((handle, calls))
        self._there[key] = there[-MOST:]
        times = len({before for _, before in there})
        if times > 1:
            self.piled[key] = PiledHook(stack, name, type(target).__name__, times)


def _is_there(handle: Any) -> bool:
    hooks = handle.hooks_dict_ref()
    return hooks is not None and handle.id in hooks
