"""Parameters that were frozen while they had a `.grad`: the optimizer moves them still."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.frozen import Moved

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each optimizer."""
    found = [
        _diagnosis(watched, moved)
        for moved in watched.recorder.frozen.moved.values()
        if moved.steps >= TIMES
    ]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _diagnosis(watched: Watched, moved: Moved) -> Diagnosis | None:
    log = watched.tracer.log
    step = log.place_of(moved.stack)
    if step is None:
        return None
    lines = [place for file in log.chains.files() for place in freezing(file)]
    one = lines if len(lines) == 1 else []
    count = f"{moved.parameters} parameter{'s' * (moved.parameters > 1)}"
    return Diagnosis(
        cause="freeze-without-effect",
        title=f"{count} do not require grad, and the optimizer still moves them",
        why="A step looks at .grad, not at requires_grad. These had a gradient when they were "
        "frozen, and it was not set to None: what is left there, momentum or weight decay moved "
        f"them in {moved.steps} steps that were looked at.",
        error_line=step,
        created_at=[*one, step],
        fixes=[
            *(Fix("freeze-parameters", place, "and set .grad to None there") for place in one),
            Fix("rebuild-optimizer", step, "or give the optimizer only what is to be trained"),
        ],
        spans=[*(Span("frozen", place) for place in one), Span("stepped", step)],
        facts={"steps": moved.steps, "parameters": moved.parameters},
    )


def freezing(file: str) -> Iterator[Place]:
    """The lines that set `requires_grad` to False."""
    for node in ast.walk(source.tree_of(file)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                if node.value.value is False:
                    yield Place(file, node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "requires_grad_" and any(
                isinstance(each, ast.Constant) and each.value is False
                for each in [*node.args, *(keyword.value for keyword in node.keywords)]
            ):
                yield Place(file, node.lineno)
