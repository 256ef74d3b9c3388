"""Gradients that are clipped in vain: after the step, before backward, or of no parameters."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.late_clips import ClipLine

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that clips."""
    lines = watched.recorder.late_clips.lines.values()
    found = [_diagnosis(watched, line) for line in lines if _is_in_vain(line)]
    found += [_of_nothing(watched, line) for line in lines if _finds_nothing(line)]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _is_in_vain(line: ClipLine) -> bool:
    return line.late >= TIMES and line.shortened > 0 and not line.in_time


def _diagnosis(watched: Watched, line: ClipLine) -> Diagnosis | None:
    log = watched.tracer.log
    clipped, stepped = log.place_of(line.stack), log.place_of(line.stepped)
    if clipped is None or stepped is None:
        return None
    return Diagnosis(
        cause="clipped-after-step",
        title="gradients are clipped after the step that was to use them",
        why=f"Line {stepped.line} has stepped with the gradients as they were. {line.function}() "
        f"in line {clipped.line} shortens them afterwards, and they are cleared before the next "
        "step: no step has ever used a clipped gradient.",
        error_line=clipped,
        created_at=list(dict.fromkeys([clipped, stepped])),
        fixes=[Fix("reorder-step", clipped, "clip between backward() and step()")],
        spans=[
            Span("stepped", stepped, log.places_of(line.stepped)),
            Span("clipped", clipped, log.places_of(line.stack)),
        ],
        facts={"clips": line.late, "shortened": line.shortened},
    )


def _finds_nothing(line: ClipLine) -> bool:
    if line.used_up >= TIMES:
        return True  # the first call may have got them
    return line.early >= TIMES and not (line.in_time or line.late)


def _of_nothing(watched: Watched, line: ClipLine) -> Diagnosis | None:
    log, gradients = watched.tracer.log, watched.recorder.gradients
    clipped = log.place_of(line.stack)
    stepped = log.place_of(gradients.steps[-1].stack) if gradients.steps else None
    if clipped is None or stepped is None:
        return None
    if line.used_up:
        times, text = line.used_up, "ask the model for its parameters again"
        why = (
            f"{line.function}() in line {clipped.line} is given a generator that has nothing left: "
            "it can be gone through once, and somebody has: an optimizer, or the first of these "
            f"calls. No gradient was clipped in {times} calls."
        )
    else:
        times, text = line.early, "clip between backward() and step()"
        why = (
            f"When {line.function}() in line {clipped.line} ran, no parameter had a gradient: "
            f"backward() comes after it, and line {stepped.line} has stepped with what backward() "
            f"gave, as it was, in {times} steps."
        )
    sent = next((c for c in reversed(list(watched.recorder.calls)) if c.kind == "backward"), None)
    gave = None if sent is None else sent.log.place_of(sent.stack)
    return Diagnosis(
        cause="clip-without-effect",
        title="the line that clips gradients finds none",
        why=why,
        error_line=clipped,
        created_at=list(dict.fromkeys([clipped, *([gave] if gave else []), stepped])),
        fixes=[Fix("renew-parameters" if line.used_up else "reorder-step", clipped, text)],
        spans=[
            Span("clipped", clipped, log.places_of(line.stack)),
            Span("stepped", stepped, log.places_of(gradients.steps[-1].stack)),
        ],
        facts={"clips": times},
    )
