"""`module.requires_grad = False`: a plain attribute of a module, which switches nothing.

PyTorch takes the assignment without a word. While a program is watched, a descriptor in the class
of modules writes down the line. The value stays where it was, in the module's own dictionary.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.lines import Step
from retrograd.watching.replacing import replaced
from retrograd.watching.torch_types import OptimizerLike

NAME = "requires_grad"
MOST = 256  # modules that are remembered


@dataclass
class Switched:
    """A module on which the attribute was set, and its parameters at the last look."""

    module: weakref.ref[Any]
    kind: str  # the name of its class
    value: bool
    stack: list[Step]
    against: int = 0  # parameters of an optimizer that are not as the attribute says
    times: int = 0  # looks in a row that have found such
    read: bool = False  # the program asks for it: it is a setting of its own class


class Switches:
    """Keeps those modules."""

    def __init__(self) -> None:
        self.found: dict[int, Switched] = {}  # by id of the module

    def install(
        self, torch: Any, told: Callable[..., Any], here: Callable[[], list[Step]]
    ) -> list[Callable[[], None]]:
        """Watch the attribute of all modules; the results take the descriptor away again."""
        kind = torch.nn.Module
        if NAME in vars(kind):
            return []
        names = kind.__dir__

        def listed(module: Any) -> list[str]:
            # torch.compile asks for every name that dir() gives
            return [name for name in names(module) if name != NAME or name in vars(module)]

        setattr(kind, NAME, _Attribute(self, told, here))
        return [lambda: delattr(kind, NAME), replaced(kind, "__dir__", listed)]

    def note(self, module: Any, value: object, stack: list[Step]) -> None:
        """The attribute was set."""
        known = self.found.pop(id(module), None)
        if known is not None and known.value is value and known.module() is module:
            self.found[id(module)] = known  # set again: what was seen of it still holds
            return
        if isinstance(value, bool) and stack and len(self.found) < MOST:
            kind = type(module).__name__
            self.found[id(module)] = Switched(weakref.ref(module), kind, value, stack)

    def note_read(self, module: object) -> None:
        """The program has asked for the attribute."""
        if id(module) in self.found:
            self.found[id(module)].read = True

    def before_step(self, optimizer: OptimizerLike, gradients: Gradients) -> None:
        """Count the parameters that are trained although switched off, or frozen although on."""
        held = {id(p) for p in parameters_of(optimizer)}
        for switched in self.found.values():
            module = switched.module()
            parameters = [] if module is None else list(module.parameters())
            mine = [p for p in parameters if id(p) in held]
            if mine:
                switched.against = sum(
                    p.requires_grad is not switched.value
                    and (switched.value or gradients.is_waiting(p))
                    for p in mine
                )
                switched.times = switched.times + 1 if switched.against else 0


class _Attribute:
    """Reads and writes the module's own dictionary, as if it were not there."""

    def __init__(
        self, switches: Switches, told: Callable[..., Any], here: Callable[[], list[Step]]
    ) -> None:
        self.switches = switches
        self.told = told
        self.here = here

    def __get__(self, module: Any, kind: type) -> Any:
        if module is None or NAME not in vars(module):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {NAME!r}")
        self.told(self.switches.note_read, module)
        return vars(module)[NAME]

    def __set__(self, module: Any, value: object) -> None:
        vars(module)[NAME] = value
        self.told(lambda: self.switches.note(module, value, self.here()))

    def __delete__(self, module: Any) -> None:
        if NAME not in vars(module):
            raise AttributeError(NAME)
        del vars(module)[NAME]
