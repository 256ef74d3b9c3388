"""What the compiled caller is told of an op: its call plan as plain values, see `plan.c`."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backend import CPU
from retrograd.engine.state import HOT
from retrograd.ops.calling.compile import BOUND
from retrograd.ops.registry import Op

# what the caller has room for; see caller.h
MOST_PARAMETERS, MOST_SAVES, MOST_TENSORS, MOST_OUTPUTS = 12, 12, 7, 6


def describe(op: Op, is_operator: bool, in_place: bool) -> dict[str, Any] | None:
    """The facts of an op's calls, or of its operator's; None: Python runs all of them."""
    plan = op.plan
    if plan.form == "general" or op.view == "maybe" or not _fits(op):
        return None
    BOUND.add(op.name)
    aliases = [] if is_operator or in_place else [*plan.aliases.items()]
    if op.out and not is_operator and not in_place:
        aliases.append(("out", -1))
    return {
        "op": op,
        "label": op.label,
        "form": plan.form,
        "is_view": op.view is not None,
        "is_operator": is_operator,
        "parameters": tuple(
            [
                (p.name, p.kind, not p.required, None if p.required else p.default, p.keyword_only)
                for p in plan.parameters
            ]
        ),
        "aliases": tuple(aliases),
        # the parameters that arguments by place are for: an operator takes no options
        "positional": plan.tensor_places if is_operator else tuple(range(plan.positional)),
        "tensors": plan.tensor_places,
        "alike": plan.alike,
        "edges": plan.edges or (),
        "edges_of_list": plan.edges is None,
        "saves": tuple(
            [
                (save.kind, save.source, sum([1 << edge for edge in save.readers]), save.always)
                for save in plan.saves
            ]
        ),
        "output_count": op.outputs if isinstance(op.outputs, int) else 0,
        "nondifferentiable": sum([1 << number for number in op.nondifferentiable]),
        "returns": op.returns,
        "loud": plan.loud,
        "is_elementwise": op.forward == "elementwise",
        "lies": 0 if op.lies is None else 2 if op.lies == "rows" else 1,
        "any_dtype": plan.takes_any_dtype,
        "xp": HOT["xp"],
        "kernel": HOT[f"forward_{op.name}"],
        "short_name": op.name if _may_be_short(op) else "",
        "parameter_names": ",".join([p.name for p in plan.parameters]),
        "kernel_keywords": tuple([p.name for p in plan.keywords]) or None,
        # of options it has more to say than that floats are what they are
        "check": op.check if in_place and plan.options and op.ufunc is None else None,
        "ufunc": None if op.ufunc is None else getattr(np, op.ufunc),
        "run": op.run,
    }


def _may_be_short(op: Op) -> bool:
    """Whether the core may run small arrays itself: where the kernel is then the declared one."""
    declared = op.ufunc is not None or HOT[f"forward_{op.name}"] is op.kernel
    return declared or op.name in CPU.also_short


def _fits(op: Op) -> bool:
    plan = op.plan
    return (
        len(plan.parameters) <= MOST_PARAMETERS
        and len(plan.saves) <= MOST_SAVES
        and len(plan.tensors) <= MOST_TENSORS
        and (not isinstance(op.outputs, int) or op.outputs <= MOST_OUTPUTS)
    )
