"""A value carried from pass to pass with its history, where `retain_graph=True` hides the error.

The evidence is that of a second backward, gathered from a call that kept its graph as if it had
not (see `watching.regrown`): the rules for that error know what was carried, and where to cut it.
"""

from __future__ import annotations

from retrograd.diagnostics.report import Span
from retrograd.doctor.evidence.second_backward import SecondBackward, assemble
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import earlier_pass
from retrograd.doctor.rules.second_words import failing_place, name_of, quoted
from retrograd.doctor.session import Watched
from retrograd.watching.graph import in_ranges
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Call, Failure

GROWING = ("stale-state-carried", "accumulated-history")


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line whose graph has grown in every call."""
    found = []
    for failure in watched.recorder.regrown.found.values():
        evidence = _evidence(failure, watched)
        diagnosis = None if evidence is None else _diagnosis(evidence, watched)
        if diagnosis is not None:
            found.append(diagnosis)
    return found


def _evidence(failure: Failure, watched: Watched) -> SecondBackward | None:
    """What was carried into the call, as if the one before had released its graph."""
    call = failure.call
    earlier = [c for c in watched.recorder.calls[: call.index] if c.site == call.site]
    before = earlier[-1] if earlier else None
    if before is None:
        return None
    passed: dict[object, Call] = {
        node: before
        for node, number in failure.nodes.items()
        if number < LEAF and in_ranges(before.ranges, number)
    }
    return assemble(watched, failure, passed) if passed else None


def _diagnosis(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    for rule in (earlier_pass.accumulated, earlier_pass.carried):
        diagnosis = rule(evidence, watched) if evidence.made_inside else None
        if diagnosis is not None:
            break
    else:
        return None
    if diagnosis.cause not in GROWING:
        return None
    calls = [c for c in watched.recorder.calls if c.site == evidence.call.site]
    from retrograd.doctor.rules.second_backward import for_the_edit

    place, made = failing_place(evidence), [place for _, place in evidence.made]
    diagnosis.title = (
        f"{quoted(evidence)} is carried with its history, and retain_graph=True keeps it: every "
        "backward goes through all earlier passes again"
    )
    diagnosis.why = (
        f"{quoted(evidence)} was computed in an earlier pass, and the graph behind it is kept by "
        f"retain_graph=True. Each call walks all of it once more: {calls[0].nodes} nodes in the "
        f"first call, {calls[-1].nodes} in the last of {len(calls)}. Without retain_graph=True the "
        "second pass would fail."
    )
    diagnosis.why_not_retain = ""
    diagnosis.error_line = place
    diagnosis.created_at = list(dict.fromkeys([*reversed(made), place]))
    diagnosis.tensor = diagnosis.tensor or name_of(evidence)
    diagnosis.ways = [[place for _, place in stack] for stack in evidence.consumers[:2]]
    if made:
        diagnosis.spans.append(Span("created", made[-1], made))
    diagnosis.spans.append(Span("sent back", place, evidence.log.places_of(evidence.call.stack)))
    diagnosis.facts = {"retained": True, "calls": len(calls), **for_the_edit(evidence)}
    diagnosis.fixes = [fix for fix in diagnosis.fixes if fix.kind != "retain-graph"]
    return diagnosis
