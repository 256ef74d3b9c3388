"""Sparse gradients on their way: through the engine, into `.grad`.

The engine's fast walk hands arrays from node to node. A sparse gradient is a `SparseArray` there,
which an op's rule on arrays cannot take: its node then runs on tensors, whose ops know sparse
operands, and goes back to arrays behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.backend.arrays import Array
from retrograd.engine.sparse_array import SPARSE_ARRAY, SparseArray
from retrograd.tensor import Tensor, TensorMeta

if TYPE_CHECKING:
    from retrograd.engine.node import BackwardCall, Gradient, Need, Node


def deliver_sparse(node: Node, position: int, target: Node, part: Array | SparseArray) -> None:
    """Add a part to what waits at a target, where one of the two is sparse."""
    number = 0 if node.edge_numbers is None else node.edge_numbers[position]
    several = type(target.shape) is list
    shape = target.shape[number] if several else target.shape
    if part.shape != shape:
        from retrograd.engine import failures

        raise failures.invalid_gradient(node.name(), position, part.shape, shape)
    held = target.buffer
    if several:
        if held is None:
            held = target.buffer = [None] * len(target.shape)
        held[number] = part if held[number] is None else held[number] + part
    else:
        target.buffer = part if held is None else held + part
        target.owned = False
    run_on_tensors(target)


def run_on_tensors(node: Node) -> None:
    """Let a node take its next gradient as a tensor, and then be as before."""
    from retrograd.engine.accumulate import is_accumulator
    from retrograd.engine.function_node import FunctionNode
    from retrograd.engine.node import dressed

    if is_accumulator(node) or isinstance(node, FunctionNode) or node.run is _run_once:
        return
    dressed(node)
    node.run = _run_once


def _run_once(
    node: Node, gradient: Gradient, need: Need, freeing: BackwardCall | None
) -> Sequence[Array | None]:
    from retrograd.engine.accumulate import with_grad_mode
    from retrograd.engine.hooked import boxed

    node.run = type(node).run_raw
    given: Gradient = [*boxed(gradient)] if isinstance(gradient, list) else boxed(gradient)[0]
    results = with_grad_mode(False, lambda: node.run_recorded(given, need, freeing))
    return tuple([None if part is None else part._array for part in results])


# -------------------------------------------------------------------------------------- into .grad


def adopted(gradient: Any) -> Any:
    """A sparse gradient as it becomes a `.grad`: PyTorch forgets then that it is coalesced."""
    made = gradient.copy()
    made.coalesced = gradient.coalesced and gradient.kept
    return made


def add_sparse_into(meta: TensorMeta, gradient: Any) -> None:
    """Add a gradient to `.grad` where one of them is sparse: dense ones stay, sparse ones yield."""
    from retrograd.engine.accumulate import add_into
    from retrograd.engine.sparse_sums import dense_of
    from retrograd.tensor import cell_of, wrap

    held = meta.grad
    assert held is not None
    array: Any = held._array
    if type(array) is not SparseArray:
        add_into(held, dense_of(gradient))
    elif type(gradient) is SparseArray:
        cell = cell_of(held)
        cell.version += 1
        cell.writer, cell.code = "accumulation into .grad", None
        array.become(array + gradient)
    else:
        meta.grad = wrap(gradient + dense_of(array))


def accumulated_sparse(held: Tensor | None, gradient: Tensor) -> Tensor:
    """The same where gradients are tensors with a history."""
    if held is None:
        return gradient.clone()
    if type(held._array) is SPARSE_ARRAY and type(gradient._array) is not SPARSE_ARRAY:
        return gradient + held
    return held + gradient
