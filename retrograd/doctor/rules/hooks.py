"""A hook that each iteration registers again, on a parameter or module that stays."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.hooks import OF_TENSORS
from retrograd.watching.records import PiledHook

TIMES = 3  # with backward calls in between


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line."""
    log = watched.tracer.log
    found: dict[Place, Diagnosis] = {}
    for piled in watched.recorder.hooks.piled.values():
        place = log.place_of(piled.stack)
        if piled.times >= TIMES and place is not None and place not in found:
            found[place] = _diagnosis(piled, place, log.places_of(piled.stack))
    return list(found.values())


def _diagnosis(piled: PiledHook, place: Place, stack: list[Place]) -> Diagnosis:
    kind = "parameter" if piled.method in OF_TENSORS else f"module ({piled.target})"
    what = "changes each gradient once more" if piled.method in OF_TENSORS else "runs once more"
    called = _in_loop(stack)
    return Diagnosis(
        cause="repeated-hook",
        title=f"line {place.line} registers a hook again in each iteration, and none is removed",
        why=f"{piled.method}() was called {piled.times} times for the same {kind}, with backward "
        f"calls in between, and the hooks are all still there: each {what}, and what they refer "
        "to stays in memory.",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[
            Fix("register-once", called, "register it once, before the loop"),
            Fix("register-once", place, "or keep what it returns, and call .remove() on that"),
        ],
        spans=[Span("registered", place, stack)],
        facts={"times": piled.times, "method": piled.method},
    )


def _in_loop(stack: list[Place]) -> Place:
    """The innermost line of a stack that is in a loop over iterations, not over parameters."""
    for place in stack:
        if source.loops_around(place.file, place.line):
            return place
    return stack[-1]
