"""A target that is computed with gradients: the loss also pulls the target towards the prediction.

The form of the graph says what is compared (see `watching.targets`); a word in the text that the
target is one, for a step of a simulation has the same form and is to be trained on both sides.
"""

from __future__ import annotations

import ast
import re

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2

TARGETS = re.compile(
    r"target|gamma|discount|reward|bootstrap|bellman|td\b|td_|next_?(q|v|value)|(q|v|value)s?_?next"
)
"""Words in the line that adds up the target."""

DELIBERATE = re.compile(r"residual.?grad|baird|both sides|double.?sampl|through the target")
"""Words around it that say: the gradient of the target is wanted."""

Stack = list[Place]


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that makes such a target."""
    seen: dict[Place, list[tuple[Stack, Stack]]] = {}
    for call, target in watched.recorder.targets:
        made = [place for _, place in call.log.stack_of(target.added)]
        loss = [place for _, place in call.log.stack_of(target.loss)]
        if made and loss:
            seen.setdefault(made[-1], []).append((made, loss))
    return [
        _diagnosis(place, *found[-1], len(found))
        for place, found in seen.items()
        if len(found) >= TIMES and _is_target(place)
    ] + _ratios(watched)


def _ratios(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that makes the old value of a ratio with gradients."""
    seen: dict[Place, list[tuple[Stack, Stack]]] = {}
    for call, ratio in watched.recorder.ratios:
        taken = [place for _, place in call.log.stack_of(ratio.taken)]
        raised = [place for _, place in call.log.stack_of(ratio.raised)]
        kept = source.where_kept(taken)
        if kept is not None and raised and call.kind == "backward":
            seen.setdefault(kept, []).append((taken, raised))
    return [
        _of_ratio(place, *found[-1], len(found))
        for place, found in seen.items()
        if len(found) >= TIMES
    ]


def _of_ratio(place: Place, taken: Stack, raised: Stack, times: int) -> Diagnosis:
    line = raised[-1]
    return Diagnosis(
        cause="target-with-gradient",
        title=f"the old value of the ratio in line {line.line} is computed with gradients",
        why=f"Line {line.line} compares what the parameters say now with what they said before. "
        f"Both were computed with history and are equal: the ratio was 1 in all {times} calls that "
        "were looked at, and the two gradients cancel. Nothing is learned from it.",
        error_line=line,
        created_at=list(dict.fromkeys([place, *reversed(taken), line])),
        fixes=[Fix("detach", place, "the old value is a number: compute it without history")],
        spans=[Span("target", place, taken), Span("compared", line, raised)],
        facts={"calls": times},
    )


def _is_target(place: Place) -> bool:
    statement = source.statement_at(place.file, place.line)
    around = source.function_around(place.file, place.line)
    called = "" if around is None or not isinstance(statement, ast.Return) else around.name
    if statement is None or not TARGETS.search(f"{ast.unparse(statement)} {called}".lower()):
        return False
    first, last = (1, place.line) if around is None else (around.lineno, around.end_lineno or 0)
    text = " ".join(source.text_at(place.file, line) for line in range(first - 1, last + 1))
    return not DELIBERATE.search(text.lower())


def _diagnosis(place: Place, made: Stack, loss: Stack, times: int) -> Diagnosis:
    line = loss[-1]
    return Diagnosis(
        cause="target-with-gradient",
        title=f"the target of line {place.line} is computed with gradients",
        why=f"Line {line.line} compares a prediction with a target that was computed from the same "
        "parameters, with history. backward() goes through both: it moves the prediction towards "
        f"the target, and the target towards the prediction. {times} calls that were looked at "
        "did so.",
        error_line=line,
        created_at=list(dict.fromkeys([*reversed(made), line])),
        fixes=[Fix("detach", place, "a target is a number: compute it without history")],
        spans=[Span("target", place, made), Span("compared", line, loss)],
        facts={"calls": times},
    )
