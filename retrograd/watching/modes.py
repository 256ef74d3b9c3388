"""Modules that are put into evaluation mode, and are still in it when their optimizer steps.

Dropout, normalisation and whatever else asks for `training` work differently in the two modes. A
program that evaluates and goes on training without `model.train()` trains without them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.lines import LineLog, Step
from retrograd.watching.replacing import Undo, replaced
from retrograd.watching.torch_types import OptimizerLike

MOST = 64  # modules that are remembered
RATES = ("p", "dropout")  # of what is dropped: of dropout, recurrent layers and attention
KEEPS_STATISTICS = "track_running_stats"  # of normalisation

Site = tuple[int, int]
Safely = Callable[..., Any]
Asked = Callable[[], bool]


@dataclass
class Evaluated:
    """A module that was switched to evaluation, and the steps of its parameters in either mode."""

    module: weakref.ref[Any]
    kind: str  # the name of its class
    depending: list[str]  # kinds of its parts that the mode matters to
    trained: set[Site] = field(default_factory=set)  # lines that have stepped in training mode
    off: bool = False  # in evaluation mode now
    stack: list[Step] = field(default_factory=list)  # that switched it so
    names: dict[str, str] = field(default_factory=dict)  # how each running function calls it
    evaluated: bool = False  # gradients were off since then, before the next step
    steps: int = 0  # since then
    still: int = 0  # those of lines that had trained in training mode
    stepped: list[Step] = field(default_factory=list)  # the last of them


class Modes:
    """Follows `module.eval()` and `module.train()`."""

    def __init__(self, gradients: Gradients) -> None:
        self.found: list[Evaluated] = []  # whose training went on in evaluation mode
        self._gradients = gradients
        self._known: dict[int, Evaluated] = {}  # by id of the module
        self._stepped: dict[int, set[Site]] = {}  # optimizer id -> lines that have stepped
        self._depth = 0
        self.told: Callable[[Any], None] | None = None  # of what is switched to training

    def install(
        self, torch: Any, safely: Safely, log: Callable[[], LineLog], gradients_off: Asked
    ) -> list[Undo]:
        """Put the patch in place; the result takes it away."""
        modes, original = self, torch.nn.Module.train

        def train(module: Any, mode: bool = True) -> Any:
            modes._depth += 1
            try:
                result = original(module, mode)
            finally:
                modes._depth -= 1
            if not modes._depth:  # else it is a part of the one that was switched
                safely(modes._on if mode else modes._off, module, log, gradients_off)
            return result

        return [replaced(torch.nn.Module, "train", train)]

    def _on(self, module: Any, log: Callable[[], LineLog], gradients_off: Asked) -> None:
        if self.told is not None:
            self.told(module)
        if self._known:
            for part in module.modules():
                known = self._known.get(id(part))
                if known is not None:
                    known.off = False

    def _off(self, module: Any, log: Callable[[], LineLog], gradients_off: Asked) -> None:
        known = self._known.get(id(module))
        if known is None or known.module() is not module:
            depending = _depending(module)
            if not depending or len(self._known) >= MOST:
                return
            known = Evaluated(weakref.ref(module), type(module).__name__, depending)
            known.trained = self._lines_that_trained(module)
            self._known[id(module)] = known
        if known.still:
            return  # where it began is kept
        if not known.off or known.steps:  # else it was switched again, to no effect
            known.off, known.steps, known.evaluated = True, 0, gradients_off()
            stack = log().here()
            if [step.line for step in stack] != [step.line for step in known.stack]:
                known.stack, known.names = stack, _names(module, log())

    def _lines_that_trained(self, module: Any) -> set[Site]:
        own = {id(parameter) for parameter in module.parameters()}
        found: set[Site] = set()
        for optimizer in self._gradients.optimizers:
            if any(id(parameter) in own for parameter in parameters_of(optimizer)):
                found |= self._stepped.get(id(optimizer), set())
        return found

    def gradients_are_off(self) -> None:
        """The program has switched gradients off: it evaluates."""
        for known in self._known.values():
            if known.off and not known.steps:
                known.evaluated = True

    def before_step(self, optimizer: OptimizerLike, stack: list[Step]) -> None:
        """A step uses gradients that were computed in one mode or the other."""
        if not stack:
            return
        site = stack[-1].chain, stack[-1].line
        self._stepped.setdefault(id(optimizer), set()).add(site)
        if not self._known:
            return
        held = {id(p) for p in parameters_of(optimizer) if p.grad is not None}
        for known in self._known.values():
            module = known.module()
            if module is None or not any(id(p) in held for p in module.parameters()):
                continue
            if not known.off:
                known.trained.add(site)
                continue
            known.steps += 1
            # the loss of the first one may have been computed before the switch
            if known.steps > 1 and known.evaluated and site in known.trained and known.stack:
                if not any(part.training for part in module.modules()):
                    known.still += 1
                    known.stepped = stack
                    if known.still == 1:
                        self.found.append(known)


def _depending(module: Any) -> list[str]:
    """The kinds of its parts to which the mode makes a difference."""
    found: dict[str, None] = {}
    for part in module.modules():
        rate = next((vars(part)[name] for name in RATES if name in vars(part)), 0)
        drops = isinstance(rate, float) and 0 < rate
        if drops or vars(part).get(KEEPS_STATISTICS) or _asks(type(part)):
            found[type(part).__name__] = None
    return list(found)


def _asks(kind: type) -> bool:
    """Whether a class of the program asks for the mode: `F.dropout(x, 0.1, self.training)`."""
    if kind.__module__.partition(".")[0] in ("torch", "retrograd"):
        return False
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    return code is not None and "training" in code.co_names


def _names(module: Any, log: LineLog) -> dict[str, str]:
    """How the functions that run now, and the main program, call a module: `self.model`."""
    found: dict[str, str] = {}
    for frame in list(log.live):
        name = _name_in(frame, module)
        if name:
            found[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] = name
    return found


def _name_in(frame: FrameType, module: Any) -> str:
    for name, value in frame.f_locals.items():
        if value is module and name.isidentifier():
            return name
    owner = frame.f_locals.get("self")
    try:
        attributes = {**vars(owner), **vars(owner).get("_modules", {})}
    except TypeError:
        return ""
    return next((f"self.{name}" for name, value in attributes.items() if value is module), "")
