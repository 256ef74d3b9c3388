"""Steps that repeat, run from a plan: `replay`.

`reading` follows the step's Python, `recording` writes down what is done to its arrays, `binding`
makes a plan of it, and an executor (`execute`, or the compiled machine) runs the plan.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.replay.binding import MISS, Plan, Unbindable
from retrograd.replay.reading import Readings
from retrograd.replay.recorder import Recorder
from retrograd.replay.recording import current

Reader = Callable[[Callable[..., Any], Any, Any, Recorder], Any]
_PATIENCE = 6  # with recordings that differ from the one before; refusals count as three
_PLANS = 8


class Replay:
    """A step that is recorded twice and then run from its plan; made by `replay`."""

    def __init__(self, step: Callable[..., Any], reader: Reader | None = None) -> None:
        functools.update_wrapper(self, step)
        self.step = step
        self.calls = {"replayed": 0, "recorded": 0, "ordinary": 0}
        self.reasons: dict[str, int] = {}
        self._reader: Reader = Readings() if reader is None else reader
        self._plans: list[Plan] = []
        self._candidate: Plan | None = None
        self._failures = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for plan in self._plans:
            result = plan.run(args, kwargs)
            if result is not MISS:
                self.calls["replayed"] += 1
                return result
        if self._failures >= _PATIENCE or len(self._plans) >= _PLANS or current():
            self.calls["ordinary"] += 1
            return self.step(*args, **kwargs)
        return self._record(args, kwargs)

    def _record(self, args: Any, kwargs: Any) -> Any:
        self.calls["recorded"] += 1
        plan: Plan | None = None
        with Recorder() as recorder:
            reading = self._reader(self.step, args, kwargs, recorder)
            if recorder.tape.refusal is None:
                recorder.close_segment()
                try:
                    plan = Plan(recorder, reading)
                except Unbindable as reason:
                    recorder.refuse(str(reason))
        before, self._candidate = self._candidate, plan
        if recorder.tape.refusal is not None:
            self._say(recorder.tape.refusal, 3)
        elif before is not None and plan is not None and plan.agrees(before):
            self._plans.insert(0, plan)
            self._candidate = None
        elif before is not None:
            self._say("two recordings of the step differ", 1)
        return reading.result

    def _say(self, reason: str, weight: int) -> None:
        self._failures += weight
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def explain(self) -> str:
        """How often the step was replayed, recorded and run in the ordinary way, and why."""
        counts = ", ".join(f"{kind} {number}" for kind, number in self.calls.items())
        lines = [f"{counts}; plans {len(self._plans)}"]
        lines += [f"- {reason} ({number} times)" for reason, number in self.reasons.items()]
        return "\n".join(lines)
