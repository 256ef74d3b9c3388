"""Causes of errors about in-place operations: on saved values, on leaves, on shared views."""

from __future__ import annotations

import ast
from dataclasses import replace

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.evidence import overwritten, raised, repeats, statements
from retrograd.doctor.evidence.overwritten import SavedValue
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.evidence.second_backward import SecondBackward, assemble
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import places, second_backward
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.graph import INPLACE
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Call, Failure, OptimizerStep

LEAF_IN_PLACE = "a leaf Variable that requires grad"
VIEW_IN_PLACE = ("is a view and is being modified inplace", "is a view and its base or another")
_WHY_HOOK = (
    "A full backward hook of a module hands its output on as a view, to see the gradient on its "
    "way back. What follows the module must not write into it."
)
NO_GRAD_VIEW = "A view was created in no_grad mode"


def written_after_save(watched: Watched) -> Diagnosis | None:
    """ "one of the variables needed for gradient computation has been modified"."""
    at = raised.find(watched, INPLACE)
    if at is None:
        return None
    saved = overwritten.find_overwritten(watched) if second_backward.ended_it(watched) else None
    if saved is None:
        return _hidden(at, watched)
    parameter = overwritten.optimizers_parameter(saved, watched)
    if parameter is not None:
        step = overwritten.step_after(saved, parameter, watched)
        if step is not None:
            return _stepped(saved, step, at, watched)
    return _written(saved, at, watched)


# --------------------------------------------------------------- by an optimizer's step


def _stepped(saved: SavedValue, step: OptimizerStep, at: Raised, watched: Watched) -> Diagnosis:
    """A step changed a parameter that the graph still needs."""
    log, failing = saved.call.log, _call_line(saved, at)
    stepping = log.place_of(step.stack) or failing
    repetition = repeats.between(_as_call(step, saved.call), saved.call)
    evidence = _stale_evidence(saved, step, watched) if repetition is not None else None
    if evidence is not None and not _made_this_time(evidence):
        found = _of_an_earlier_pass(evidence, watched)
        found.why_not_retain = (
            "The graph is retained already: it is the step that makes the old graph useless."
        )
    else:
        ahead = repetition is not None and max(saved.call.roots, default=0) < step.number
        found = (
            _made_ahead(saved, failing, stepping)
            if ahead and evidence is None
            else _this_pass(saved, failing, stepping, evidence)
        )
    made = [place for _, place in log.stack_of(saved.number)]
    found.error_line, found.error = at.place, at.message
    found.created_at = list(dict.fromkeys([*found.created_at, *reversed(made)]))
    words = repeats.in_words(saved.call, repetition)
    found.spans = [
        *([Span("saved", made[-1], made)] if made else []),
        Span("stepped", stepping, log.places_of(step.stack)),
        Span("needed", at.place, at.stack, words),
    ]
    found.facts = _facts(saved)
    if _is_shared(step, watched):
        found.facts["shared"] = True
    if evidence is not None:
        found.facts |= second_backward.for_the_edit(evidence)
    return found


def _is_shared(step: OptimizerStep, watched: Watched) -> bool:
    """Whether what was stepped is given in part to another optimizer too: a body with two heads."""
    kinds = {
        frozenset(map(id, parameters_of(optimizer)))
        for optimizer in watched.recorder.gradients.optimizers
    }
    return sum(bool(kind & step.parameters) for kind in kinds) > 1


def _this_pass(
    saved: SavedValue, failing: Place, stepping: Place, evidence: SecondBackward | None
) -> Diagnosis:
    """The loss was built before the step, and is sent back after it."""
    recompute = Fix("recompute-forward", failing, "or compute this loss again after the step")
    fixes = [Fix("reorder-step", failing, "send every loss back before the step"), recompute]
    if evidence is not None:  # the forward pass lies before an inner loop that steps
        kept = source.where_kept([place for _, place in evidence.made]) or failing
        fixes = [
            Fix("combine-losses", failing, "add the losses up: one backward, one step"),
            Fix("recompute-forward", kept, "or run the forward pass again after each step"),
        ]
    return Diagnosis(
        cause="param-updated-before-backward",
        title="a parameter was stepped between the forward pass and a backward that needs it",
        why="The step writes into the parameters. This backward was computed with their old values "
        "and would mix them with the new ones.",
        error_line=failing,
        created_at=[stepping],
        fixes=fixes,
    )


def _made_ahead(saved: SavedValue, failing: Place, stepping: Place) -> Diagnosis:
    """The whole loss was computed one pass ahead, and kept while the pass before made its step."""
    made = saved.call.log.stack_of(max(saved.call.roots, default=0))
    kept = source.where_kept([place for _, place in made]) or failing
    return Diagnosis(
        cause="param-updated-before-backward",
        title="the loss was computed before the step of the pass before",
        why="It was made ahead of its turn, with the parameters of then. A step has written over "
        "them since, and this backward would mix the old values with the new ones.",
        error_line=failing,
        created_at=[stepping],
        fixes=[
            Fix("recompute-forward", kept, "fetch only the data ahead: the loss after the step"),
            Fix("reorder-step", stepping, "or make the next loss only after the step"),
        ],
    )


def _made_this_time(evidence: SecondBackward) -> bool:
    """Whether the stale part was made before an inner loop, in the current pass of the outer."""
    return not evidence.made_inside and evidence.made_by_outer_loop


def _of_an_earlier_pass(evidence: SecondBackward, watched: Watched) -> Diagnosis:
    """The causes are those of a second backward: the graph is retained instead of freed."""
    for rule in second_backward.EARLIER_PASS_RULES:
        found = rule(evidence, watched)
        if found is not None:
            found.created_at = found.created_at or list(
                dict.fromkeys(place for _, place in reversed(evidence.made))
            )
            found.tensor = places.called_in_words(evidence.held, evidence.made)
            found.why = (
                f"{found.title[0].upper()}{found.title[1:]}. An optimizer step has changed the "
                "parameters that this history was computed with, so it cannot be sent back."
            )
            return found
    raise AssertionError("the last rule always applies")


def _stale_evidence(
    saved: SavedValue, step: OptimizerStep, watched: Watched
) -> SecondBackward | None:
    """What was carried over the step, seen as if the call before it had released it."""
    failure = watched.recorder.failure
    before = [call for call in watched.recorder.calls[: step.calls] if not call.nested]
    if failure is None or not before:
        return None
    evidence = assemble(watched, failure, {saved.node: before[-1]})
    return evidence if evidence.made else None


def _as_call(step: OptimizerStep, call: Call) -> Call:
    """A step in the form in which calls are compared."""
    return replace(call, stack=step.stack, edges=call.log.position_at(step.number))


# ----------------------------------------------------------------------- by another write


def _written(saved: SavedValue, at: Raised, watched: Watched) -> Diagnosis | None:
    stacks = recorded_writes(saved) or [w.stack for w in second_pass.find_writes(watched)]
    stacks = [stack for stack in stacks if stack]
    log = saved.call.log
    made = [place for _, place in log.stack_of(saved.number)]
    if not stacks:
        return _guessed(saved, at, made) or _hidden(at, watched)
    stack = stacks[0]
    written = stack[-1]
    spans = [
        *([Span("saved", made[-1], made)] if made else []),
        Span("written", written, stack),
        Span("needed", at.place, at.stack),
    ]
    if overwritten.any_parameter(saved, watched) is not None:
        failing = _call_line(saved, at)
        return Diagnosis(
            cause="param-updated-before-backward",
            title="a parameter was changed between the forward pass and its backward",
            why="The backward needs the values that the parameter had in the forward pass; this "
            "line has written over them.",
            error_line=at.place,
            created_at=list(dict.fromkeys([*reversed(stack), *reversed(made)])),
            fixes=[
                Fix("reorder-step", _in_frame_of(stack, failing), "change it after the backward"),
                Fix("recompute-forward", failing, "or compute the loss after the change"),
            ],
            spans=spans,
            error=at.message,
            facts=_facts(saved),
        )
    line = _line_to_change(stack)
    fixes = _or_read_a_copy(
        Fix(
            "clone-before-inplace",
            line,
            "use the out-of-place form, or write into a clone",
            cost="one more tensor of this size",
        ),
        made,
    )
    return Diagnosis(
        cause="inplace-after-save",
        title="an in-place operation changed a value that backward needs",
        why=f"{_kind(saved)} saved the value for its gradient; line {written.line} wrote into the "
        "same memory before the backward ran.",
        error_line=at.place,
        created_at=list(dict.fromkeys([written, *reversed(made)])),
        fixes=fixes,
        spans=spans,
        error=at.message,
        tensor=_name_written(written),
        facts=_facts(saved),
    )


def recorded_writes(saved: SavedValue) -> list[list[Place]]:
    """The writes as the graph itself shows them; [] unless it shows every one.

    An in-place operation on a value with history leaves a node, which takes the old value first.
    """
    log = saved.call.log
    near = [saved.node, *(node for node, _ in saved.node.next_functions if node is not None)]
    values = {node for node in near if saved.producer and node.name().startswith(saved.producer)}
    found: list[list[Place]] = []
    for node, number in sorted(saved.failure.nodes.items(), key=lambda pair: pair[1]):
        if number <= saved.number or not node.next_functions:
            continue
        if node.next_functions[0][0] not in values:
            continue
        stack = [place for _, place in log.stack_of(number)]
        if stack and statements.writes_in_place(stack[-1]):
            values.add(node)
            found.append(stack)
    return found if len(found) == saved.version - saved.expected else []


def _hidden(at: Raised, watched: Watched) -> Diagnosis:
    """The node that saved the value cannot be asked: what wrote in place is known, or guessed."""
    failure = watched.recorder.failure
    stacks: list[list[Place]] = []
    if failure is not None and failure.error is at.error:
        log = failure.call.log
        nodes = overwritten.writes_into_views(failure)
        stacks = [[place for _, place in log.stack_of(failure.nodes[node])] for node in nodes]
    stacks = [stack for stack in stacks if stack]
    stacks = stacks or [w.stack for w in second_pass.find_writes(watched) if w.stack]
    seen = bool(stacks)
    if not seen and failure is not None:
        stacks = [[place] for place in _writing_lines(failure)]
    found = Diagnosis(
        cause="inplace-after-save",
        title="an in-place operation changed a value that backward needs",
        why="An operation saved the value for its gradient; "
        f"line {stacks[0][-1].line} wrote into the same memory before the backward ran."
        if seen
        else "An operation saved the value for its gradient, and its memory was written before the "
        "backward ran. The write itself was not seen; the lines named here write in place.",
        error_line=at.place,
        created_at=list(dict.fromkeys(stack[-1] for stack in stacks)) or [at.place],
        spans=[Span("needed", at.place, at.stack)],
        error=at.message,
    )
    for stack in stacks[: 1 if seen else 3]:
        reason = "use the out-of-place form, or write into a clone"
        found.fixes.append(Fix("clone-before-inplace", _line_to_change(stack), reason))
        found.spans.insert(0, Span("written", stack[-1], stack))
    if seen:
        found.tensor = _name_written(stacks[0][-1])
        found.created_at += [p for p in reversed(stacks[0][:-1]) if p not in found.created_at]
    return found


def _writing_lines(failure: Failure) -> list[Place]:
    """The lines that write in place in functions that made the graph, the last one first."""
    log, makers = failure.call.log, dict[tuple[str, str], Place]()
    for number in sorted((n for n in failure.nodes.values() if n < LEAF), reverse=True):
        for _, place in reversed(log.stack_of(number)):
            makers.setdefault((place.file, place.function), place)
    found: dict[Place, None] = {}
    for place in makers.values():
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        for node in ast.walk(scope):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
                if any(True for _ in statements.in_place_parts(node)):
                    found.setdefault(Place(place.file, node.lineno, place.function))
    # a statement like `count += 1` is more often about a number than about a tensor
    return sorted(found, key=lambda place: _adds_constant(place))


def _adds_constant(place: Place) -> bool:
    statement = source.statement_at(place.file, place.line)
    return isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.Constant)


def _guessed(saved: SavedValue, at: Raised, made: list[Place]) -> Diagnosis | None:
    """Without a second run: the in-place line after the saving one in its function, if only one."""
    if not made:
        return None
    place = made[-1]
    function = source.function_around(place.file, place.line)
    scope: ast.AST = source.tree_of(place.file) if function is None else function
    lines = {
        node.lineno
        for node in ast.walk(scope)
        if isinstance(node, ast.stmt)
        and node.lineno >= place.line
        and isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return))
        and any(True for _ in statements.in_place_parts(node))
    }
    if len(lines) != 1:
        return None
    written = Place(place.file, lines.pop(), place.function)
    return Diagnosis(
        cause="inplace-after-save",
        title="an in-place operation changed a value that backward needs",
        why=f"{_kind(saved)} saved the value for its gradient. The only line after it that writes "
        f"in place is line {written.line}; it was not seen writing.",
        error_line=at.place,
        created_at=[written, place],
        fixes=_or_read_a_copy(
            Fix("clone-before-inplace", written, "use the out-of-place form"), made
        ),
        tensor=_name_written(written),
        spans=[Span("saved", place, made), Span("needed", at.place, at.stack)],
        error=at.message,
        facts=_facts(saved),
    )


def _or_read_a_copy(fix: Fix, made: list[Place]) -> list[Fix]:
    """Where the line that saved reads items of what is written, a copy of them does best."""
    if not made or made[-1] == fix.place or not statements.reads_item_of(made[-1], fix.place):
        return [fix]
    reason = "compute with a copy of what is read: the rest may be written then"
    return [Fix("clone", made[-1], reason), fix]


def _line_to_change(stack: list[Place]) -> Place:
    """The writing line; if a module does it, the line that asks for `inplace=True`."""
    written = stack[-1]
    if statements.writes_in_place(written):
        return written
    asking = [
        node.lineno
        for node in ast.walk(source.tree_of(written.file))
        if isinstance(node, ast.Call)
        and any(
            keyword.arg == "inplace"
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value is True
            for keyword in node.keywords
        )
    ]
    return Place(written.file, asking[0]) if len(asking) == 1 else written


def _in_frame_of(stack: list[Place], failing: Place) -> Place:
    """The line of a stack in the function that sends the loss back; else its innermost line."""
    for place in reversed(stack):
        if (place.file, place.function) == (failing.file, failing.function):
            return place
    return stack[-1]


def _call_line(saved: SavedValue, at: Raised) -> Place:
    """The line of the backward call; the error may come from a custom Function it runs."""
    return saved.call.log.place_of(saved.call.stack) or at.place


def _kind(saved: SavedValue) -> str:
    return str(saved.node.name()).removesuffix("0").removesuffix("Backward").lower()


def _facts(saved: SavedValue) -> dict[str, object]:
    return {
        "node": saved.node.name(),
        "version": saved.version,
        "expected": saved.expected,
        "failing_call": saved.call.index,
    }


def _name_written(place: Place) -> str:
    name = statements.written_name(place)
    return "" if name is None else ast.unparse(name)


# -------------------------------------------------------------------------------- leaves


def leaf_in_place(watched: Watched) -> Diagnosis | None:
    """ "a leaf Variable that requires grad is being used in an in-place operation"."""
    at = raised.find(watched, LEAF_IN_PLACE)
    if at is None:
        return None
    torch, place = watched.recorder.torch, at.place
    name, parameter = _name_written(place), _is_trained(place, at, watched)
    found = Diagnosis(
        cause="leaf-inplace",
        title=f"{f'`{name}`' if name else 'a leaf'} requires grad and is written in place while "
        "gradients are recorded",
        why="A leaf is where gradients end. Writing into it with gradients on would make it a "
        "result of its own old value.",
        error_line=place,
        created_at=[place, *reversed(at.stack[:-1])],
        error=at.message,
        tensor=name,
        spans=[Span("written", place, at.stack)],
    )
    clone = Fix("clone-before-inplace", place, "use the out-of-place form, or write into a clone")
    if not statements.writes_in_place(place) or statements.result_is_used(place):
        found.fixes = [clone]
    elif statements.value_has_history(place, at.frame, torch, parameter):
        made = _made_with_grad(place, name)
        found.fixes = [clone]
        if made is not None and not parameter:
            found.created_at.append(made)
            reason = "it only collects results: what is written brings its own history"
            found.fixes = [Fix("drop-requires-grad", made, reason), clone]
    else:
        found.fixes = [Fix("no-grad", place, "change it under torch.no_grad()")]
        if not parameter:
            found.fixes.append(clone)
    return found


def _is_trained(place: Place, at: Raised, watched: Watched) -> bool:
    """Whether what is written is a parameter: by its class, or because it has been differentiated.

    Such a leaf is updated by hand: the new value must be in the same tensor, without history.
    """
    target = statements.written_name(place)
    value = None if target is None else statements.value_of(target, at.frame)
    torch = watched.recorder.torch
    if not isinstance(value, torch.Tensor) or not value.is_leaf:
        return False
    if isinstance(value, torch.nn.Parameter) or value.grad is not None:
        return True
    return watched.recorder.leaves.get(id(value)) is value


def _made_with_grad(place: Place, name: str) -> Place | None:
    """The line that makes a variable with `requires_grad`."""
    lines = statements.lines_assigning(place, name) if name else []
    asking = [n for n in lines if "requires_grad" in source.text_at(place.file, n)]
    return Place(place.file, asking[-1]) if asking else None


def _modules(at: Raised, watched: Watched) -> list[Place]:
    """The lines that make the module that has failed: it works in place, as `inplace=True` says."""
    owners = [frame.f_locals.get("self") for frame in reversed(at.library)]
    module = next((each for each in owners if getattr(each, "inplace", None) is True), None)
    name = type(module).__name__
    found: list[Place] = []
    for file in dict.fromkeys(p.file for p in reversed(at.stack)) if module is not None else ():
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
                if any("True" in ast.unparse(each) for each in [*node.args, *node.keywords]):
                    found.append(Place(file, node.lineno))
    return list(dict.fromkeys(found))[:3]


def view_in_place(watched: Watched) -> Diagnosis | None:
    """Views of which PyTorch does not know how to write into them."""
    at = raised.find(watched, *VIEW_IN_PLACE, NO_GRAD_VIEW)
    if at is None:
        return None
    name, place = _name_written(at.place), at.place
    changes = [place] if statements.writes_in_place(place) else _modules(at, watched) or [place]
    made = [Place(place.file, n) for n in statements.lines_assigning(place, name)] if name else []
    return Diagnosis(
        cause="inplace-after-save",
        title=f"{f'`{name}`' if name else 'a view'} is a view that must not be written in place",
        why=_WHY_HOOK
        if "BackwardHookFunction" in str(at.error)
        else "It shares memory with other results, and PyTorch cannot tell how their gradients "
        "change when one of them is written.",
        error_line=place,
        created_at=list(dict.fromkeys([*changes[:1], place, *made[-1:]])),
        fixes=[
            Fix("clone-before-inplace", each, "use the out-of-place form, or a clone")
            for each in changes
        ],
        error=at.message,
        tensor=name,
        spans=[Span("written", place, at.stack)],
    )
