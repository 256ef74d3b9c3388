"""A second backward within one pass: two losses hang on one forward pass."""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.evidence import between
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import held_paths, places, reading_lines
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
from retrograd.watching.graph import in_ranges, walk
from retrograd.watching.heap import tracked, with_history
from retrograd.watching.lines import LEAF


def within_one_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if evidence.repetition is not None:
        return None
    failing, freeing = failing_place(evidence), freeing_place(evidence)
    parting = places.diverging_line(evidence) or failing
    name = quoted(evidence)
    base = Diagnosis(
        cause="shared-subgraph",
        title=f"two losses hang on {name}, and the first backward released its graph",
        why=f"{name} is used by both losses. backward() on the first frees the graph behind it.",
        error_line=failing,
    )
    retain = Fix(
        "retain-graph", freeing, "keep the graph for the second call", cost_of_retaining(evidence)
    )
    if evidence.stepped_between:
        oldest = evidence.consumers[0] if evidence.consumers else []
        line = reading_line(oldest, evidence) or kept_place(evidence)
        base.fixes = [
            Fix("detach", line, "the second loss then trains only what follows", starves(evidence)),
            Fix("recompute-forward", line, "or compute it again with the updated parameters"),
            Fix("combine-losses", parting, "or send both losses back before the step"),
        ]
        base.why_not_retain = (
            "An optimizer step between the two calls writes into the parameters that the graph "
            "saved: with retain_graph=True the second call fails with the in-place error."
        )
        return base
    if evidence.any_step_between:
        handed = reading_line(_users_in_freed_graph(evidence, watched), evidence)
        shared = places.handed_to_both(evidence) if handed is None else None
        if shared is not None:  # the first user is gone: by the text of the two lines
            handed, base.tensor = shared
        if handed is not None and _gradients_thrown_away(evidence, watched):
            base.why += (
                " The first loss does not train what is behind it: no step used those gradients."
            )
            base.fixes = [
                Fix("detach", handed, "the first loss needs only its numbers"),
                retain,
                Fix(
                    "recompute-forward", kept_place(evidence), "or compute it again for the second"
                ),
            ]
            base.why_not_retain = (
                "It runs, but keeps the whole graph in memory and computes gradients that nobody "
                "uses."
            )
        else:
            base.fixes = [retain, Fix("combine-losses", parting, "or send the sum back at once")]
        return base
    base.fixes = [
        Fix("combine-losses", parting, "one backward on the sum walks the shared part once"),
        retain,
    ]
    if wanted_apart(evidence, watched):
        base.fixes.reverse()
    return base


def losses_of_one_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis:
    """Nothing was stepped between the passes of the loop: their losses belong together."""
    fixes = [
        Fix("combine-losses", in_loop(evidence), "add them up and send the sum back once"),
        Fix(
            "retain-graph",
            freeing_place(evidence),
            "keep the graph until the last of them",
            cost_of_retaining(evidence),
        ),
    ]
    return Diagnosis(
        cause="shared-subgraph",
        title=f"several losses of one pass hang on {quoted(evidence)}",
        why="The loop sends them back one by one; the first backward freed what they share.",
        error_line=failing_place(evidence),
        fixes=fixes[::-1] if wanted_apart(evidence, watched) else fixes,
    )


def one_forward_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    """The loop goes through the parts of one network, and sends a loss back after each.

    Either one generator runs through the network and hands its outputs out, or each pass of the
    loop uses other parameters than those behind the value that it goes on from. A recurrence uses
    the same ones again.
    """
    if evidence.any_step_between or evidence.all_stale or not evidence.above:
        return None
    if not evidence.in_one_generator and len(evidence.starved) < len(evidence.above):
        return None
    return losses_of_one_pass(evidence, watched)


def _users_in_freed_graph(evidence: SecondBackward, watched: Watched) -> Stack:
    """The stack of the first use of the value in the graph that was freed, if it still lives.

    The value is the newest of those that both losses use, the one that the report names: what it
    was computed from has older users, in functions that are right for the other loss.
    """
    if not evidence.boundary:
        return []
    kind = watched.recorder.torch.Tensor
    live = with_history(tracked(lambda each: issubclass(each, kind)))
    boundary, numbers, of_newest = set(evidence.boundary), list[int](), list[int]()
    for node, number in walk(tensor.grad_fn for tensor in live).items():
        if number < LEAF and in_ranges(evidence.freer.ranges, number) and node not in boundary:
            used = {following for following, _ in node.next_functions if following in boundary}
            if used:
                numbers.append(number)
            if evidence.boundary[0] in used:
                of_newest.append(number)
    numbers = of_newest or numbers
    return evidence.log.stack_of(min(numbers)) if numbers else []


def _gradients_thrown_away(evidence: SecondBackward, watched: Watched) -> bool:
    """Whether what the freeing call gave to the parameters above was used by no step."""
    steps = watched.recorder.gradients.steps[evidence.freer.steps : evidence.call.steps]
    return bool(evidence.above) and not any(set(evidence.above) & s.parameters for s in steps)


def reading_line(stack: Stack, evidence: SecondBackward) -> Place | None:
    """The line that hands the value over: the outermost one that reads its variable."""
    if not stack:
        return None
    if evidence.held is not None:
        name = held_paths.base_name(evidence.held.path)
        found = reading_lines.frame_line_reading(stack, name)
        if found is not None:
            return found
    return stack[-1][1]


def wanted_apart(evidence: SecondBackward, watched: Watched) -> bool:
    return between.apart(evidence.freer, evidence.call, evidence.repetition, watched)
