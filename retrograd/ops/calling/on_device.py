"""The generated functions of ops for arrays of other devices than the CPU.

They are the CPU's (`calling.compile`) with other names in them: the device's array class, its `xp`,
its kernels. So an op has one definition of its common case, and a call on a device costs what it
costs on the CPU, but for the kernel. They stand behind the CPU's own function, which hands arrays
that it does not know to `dispatch`.

So do the functions of their nodes: a node's `run` hands gradients of a device to the one that is
made here. Its rules are the device's, where that makes one kernel of a rule (`Backend.fused`), and
take half precision as it is where the device's kernels do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, CPU, Backend
from retrograd.backend.device import ELEMENTWISE
from retrograd.engine.state import HOT
from retrograd.ops.calling import compile_many as many
from retrograd.ops.calling import compile_parts as parts
from retrograd.ops.calling.lazy import build
from retrograd.ops.calling.node_forms import run_lines
from retrograd.ops.registry import Op

Function = Callable[..., Any]

# What is another thing on each device, in the text of a generated function
_NAMES = re.compile(r"\b(ndarray|xp|asarray|may_share_memory|(?:forward|run(?!_raw\b)|rule)_\w+)\b")
# How the text of a generated function asks for the types that it takes
_TYPES = "(_dtype is not F32 and _dtype is not F64)"
# A gradient of a list may lie on yet another device: its own table of ops is asked for
_RAW = re.compile(r"_m = RAW if .*")
# Ops whose rules are those of an elementwise one, but that are declared otherwise
_ALSO_FUSED = ("_choose",)
# and here for rare modes: under autocast `dispatch` has cast the operands
_UNUSUAL = "if UNUSUAL != AUTOCASTS or"
HOT.update(F16=dtypes.F16, BF16=dtypes.BF16)


def flat_function(op: Op, args: tuple[Any, ...], operator: bool) -> Function | None:
    """The function for the device of a call's first tensor, which takes all arguments by place."""
    places = op.plan.tensor_places
    if not places:
        return None
    first = args[places[0]]
    if type(first) is list or type(first) is tuple:
        first = first[0] if first else None
    array: Any = getattr(first, "_array", None)
    backend = BACKENDS.get(type(array))
    if backend is None or backend is CPU:
        return None
    try:
        return backend.flat[op.name, operator]
    except KeyError:
        found = backend.flat[op.name, operator] = _made(op, backend, operator)
        return found


def takes_halves(op: Op, backend: Backend) -> bool:
    """Whether half precision goes through an op's kernel and its derivative rules as it is."""
    if op.name not in backend.halves:
        return False
    fused = backend.fused is not None and op.name in ELEMENTWISE
    return op.half == "move" or fused or op.name in backend.half_rules


def run_elsewhere(op: Op, array: type[Any], half: bool) -> Function | None:
    """What a node does with gradients that are arrays of another device; None on the CPU.

    half  the node is one of half precision
    """
    backend = BACKENDS.get(array)
    if backend is None or backend is CPU:
        return None
    try:
        return backend.runs[op.name, half]
    except KeyError:
        return _run_on(op, backend, half)


HOT["run_elsewhere"] = run_elsewhere


def _run_on(op: Op, backend: Backend, half: bool) -> Function:
    suffix = f"_on_{backend.name}"
    widens = half and not takes_halves(op, backend)
    HOT[f"ndarray{suffix}"] = backend.array
    fused = backend.fused if op.name in ELEMENTWISE or op.name in _ALSO_FUSED else None
    for place, rule in enumerate(op.plan.rules):
        function = rule.function if fused is None else fused(op.name, rule.function)
        HOT[f"rule_{op.name}_{place}{suffix}"] = function
    if op.plan.joint is not None:
        HOT[f"rule_{op.name}{suffix}"] = op.plan.joint.function

    def lines() -> list[str]:
        text = [
            _RAW.sub("_m = raw_of(_g)", line) for line in run_lines(op, recorded=False, half=widens)
        ]
        return [_NAMES.sub(rf"\1{suffix}", line) for line in text]

    label = f"{'half ' if half else ''}run_raw of {op.name} on {backend.name}"
    made = build("run_raw", lines, label)
    made.op, made.form = op, None
    found: Function = made
    backend.runs[op.name, half] = found
    return found


def _made(op: Op, backend: Backend, operator: bool) -> Function | None:
    if op.plan.form == "general":
        return None
    kernel = backend.kernel(op.name)
    suffix = f"_on_{backend.name}"
    HOT[f"run_{op.name}{suffix}"] = run_elsewhere(op, backend.array, False)
    HOT.update(
        {
            f"ndarray{suffix}": backend.array,
            f"xp{suffix}": backend.xp,
            f"asarray{suffix}": backend.as_result,
            f"may_share_memory{suffix}": backend.xp.shares_memory,
            f"forward_{op.name}{suffix}": (
                kernel if op.ufunc is None else partial(kernel, backend.xp)
            ),
        }
    )

    def lines() -> list[str]:
        renamed = [_NAMES.sub(rf"\1{suffix}", line) for line in _lines(op, operator)]
        renamed = [line.replace("if UNUSUAL or", _UNUSUAL) for line in renamed]
        if takes_halves(op, backend):
            more = _TYPES[:-1] + " and _dtype is not BF16 and _dtype is not F16)"
            renamed = [line.replace(_TYPES, more) for line in renamed]
        return [line.replace(".flags.c_contiguous", backend.contiguous) for line in renamed]

    label = f"op {op.name}{' as operator' * operator} on {backend.name}"
    made: Function = build(op.name, lines, label)
    return made


def _lines(op: Op, operator: bool) -> list[str]:
    """The source, in the CPU's names; what is not usual goes on the general path."""
    from retrograd.ops.calling.compile import single_lines

    arguments = parts.call_arguments(op)
    lines = [f"def {op.name}({arguments}):"]
    general = f"return dispatch_generally(OP_{op.name}, ({arguments}), {operator})"
    form = op.plan.form
    if form == "single":
        single_lines(op, lines.append, general, operator=False)
    elif form == "list":
        many.list_lines(op, lines.append, general)
    elif form == "pieces":
        many.pieces_lines(op, lines.append, general)
    else:
        many.several_lines(op, lines.append, general)
    return _with_types_checked(op, lines, general)


def _with_types_checked(op: Op, lines: list[str], general: str) -> list[str]:
    """Every operand is looked at: one of the CPU may stand beside those of a device."""
    found = []
    for line in lines:
        found.append(line)
        taken = re.fullmatch(r"( +)(_x[1-9]\d*) = \w+\._array", line)
        if taken is not None:
            found.append(f"{taken[1]}if type({taken[2]}) is not ndarray: {general}")
    return found
