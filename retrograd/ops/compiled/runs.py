"""What the compiled core reads of an op's call plan, when the first of its nodes runs."""

from __future__ import annotations

from typing import Any

from retrograd.ops.registry import Op

Described = tuple[
    str,  # the op's name
    str,  # the names of what it saves, by which a compiled rule is found: "other,input"
    tuple[tuple[str, int, int], ...],  # kind, first place, number of an output (-1: no gradient)
    tuple[tuple[Any, tuple[int, ...]], ...],  # rules: function, which of the saved values it reads
    str,  # "joint": one rule for all inputs; "list": one for a list of tensors; "each"
    bool,  # whether it has one output
]


def described(op: Op) -> Described:
    """An op's plan as `run.c` takes it."""
    plan = op.plan
    saves = tuple(
        (save.kind, save.start, -1 if save.source in plan.nondifferentiable else save.source)
        for save in plan.saves
    )
    names = ",".join(save.name for save in plan.saves)
    form = "list" if plan.edges is None else "each"
    rules = plan.rules
    if plan.joint is not None:
        form, rules = "joint", (plan.joint,)
    return (
        op.name,
        names,
        saves,
        tuple([(rule.function, rule.reads) for rule in rules]),
        form,
        plan.outputs == 1,
    )
