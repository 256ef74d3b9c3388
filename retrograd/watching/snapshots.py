"""States of a module that share its memory: `state_dict()` keeps no copy of the numbers.

A state that is taken, trained away from and loaded again brings nothing back: what is loaded is
what the parameters are by then.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retrograd.watching.gradients import Gradients
from retrograd.watching.lines import Step
from retrograd.watching.replacing import Undo, replaced

MOST = 256  # states that are remembered


@dataclass
class Restored:
    """A state that was loaded into the module whose memory it shares."""

    taken: list[Step]  # stacks
    loaded: list[Step]
    steps: int  # of optimizers in between
    kind: str  # of the module


class Snapshots:
    """Follows what `state_dict` gives to `load_state_dict`."""

    def __init__(self, gradients: Gradients) -> None:
        self.restored: list[Restored] = []
        self._gradients = gradients
        self._taken: dict[int, tuple[weakref.ref[Any], list[Step], int]] = {}
        self._depth = 0

    def install(
        self, torch: Any, safely: Callable[..., Any], here: Callable[[], list[Step]]
    ) -> list[Undo]:
        """Put the patches in place; each of the results takes one away."""
        module = torch.nn.Module
        take, load = module.state_dict, module.load_state_dict

        def state_dict(owner: Any, *args: Any, **keywords: Any) -> Any:
            self._depth += 1
            try:
                result = take(owner, *args, **keywords)
            finally:
                self._depth -= 1
            if not self._depth:
                safely(self._note, result, here())
            return result

        def load_state_dict(owner: Any, state_dict: Any, *args: Any, **keywords: Any) -> Any:
            safely(self._before_load, owner, state_dict, here())
            return load(owner, state_dict, *args, **keywords)

        return [
            replaced(module, "state_dict", state_dict),
            replaced(module, "load_state_dict", load_state_dict),
        ]

    def _note(self, state: Any, stack: list[Step]) -> None:
        if len(self._taken) >= MOST:
            alive = {key: each for key, each in self._taken.items() if each[0]() is not None}
            self._taken = alive if len(alive) < MOST else {}
        try:
            known = weakref.ref(state)
        except TypeError:  # a plain dictionary, of a module with a method of its own
            return
        self._taken[id(state)] = known, stack, len(self._gradients.steps)

    def _before_load(self, module: Any, state: Any, stack: list[Step]) -> None:
        known, taken, steps = self._taken.get(id(state), (None, [], 0))
        since = len(self._gradients.steps) - steps
        if known is None or id(known()) != id(state) or not since or not taken:
            return
        own = {name: parameter for name, parameter in module.named_parameters()}
        shared = [
            name
            for name, parameter in own.items()
            if name in state
            and _address(parameter)
            and _address(state[name]) == _address(parameter)
        ]
        if own and len(shared) == len(own) and any(p.requires_grad for p in own.values()):
            self.restored.append(Restored(taken, stack, since, type(module).__name__))


def _address(tensor: Any) -> int:
    return int(tensor.data_ptr())
