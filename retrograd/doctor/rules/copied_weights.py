"""Weights made with `create_graph=True` are copied into a network: their history ends there."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.untrained import unfrozen_in_vain
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of

COPIES = ("load_state_dict", "copy_", "vector_to_parameters")
STEPS = 2


def instead(watched: Watched, needless: Diagnosis) -> Diagnosis:
    """The copy, where it is why nothing uses a graph that was created; else what was found."""
    place = needless.error_line
    if needless.facts["argument"] != "create_graph" or place is None:
        return needless
    count = _without_gradient(watched)
    function = source.function_around(place.file, place.line)
    if not count or function is None or list(unfrozen_in_vain(watched)):
        return needless
    tree = source.tree_of(place.file)
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] == function.name
        for target in ast.walk(node.targets[0])
        if isinstance(target, ast.Name)
    }
    copies = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in COPIES
        and any(isinstance(arg, ast.Name) and arg.id in made for arg in node.args)
    ]
    if len({node.lineno for node in copies}) != 1:
        return needless
    line = copies[0].lineno
    holder = source.function_around(place.file, line)
    copy = Place(place.file, line, "<module>" if holder is None else holder.name)
    return Diagnosis(
        cause="broken-graph",
        title=f"{count} parameter{'s' * (count > 1)} of an optimizer never get a gradient: the "
        f"adapted weights lose their history in line {line}",
        why=f"Line {place.line} keeps the graph of the inner step, but `"
        f"{getattr(copies[0].func, 'attr', 'copying')}` copies values only: the loss is computed "
        "with the network's own weights, and has no path to what the step was made of.",
        error_line=copy,
        created_at=[copy, *needless.created_at],
        fixes=[
            Fix(
                "keep-graph",
                copy,
                "call the network with the adapted weights: torch.func.functional_call",
            )
        ],
        spans=[Span("copied", copy), *needless.spans],
        facts={"parameters": count},
    )


def _without_gradient(watched: Watched) -> int:
    """How many parameters of an optimizer that steps never had a gradient."""
    gradients = watched.recorder.gradients
    return sum(
        p.requires_grad and id(p) not in gradients.received
        for optimizer in gradients.optimizers
        if sum(step.optimizer is optimizer for step in gradients.steps) >= STEPS
        for p in parameters_of(optimizer)
    )
