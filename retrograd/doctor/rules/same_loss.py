"""One loss that is sent back twice: which of the two calls is too many, if any."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.evidence import between, repeats
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.doctor.evidence.statements import lines_assigning
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.second_words import (
    cost_of_retaining,
    failing_place,
    freeing_place,
    in_loop,
    made_lines,
)
from retrograd.doctor.session import Watched
from retrograd.watching import source


def rule(evidence: SecondBackward, watched: Watched) -> Diagnosis | None:
    """The root itself, a scaled copy of it, or the same formula once more, was sent back before."""
    again = evidence.root_sent_before or evidence.root_is_scaled
    if not (again or is_written_again(evidence)):
        return None
    repetition = evidence.repetition
    if repetition is not None and repetition.loop is not None and evidence.root_sent_before:
        made = evidence.log.stack_of(max(evidence.call.roots, default=0))
        if made and (not repetition.holds(made) or _by_iterator(evidence, made)):
            return _in_each_pass(evidence, made)
    if evidence.parameters_moved:
        return _of_old_parameters(evidence)
    return _within_one_pass(evidence, watched)


def is_written_again(evidence: SecondBackward) -> bool:
    """Whether both calls send back the same formula of the same values: `(a + b).backward()`.

    Each time it makes new nodes, but a loss that is the same text over names that nobody has bound
    in between, and over the graph that the first call released, is the same loss.
    """
    if evidence.repetition is not None:
        return False
    first, second = freeing_place(evidence), failing_place(evidence)
    if first.file != second.file or first.line >= second.line:
        return False
    if source.function_around(*_at(first)) is not source.function_around(*_at(second)):
        return False
    before, after = _formula(first), _formula(second)
    if before is None or after is None or isinstance(before, ast.Name):
        return False
    if ast.dump(before) != ast.dump(after):
        return False
    names = {node.id for node in ast.walk(after) if isinstance(node, ast.Name)}
    between_them = range(first.line + 1, second.line)
    return not names & _bound_in(first, between_them)


def _at(place: Place) -> tuple[str, int]:
    return place.file, place.line


def _formula(place: Place) -> ast.expr | None:
    """What a line sends back: the expression itself, or the one that its name was bound to."""
    statement = source.statement_at(place.file, place.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr != "backward":
        return None
    sent = call.args[0] if _is_function(call.func.value) and call.args else call.func.value
    if not isinstance(sent, ast.Name):
        return sent
    lines = [line for line in lines_assigning(place, sent.id) if line < place.line]
    bound = source.statement_at(place.file, lines[-1]) if lines else None
    if not isinstance(bound, ast.Assign) or not isinstance(bound.targets[0], ast.Name):
        return sent  # `first, second = ...` binds two values
    return bound.value


def _is_function(owner: ast.expr) -> bool:
    """`torch.autograd` of `torch.autograd.backward(loss)`."""
    return ast.unparse(owner).split(".")[-1] == "autograd"


def _bound_in(place: Place, lines: range) -> set[str]:
    """The names that the lines of a function bind."""
    scope = source.function_around(*_at(place)) or source.tree_of(place.file)
    return {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno in lines
    }


def _by_iterator(evidence: SecondBackward, made: Stack) -> bool:
    """Whether a generator that the loop goes over made the loss, and hands it out again."""
    repetition = evidence.repetition
    assert repetition is not None and repetition.loop is not None
    inner = {chain: place for chain, place in made}
    place = inner.get(repetition.chain)
    return place is not None and place.line == repetition.loop.header and place != made[-1][1]


def _in_each_pass(evidence: SecondBackward, made: Stack) -> Diagnosis:
    """The loop sends back a loss that was made before it."""
    failing, repetition = failing_place(evidence), evidence.repetition
    assert repetition is not None
    kept = source.where_kept([place for _, place in made]) or failing
    here = in_loop(evidence)
    if between.runs_over_users(repetition, here, direct=here == failing):
        return Diagnosis(
            cause="same-loss-twice",
            title="each pass of the loop sends the same loss back",
            why="The loop goes over those that use the gradients of one loss. One backward gives "
            "the gradients to all of them; the first pass has released the graph.",
            error_line=failing,
            created_at=[kept],
            fixes=[
                Fix("remove-extra-backward", failing, "send the loss back once, for all of them"),
                Fix("recompute-forward", kept, "or compute the loss again in each pass"),
            ],
            why_not_retain="Each step changes parameters that the graph has saved; and what is "
            "sent back twice is added twice.",
        )
    if repeats.made_by_outer_loop(made, evidence.call, repetition):
        return Diagnosis(
            cause="same-loss-twice",
            title="each try of the inner loop sends the same loss back",
            why="The loss is computed once for all passes of the inner loop. The first backward "
            "has released its graph, and nothing in that loop computes it again.",
            error_line=failing,
            created_at=[kept],
            fixes=[
                Fix("recompute-forward", kept, "compute the loss in each pass of the inner loop"),
                Fix("remove-extra-backward", failing, "or send it back once, before that loop"),
            ],
        )
    return Diagnosis(
        cause="precomputed-outside-loop",
        title="the loss was computed once, before the loop that sends it back",
        why="Each backward() walks a graph once. The loop goes round, and nothing in it "
        "computes the loss again.",
        error_line=failing,
        created_at=[kept],
        fixes=[
            Fix("recompute-forward", kept, "compute the loss inside the loop"),
            Fix("remove-extra-backward", failing, "or send it back once, after the loop"),
        ],
    )


def _of_old_parameters(evidence: SecondBackward) -> Diagnosis:
    failing = failing_place(evidence)
    return Diagnosis(
        cause="same-loss-twice",
        title="a loss that was already sent back is sent back again, with other parameters",
        why="The first backward released its graph, and the parameters were changed since: the "
        "loss belongs to the old ones.",
        error_line=failing,
        created_at=made_lines(evidence),
        fixes=[
            Fix("recompute-forward", failing, "compute the loss again with the new parameters"),
            Fix("remove-extra-backward", failing, "or leave the second call out"),
        ],
        why_not_retain="The graph saved the parameters as they were: after the change the "
        "second call fails with the in-place error.",
    )


def _within_one_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis:
    """Nothing changed between the two: what became of the gradients of the first tells the rest."""
    failing, freeing = failing_place(evidence), freeing_place(evidence)
    first, second = evidence.freer, evidence.call
    found = Diagnosis(
        cause="same-loss-twice",
        title="backward is called again on a loss that was already sent back",
        why="The first backward released the values that the graph needs; nothing has computed "
        "the loss again since.",
        error_line=failing,
        created_at=made_lines(evidence),
    )
    retain = Fix(
        "retain-graph",
        freeing,
        "only if the gradients are meant to be added twice",
        cost=cost_of_retaining(evidence),
    )
    dropped = between.statement_to_drop(evidence.log.places_of(first.stack)) or freeing
    drop_first = Fix("remove-extra-backward", dropped, "leave the first call out")
    drop_second = Fix("remove-extra-backward", failing, "one backward gives the gradients")
    if not between.cleared(first, second, watched):
        found.fixes = [drop_second, drop_first, retain]
    elif between.gradients_looked_at(first, second):
        found.why += (
            " The program looks at the gradients of the first call, clears them, and wants others."
        )
        retain.text = "both calls are wanted: the first one must keep the graph for the second"
        again = Fix("recompute-forward", failing, "or compute the loss again for the second call")
        found.fixes = [retain, again]
    else:
        found.why += " The gradients of the first call were cleared before a step used them."
        drop_first.text = "its gradients are thrown away: the second call is the one that counts"
        found.fixes = [drop_first, drop_second, retain]
    return found
