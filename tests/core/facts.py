"""What is compared of a call in C and the same call in Python: everything that it leaves behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import core
from retrograd.engine.node import dressed
from retrograd.lifecycle.site import CallSite
from retrograd.tensor import Tensor


def in_python(function: Callable[[], Any]) -> Any:
    """What a function gives when every op is called in Python."""
    core.call_python(True)
    try:
        return function()
    finally:
        core.call_python(False)


# --------------------------------------------------------------- what is compared of a tensor


def array_facts(array: np.ndarray[Any, Any]) -> Any:
    return array.dtype, array.shape, array.strides, array.tobytes()


def saved_facts(value: Any, depth: int) -> Any:
    if isinstance(value, Tensor):
        return tensor_facts(value, depth)
    if isinstance(value, np.ndarray):
        return array_facts(value)
    if type(value).__name__ == "VersionCell":
        return "cell", value.version
    return type(value).__name__, re.sub(" at 0x[0-9a-f]+", "", repr(value))


def saved_values(node: Any) -> list[Any]:
    """What was saved; the version of an input that was not does not count."""
    values = list(node.saved)
    op = getattr(node.run, "op", None)
    for save in () if op is None else op.plan.saves:
        if save.kind == "input" and values[save.start] is None:
            values[save.start + 1] = 0
    return values


def node_facts(node: Any, depth: int) -> Any:
    if node is None or not depth:
        return None
    kind = type(dressed(node))
    if kind.__name__ == "AccumulateGrad":
        return kind.__name__, node.shape, node.dtype, array_facts(node.variable._array)
    return (
        kind.__name__,
        node.shape,
        node.dtype,
        node.code,
        torch_site(node),
        node.edge_numbers,
        [node_facts(edge, depth - 1) for edge in node.edges],
        [saved_facts(value, depth - 1) for value in saved_values(node)],
        (type(node.extra).__name__, node.freed, node.visit),
    )


def torch_site(node: Any) -> Any:
    return CallSite(node.code, node.lasti).place


def view_facts(tensor: Tensor) -> Any:
    view = tensor._view
    if view is None:
        return None
    steps = [(step.op.name, step.options, step.number) for step in view.chain]
    return steps, view.at, view.creation, view.own, array_facts(view.base._array)


def cell_facts(cell: Any) -> Any:
    if cell is None or cell.code is None:
        return None if cell is None else cell.version
    return cell.version, cell.writer, cell.detached, CallSite(cell.code, cell.lasti).place


def tensor_facts(tensor: Any, depth: int = 4) -> Any:
    if isinstance(tensor, tuple):
        return type(tensor).__name__, [tensor_facts(part, depth) for part in tensor]
    if not isinstance(tensor, Tensor):
        return repr(tensor)
    cut = tensor._cut
    return (
        type(tensor).__name__,
        array_facts(tensor._array),
        tensor._requires_grad,
        tensor._output_nr,
        cell_facts(tensor._cell),
        None if cut is None else (cut.kind, cut.operation),
        view_facts(tensor),
        node_facts(tensor._grad_fn, depth),
    )


def outcome(function: Callable[[], Any]) -> Any:
    """The facts of the result, or of the error."""
    try:
        return tensor_facts(function())
    except Exception as error:
        return type(error).__name__, str(error)


def assert_same(function: Callable[[], Any]) -> None:
    assert outcome(function) == in_python(lambda: outcome(function))
