"""A checkpoint whose function computes something else when it runs again in backward."""

from __future__ import annotations

from collections.abc import Iterable

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Failure

MESSAGES = (
    "Recomputed values for the following tensors have different metadata",
    "A different number of tensors was saved during the original forward and recomputation",
    "trying to save more tensors during recomputation than during the original forward",
)


def recomputed(watched: Watched) -> Diagnosis | None:
    """What ran in the forward pass and what when it was run again, where the lines tell it."""
    at, failure = raised.find(watched, *MESSAGES), watched.recorder.failure
    if at is None or failure is None:
        return None
    # the outermost frames are those of the call that sent the loss back
    sent = failure.call.log.places_of(failure.call.stack)
    place = sent[-1] if sent else at.place
    first, again = _differing(watched, failure)
    spans = [Span("first run", each) for each in first] + [Span("run again", e) for e in again]
    lines = ""
    if first and again:
        lines = f" In the forward pass {_lines(first)} ran, and when it ran again {_lines(again)}."
    created = list(dict.fromkeys([*first, *again, place]))
    culprit = (first or again or [place])[0]
    return Diagnosis(
        cause="recomputed-differently",
        title="a checkpointed function computes something else when it runs again",
        why="checkpoint() keeps only the arguments of the function and runs it again in backward: "
        "both runs must save the same tensors." + lines + " What decides must not change between "
        "them: counters, global switches, and random numbers that are not drawn by PyTorch do.",
        error_line=place,
        created_at=created,
        fixes=[
            Fix(
                "", culprit, "decide before the checkpoint, and hand the decision in as an argument"
            )
        ],
        error=at.message,
        spans=[*spans, Span("sent back", place, sent)],
    )


def _lines(places: Iterable[Place]) -> str:
    numbers = [str(place.line) for place in places]
    return f"line{'s' * (len(numbers) > 1)} {', '.join(numbers)}"


def _differing(watched: Watched, failure: Failure) -> tuple[list[Place], list[Place]]:
    """The lines of the function that only one of the two runs has computed on."""
    log = failure.call.log
    again: dict[tuple[str, str], dict[int, Place]] = {}
    for number, site in zip(log.numbers, log.sites, strict=True):
        if number >= failure.call.start and site[0]:
            place = log.chains.stack(site[0], site[1])[-1][1]
            if place.line and not _is_sent(failure, place):
                again.setdefault((place.file, place.function), {})[place.line] = place
    runs: dict[tuple[str, str], dict[int, dict[int, Place]]] = {}
    for number in sorted(n for n in failure.nodes.values() if n < LEAF):
        known = log.site_of(number)
        if known is not None and number < failure.call.start:
            place = log.chains.stack(known[0], known[1])[-1][1]
            own = runs.setdefault((place.file, place.function), {})
            own.setdefault(known[2], {})[place.line] = place
    for key, lines in again.items():
        for activation in sorted(runs.get(key, {}), reverse=True):
            before = runs[key][activation]
            if before.keys() != lines.keys():
                first = [before[line] for line in sorted(before.keys() - lines.keys())]
                then = [lines[line] for line in sorted(lines.keys() - before.keys())]
                if first and then:
                    return first, then
    return [], []


def _is_sent(failure: Failure, place: Place) -> bool:
    sent = failure.call.log.place_of(failure.call.stack)
    return sent is not None and (sent.file, sent.line) == (place.file, place.line)
