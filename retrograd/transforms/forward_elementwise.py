"""Forward mode in its most common cases, quickly: elementwise ops, and ops on ordinary tensors."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from retrograd import core, dtypes
from retrograd.backend import backend_of
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.engine.packing import is_packed, pack_new
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.calling.recording import array_fact
from retrograd.ops.calling.shortcut import call_generated, usual_operands
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor, TensorMeta, wrap
from retrograd.transforms.forward import (
    Origin,
    Tangents,
    has_tangents,
    holder_of,
    laid_out_like,
    set_by_rules,
    tangents_of,
)


def set_elementwise(op: Op, args: tuple[Any, ...], tensors: list[Any], output: Tensor) -> bool:
    """Set the tangent of an elementwise op in the usual case, and quickly; False in all others.

    The usual case: real numbers, one level, nothing to record, nothing batched.
    """
    array = output._array
    plan: CallPlan = op.plan
    if type(array) is not np.ndarray:
        return False
    if array.dtype is not dtypes.F64 and array.dtype is not dtypes.F32:
        return False
    recording = STATE.grad_enabled
    level: Any = None
    moving: list[Any] = []  # the tangents' arrays
    for x in tensors:
        direction = None
        if isinstance(x, Tensor):
            if x._level or (recording and x._requires_grad) or x._array.dtype.kind == "c":
                return False
            bare = x._meta is None and x._view is None
            held: Any = None if bare else tangents_of(x)
            if held is not None:
                if len(held) > 1:
                    return False
                [(found, tangent)] = held.items()
                if level is not None and found is not level:
                    return False
                level = found
                if tangent._level or (recording and tangent._requires_grad):
                    return False
                direction = tangent._array
                if direction.dtype is not x._array.dtype:
                    return False
                if not (tangent._meta is None and tangent._view is None) and tangents_of(tangent):
                    return False
        moving.append(direction)
    total: Any = None
    moved = False
    token = enter_quiet(QUIET)
    try:
        assert plan.edges is not None
        raw, saves = backend_of(array).raw, plan.saves
        for place, (rule, reads) in zip(plan.edges, plan.rules, strict=True):
            direction = moving[place]
            if direction is None:
                continue
            moved = True
            if direction.shape != array.shape:
                direction = np.broadcast_to(direction, array.shape)
            values = []
            for position in reads:
                save = saves[position]
                kind, source = save.kind, save.source
                if kind == "output":
                    values.append(array)
                elif kind == "option":
                    values.append(args[source])
                elif kind == "input":
                    value = tensors[source]
                    values.append(value._array if isinstance(value, Tensor) else value)
                else:
                    values.append(array_fact(plan, kind, source, tensors, [output]))
            part = rule(raw, direction, *values)
            if part is not None:
                total = part if total is None else total + part
    finally:
        leave_quiet(token)
    if not moved:
        return True
    if total is None:
        total = np.zeros_like(array)
    elif type(total) is not np.ndarray or total.dtype is not array.dtype:
        total = np.asarray(total, array.dtype)
    if total.shape != array.shape:
        total = np.array(np.broadcast_to(total, array.shape))
    elif total.base is not None or any([total is direction for direction in moving]):
        total = total.copy()
    result = wrap(total)
    if not (total.flags.c_contiguous and array.flags.c_contiguous):
        result = laid_out_like(output, result)
    if output._meta is None:
        holder = Tangents()
        holder[level] = result
        level.holders[id(holder)] = weakref.ref(holder)
        output._meta = meta = TensorMeta()
        meta.tangents = holder
    else:
        holder_of(output).put(level, result)
    return True


def dual_shortcut(op: Op, plan: CallPlan, args: tuple[object, ...]) -> Any:
    """The result of an op on ordinary tensors, with its tangents; None: the general path has to.

    For a thread whose dual levels are the only rare mode anywhere.
    """
    own = len(STATE.duals)
    if own != TRANSFORMS.dual_levels or op.view is not None:
        return None
    operands = usual_operands(plan, args)
    if operands is None:
        return None
    moving = False
    if STATE.passes_tangents:
        for x in operands:
            if isinstance(x, Tensor) and not (x._meta is None and x._view is None):
                moving = True  # it may have a tangent
                break
    result = call_generated(op, plan, args, own)
    if moving:
        finish(op, args, operands, result)
    return result


def finish(op: Op, args: tuple[object, ...], operands: list[Any], result: Tensor) -> None:
    """Give the result of an op its tangents, and its node the result with them."""
    if op.forward != "elementwise" or not set_elementwise(op, args, operands, result):
        if not has_tangents(operands):
            return
        set_by_rules(op, args, operands, [result])
    node = result._grad_fn
    if op.plan.keeps_output and node is not None and not is_packed(node):
        pack_new(op, node, result)


TRANSFORMS.set_elementwise = set_elementwise
TRANSFORMS.dual_shortcut = dual_shortcut
if core.AVAILABLE:
    core.compiled("use_forward")(Tangents, Origin, tangents_of, finish)
