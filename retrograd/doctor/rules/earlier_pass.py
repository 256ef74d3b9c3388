"""A second backward into an earlier pass of a loop: what was made before, kept or carried."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.evidence.second_backward import SecondBackward
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import held_paths, places, reading_lines, storing_lines
from retrograd.doctor.rules.one_pass import losses_of_one_pass, reading_line, wanted_apart
from retrograd.doctor.rules.second_words import (
    cost_of_retaining,
    failing_place,
    freeing_place,
    in_loop,
    kept_place,
    quoted,
    starves,
)
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.holders import Held


def made_outside(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if evidence.made_inside:
        return None
    failing, kept, name = failing_place(evidence), kept_place(evidence), quoted(evidence)
    if evidence.made_in_earlier_outer:
        return _carried_by_outer_loop(evidence)
    all_made = not evidence.boundary  # the losses themselves were made before the loop
    if (evidence.made_by_outer_loop or all_made) and not evidence.stepped_between:
        critic = _trains_one_part(evidence, watched)
        handed = reading_line(evidence.consumers[0], evidence) if evidence.consumers else None
        if critic and handed is not None:
            return Diagnosis(
                cause="shared-subgraph",
                title=f"each pass of the inner loop sends a loss back through {name}",
                why=f"The inner loop trains what follows {name}; what is behind it is not stepped "
                "there, and its graph was freed by the first pass.",
                error_line=failing,
                fixes=[
                    Fix("detach", handed, "the inner loop needs only its numbers"),
                    Fix(
                        "retain-graph",
                        freeing_place(evidence),
                        "or keep the graph, if the gradients are to go on",
                        cost_of_retaining(evidence),
                    ),
                ],
                why_not_retain="It keeps the whole graph in memory for gradients that no step of "
                "the inner loop uses.",
            )
        fixes = [
            Fix(
                "combine-losses", in_loop(evidence), "add the losses up and send the sum back once"
            ),
            Fix(
                "retain-graph",
                freeing_place(evidence),
                "keep the graph until the last of the inner passes",
                cost_of_retaining(evidence),
            ),
        ]
        return Diagnosis(
            cause="shared-subgraph",
            title=f"several losses hang on {name}, made once before the inner loop",
            why=f"Each pass of the inner loop sends a loss back through {name}; the first one "
            "freed its graph.",
            error_line=failing,
            fixes=fixes[::-1]
            if (evidence.any_step_between and not all_made) or wanted_apart(evidence, watched)
            else fixes,
        )
    if evidence.made_by_outer_loop and not evidence.starved:
        by_attribute = evidence.held is not None and held_paths.last_attribute(evidence.held.path)
        read = by_attribute and not reading_lines.is_only_handed_on(kept)
        line = (places.detach_line(evidence) if read else None) or kept
        return Diagnosis(
            cause="stale-state-carried",
            title=f"{name} is made once per outer pass and used with its history in each inner",
            why="Its graph was freed by the first inner backward; its parameters are trained by "
            "other paths too.",
            error_line=failing,
            fixes=[Fix("detach", line, "use its numbers, without the history")],
        )
    trained = _is_trained(evidence, watched)
    recompute = Fix("recompute-forward", kept, "compute it again in each pass")
    detach = Fix("detach", kept, "keep the numbers of before the loop", cost=starves(evidence))
    return Diagnosis(
        cause="precomputed-outside-loop",
        title=f"{name} was computed once, before the loop, and is used in every pass",
        why=f"The first backward freed the graph behind {name}. The loop goes on using it; "
        "nothing computes it again.",
        error_line=failing,
        fixes=[recompute, detach] if trained else [detach, recompute],
        why_not_retain="It keeps the old numbers in use: after a step they no longer belong to the "
        "parameters, and the in-place error follows.",
    )


def _carried_by_outer_loop(evidence: SecondBackward) -> Diagnosis:
    """Made at the end of a pass of the outer loop, for the inner loop of the next one."""
    name, kept = quoted(evidence), kept_place(evidence)
    return Diagnosis(
        cause="stale-state-carried",
        title=f"{name} is carried into the next pass of the outer loop with its history",
        why=f"{name} was computed in an earlier pass of the outer loop. Every pass of the inner "
        "loop sends a loss back through it, and the first one freed its graph.",
        error_line=failing_place(evidence),
        fixes=[
            Fix("detach", kept, "the next pass needs its numbers, not its history"),
            Fix("no-grad", kept, "or compute it without recording"),
        ],
        why_not_retain="The graph would grow with every pass of the outer loop.",
    )


def _trains_one_part(evidence: SecondBackward, watched: Watched) -> bool:
    """Whether the steps between trained what this call trains too: a critic, several times.

    Its loss has no business with what is behind the shared value. Heads with an optimizer each are
    another matter: then the step before was that of another head.
    """
    steps = watched.recorder.gradients.steps[evidence.freer.steps : evidence.call.steps]
    return any(set(evidence.call.versions) & step.parameters for step in steps)


def _is_trained(evidence: SecondBackward, watched: Watched) -> bool:
    """Whether an optimizer holds a parameter above the stale value."""
    held = {
        id(parameter)
        for optimizer in watched.recorder.gradients.optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    if not held:  # updated by hand
        now, before = evidence.call.versions, evidence.freer.versions
        held = {key for key, version in now.items() if before.get(key, version) != version}
    return bool(set(evidence.above) & held) or not held


def cached(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    memo = evidence.holder_is_live and storing_lines.is_memo(evidence)
    if evidence.made_again and not memo:
        return None
    stored = storing_lines.store_line(evidence) if memo else None
    kept = stored or _memo_line(evidence) or kept_place(evidence)
    name = quoted(evidence)
    if not evidence.any_step_between:
        return losses_of_one_pass(evidence, watched)
    return Diagnosis(
        cause="precomputed-outside-loop",
        title=f"{name} was computed in the first pass and is taken from a cache since",
        why="None of the lines that made it ran again, so its graph is the one that the first "
        "backward freed.",
        error_line=failing_place(evidence),
        fixes=[
            Fix(
                "recompute-forward", kept, "compute it in each pass, or clear the cache after step"
            ),
            Fix("detach", kept, "or cache the numbers without their history", starves(evidence)),
        ],
    )


def _memo_line(evidence: SecondBackward) -> Place | None:
    """The line of a cache decorator on one of the functions that made the value."""
    for _, place in reversed(evidence.made):
        function = source.function_around(place.file, place.line)
        for decorator in [] if function is None else function.decorator_list:
            if "cache" in ast.unparse(decorator) or "memo" in ast.unparse(decorator):
                return Place(place.file, decorator.lineno)
    return None


def accumulated(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if not evidence.only_sums:
        return None
    name, failing = quoted(evidence), failing_place(evidence)
    added = evidence.consumers[0][-1][1] if evidence.consumers else failing
    step = places.step_line(evidence, watched.recorder.gradients.steps)
    if evidence.held is not None and evidence.held.window:
        fixes = [Fix("detach", added, "use the older entries of the window as numbers")]
    else:
        fixes = [Fix("reset-state", step or added, "start anew after each step")]
        if _is_sent_itself(evidence, added):
            reason = "or, if the total is only reported, add loss.item()"
            fixes.append(Fix("item-for-logging", added, reason))
            if reading_lines.is_read_after_loop(added, evidence):
                fixes[1].text = "the total is reported after the loop: add loss.item() to it"
                fixes.reverse()
    return Diagnosis(
        cause="accumulated-history",
        title=f"{name} collects losses over iterations together with their graphs",
        why="The sum holds the graphs of earlier iterations. backward() on it walks them again, "
        "and they were freed the first time.",
        error_line=failing,
        fixes=fixes,
        why_not_retain="It would keep every iteration's graph, add each gradient again in every "
        "iteration, and fail at the first parameter that a step has changed.",
    )


def _is_sent_itself(evidence: SecondBackward, added: Place) -> bool:
    """Whether the total, or a multiple of it, is what is sent back.

    As a part of a loss it must keep the history of this pass: a number would not be trained.
    """
    for root in evidence.failure.roots:
        node = root
        for _ in range(4):
            if node is None:
                break
            stack = evidence.log.stack_of(node._sequence_nr())
            if stack and (stack[-1][1].file, stack[-1][1].line) == (added.file, added.line):
                return True
            parts = [following for following, _ in node.next_functions if following is not None]
            node = parts[0] if len(parts) == 1 else None
    return False


def carried(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    name, failing = quoted(evidence), failing_place(evidence)
    line = places.detach_line(evidence) or failing
    step = places.step_line(evidence, watched.recorder.gradients.steps)
    stored = storing_lines.store_line(evidence)
    slots = stored is not None and _has_slots(evidence, stored)
    in_collection = evidence.held is not None and _is_filled(evidence.held) and not slots
    if stored is not None and storing_lines.keeps_the_first(stored):
        fixes = [
            Fix("reset-state", stored, "keep the value of this pass: setdefault() keeps the first"),
            *([Fix("reset-state", step, "or empty it after the step")] if step else []),
        ]
    elif in_collection and (evidence.fresh_at_consumer or evidence.all_stale):
        fixes = [
            Fix("reset-state", step or line, "empty it after the step"),
            Fix("detach", line, "or keep only the numbers of earlier passes"),
        ]
    elif evidence.fresh_at_consumer and step is not None and not slots:
        fixes = [
            Fix(
                "detach",
                places.before_inner_loop(evidence) or step,
                "cut it after the step: within the pass the history is needed",
            ),
            Fix("reset-state", step, "or start each pass with a fresh state"),
        ]
    else:
        fixes = [
            Fix("detach", line, "the next pass needs its numbers, not its history"),
            Fix("reset-state", line, "or start each pass with a fresh state"),
        ]
        if evidence.all_stale:  # without its history there would be nothing to train
            again = Fix("recompute-forward", kept_place(evidence), "compute it again in each pass")
            fixes = [again, fixes[1]]
    fixes += _elsewhere(evidence, step, fixes)
    return Diagnosis(
        cause="stale-state-carried",
        title=f"{name} is carried from an earlier iteration with its history",
        why=f"{name} was computed in an earlier iteration, and its graph was freed by a backward "
        "since. This backward runs back into it.",
        error_line=failing,
        fixes=fixes,
        why_not_retain="The graph would grow with every iteration, and after optimizer.step() the "
        "saved parameters are no longer the ones that were used: the in-place error follows."
        if evidence.stepped_between
        else "The graph would grow with every iteration.",
    )


def _elsewhere(evidence: SecondBackward, step: Place | None, fixes: list[Fix]) -> list[Fix]:
    """Where else the history can be cut: after the step, when the pass needs it no more.

    The line that makes a state may make what this pass trains as well.
    """
    failing = failing_place(evidence)
    places = [step] if step is not None else [failing]
    taken = {fix.place for fix in fixes if fix.kind == "detach"}
    return [
        Fix("detach", place, "or cut it at the end of the pass")
        for place in places
        if place not in taken
    ]


def _has_slots(evidence: SecondBackward, stored: Place) -> bool:
    """Whether the line writes an item of a list that stays as long: `states[i] = (h, c)`.

    Each layer has its own, and what another one has just written is no older step of this one.
    """
    statement = source.statement_at(stored.file, stored.line)
    held = evidence.held
    return (
        held is not None
        and isinstance(held.container, tuple)
        and held.path.count("[") == 2
        and isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Subscript)
    )


def _is_filled(held: Held) -> bool:
    """Whether a value lies in a collection; a state of several parts is a tuple, made anew."""
    of_parts = isinstance(held.container, tuple) and held.path.count("[") == 1
    return held.container is not None and not of_parts
