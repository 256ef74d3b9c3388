"""An optimizer whose gradients are cleared again and again, and that never makes a step."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import repeats
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import ZeroGrad

TIMES = 3  # clearings, and steps of another optimizer
CALLS = 12  # backward calls without any step


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such optimizer, if the text has no step of it either."""
    gradients = watched.recorder.gradients
    if not gradients.steps:
        behind = _behind_condition(watched)
        if behind is not None:
            return [behind]
    stepped = [id(step.optimizer) for step in gradients.steps]
    if len(stepped) < TIMES and (stepped or _reads_gradients(watched)):
        return []  # one without any step may want the gradients themselves
    found = []
    for optimizer in gradients.optimizers:
        zeros = [zero for zero in gradients.zeros if zero.owner is optimizer]
        lost = [zero for zero in zeros if zero.lost]
        waits = any(gradients.is_waiting(p) for p in parameters_of(optimizer))
        if id(optimizer) in stepped or len(zeros) < TIMES or not (waits or len(lost) >= TIMES):
            continue
        if any(step.parameters & _keys(optimizer) for step in gradients.steps):
            continue  # another one trains the same
        diagnosis = _diagnosis(watched, zeros)
        if diagnosis is not None:
            found.append(diagnosis)
    return found


def _behind_condition(watched: Watched) -> Diagnosis | None:
    """The text has a step, behind a count of batches that never comes to its number."""
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    if len(calls) < CALLS or len({call.site for call in calls}) != 1:
        return None
    gradients = watched.recorder.gradients
    waiting = [o for o in gradients.optimizers if any(map(gradients.is_waiting, parameters_of(o)))]
    log, call = watched.tracer.log, calls[-1]
    sent = call.log.place_of(call.stack)
    if sent is None or len(waiting) != 1:
        return None
    loops = source.loops_around(sent.file, sent.line)
    function = source.function_around(sent.file, sent.line)
    own = [loop for loop in loops if function is None or loop.header > function.lineno]
    if len(own) < 2:
        return None  # a count that goes on may still come to its number
    inner = max(own, key=lambda loop: loop.header)
    repetition = repeats.between(calls[0], calls[-1])
    if repetition is None or repetition.loop is None or repetition.loop.header == inner.header:
        return None  # the first pass of the outer loop is not over
    asked = [
        (node.lineno, step)
        for node in ast.walk(source.tree_of(sent.file))
        if isinstance(node, ast.If) and inner.holds(node.lineno) and _counts(node.test)
        for step in ast.walk(node)
        if isinstance(step, ast.Call) and getattr(step.func, "attr", "") == "step"
    ]
    built = log.place_of(watched.recorder.built_at.get(id(waiting[0]), []))
    if len({line for line, _ in asked}) != 1:
        return None
    where = Place(sent.file, asked[0][0], sent.function)
    step = Place(sent.file, asked[0][1].lineno, sent.function)
    kind = type(waiting[0]).__name__
    return Diagnosis(
        cause="optimizer-never-steps",
        title="the condition for a step was never true: nothing is trained",
        why=f"{len(calls)} backward calls gave gradients to the parameters of this {kind}, and no "
        f"step used them. Line {where.line} makes one after so many batches, counted anew in each "
        "pass of the outer loop, and there are fewer.",
        error_line=where,
        created_at=list(dict.fromkeys([where, step, sent, *([built] if built else [])])),
        fixes=[Fix("reorder-step", where, "make a step after the last batch of a pass too")],
        spans=[Span("sent back", sent, call.log.places_of(call.stack)), Span("asked", where)],
        facts={"calls": len(calls)},
    )


def _counts(test: ast.expr) -> bool:
    """Whether a condition divides a count: `(i + 1) % every == 0`."""
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in ast.walk(test))


def _reads_gradients(watched: Watched) -> bool:
    """Whether the program uses gradients itself."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "grad"
        for file in watched.tracer.chains.files()
        for node in ast.walk(source.tree_of(file))
    )


def _keys(optimizer: object) -> set[int]:
    return {id(parameter) for parameter in parameters_of(optimizer)}


def _diagnosis(watched: Watched, zeros: list[ZeroGrad]) -> Diagnosis | None:
    log = watched.tracer.log
    cleared = log.place_of(zeros[-1].stack)
    idle = [] if cleared is None else [o for o in _owners(cleared) if not _is_stepped(watched, o)]
    if cleared is None or len(idle) != 1:
        return None
    owner = idle[0]
    built = log.place_of(watched.recorder.built_at.get(id(zeros[-1].owner), []))
    steps = watched.recorder.gradients.steps
    last = log.place_of(steps[-1].stack) if steps else _last_backward(watched)
    where = last if last is not None and last.file == cleared.file else cleared
    kind = type(zeros[-1].owner).__name__
    return Diagnosis(
        cause="optimizer-never-steps",
        title=f"`{owner}` is cleared, but never makes a step",
        why=f"The gradients of this {kind} were cleared {len(zeros)} times, and its parameters got "
        "new ones each time, but nothing calls its step(): they keep their first values.",
        error_line=cleared,
        created_at=list(dict.fromkeys([cleared, *([built] if built else []), where])),
        fixes=[Fix("add-step", where, f"call {owner}.step() too, after backward()")],
        spans=[
            *([Span("built", built)] if built else []),
            Span("cleared", cleared, log.places_of(zeros[-1].stack)),
        ],
        tensor=owner,
        facts={"cleared": len(zeros)},
    )


def _last_backward(watched: Watched) -> Place | None:
    calls = [call for call in watched.recorder.calls[-8:] if call.kind == "backward"]
    return calls[-1].log.place_of(calls[-1].stack) if calls else None


def _owners(cleared: Place) -> set[str]:
    """What a line calls the optimizer: `self.critic_opt` of `self.critic_opt.zero_grad()`."""
    return {
        ast.unparse(node.func.value)
        for node in ast.walk(source.tree_of(cleared.file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "zero_grad"
        and node.lineno == cleared.line
        and _is_name(node.func.value)
    }


def _is_stepped(watched: Watched, owner: str) -> bool:
    """Whether the program has a line with a step of it, or hands it to somebody who may step."""
    own = owner.rpartition(".")[2]
    for file in watched.tracer.chains.files():
        for node in ast.walk(source.tree_of(file)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr == "step":
                text = ast.unparse(node)
                if own in text or isinstance(called.value, (ast.Subscript, ast.Call)):
                    return True
                if not watched.recorder.gradients.steps and "opt" in text.lower():
                    return True  # another name for it, in a line that never ran
            if ast.unparse(called).endswith("LR") or not watched.recorder.gradients.steps:
                continue  # a schedule changes the rate; and who was given it made no step
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(own in ast.unparse(each).split(".") for each in given if _is_name(each)):
                return True
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, (ast.List, ast.Tuple, ast.Dict)) and own in ast.unparse(node):
                if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                    return True
    return False


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))
