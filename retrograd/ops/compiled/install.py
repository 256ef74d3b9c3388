"""Gives the compiled core the library's objects, when all of them are there.

The last thing that ``import retrograd`` does. Until then every compiled caller calls its Python
function.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from retrograd import core, dtypes
from retrograd.backend import CPU, kernels, quiet
from retrograd.backend.cpu_rows import rows
from retrograd.engine import (
    accumulate,
    failures,
    fitting,
    growth,
    hooked,
    node,
    ownership,
    state,
    views,
)
from retrograd.engine import walk as engine
from retrograd.engine.inference import INFERENCE_CELL
from retrograd.engine.node import FREED, BackwardCall, Freed, GraphRoot, Node
from retrograd.lifecycle import site
from retrograd.ops.calling.compile import BOUND
from retrograd.ops.calling.dispatch import settled
from retrograd.ops.calling.refusals import refused, takes
from retrograd.ops.compiled.runs import described
from retrograd.ops.compiled.specification import describe
from retrograd.ops.registry import RAW, RECORDED
from retrograd.tensor import Tensor, TensorMeta, VersionCell


def library_objects() -> dict[str, Any]:
    """What the C files ask for, by the names they ask for it."""
    return {
        "Tensor": Tensor,
        "Parameter": state.HOT["Parameter"],
        "TensorMeta": TensorMeta,
        "VersionCell": VersionCell,
        "ViewInfo": views.ViewInfo,
        "Node": Node,
        "BackwardCall": BackwardCall,
        "HOT": state.HOT,
        "STATE": state.STATE,
        "TRANSFORMS": state.TRANSFORMS,
        "INFERENCE_CELL": INFERENCE_CELL,
        "numbers": state._numbers,
        "refresh": views.refresh,
        "accumulator": accumulate.accumulator,
        "edge_of": views.edge_of,
        "QUIET": quiet.QUIET,
        "enter_quiet": quiet.enter_quiet,
        "leave_quiet": quiet.leave_quiet,
        "F32": dtypes.F32,
        "F64": dtypes.F64,
        "I64": dtypes.I64,
        "B8": dtypes.B8,
        # site.c
        "LIBRARY_FILES": site.LIBRARY_FILES,
        "sites_enabled": site.sites_enabled,
        # shortcut.c
        "refused": refused,
        "takes": takes,
        # caller.c, kernel.c, record.c
        "describe": describe,
        "asarray": np.asarray,
        "settled": settled,
        "exp": np.exp,
        "log": np.log,
        "log1p": np.log1p,
        "Cut": state.Cut,
        "accumulate_run": accumulate.AccumulateGrad.run_raw,
        "accumulate_number": accumulate.AccumulateGrad.SEQUENCE,
        **kernel_objects(),
        **engine_objects(),
    }


def kernel_objects() -> dict[str, Any]:
    """The compiled kernels that kernels in C call, None for each without them."""
    names = ("sum_all", "divide", "maximum", "add", "iadd", "subtract", "multiply")
    found = {f"kernel_{n}": getattr(CPU.xp, n) if kernels.AVAILABLE else None for n in names}
    return found | {"rows_product": getattr(rows, "product", None)}


def engine_objects() -> dict[str, Any]:
    """What running nodes and walking graphs asks for."""
    return {
        "FREED": FREED,
        "Freed": Freed,
        "GraphRoot": GraphRoot,
        "RAW": RAW,
        "RECORDED": RECORDED,
        "described": described,
        "ACTIVE": accumulate.ACTIVE,
        "ALONE": ownership.ALONE,
        "run_hooked": hooked.run_hooked,
        "hook_gradient": hooked.hook_gradient,
        "start_of": engine._start,
        "run_callbacks": engine._run_callbacks,
        "run_general": engine.run_general,
        "gathered": engine.gathered,
        "as_captured": engine.as_captured,
        "breathe": engine.breathe,
        "as_dtype": fitting.as_dtype,
        "set_grad_mode": state.set_grad_mode,
        "set_saved_hooks": state.set_saved_hooks,
        "ordinals": node.ordinals,
        "growth_due": growth.due,
        "IN_HOOK": state.IN_HOOK,
        "sum_to": kernels.sum_to,
        "sum_to_size": RECORDED.sum_to_size,
        "unused_input": failures.unused_input,
        "add": kernels.add,
    }


def place_methods() -> None:
    """Let a call of a tensor's method that fails be explained by the method's signature."""
    for name, member in list(vars(Tensor).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            placed = core.at(member, f"Tensor.{name}", "retrograd", f"Tensor.{name}")
            setattr(Tensor, name, placed)


def install() -> None:
    """Let the compiled core begin, if there is one."""
    if core.AVAILABLE:
        core._core.setup(library_objects())
        place_methods()
        BOUND.add("mm")  # which rules in C call
        engine.COMPILED.run_backward = core._core.run_backward
        engine.COMPILED.backward = core._core.backward
        engine.COMPILED.grad = core._core.grad
