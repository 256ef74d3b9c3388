"""Causes of "Trying to backward through the graph a second time", and what to change."""

from __future__ import annotations

import ast
from collections.abc import Callable

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import between, repeats
from retrograd.doctor.evidence.flow import joins_loss
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack, gather
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import places, same_loss, unseen_release
from retrograd.doctor.rules.second_words import (
    cost_of_retaining,
    failing_place,
    freeing_place,
    in_loop,
    kept_place,
    made_lines,
    name_of,
    quoted,
    starves,
)
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import TWICE, in_ranges, walk
from retrograd.watching.heap import tracked, with_history
from retrograd.watching.lines import LEAF


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


def _within_one_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
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
        line = _reading_line(oldest, evidence) or kept_place(evidence)
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
        handed = _reading_line(_users_in_freed_graph(evidence, watched), evidence)
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
    if _wanted_apart(evidence, watched):
        base.fixes.reverse()
    return base


def _wanted_apart(evidence: SecondBackward, watched: Watched) -> bool:
    return between.apart(evidence.freer, evidence.call, evidence.repetition, watched)


def _trains_one_part(evidence: SecondBackward, watched: Watched) -> bool:
    """Whether the steps between trained what this call trains too: a critic, several times.

    Its loss has no business with what is behind the shared value. Heads with an optimizer each are
    another matter: then the step before was that of another head.
    """
    steps = watched.recorder.gradients.steps[evidence.freer.steps : evidence.call.steps]
    return any(set(evidence.call.versions) & step.parameters for step in steps)


def _users_in_freed_graph(evidence: SecondBackward, watched: Watched) -> Stack:
    """The stack of the first use of the boundary in the graph that was freed, if it still lives."""
    if not evidence.boundary:
        return []
    kind = watched.recorder.torch.Tensor
    live = with_history(tracked(lambda each: issubclass(each, kind)))
    boundary, numbers = set(evidence.boundary), []
    for node, number in walk(tensor.grad_fn for tensor in live).items():
        if number < LEAF and in_ranges(evidence.freer.ranges, number) and node not in boundary:
            if any(following in boundary for following, _ in node.next_functions):
                numbers.append(number)
    return evidence.log.stack_of(min(numbers)) if numbers else []


def _reading_line(stack: Stack, evidence: SecondBackward) -> Place | None:
    """The line that hands the value over: the outermost one that reads its variable."""
    if not stack:
        return None
    if evidence.held is not None:
        name = places.base_name(evidence.held.path)
        found = places.frame_line_reading(stack, name)
        if found is not None:
            return found
    return stack[-1][1]


def _gradients_thrown_away(evidence: SecondBackward, watched: Watched) -> bool:
    """Whether what the freeing call gave to the parameters above was used by no step."""
    steps = watched.recorder.gradients.steps[evidence.freer.steps : evidence.call.steps]
    return bool(evidence.above) and not any(set(evidence.above) & s.parameters for s in steps)


def _made_outside(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    if evidence.made_inside:
        return None
    failing, kept, name = failing_place(evidence), kept_place(evidence), quoted(evidence)
    if evidence.made_in_earlier_outer:
        return _carried_by_outer_loop(evidence)
    all_made = not evidence.boundary  # the losses themselves were made before the loop
    if (evidence.made_by_outer_loop or all_made) and not evidence.stepped_between:
        critic = _trains_one_part(evidence, watched)
        handed = _reading_line(evidence.consumers[0], evidence) if evidence.consumers else None
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
            if (evidence.any_step_between and not all_made) or _wanted_apart(evidence, watched)
            else fixes,
        )
    if evidence.made_by_outer_loop and not evidence.starved:
        by_attribute = evidence.held is not None and places.last_attribute(evidence.held.path)
        read = by_attribute and not places.is_only_handed_on(kept)
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


def _cached(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    memo = evidence.holder_is_live and places.is_memo(evidence)
    if evidence.made_again and not memo:
        return None
    stored = places.store_line(evidence) if memo else None
    kept = stored or _memo_line(evidence) or kept_place(evidence)
    name = quoted(evidence)
    if not evidence.any_step_between:
        return _losses_of_one_pass(evidence, watched)
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


def _losses_of_one_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis:
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
        fixes=fixes[::-1] if _wanted_apart(evidence, watched) else fixes,
    )


def _one_forward_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    """The loop goes through the parts of one network, and sends a loss back after each.

    Either one generator runs through the network and hands its outputs out, or each pass of the
    loop uses other parameters than those behind the value that it goes on from. A recurrence uses
    the same ones again.
    """
    if evidence.any_step_between or evidence.all_stale or not evidence.above:
        return None
    if not evidence.in_one_generator and len(evidence.starved) < len(evidence.above):
        return None
    return _losses_of_one_pass(evidence, watched)


def _memo_line(evidence: SecondBackward) -> Place | None:
    """The line of a cache decorator on one of the functions that made the value."""
    for _, place in reversed(evidence.made):
        function = source.function_around(place.file, place.line)
        for decorator in [] if function is None else function.decorator_list:
            if "cache" in ast.unparse(decorator) or "memo" in ast.unparse(decorator):
                return Place(place.file, decorator.lineno)
    return None


def _accumulated(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
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
            if places.is_read_after_loop(added, evidence):
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


def _carried(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    name, failing = quoted(evidence), failing_place(evidence)
    line = places.detach_line(evidence) or failing
    step = places.step_line(evidence, watched.recorder.gradients.steps)
    in_collection = evidence.held is not None and evidence.held.container is not None
    stored = places.store_line(evidence)
    if stored is not None and places.keeps_the_first(stored):
        fixes = [
            Fix("reset-state", stored, "keep the value of this pass: setdefault() keeps the first"),
            *([Fix("reset-state", step, "or empty it after the step")] if step else []),
        ]
    elif in_collection and (evidence.fresh_at_consumer or evidence.all_stale):
        fixes = [
            Fix("reset-state", step or line, "empty it after the step"),
            Fix("detach", line, "or keep only the numbers of earlier passes"),
        ]
    elif evidence.fresh_at_consumer and step is not None:
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


Rule = Callable[[SecondBackward, Watched], Diagnosis | None]
RULES: tuple[Rule, ...] = (
    *(_in_checkpoint, _freed_by_grad, same_loss.rule, _within_one_pass),
    *(_made_outside, _cached, _one_forward_pass, _accumulated, _carried),
)
"""In this order: the first that applies speaks."""

EARLIER_PASS_RULES: tuple[Rule, ...] = (_made_outside, _cached, _accumulated, _carried)
"""Those about history of an earlier pass; the last always applies."""


# --------------------------------------------------------------------------- what all have


def for_the_edit(evidence: SecondBackward) -> dict[str, object]:
    """What an edit needs to know: what holds the value, and which loop repeats."""
    found: dict[str, object] = {}
    if evidence.held is not None and evidence.held.container is not None:
        found["container"] = type(evidence.held.container).__name__
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
