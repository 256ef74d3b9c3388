"""Frozen modules that are called in training mode while others are trained: a teacher's targets.

Dropout and normalisation ask for the mode, not for `requires_grad`. For a few iterations of a
program that has frozen parameters, or computes without gradients, PyTorch's hooks for all modules
tell which frozen module is called, with what, and what trained module is given the same.
"""

from __future__ import annotations

import importlib
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from retrograd.watching.gradients import Gradients
from retrograd.watching.lines import LineLog, Step
from retrograd.watching.modes import RATES, _names

MOST_CALLS = 600  # of modules, in one search for such a module
SEARCHES = 4
Value = tuple[int, tuple[int, ...]]  # where a tensor lies, and its shape
ENOUGH = 4  # calls of it with a step of others in between
MOST_GIVEN = 64
MOST_VALUES = 4  # parameters whose values are compared


@dataclass
class Teacher:
    """A frozen module in training mode, and what was seen of it."""

    module: weakref.ref[Any]
    kind: str  # the name of its class
    depending: list[str]  # kinds of its parts that the mode matters to
    stack: list[Step]
    names: dict[str, str]  # how each running function calls it
    values: list[tuple[Any, float]]  # some of its parameters, and what they were
    steps: set[int] = field(default_factory=set)  # how many steps there were at each call
    pupils: set[int] = field(default_factory=set)  # the same, where a trained one got the same
    within: bool = False  # a module that is trained, and that it is a part of, calls it
    with_gradients: bool = False  # they are switched on where it is called
    on_purpose: bool = False  # it was switched to training when it was frozen
    used_as_input: bool = False  # its result goes into a module that is trained
    calls: int = 0
    by_pupil: Counter[int] = field(default_factory=Counter)  # calls with the same, by module
    inputs: list[Value] = field(default_factory=list)  # now
    outputs: list[weakref.ref[Any]] = field(default_factory=list)  # now


class Teachers:
    """Looks for such modules for a short time, when there may be one."""

    def __init__(self, torch: Any, gradients: Gradients) -> None:
        self.found: dict[int, Teacher] = {}
        self._switched: weakref.WeakSet[Any] = weakref.WeakSet()  # to training, all frozen
        self._torch = torch
        self._gradients = gradients
        self._log: Callable[[], LineLog] = lambda: None  # type: ignore[assignment, return-value]
        self._safely: Callable[..., Any] = lambda function, *args: function(*args)
        self._handles: list[Any] = []
        self._calls = 0
        self._searches: dict[object, int] = {}
        self._inside: list[Any] = []  # the frozen module that runs now
        self._given: list[tuple[int, Value, weakref.ref[Any]]] = []  # to trained ones, last
        self._names: dict[int, dict[str, str]] = {}  # of those, as `_names` gives them
        self._steps: Counter[int] = Counter()  # by optimizer

    def install(
        self, safely: Callable[..., Any], log: Callable[[], LineLog]
    ) -> list[Callable[[], None]]:
        """Nothing is watched yet; the result ends a search that runs."""
        self._log, self._safely = log, safely
        return [self._end]

    def switched_on(self, module: Any) -> None:
        """The program has switched a module to training; of a frozen one it means it."""
        if not any(parameter.requires_grad for parameter in module.parameters()):
            self._switched.update(module.modules())
            for known in self.found.values():
                known.on_purpose = known.on_purpose or known.module() in self._switched

    def before_step(self, optimizer: object, frozen: Callable[[], Any]) -> None:
        """An optimizer steps; in its second one it is looked whether something is frozen."""
        self._steps[id(optimizer)] += 1
        if self._steps[id(optimizer)] == 2 and frozen():
            self.search(id(optimizer))

    def search(self, occasion: object) -> None:
        """Look at the modules that are called from now on."""
        if self._handles or self._searches.get(occasion, 0) >= 2:
            return
        if sum(self._searches.values()) >= SEARCHES or not self._gradients.steps:
            return
        self._searches[occasion] = self._searches.get(occasion, 0) + 1
        self._calls = 0
        module = importlib.import_module(f"{self._torch.__package__}.nn.modules.module")

        def before(called: Any, args: tuple[Any, ...]) -> None:
            self._safely(self._before, called, args)

        def after(called: Any, args: tuple[Any, ...], result: Any) -> None:
            self._safely(self._after, called, result)

        self._handles = [
            module.register_module_forward_pre_hook(before),
            module.register_module_forward_hook(after),
        ]

    def _end(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles, self._inside = [], []

    def _before(self, called: Any, args: tuple[Any, ...]) -> None:
        self._calls += 1
        if self._calls > MOST_CALLS or any(len(t.pupils) >= ENOUGH for t in self.found.values()):
            self._end()
            return
        if self._inside:
            return
        tensors = [each for each in args if isinstance(each, self._torch.Tensor)]
        parameters = list(called.parameters())
        if any(p.requires_grad for p in parameters):
            if self._torch.is_grad_enabled():
                self._note_pupil(called, tensors)
            return
        if not parameters or not called.training or not tensors:
            return
        depending = _in_effect(called)
        if not depending:
            return
        known = self.found.get(id(called))
        if known is None or known.module() is not called:
            known = self._make(called, depending, parameters)
            self.found[id(called)] = known
        inputs = [(each.data_ptr(), tuple(each.shape)) for each in tensors]
        steps = len(self._gradients.steps)
        known.calls += 1
        known.steps.add(steps)
        known.inputs, known.outputs = inputs, []
        for when, value, trained in self._given:
            if when == steps and value in inputs:
                self._add_pupil(known, trained(), steps)
        self._inside.append(called)

    def _make(self, called: Any, depending: list[str], parameters: list[Any]) -> Teacher:
        log = self._log()
        callers = [frame.f_locals.get("self") for frame in list(log.live)]
        return Teacher(
            weakref.ref(called),
            type(called).__name__,
            depending,
            log.here(),
            _names(called, log),
            [(p, self._gradients.value_of(p)) for p in parameters[:MOST_VALUES]],
            within=any(
                isinstance(caller, self._torch.nn.Module) and caller is not called
                for caller in callers
            ),
            on_purpose=called in self._switched,
            with_gradients=self._torch.is_grad_enabled(),
        )

    def _note_pupil(self, called: Any, tensors: list[Any]) -> None:
        steps = len(self._gradients.steps)
        given = [(each.data_ptr(), tuple(each.shape)) for each in tensors]
        if id(called) not in self._names:
            self._names[id(called)] = _names(called, self._log())
        self._given += [(steps, value, weakref.ref(called)) for value in given]
        del self._given[:-MOST_GIVEN]
        for known in self.found.values():
            results = [made() for made in known.outputs]
            here = {each.data_ptr() for each in results if each is not None}
            if any(pointer in here for pointer, _ in given):
                known.used_as_input = True
            elif set(given) & set(known.inputs) and steps in known.steps:
                self._add_pupil(known, called, steps)

    def _add_pupil(self, known: Teacher, called: Any, steps: int) -> None:
        module = known.module()
        if called is None or module is None or any(part is module for part in called.modules()):
            return  # it is a part of what was given the same
        known.pupils.add(steps)
        known.by_pupil[id(called)] += 1
        for place, name in self._names.get(id(called), {}).items():
            if known.names.get(place) == name:
                del known.names[place]  # a function that is called with either

    def _after(self, called: Any, result: Any) -> None:
        if not self._inside or self._inside[-1] is not called:
            return
        self._inside.pop()
        known = self.found[id(called)]
        parts = result.values() if isinstance(result, dict) else [result]
        for part in parts:
            for each in part if isinstance(part, (list, tuple)) else [part]:
                if isinstance(each, self._torch.Tensor):
                    if each.requires_grad:
                        known.used_as_input = True  # another one's gradients go through it
                    known.outputs.append(weakref.ref(each))

    def is_averaged(self, known: Teacher) -> bool:
        """Whether it is called more often than what is trained with it: for several draws."""
        return known.calls > max(known.by_pupil.values(), default=0) + 1

    def is_unchanged(self, known: Teacher) -> bool:
        """Whether its weights are still those of the first call: no average of others."""
        return all(self._gradients.value_of(p) == value for p, value in known.values)


def _in_effect(module: Any) -> list[str]:
    """The kinds of its parts that work otherwise in training; none if only some are in training."""
    found: dict[str, None] = {}
    for part in module.modules():
        rate = next((vars(part)[name] for name in RATES if name in vars(part)), 0)
        drops = isinstance(rate, float) and rate > 0
        if drops or vars(part).get("track_running_stats"):
            if not part.training:
                return []
            found[type(part).__name__] = None
    return list(found)
