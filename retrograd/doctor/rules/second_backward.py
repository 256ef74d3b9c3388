"""Causes of "Trying to backward through the graph a second time", and what to change."""

from __future__ import annotations

import ast
from collections.abc import Callable

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import repeats
from retrograd.doctor.evidence.flow import joins_loss
from retrograd.doctor.evidence.second_backward import SecondBackward, fields_with_history, gather
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import (
    earlier_pass,
    one_pass,
    places,
    same_loss,
    unseen_release,
)
from retrograd.doctor.rules.second_words import (
    cost_of_retaining,
    failing_place,
    freeing_place,
    kept_place,
    made_lines,
    name_of,
)
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import TWICE


def diagnose(watched: Watched) -> list[Diagnosis]:
    """The diagnosis of the error that ended the program, if it is this one."""
    failure = watched.recorder.failure
    if failure is None or TWICE not in str(failure.error) or not ended_it(watched):
        return []
    evidence = gather(watched)
    if evidence is None:
        return [unseen_release.diagnosis(watched)]
    for rule in RULES:
        found = rule(evidence, watched)
        if found is not None:
            return [_completed(found, evidence)]
    return []


def ended_it(watched: Watched) -> bool:
    """Whether the engine's error, or one raised from it, is what left the program."""
    failure, error = watched.recorder.failure, watched.error
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if failure is not None and error is failure.error:
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


# ------------------------------------------------------------------------------- the rules


def _in_checkpoint(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if not evidence.inside_checkpoint:
        return None
    line = _checkpoint_line(evidence)
    return Diagnosis(
        cause="shared-subgraph",
        title="the recomputed part of a checkpoint runs into a graph that is already freed",
        why="A checkpointed function runs again during backward. What it reads from outside (a "
        "tensor it closes over, or one computed before) still has its old graph, which this or an "
        "earlier backward has released.",
        error_line=failing_place(evidence),
        fixes=[
            Fix(
                "fix-checkpoint-call",
                line or failing_place(evidence),
                "pass every tensor that the function needs as an argument, and use "
                "use_reentrant=False",
            )
        ],
    )


def _checkpoint_line(evidence: SecondBackward) -> Place | None:
    files = dict.fromkeys(
        p.file for stack in [evidence.made, *evidence.consumers] for _, p in stack
    )
    files.update(dict.fromkeys(p.file for p in evidence.log.places_of(evidence.call.stack)))
    for file in files:
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.Call):
                function = node.func
                name = getattr(function, "attr", getattr(function, "id", ""))
                if name in ("checkpoint", "checkpoint_sequential"):
                    return Place(file, node.lineno)
    return None


def _freed_by_grad(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if evidence.freer.kind != "grad":
        return None
    freeing = freeing_place(evidence)
    joins = joins_loss(freeing, failing_place(evidence))
    kind = "create-graph" if joins else "retain-graph"
    reason = (
        "its result becomes part of the loss, so it must have a graph of its own"
        if joins
        else "the graph is needed again by the backward that follows"
    )
    fixes = [Fix(kind, freeing, reason, cost="" if joins else cost_of_retaining(evidence))]
    fixes.append(
        Fix(
            "recompute-forward",
            kept_place(evidence) if evidence.made else failing_place(evidence),
            "run the forward pass again for the second call",
            cost="one more forward pass",
        )
    )
    return Diagnosis(
        cause="freed-by-grad-call",
        title="torch.autograd.grad released the graph that this backward needs",
        why="autograd.grad() frees what it walks, like backward(). Only nodes on a path to its "
        "inputs are freed, and the loss shares them.",
        error_line=failing_place(evidence),
        fixes=fixes,
    )


Rule = Callable[[SecondBackward, Watched], Diagnosis | None]
RULES: tuple[Rule, ...] = (
    *(_in_checkpoint, _freed_by_grad, same_loss.rule, one_pass.within_one_pass),
    *(
        earlier_pass.made_outside,
        earlier_pass.cached,
        one_pass.one_forward_pass,
        earlier_pass.accumulated,
        earlier_pass.carried,
    ),
)
"""In this order: the first that applies speaks."""

EARLIER_PASS_RULES: tuple[Rule, ...] = (
    earlier_pass.made_outside,
    earlier_pass.cached,
    earlier_pass.accumulated,
    earlier_pass.carried,
)
"""Those about history of an earlier pass; the last always applies."""


# --------------------------------------------------------------------------- what all have


def for_the_edit(evidence: SecondBackward) -> dict[str, object]:
    """What an edit needs to know: what holds the value, and which loop repeats."""
    found: dict[str, object] = {}
    if evidence.held is not None and evidence.held.container is not None:
        found["container"] = type(evidence.held.container).__name__
    if evidence.held is not None:
        fields = fields_with_history(evidence.held)
        if fields:
            found["fields"] = fields
    if places.line_that_ends_pass(evidence) is not None:
        found["ends_pass"] = True
    together = places.carried_together(evidence)
    if len(together) > 1:
        found["together"] = together
    if evidence.repetition is not None and evidence.repetition.loop is not None:
        found["loop"] = evidence.repetition.loop.header
    return found


def _completed(diagnosis: Diagnosis, evidence: SecondBackward) -> Diagnosis:
    """The spans, the names and the facts that every diagnosis of this error carries."""
    first_line = str(evidence.failure.error).splitlines()[0]
    diagnosis.error = f"{type(evidence.failure.error).__name__}: {first_line}"
    diagnosis.freed_at = evidence.log.place_of(evidence.freer.stack)
    diagnosis.created_at = diagnosis.created_at or made_lines(evidence)
    diagnosis.tensor = diagnosis.tensor or name_of(evidence)
    words = repeats.in_words(evidence.freer, evidence.repetition)
    again = repeats.in_words(evidence.call, evidence.repetition)
    diagnosis.ways = [[place for _, place in stack] for stack in evidence.consumers[:2]]
    made = [place for _, place in evidence.made]
    if made:
        where = words if evidence.made_inside else ""
        diagnosis.spans.append(Span("created", made[-1], made, where))
    freeing = evidence.log.places_of(evidence.freer.stack)
    if freeing:
        diagnosis.spans.append(Span("freed", freeing[-1], freeing, words))
    failing = evidence.log.places_of(evidence.call.stack)
    if failing:
        diagnosis.spans.append(Span("used again", failing[-1], failing, again))
    diagnosis.facts = {
        "node": evidence.node.name(),
        "freeing_call": evidence.freer.index,
        "failing_call": evidence.call.index,
        "repeats": again,
        "made_inside": evidence.made_inside,
        "stepped_between": evidence.stepped_between,
        "only_sums": evidence.only_sums,
        "starved": len(evidence.starved),
        **for_the_edit(evidence),
    }
    return diagnosis
