"""The optimizer that holds other parameters than those the model uses."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import aside, forgotten
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.lines import LineLog, Step
from retrograd.watching.ownership import Hidden, Look

DELIBERATE = (
    "teacher",
    "target",
    "frozen",
    "freeze",
    "ema",
    "reference",
    "hidden_from",
    "detached",
)
"""Words in a name that say: this part is not meant to be trained."""


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each optimizer whose looks agree, or for each collection that hides."""
    found: list[Diagnosis] = []
    looks: dict[int, list[Look]] = {}
    for look in watched.recorder.ownership.looks:
        looks.setdefault(id(look.optimizer), []).append(look)
    named: set[tuple[str, str]] = set()
    for seen in looks.values():
        last = seen[-1]
        hidden = [
            each
            for each in last.hidden
            if each.in_training and not _on_purpose(each) and _stays(each, seen)
        ]
        for each in hidden:
            diagnosis = _hidden(watched, each, last)
            if diagnosis is not None and (each.owner, each.attribute) not in named:
                named.add((each.owner, each.attribute))
                found.append(diagnosis)
        diagnosis = None
        if not hidden and all(_is_stale(look) for look in seen):
            diagnosis = _stale(watched, last)
        elif not hidden and len(seen) > 1 and all(look.unfrozen for look in seen):
            diagnosis = _unfrozen(watched, last)
        elif not hidden and len(seen) > 1 and all(look.late for look in seen):
            diagnosis = _stale(watched, last)
        elif not hidden:
            diagnosis = forgotten.diagnose(watched, seen) or aside.diagnose(watched, seen)
        if diagnosis is not None:
            found.append(diagnosis)
    return found


def _is_stale(look: Look) -> bool:
    """Held parameters never get a gradient, others get one that no optimizer holds.

    Unused heads are owned by a module; then only another model of the same shapes is evidence.
    """
    if look.orphans and look.others:
        return True
    whole = look.starved == look.held and not look.reached
    return whole and look.same_shapes and bool(look.others or look.loose)


def _stays(hidden: Hidden, seen: list[Look]) -> bool:
    """Whether a tensor that is no parameter keeps its value, and nothing reads its gradient.

    Else the program changes it itself, as a perturbation of its inputs, or wants the gradient.
    """
    if not hidden.plain:
        return True
    name = hidden.attribute
    same = [each for look in seen for each in look.hidden if each.attribute == name]
    if len(same) < 2 or any(each.plain != hidden.plain for each in same):
        return False
    return not any(
        isinstance(node, ast.Attribute) and node.attr == "grad" and name in ast.unparse(node.value)
        for file in {code.co_filename for code in hidden.codes}
        for node in ast.walk(source.tree_of(file))
    )


def _on_purpose(hidden: Hidden) -> bool:
    return any(word in hidden.attribute.lower() for word in DELIBERATE)


def _stale(watched: Watched, look: Look) -> Diagnosis | None:
    stack = watched.recorder.built_at.get(id(look.optimizer), [])
    place = watched.tracer.log.place_of(stack)
    if place is None:
        return None
    log = watched.tracer.log
    registered = [
        watched.recorder.registered_at[key]
        for key in look.keys
        if key in watched.recorder.registered_at
    ]
    replaced = [made for made, _ in registered if made]
    lines = [line for made in replaced for line in reversed(log.places_of(made))]
    # replaced in the middle of training: that is where the optimizer has to learn of it
    late = [made for made, steps in registered if steps and made]
    where = _beside(log, late[0], stack) if late else place
    kind = type(look.optimizer).__name__
    some = f" ({', '.join(look.names[:3])})" if look.names else ""
    others = look.others or look.loose
    unused = look.orphans or look.starved
    title = f"{kind} holds {unused} of {look.held} parameters that the model does not use"
    why = (
        f"{unused} of its {look.held} parameters get no gradient, while {others} others{some} get "
        "gradients and are in no optimizer. The optimizer was built from parameters that were "
        "replaced afterwards: new layers, a copy, or another model."
    )
    if not _is_stale(look):
        title = f"{kind} does not hold {look.late} parameters that the model got later"
        why = (
            f"{look.late} parameters{some} were made after the optimizer was built from all that "
            "the model had by then. They get gradients, but no optimizer holds them: they keep "
            "their first values."
        )
    return Diagnosis(
        cause="stale-optimizer-params",
        title=title,
        why=why,
        error_line=place,
        created_at=list(dict.fromkeys([*lines, *reversed(log.places_of(stack))])),
        fixes=[
            Fix(
                "rebuild-optimizer",
                where,
                "build it when the model is complete, from its own parameters",
            )
        ],
        spans=[
            Span("built", place, log.places_of(stack)),
            *(Span("replaced" if unused else "made", line) for line in lines[:1]),
        ],
        facts={"held": look.held, "starved": look.starved, "others": others},
    )


def _unfrozen(watched: Watched, look: Look) -> Diagnosis | None:
    """Parameters that were frozen when the optimizer was built, and train now without it."""
    log = watched.tracer.log
    stack = watched.recorder.built_at.get(id(look.optimizer), [])
    place = log.place_of(stack)
    if place is None:
        return None
    switched = _switched_on(log)
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"{look.unfrozen} parameters were unfrozen after the optimizer was built",
        why=f"{look.unfrozen} parameters did not require grad when the optimizer took those that "
        "did. They get gradients now, but the optimizer does not hold them: they keep their "
        "values.",
        error_line=place,
        created_at=list(dict.fromkeys([*switched, *reversed(log.places_of(stack))])),
        fixes=[
            Fix("rebuild-optimizer", line, "build it, or call add_param_group, after this")
            for line in [*switched[:1], place]
        ],
        spans=[
            Span("built", place, log.places_of(stack)),
            *(Span("unfrozen", line) for line in switched[:1]),
        ],
        facts={"held": look.held, "unfrozen": look.unfrozen},
    )


def _switched_on(log: LineLog) -> list[Place]:
    """The lines of the program that set `requires_grad` to True, if there is only one."""
    found = []
    for file in log.chains.files():
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                if node.targets[0].attr == "requires_grad" and _is_true(node.value):
                    found.append(Place(file, node.lineno))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "requires_grad_" and all(map(_is_true, node.args)):
                    found.append(Place(file, node.lineno))
    return found if len(found) == 1 else []


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _beside(log: LineLog, replaced: list[Step], built: list[Step]) -> Place:
    """The line of a stack in the function that built the optimizer, else its innermost line."""
    chains = {step.chain for step in built}
    for step in reversed(replaced):
        if step.chain in chains:
            return Place(log.chains.file_of(step.chain), step.line)
    place = log.place_of(replaced)
    assert place is not None
    return place


def _hidden(watched: Watched, hidden: Hidden, look: Look) -> Diagnosis | None:
    place = _line_of(hidden)
    if place is None:
        return None
    name = f"{hidden.owner}.{hidden.attribute}"
    title = f"`{name}` is a plain collection: parameters() does not see what is in it"
    advice = "use nn.ModuleList, nn.ModuleDict or nn.ParameterList"
    if hidden.plain:
        kind = "a list of tensors" if hidden.several else "a tensor"
        title = f"`{name}` is {kind}, but no nn.Parameter: parameters() does not see it"
        advice = "make it an nn.Parameter, or an nn.ParameterList"
    facts: dict[str, object] = {"parameters": hidden.parameters}
    fixes = [Fix("register-modules", place, advice)]
    built = watched.tracer.log.place_of(watched.recorder.built_at.get(id(look.optimizer), []))
    variable = aside.variable_of(hidden.owner, watched.tracer.chains.files())
    if hidden.plain and built is not None and variable:
        facts["aside"] = f"{variable}.{hidden.attribute}"
        facts["more"] = ("*" if hidden.several else "") + f"{variable}.{hidden.attribute}"
        fixes.append(Fix("rebuild-optimizer", built, "or give it to the optimizer too"))
    return Diagnosis(
        cause="stale-optimizer-params",
        title=title,
        why=f"{hidden.parameters} parameters in it get gradients, but no optimizer holds them, so "
        "they keep their first values. They also miss in state_dict() and .to()."
        if not hidden.plain
        else "It gets gradients, but no optimizer holds it: it keeps its first value. It also "
        "misses in state_dict() and .to().",
        error_line=place,
        created_at=[place],
        fixes=fixes,
        spans=[Span("kept", place)],
        tensor=f"self.{hidden.attribute}",
        facts=facts,
    )


def _line_of(hidden: Hidden) -> Place | None:
    """The line in the class that makes the collection."""
    for code in hidden.codes:
        file = code.co_filename
        for node in ast.walk(source.tree_of(file)):
            if not isinstance(node, ast.ClassDef) or node.name != hidden.owner:
                continue
            for inner in ast.walk(node):
                if isinstance(inner, (ast.Assign, ast.AnnAssign)):
                    targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                    for target in targets:
                        if isinstance(target, ast.Attribute) and target.attr == hidden.attribute:
                            return Place(file, inner.lineno, code.co_qualname)
    return None
