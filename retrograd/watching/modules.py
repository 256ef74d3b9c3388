"""Which call of which module made a node.

A hook at the entry and one at the exit of every module write down the number of the next node; the
call that made a node is then found by bisection. Calls of `module.forward(x)` by hand pass no hook,
and count as part of the module around them.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from retrograd.watching.engines import Engine
from retrograd.watching.lines import LEAF

MOST_ENTRIES = 400_000
"""Beyond this many the older half of a log is forgotten: their nodes are of no module any more."""


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module."""

    number: int  # of this call, from 1 on
    name: str
    """The way from the module around it, `layers.0.fc1`; its class for an outermost one."""
    kind: str  # class
    outer: ModuleCall | None
    first: bool  # the first call of this module inside of the call around it

    @property
    def path(self) -> str:
        """From the outermost module on: `Transformer.layers.0.fc1`."""
        return self.name if self.outer is None else f"{self.outer.path}.{self.name}"


class _ThreadLog(threading.local):
    """What one thread is in, and has been in."""

    def __init__(self) -> None:
        self.under_way: list[tuple[Any, ModuleCall, set[int]]] = []
        self.numbers: list[int] = []
        self.calls: list[ModuleCall | None] = []

    def write(self, number: int) -> None:
        """Nodes from this number on are made by the innermost call under way."""
        call = self.under_way[-1][1] if self.under_way else None
        if self.numbers and self.numbers[-1] == number:
            self.calls[-1] = call
        else:
            self.numbers.append(number)
            self.calls.append(call)
            if len(self.numbers) > MOST_ENTRIES:  # memory stays bounded in very long runs
                del self.numbers[: MOST_ENTRIES // 2], self.calls[: MOST_ENTRIES // 2]


class ModuleLog:
    """Writes down the calls of modules between `start` and `stop`, and tells them afterwards."""

    def __init__(self, engine: Engine) -> None:
        self._counter = engine.counter
        self._hooks: Any = import_module(f"{engine.torch.__name__}.nn.modules.module")
        self._log = _ThreadLog()
        self._handles: list[Any] = []
        self._count = 0
        # how what is below a module is reached; an id may be used again, so the module is checked
        self._names: dict[int, tuple[weakref.ref[Any], dict[int, str]]] = {}

    def start(self) -> Callable[[], None]:
        """Follow all modules from now on; the result ends it."""
        self._handles = [
            self._hooks.register_module_forward_pre_hook(self._enter),
            self._hooks.register_module_forward_hook(self._leave, always_call=True),
        ]
        return self.stop

    def stop(self) -> None:
        """Follow nothing any more; what was written stays."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._names.clear()

    def of(self, number: int) -> ModuleCall | None:
        """The innermost call that made the node of a number, in this thread."""
        log = self._log
        position = bisect_right(log.numbers, number) - 1
        return log.calls[position] if position >= 0 and number < LEAF else None

    def _enter(self, module: Any, args: object) -> None:
        log = self._log
        self._count += 1
        outer = log.under_way[-1] if log.under_way else None
        name, first = type(module).__name__, True
        if outer is not None:
            name = self._names_below(outer[0]).get(id(module), name)
            first = id(module) not in outer[2]
            outer[2].add(id(module))
        call = ModuleCall(
            self._count, name, type(module).__name__, None if outer is None else outer[1], first
        )
        log.under_way.append((module, call, set()))
        log.write(self._counter())

    def _leave(self, module: Any, args: object, output: object) -> None:
        log = self._log
        while log.under_way:  # what an exception left without its exit goes too
            if log.under_way.pop()[0] is module:
                break
        log.write(self._counter())

    def _names_below(self, module: Any) -> dict[int, str]:
        """How the modules below one are reached."""
        known = self._names.get(id(module))
        if known is None or known[0]() is not module:
            below = {id(inner): name for name, inner in module.named_modules() if name}
            known = self._names[id(module)] = weakref.ref(module), below
        return known[1]
