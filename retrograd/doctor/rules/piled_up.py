"""Gradients that pile up within one pass: over the calls of a closure, or over two optimizers."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import DirtyStep, PiledStep
from retrograd.watching.torch_types import OptimizerLike

TIMES = 2
SHARED_TIMES = 3


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer."""
    gradients = watched.recorder.gradients
    found = []
    for optimizer in gradients.optimizers:
        piled = [each for each in gradients.piled if each.optimizer is optimizer]
        twice = [each for each in gradients.dirty if _is_of_another(each, optimizer)]
        steps = sum(1 for step in gradients.steps if step.optimizer is optimizer)
        diagnosis = None
        if len(piled) >= TIMES:
            diagnosis = _in_closure(watched, piled)
        elif len(twice) >= SHARED_TIMES and len(twice) * 2 > steps:
            diagnosis = _by_two(watched, twice)
        if diagnosis is not None:
            found.append(diagnosis)
    return found


def _is_of_another(each: DirtyStep, optimizer: OptimizerLike) -> bool:
    return each.optimizer is optimizer and each.user is not optimizer and bool(each.used)


def _in_closure(watched: Watched, piled: list[PiledStep]) -> Diagnosis | None:
    last = piled[-1]
    log = last.call.log
    step, added = log.place_of(last.stack), log.place_of(last.call.stack)
    if step is None or added is None:
        return None
    name = type(last.optimizer).__name__
    return Diagnosis(
        cause="zero-grad-misuse",
        title="the closure of a step does not clear the gradients",
        why=f"{name} calls the closure several times in one step, each time at other parameters. "
        f"backward() in line {added.line} adds to the gradients of the calls before: the optimizer "
        "works with a sum of gradients from different points.",
        error_line=step,
        created_at=list(dict.fromkeys([added, step])),
        fixes=[Fix("zero-grad", added, "clear the gradients in the closure, before backward()")],
        spans=[
            Span("stepped", step, log.places_of(last.stack)),
            Span("added", added, log.places_of(last.call.stack)),
        ],
        facts={"steps": len(piled), "of_step": True},
    )


def _by_two(watched: Watched, twice: list[DirtyStep]) -> Diagnosis | None:
    last = twice[-1]
    log = watched.tracer.log
    step, used = log.place_of(last.stack), log.place_of(last.used)
    added = last.call.log.place_of(last.call.stack)
    if step is None or used is None or added is None or last.user is None:
        return None
    others = {id(parameter) for parameter in parameters_of(last.user)}
    shared = sum(id(parameter) in others for parameter in parameters_of(last.optimizer))
    if not shared:
        return None
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"two optimizers hold the same {shared} parameters, and the second step uses the "
        "first one's gradients again",
        why=f"The step in line {used.line} has used these gradients. backward() in line "
        f"{added.line} adds to them, and the step in line {step.line} uses the sum: what the first "
        f"loss says is applied twice. This was so in {len(twice)} steps.",
        error_line=step,
        created_at=list(dict.fromkeys([added, used, step])),
        fixes=[Fix("zero-grad", added, "clear them between the first step and this backward()")],
        spans=[
            Span("used", used, log.places_of(last.used)),
            Span("added", added, last.call.log.places_of(last.call.stack)),
            Span("used again", step, log.places_of(last.stack)),
        ],
        facts={"steps": len(twice), "shared": shared, "of_step": True},
    )
