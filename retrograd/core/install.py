"""Gives the compiled core the library's objects, when all of them are there.

The last thing that ``import retrograd`` does. Until then every compiled caller calls its Python
function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import core, dtypes
from retrograd.autograd import accumulate, state, views
from retrograd.autograd.node import BackwardCall, Node
from retrograd.backend import quiet
from retrograd.core.specification import describe
from retrograd.lifecycle import site
from retrograd.tensor import INFERENCE_CELL, Tensor, TensorMeta, VersionCell


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
        # caller.c, kernel.c, record.c
        "describe": describe,
        "asarray": np.asarray,
        "Cut": state.Cut,
        "accumulate_run": accumulate.AccumulateGrad.run_raw,
        "accumulate_number": accumulate.AccumulateGrad.SEQUENCE,
    }


def install() -> None:
    """Let the compiled core begin, if there is one."""
    if core.AVAILABLE:
        core._core.setup(library_objects())
