"""Errors of a `GradScaler`: `unscale_`, `step` and `update` in another order than one step takes.

For each optimizer a scaler goes from `unscale_` to `step` and begins anew at `update`. Its errors
say which call came too often; why it did, the calls before it tell.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import ScalerCall

UNSCALED_TWICE = "unscale_() has already been called on this optimizer"
UNSCALED_LATE = "unscale_() is being called after step()"
STEPPED_TWICE = "step() has already been called since the last update()"
NOTHING_TO_STEP = "No inf checks were recorded for this optimizer"
NOTHING_TO_UPDATE = "No inf checks were recorded prior to update"
NEVER_SCALED = "but _scale is None"
HALF = "Attempting to unscale FP16 gradients"
CLOSURE = "Closure use is not currently supported if GradScaler is enabled"
ALL = (UNSCALED_TWICE, UNSCALED_LATE, STEPPED_TWICE, NOTHING_TO_STEP, NOTHING_TO_UPDATE)

CAUSE = "scaler-order"
ONE_STEP = (
    "For each optimizer a GradScaler goes through backward (once or several times), unscale_ (at "
    "most once), step and update, in this order; update() makes it begin anew."
)


@dataclass
class Course:
    """The calls of the scaler that failed, with their lines, the newest last."""

    at: Raised
    before: list[tuple[ScalerCall, list[Place]]]  # of this scaler, since its last `update`
    updates: list[Place]  # lines that have called `update`, ever
    optimizer: object
    sent: int  # losses so far

    def sent_since(self, name: str) -> bool:
        """Whether a loss was sent back after the newest call of a method."""
        own = [call for call, _ in self.before if call.name == name]
        own = [call for call in own if call.optimizer == id(self.optimizer)]
        return bool(own) and own[-1].sent < self.sent

    def last(self, name: str, optimizer: bool = True) -> list[Place]:
        """The way to the newest call of a method since the last update; [] if there was none."""
        for call, stack in reversed(self.before):
            own = not optimizer or call.optimizer == id(self.optimizer)
            if call.name == name and own and stack:
                return stack
        return []


def scaler_calls(watched: Watched) -> Diagnosis | None:
    """The cause of an error that a scaler has raised."""
    at = raised.find(watched, *ALL, NEVER_SCALED, HALF, CLOSURE)
    scaler = None if at is None else _scaler(at)
    if at is None or scaler is None:
        return None
    course = _course(at, scaler, watched)
    text = str(at.error)
    if UNSCALED_TWICE in text:
        found = _unscaled_twice(course)
    elif UNSCALED_LATE in text:
        found = _unscaled_late(course)
    elif STEPPED_TWICE in text:
        found = _stepped_twice(course)
    elif NOTHING_TO_STEP in text:
        found = _nothing_to_step(course, watched)
    elif NOTHING_TO_UPDATE in text:
        found = _nothing_to_update(course)
    elif NEVER_SCALED in text:
        found = _never_scaled(course, watched)
    else:
        found = _not_supported(course, HALF in text)
    found.error_line, found.error = at.place, at.message
    found.created_at = list(dict.fromkeys([*found.created_at, at.place]))
    found.spans = [*found.spans, Span("failed", at.place, at.stack)]
    return found


def _scaler(at: Raised) -> object | None:
    for frame in at.library:
        owner = frame.f_locals.get("self")
        if any(kind.__name__ == "GradScaler" for kind in type(owner).__mro__):
            return owner
    return None


def _course(at: Raised, scaler: object, watched: Watched) -> Course:
    log = watched.tracer.log
    optimizer = next(
        (f.f_locals["optimizer"] for f in at.library if "optimizer" in f.f_locals), None
    )
    own = [call for call in watched.recorder.scaling.calls if call.scaler == id(scaler)]
    if own and own[-1].name in at.library[0].f_code.co_name:
        own.pop()  # the call that failed
    updates = [place for call in own if call.name == "update" and (place := _line(call, log))]
    last = max((i for i, call in enumerate(own) if call.name == "update"), default=-1)
    before = [(call, log.places_of(call.stack)) for call in own[last + 1 :]]
    return Course(at, before, updates, optimizer, watched.recorder.scaling.sent)


def _line(call: ScalerCall, log: object) -> Place | None:
    place: Place | None = log.place_of(call.stack)  # type: ignore[attr-defined]
    return place


# ------------------------------------------------------------------------------- the errors


def _unscaled_twice(course: Course) -> Diagnosis:
    at, earlier = course.at, course.last("unscale_")
    found = Diagnosis(
        cause=CAUSE,
        title="the gradients of this optimizer are divided by the loss scale a second time",
        spans=[Span("unscaled", earlier[-1], earlier)] if earlier else [],
        created_at=[at.place, *(earlier[-1:])],
    )
    again = bool(earlier) and earlier[-1] != at.place
    skipped = _leaves_before_step(at.place)
    where = "in another line" if again else "in an earlier pass of the loop"
    found.why = (
        f"{ONE_STEP} Here unscale_() ran {where}, and the gradients since then are added to it "
        "with the scale: they cannot be divided once more."
    )
    move = Fix(
        "reorder-step",
        at.place,
        "unscale once, right before scaler.step(), together with what clips",
    )
    drop = Fix("reorder-step", at.place, "leave this call out: it was done already")
    leave = [
        Fix("add-step", place, "end the step that is left out with scaler.update()")
        for place in skipped
    ]
    if again:
        found.facts = {"again": True}
        found.fixes = [drop]
    else:
        found.fixes = [*leave, move] if leave else [move]
    return found


def _unscaled_late(course: Course) -> Diagnosis:
    at, stepped = course.at, course.last("step")
    if stepped and course.sent_since("step"):
        other = _steps_another(at.place)
        found = _stepped_twice(course)
        found.title = "a step is made, and the next one begins without an update() in between"
        if other:
            reason = "unscale the optimizer that steps next: this one has stepped already"
            found.fixes.insert(0, Fix("unscale-first", at.place, reason))
            found.facts = {"other": other}
        return found
    return Diagnosis(
        cause=CAUSE,
        title="unscale_() is called when the step has been made already",
        why=f"{ONE_STEP} step() has divided the gradients itself.",
        created_at=[at.place, *stepped[-1:]],
        fixes=[Fix("reorder-step", at.place, "unscale, and clip, before scaler.step()")],
        spans=[Span("stepped", stepped[-1], stepped)] if stepped else [],
    )


def _stepped_twice(course: Course) -> Diagnosis:
    at, stepped = course.at, course.last("step")
    found = Diagnosis(
        cause=CAUSE,
        title="the scaler steps this optimizer a second time without an update() in between",
        why=f"{ONE_STEP}",
        created_at=[*stepped[-1:], at.place],
        spans=[Span("stepped", stepped[-1], stepped)] if stepped else [],
    )
    found.fixes = _update_after(course, stepped or at.stack)
    again = "step" in source.text_at(at.place.file, at.place.line)
    if again and stepped and stepped[-1] != at.place:
        found.fixes.append(
            Fix("reorder-step", at.place, "or add the losses up, and step once for both")
        )
    return found


def _update_after(course: Course, stepped: list[Place]) -> list[Fix]:
    """The update that is missing: none at all, one that is skipped, or one in another place."""
    place = stepped[-1]
    fixes = [Fix("add-step", place, "call scaler.update() after the step")]
    written = course.updates[-1:] or _lines_calling(course.at.stack, "update")
    if written:
        reason = "let update() follow each step()"
        fixes.insert(0, Fix("reorder-step", written[-1], reason))
    fixes += [
        Fix("add-step", each, "or call it before this pass is left")
        for each in _leaves_after(place)
    ]
    return fixes


def _nothing_to_step(course: Course, watched: Watched) -> Diagnosis:
    at, gradients = course.at, watched.recorder.gradients
    held = parameters_of(course.optimizer)
    cleared = [
        zero
        for zero in gradients.zeros
        if zero.calls == len(watched.recorder.calls) and zero.calls and zero.stack
        if {id(p) for p in parameters_of(zero.owner)} & {id(p) for p in held}
    ]
    if cleared:
        log = watched.tracer.log
        stack = log.places_of(cleared[-1].stack)
        return Diagnosis(
            cause="zero-grad-misuse",
            title="the gradients are cleared between backward() and scaler.step()",
            why="The scaler looks for inf and nan in the gradients before it steps, and there are "
            "none: what backward() has given was thrown away.",
            created_at=[stack[-1]],
            fixes=[Fix("reorder-step", stack[-1], "clear before backward(), or after the step")],
            spans=[Span("cleared", stack[-1], stack)],
        )
    built = watched.recorder.built_at.get(id(course.optimizer), [])
    made = watched.tracer.log.places_of(built)
    if watched.recorder.calls and made:
        kind = type(course.optimizer).__name__
        return Diagnosis(
            cause="stale-optimizer-params",
            title=f"no backward() has given a gradient to any parameter that {kind} holds",
            why=f"The scaler looks for inf and nan in the gradients of the {len(held)} parameters "
            "of this optimizer, and none has one: the loss is computed from other parameters, or "
            "they are frozen.",
            created_at=[made[-1]],
            fixes=[
                Fix("rebuild-optimizer", made[-1], "give it the parameters that the loss is of")
            ],
            spans=[Span("built", made[-1], made)],
        )
    return Diagnosis(
        cause=CAUSE,
        title="the scaler steps before any backward() has given gradients",
        why=f"{ONE_STEP}",
        fixes=[Fix("reorder-step", at.place, "step after scaler.scale(loss).backward()")],
    )


def _nothing_to_update(course: Course) -> Diagnosis:
    at = course.at
    stepping = _lines_calling(at.stack, "step", given=True)
    return Diagnosis(
        cause=CAUSE,
        title="update() is called when no optimizer has stepped since the last one",
        why=f"{ONE_STEP} update() reads what step() and unscale_() have found, and neither ran.",
        created_at=stepping[-1:],
        fixes=[Fix("reorder-step", at.place, "call update() right after scaler.step()")],
    )


def _never_scaled(course: Course, watched: Watched) -> Diagnosis:
    if any(frame.f_locals.get("args") for frame in course.at.library):
        return _not_supported(course, False)  # a closure, which sends back when it is called
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    sent = calls[-1].log.places_of(calls[-1].stack) if calls else []
    return Diagnosis(
        cause=CAUSE,
        title="the scaler is asked for a step, and it has not multiplied any loss",
        why="scaler.scale(loss) chooses the scale at its first call. Gradients of a loss that was "
        "not multiplied must not be divided by it.",
        created_at=sent[-1:],
        fixes=[Fix("unscale-first", place, "send back scaler.scale(loss)") for place in sent[-1:]],
        spans=[Span("sent back", sent[-1], sent)] if sent else [],
    )


def _not_supported(course: Course, half: bool) -> Diagnosis:
    at = course.at
    if not half:
        return Diagnosis(
            cause=CAUSE,
            title="scaler.step() is given a closure",
            why="The scaler has to look at the gradients before the optimizer steps; an optimizer "
            "that computes them itself, as LBFGS, leaves no moment for that.",
            fixes=[Fix("unscale-first", at.place, "step without the scaler, in full precision")],
        )
    turned = _lines_calling(at.stack, "half")
    return Diagnosis(
        cause=CAUSE,
        title="the parameters themselves are of half precision",
        why="Mixed precision keeps the weights, and with them the gradients, in float32: autocast "
        "computes in half precision where that is safe. Steps of half precision lose what is small "
        "beside a weight.",
        created_at=turned,
        fixes=[
            Fix("unscale-first", place, "leave the model in float32, and compute under autocast")
            for place in turned[:1]
        ],
        facts={"half": True},
    )


# ----------------------------------------------------------------------------------- lines


def _lines_calling(stack: list[Place], method: str, given: bool = False) -> list[Place]:
    """The lines that call a method of a scaler, in the files on the way to the error."""
    found: dict[Place, None] = {}
    for file in dict.fromkeys(place.file for place in reversed(stack)):
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                scaler = "scaler" in ast.unparse(node.func.value).lower() or method == "half"
                if node.func.attr == method and scaler and (not given or node.args):
                    function = source.function_around(file, node.lineno)
                    name = "" if function is None else function.name
                    found[Place(file, node.lineno, name)] = None
    return list(found)


def _leaves_before_step(place: Place) -> list[Place]:
    """`continue` and `return` behind a line, before the block that it is in goes on to a step."""
    return _leaving(place, after_step=False)


def _leaves_after(place: Place) -> list[Place]:
    return _leaving(place, after_step=True)


def _leaving(place: Place, after_step: bool) -> list[Place]:
    statement = source.statement_at(place.file, place.line)
    for node in ast.walk(source.tree_of(place.file)):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and statement in block:
                return _of_block(block[block.index(statement) + 1 :], place, after_step)
    return []


def _steps_another(place: Place) -> str:
    """What the next step of the block is for, if not for what a line unscales."""
    statement = source.statement_at(place.file, place.line)
    given = _given(statement, "unscale_")
    for node in ast.walk(source.tree_of(place.file)):
        block = getattr(node, "body", None)
        if given and isinstance(block, list) and statement in block:
            for later in block[block.index(statement) + 1 :]:
                if stepped := _given(later, "step"):
                    return stepped if stepped != given else ""
    return ""


def _given(statement: ast.stmt | None, method: str) -> str:
    """The one argument that a statement calls a method with."""
    for node in [] if statement is None else ast.walk(statement):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == method:
            return ast.unparse(node.args[0]) if len(node.args) == 1 else ""
    return ""


def _of_block(later: list[ast.stmt], place: Place, after_step: bool) -> list[Place]:
    end = "update" if after_step else "step"
    found: list[Place] = []
    for each in later:
        if isinstance(each, ast.If):
            found += [
                Place(place.file, node.lineno, place.function)
                for node in ast.walk(each)
                if isinstance(node, (ast.Continue, ast.Return))
            ]
        calls = [n for n in ast.walk(each) if isinstance(n, ast.Call)]
        if any(getattr(call.func, "attr", "") == end for call in calls):
            return found
    return []
