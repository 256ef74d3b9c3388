"""An optimizer whose parameters are all frozen: it steps, and nothing it holds can move."""

from __future__ import annotations

from collections import Counter

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.frozen import freezing
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that builds such an optimizer."""
    recorder, log = watched.recorder, watched.tracer.log
    gradients = recorder.gradients
    steps = Counter(id(step.optimizer) for step in gradients.steps if step.calls)
    parameter, held_by_any = recorder.torch.nn.Parameter, {id(p) for p in gradients.held()}
    if not any(
        isinstance(leaf, parameter) and leaf.grad is not None
        for key, leaf in recorder.leaves.items()
        if key not in held_by_any
    ):
        return []  # what is trained has an optimizer: this one rests on purpose
    found: dict[Place, Diagnosis] = {}
    for optimizer in gradients.optimizers:
        held = parameters_of(optimizer)
        if steps[id(optimizer)] < TIMES or not held:
            continue
        if any(p.requires_grad or id(p) in gradients.received for p in held):
            continue
        built = log.places_of(recorder.built_at.get(id(optimizer), []))
        if built:
            count = steps[id(optimizer)]
            found[built[-1]] = _diagnosis(watched, built, type(optimizer).__name__, count)
    return list(found.values())


def _diagnosis(watched: Watched, built: list[Place], kind: str, steps: int) -> Diagnosis:
    place = built[-1]
    files = watched.tracer.log.chains.files()
    lines = [line for file in files for line in freezing(file)]
    frozen = lines[-1] if len(lines) == 1 else None
    fixes = [Fix("rebuild-optimizer", place, "or give it the parameters that are to be trained")]
    if frozen is not None:
        fixes.insert(0, Fix("enable-grad", frozen, "freeze the other parameters, or none"))
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"all parameters that {kind} holds are frozen",
        why="requires_grad is False for every parameter of this optimizer, and none of them ever "
        f"had a gradient. It made {steps} steps, and changed nothing; what backward() gives "
        "gradients to is in no optimizer.",
        error_line=place,
        created_at=[*([frozen] if frozen else []), place],
        fixes=fixes,
        spans=[
            *([Span("frozen", frozen)] if frozen else []),
            Span("built", place, built),
        ],
        facts={"steps": steps, "all_frozen": True},
    )
