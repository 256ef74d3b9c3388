"""Rare modes the short way: the op's generated function, then what the mode wants of its result.

Saved-tensor hooks, autocast, forward mode and vmap send every op to the general path, which looks
at everything. But most ops are as ordinary inside of them as outside. So this thread takes its own
part of the count of rare modes back, calls the generated function, and does the rest afterwards.
"""

from __future__ import annotations

from typing import Any

from retrograd.backend import CPU
from retrograd.dtypes import F32, F64
from retrograd.engine.packing import is_packed, pack_new
from retrograd.engine.state import GIL, HOT, STATE, TRANSFORMS, count_unusual
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor

_CPU_ARRAY = CPU.array


def shortcut(op: Op, plan: CallPlan, args: tuple[Any, ...]) -> Any:
    """The result of an op in one of these modes; None where the general path has to be taken."""
    if plan.form != "single":
        return None
    unusual = HOT["UNUSUAL"]
    if unusual == 1 and STATE.autocast is not None:  # the one that is counted
        if STATE.op_watcher is not None or op.autocast is not None:
            return None
        return None if usual_operands(plan, args) is None else call_generated(op, plan, args, 1)
    if unusual == 1 and STATE.saved_hooks:
        if STATE.op_watcher is not None or usual_operands(plan, args) is None:
            return None
        result = call_generated(op, plan, args, 1)
        if plan.kept:
            node = result._grad_fn
            if node is not None and not is_packed(node):
                pack_new(op, node, result)
        return result
    if unusual == 1 and STATE.on_saved is not None:
        if STATE.op_watcher is not None or usual_operands(plan, args) is None:
            return None
        result = call_generated(op, plan, args, 1)
        if plan.kept and result._grad_fn is not None:
            STATE.on_saved(result._grad_fn)
        return result
    if unusual == 1 and STATE.scope is not None:
        if STATE.op_watcher is not None or usual_operands(plan, args) is None:
            return None
        result = call_generated(op, plan, args, 1)
        if result._grad_fn is not None:
            STATE.scope.made(result._grad_fn, args)
        return result
    if unusual and unusual == TRANSFORMS.active:
        if not TRANSFORMS.dual_levels:
            return TRANSFORMS.batched_shortcut(op, plan, args)
        if TRANSFORMS.dual_levels == unusual:
            return TRANSFORMS.dual_shortcut(op, plan, args)
    return None


def usual_operands(plan: CallPlan, args: tuple[Any, ...]) -> list[Any] | None:
    """The operands, if they are such as generated functions take."""
    parameter = HOT["Parameter"]
    operands = [args[place] for place in plan.tensor_places]
    first = None
    for value in operands:
        kind = type(value)
        if kind is Tensor or kind is parameter:
            array = value._array
            if type(array) is not _CPU_ARRAY or (array.dtype is not F32 and array.dtype is not F64):
                return None
            first = value
        elif first is None or (kind is not float and kind is not int and value is not None):
            return None
    return operands


def call_generated(op: Op, plan: CallPlan, args: tuple[object, ...], own: int) -> Any:
    """Call the generated function without `own` of the rare modes, which are this thread's."""
    if not GIL:
        count_unusual(-own)
        try:
            return _generated(op, plan, args)
        finally:
            count_unusual(own)
    HOT["UNUSUAL"] -= own  # written out: a call would be a point at which Ctrl-C can come
    try:
        return _generated(op, plan, args)
    finally:
        HOT["UNUSUAL"] += own


def _generated(op: Op, plan: CallPlan, args: tuple[object, ...]) -> Any:
    for p in plan.keywords:
        if args[p.place] is not p.default:
            break
    else:  # the usual case: only the others are needed, which come first
        return op.function(*args[: plan.positional])
    named = {p.name: args[p.place] for p in plan.keywords}
    return op.function(*args[: plan.positional], **named)
