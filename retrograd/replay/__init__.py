"""Steps that repeat, run from a plan: ``retrograd.replay(step)``.

`reading` follows the step's Python, `recording` writes down what is done to its arrays, `binding`
makes a plan of it, and an executor (`execute`, or the compiled machine) runs the plan.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from threading import Lock
from types import MethodType, ModuleType
from typing import Any

from retrograd import core
from retrograd.replay.binding import MISS, Plan, Unbindable
from retrograd.replay.reading import Readings
from retrograd.replay.recorder import Recorder
from retrograd.replay.recording import current

Reader = Callable[[Callable[..., Any], Any, Any, Recorder], Any]
_PATIENCE = 6  # with recordings that differ from the one before; refusals count as three
_CANDIDATES = 4  # recordings that wait for a second one of the same
_PLANS = 8  # for shapes, flags and values that come again
_looking = Lock()  # whether a plan is busy


class Replay:
    """A step that is recorded twice and then run from its plan; made by `replay`.

    replayed, recorded, ordinary  how many calls went which way
    reasons                       why calls were not replayed, and how often
    """

    __slots__ = (
        *("_candidates", "_elsewhere", "_failures", "_reader", "ordinary", "plans", "reasons"),
        *("recorded", "replayed", "step", "__dict__", "__weakref__"),
    )

    def __init__(self, step: Callable[..., Any], reader: Reader | None = None) -> None:
        functools.update_wrapper(self, step)
        self.step = step
        self.replayed = self.recorded = self.ordinary = 0
        self.reasons: dict[str, int] = {}
        self.plans: list[Plan] = []
        self._reader: Reader = Readings() if reader is None else reader
        self._candidates: list[Plan] = []  # of one recording each
        self._failures = 0
        self._elsewhere: Callable[[Any, Any], Any] | None = None  # calls, where a device records

    @core.shortcut("replayed")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for plan in self.plans:
            with _looking:
                busy, plan.busy = plan.busy, True
            if busy:  # another thread runs it now, or an outer call
                self.ordinary += 1
                return self.step(*args, **kwargs)
            try:
                result = plan.run(args, kwargs)
            finally:
                plan.busy = False
            if result is not MISS:
                self.replayed += 1
                return result
        if self._elsewhere is not None:
            return self._elsewhere(args, kwargs)
        if self._failures >= _PATIENCE or len(self.plans) >= _PLANS or current():
            self.ordinary += 1
            return self.step(*args, **kwargs)
        if self.plans:
            self._say(self.plans[0].why_not(args, kwargs), 0)
        return self._record(args, kwargs)

    def __get__(self, instance: object, owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)

    def _record(self, args: Any, kwargs: Any) -> Any:
        self.recorded += 1
        plan: Plan | None = None
        others = [x for x in self._candidates if not x.fits(args, kwargs)]
        with Recorder() as recorder:
            reading = self._reader(self.step, args, kwargs, recorder)
            if recorder.tape.refusal is None:
                recorder.close_segment()
                try:
                    plan = Plan(recorder, reading)
                except Unbindable as reason:
                    recorder.refuse(str(reason))
                except Exception as error:  # a mistake of ours: the step's result is right
                    recorder.refuse(f"no plan can be made: {type(error).__name__}: {error}")
        if recorder.device == "cuda":
            from retrograd.replay.on_device import OnDevice

            self._elsewhere = OnDevice(self)
        elif plan is None or recorder.tape.refusal is not None:
            self._candidates = others
            self._say(recorder.tape.refusal or "", 3)
        else:
            self._compare(plan, others)
        return reading.result

    def _compare(self, plan: Plan, others: list[Plan]) -> None:
        """A recording that came before makes a plan; `others` are for calls of another kind."""
        twin = next((x for x in self._candidates if plan.agrees(x)), None)
        if twin is not None:
            self.plans.insert(0, plan)
            self._candidates.remove(twin)
            return
        if len(others) < len(self._candidates):
            self._say("two recordings of the step differ", 1)
        elif others:
            self._say("a call is unlike those before: another recording is needed", 1)
        self._candidates = [*others[1 - _CANDIDATES :], plan]

    def _say(self, reason: str, weight: int) -> None:
        self._failures += weight
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def explain(self) -> str:
        """How often the step was replayed, recorded and run in the ordinary way, and why."""
        calls = f"{self.replayed} replayed, {self.recorded} recorded, {self.ordinary} ordinary"
        lines = [f"{calls}; plans: {len(self.plans)}"]
        lines += [f"- {reason} ({count})" for reason, count in self.reasons.items()]
        return "\n".join(lines)


def replay(step: Callable[..., Any]) -> Replay:
    """A function that does what `step` does, faster where it does the same at each call.

    The first two calls are recorded and compared; later ones run from the plan, without building a
    graph, as long as everything that the step depends on is as it was. Otherwise the step runs as
    it is written, with the same result, and ``step.explain()`` says why. The text of the step must
    be in a file: what is typed at a prompt runs as it is written.

    >>> import retrograd as torch
    >>> weight = torch.ones(2, requires_grad=True)
    >>> @torch.replay
    ... def step(x):
    ...     loss = (weight * x).sum()
    ...     loss.backward()
    ...     with torch.no_grad():
    ...         weight.sub_(0.1 * weight.grad)
    ...     weight.grad = None
    ...     return loss.item()
    >>> [round(step(torch.ones(2)), 2) for _ in range(4)]
    [2.0, 1.8, 1.6, 1.4]
    """
    return step if isinstance(step, Replay) else Replay(step)


if core.AVAILABLE:
    core.compiled("use_replay")(Replay, Plan, MISS)


class _Callable(ModuleType):
    """``retrograd.replay`` is this module, and the function."""

    def __call__(self, step: Callable[..., Any]) -> Replay:
        return replay(step)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (__name__,)  # a function of the library can be pickled


sys.modules[__name__].__class__ = _Callable
