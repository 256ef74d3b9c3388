"""Parameters that an optimizer holds but that never get a gradient: where is the way cut?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import flow
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Cut, find_cuts, find_number
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.cut_marks import DEEPCOPY
from retrograd.watching.gradients import parameters_of
from retrograd.watching.received import FROZEN, NOTHING, Course

STEPS = 2  # of an optimizer before its parameters are judged
DELIBERATE = (
    *("freeze", "frozen", "stop_grad", "stopgrad", "stop-grad", "stop grad", "no gradient"),
    *("teacher", "target", "pretrained", "ema", "momentum_encoder", "baseline", "reference"),
)
"""Words near a cut that say: it is meant."""

EXPLICIT = ("detach", "detach_")
NUMBERS = ("item", "tolist", "__float__", "__complex__")


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis: the cut nearest to the loss that starves parameters."""
    missing = list(_missing(watched))
    if not missing:
        return []
    cuts = [cut for cut in find_cuts(watched, missing) if cut.place is not None]
    for cut in cuts:
        if cut.escaped and _has_history(watched):
            if _comes_back(cut):
                return [_diagnosis(watched, cut, missing)]
        elif not _is_meant(watched, cut, missing):
            return [_diagnosis(watched, cut, missing, cuts)]
    number = find_number(watched, missing)
    return [] if number is None else [_diagnosis(watched, number, missing)]


def _has_history(watched: Watched) -> bool:
    """Whether the losses that were sent back had any."""
    return any(
        not leaf
        for call in watched.recorder.calls
        if call.kind == "backward"
        for _, leaf in call.root_ids
    )


def _comes_back(cut: Cut) -> bool:
    """Whether the text makes a tensor again of the numbers or the array that the value became."""
    for place in reversed(cut.stack):
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        names = flow.names_from(scope, flow.names_kept(place))
        own = source.statement_at(place.file, place.line)
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and _makes_tensor(node):
                inside = own is not None and own.lineno <= node.lineno <= (own.end_lineno or 0)
                if inside or any(flow.uses(argument, names) for argument in node.args):
                    return True
        if not flow.returns(scope, place, names):
            return False
    return False


def _makes_tensor(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in ("tensor", "as_tensor", "from_numpy", "asarray", "Tensor", "FloatTensor")


def _missing(watched: Watched) -> Iterator[tuple[int, int]]:
    """Held parameters that want a gradient and never had one, as (optimizer, index)."""
    gradients = watched.recorder.gradients
    yield from unfrozen_in_vain(watched)
    for number, optimizer in enumerate(gradients.optimizers):
        steps = sum(1 for step in gradients.steps if step.optimizer is optimizer)
        if steps < STEPS or any(each.optimizer is optimizer for each in gradients.empty):
            continue
        for index, parameter in enumerate(parameters_of(optimizer)):
            if parameter.requires_grad and id(parameter) not in gradients.received:
                yield number, index


def unfrozen_in_vain(watched: Watched) -> Iterator[tuple[int, int]]:
    """Those that were frozen in earlier steps, and never get a gradient since they are not."""
    gradients = watched.recorder.gradients
    frozen: set[int] = set()
    for number, optimizer in enumerate(gradients.optimizers):
        course = watched.recorder.received.courses.get(id(optimizer), Course())
        for index, parameter in enumerate(parameters_of(optimizer)):
            signs = [
                (run.signs[index], run.last - run.first + 1)
                for run in course.runs
                if index < len(run.signs)
            ]
            wanted = [(sign, steps) for sign, steps in signs if sign != FROZEN]
            known = id(parameter) in frozen or (bool(signs) and signs[0][0] == FROZEN)
            if len(wanted) < len(signs):
                frozen.add(id(parameter))
            in_vain = sum(steps for sign, steps in wanted if sign == NOTHING)
            if known and in_vain >= STEPS and all(sign == NOTHING for sign, _ in wanted):
                if id(parameter) in gradients.received:  # by another optimizer, before
                    yield number, index


def _is_meant(watched: Watched, cut: Cut, missing: list[tuple[int, int]]) -> bool:
    """Whether the program cuts here on purpose: a frozen part, a target; not what it has unfrozen.

    Values that leave autograd by the way (numpy, argmax, .data, torch.tensor) are never meant. An
    explicit detach or no_grad is, if words say so or if the part it starves is in evaluation mode,
    unless an optimizer has nothing else to train.
    """
    explicit = not cut.grad_mode or cut.op in EXPLICIT or cut.op == DEEPCOPY
    if not explicit or cut.op == "grad":
        return False
    if set(unfrozen_in_vain(watched)) & set(cut.lost):
        return False
    if cut.op == DEEPCOPY:  # a target network, unless an optimizer has nothing else
        return not _starved_wholly(watched, missing) & {number for number, _ in cut.lost}
    if _is_selected(watched, set(cut.lost or missing) & set(missing)):
        return False
    place = cut.place
    assert place is not None
    near = [
        text for stack_place in (place, cut.scope) if stack_place for text in _text(stack_place)
    ]
    if any(word in text.lower() for text in near for word in DELIBERATE):
        return True
    lost = set(cut.lost or missing) & set(missing)
    if _starved_wholly(watched, missing) & {number for number, _ in lost}:
        return False
    return _in_evaluation(watched, lost)


def _starved_wholly(watched: Watched, missing: list[tuple[int, int]]) -> set[int]:
    """The optimizers none of whose parameters ever gets a gradient."""
    return {
        number
        for number, optimizer in enumerate(watched.recorder.gradients.optimizers)
        if {pair for pair in missing if pair[0] == number}
        >= {(number, index) for index in range(len(parameters_of(optimizer)))}
    }


def _is_selected(watched: Watched, lost: set[tuple[int, int]]) -> bool:
    """Whether the program has chosen these to be trained, in a part whose others it has frozen.

    Adapters in a frozen network: the words about the network do not mean them.
    """
    gradients = watched.recorder.gradients
    held = [parameters_of(gradients.optimizers[number]) for number in {n for n, _ in lost}]
    if any(not parameter.requires_grad for parameters in held for parameter in parameters):
        return False
    keys = {id(parameters_of(gradients.optimizers[n])[index]) for n, index in lost}
    return bool(keys) and keys <= gradients.beside_frozen


def _text(place: Place) -> list[str]:
    """The line, a comment above it, and the name of the function."""
    above = source.text_at(place.file, place.line - 1)
    comment = [above] if above.lstrip().startswith("#") else []
    return [*comment, source.text_at(place.file, place.line), place.function]


def _in_evaluation(watched: Watched, lost: set[tuple[int, int]]) -> bool:
    """Whether the modules that own the starved parameters are in evaluation mode."""
    optimizers = watched.recorder.gradients.optimizers
    keys = {id(parameters_of(optimizers[number])[index]) for number, index in lost}
    return bool(keys) and keys <= watched.recorder.gradients.evaluated


def _diagnosis(
    watched: Watched, cut: Cut, missing: list[tuple[int, int]], others: Sequence[Cut] = ()
) -> Diagnosis:
    place = cut.place
    assert place is not None
    lost = {pair for each in (cut, *others) if each.place == place for pair in each.lost}
    count = len(lost or missing)
    starved = f"{count} parameter{'s' if count > 1 else ''} of an optimizer never "
    starved += "get" if count > 1 else "gets"
    cause, fixes, why = "broken-graph", [], ""
    if cut.op == "grad":
        cause = "missing-create-graph"
        why = "autograd.grad() without create_graph=True gives numbers without history."
        fixes = [Fix("create-graph", place, "take the gradient with create_graph=True")]
    elif not cut.grad_mode and cut.scope is not None:
        cause = "no-grad-scope"
        name = cut.scope_name or "no_grad"
        why = f"The forward pass ran under {name}: no history was recorded there."
        fixes = [Fix("enable-grad", cut.scope, "leave the scope for what is to be trained")]
    elif not cut.grad_mode:
        cause = "no-grad-scope"
        why = "The forward pass ran with gradients switched off."
        fixes = [Fix("enable-grad", place, "switch gradients on for what is to be trained")]
    elif cut.op == "checkpoint":
        why = (
            "A reentrant checkpoint looks only at its arguments: if none requires grad, its result "
            "has no history, whatever is computed inside."
        )
        fixes = [Fix("fix-checkpoint-call", place, "pass use_reentrant=False")]
    elif cut.op == DEEPCOPY:
        why = (
            "deepcopy() gives new parameters, which have no history: a loss of the copy trains the "
            "copy, and says nothing about the parameters that it was made of."
        )
        advice = "compute with the parameters themselves (torch.func.functional_call), or hand "
        fixes = [Fix("keep-graph", place, advice + "the copy's gradients on: p.grad = q.grad")]
    elif cut.op in NUMBERS:
        why = (
            "The value becomes a plain number here, and the loss is computed from that: changing "
            "the number changes the loss, but no gradient can go back through it."
        )
        fixes = [Fix("keep-graph", place, "compute with the tensor itself")]
    else:
        why = f"`{cut.op}` gives a value without history, and the loss is computed from that."
        fixes = [Fix("keep-graph", place, "stay with differentiable tensors here")]
    leaf = _made_leaf(watched)
    if leaf is not None:
        why += " requires_grad = True on such a value only makes a new leaf of it."
        fixes.append(Fix("drop-requires-grad", leaf, "and let the history say what requires grad"))
    created = [] if cut.scope is None or cut.grad_mode else [cut.scope]
    return Diagnosis(
        cause=cause,
        title=f"{starved} a gradient: the way from the loss ends in line {place.line}",
        why=why,
        error_line=place,
        created_at=list(dict.fromkeys([*created, *reversed(cut.stack)])),
        fixes=fixes,
        spans=[Span("cut", place, cut.stack)],
        facts={"op": cut.op, "parameters": count, "grad_mode": cut.grad_mode},
    )


def _made_leaf(watched: Watched) -> Place | None:
    """The line that makes the loss a leaf by hand, if losses without history were sent back."""
    for call in watched.recorder.calls:
        if (
            call.kind != "backward"
            or not call.root_ids
            or not all(leaf for _, leaf in call.root_ids)
        ):
            continue
        place = call.log.place_of(call.stack)
        if place is None:
            continue
        lines = [
            node.lineno
            for node in ast.walk(source.tree_of(place.file))
            if isinstance(node, (ast.Assign, ast.Call))
            and _requires(node)
            and node.lineno <= place.line
        ]
        if lines:
            return Place(place.file, max(lines), place.function)
    return None


def _requires(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(
            isinstance(target, ast.Attribute) and target.attr == "requires_grad"
            for target in node.targets
        )
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "requires_grad_"
    )
