"""Cutting the graph: places in a history become ends of it, for `graph.unchain`.

A node is held by the edges that lead to it, and by the saved inputs that it made: a saved input is
the Tensor itself, with its history. Both are let go of, so that what lies behind a cut is freed by
reference counting as soon as nobody else holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from retrograd.engine.elsewhere import Moved
from retrograd.engine.node import Node
from retrograd.engine.packing import SavedTensor
from retrograd.tensor import Tensor, cell_of


def nodes_behind(roots: Iterable[Node], ends: Collection[Node] = ()) -> set[Node]:
    """The roots and the nodes behind them, not those that are reached through `ends` only."""
    found = {root for root in roots if root not in ends}
    waiting = list(found)
    while waiting:
        for target in waiting.pop().edges:
            if target is not None and target not in found and target not in ends:
                found.add(target)
                waiting.append(target)
    return found


def cut_behind(roots: Iterable[Node], ends: Collection[Node]) -> None:
    """Make `ends` unreachable from the roots: no gradient of theirs arrives there any more."""
    kept = nodes_behind(roots, ends)
    removed = nodes_behind(ends) - kept
    for node in kept:
        for part in with_inner(node):
            if any(target in ends for target in part.edges):
                part.edges = tuple([None if target in ends else target for target in part.edges])
            _forget_histories(part, removed)


def with_inner(node: Node) -> Iterator[Node]:
    """A node and those inside of it: the writing op's own in `CopySlices`, say."""
    part: Node | None = node
    while part is not None:
        yield part
        part = getattr(part, "inner", None)


def _forget_histories(node: Node, removed: set[Node]) -> None:
    """Let go of the histories of saved values that lead behind the cut; their elements stay."""
    changed: list[Any] | None = None
    for place, value in enumerate(node.saved):
        if isinstance(value, Tensor):
            if _leads_to(value, removed):
                changed = changed or list(node.saved)
                changed[place] = _alias(value, removed)
        elif type(value) is SavedTensor:
            _forget_packed(value, removed)
    if changed is not None:
        node.saved = tuple(changed)


def _forget_packed(value: SavedTensor, removed: set[Node]) -> None:
    if value._value is not None and _leads_to(value._value, removed):
        value._value = _alias(value._value, removed)
    if value._grad_fn is not None and value._grad_fn in removed:
        value._grad_fn = None
        value._requires_grad = False
        if type(value._packed) is Moved:
            value._packed.tensor = None  # which has its history still


def _leads_to(tensor: Tensor, removed: set[Node]) -> bool:
    if tensor._grad_fn is not None and tensor._grad_fn in removed:
        return True
    base = None if tensor._view is None else tensor._view.base
    return base is not None and base._grad_fn is not None and base._grad_fn in removed


def _alias(tensor: Tensor, removed: set[Node]) -> Tensor:
    """The same elements and version, with the history only if that is kept; never a view.

    The cell is made now: a tensor without one gets it at its first write, and the alias none.
    """
    cell_of(tensor)
    made = tensor._without_history()
    if tensor._grad_fn is not None and tensor._grad_fn not in removed:
        made._grad_fn, made._output_nr = tensor._grad_fn, tensor._output_nr
        made._requires_grad = True
    return made
